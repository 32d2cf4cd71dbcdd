"""What suites that inject hazards run on: a real tailor before their servers,
a client, a disturber.

CPU 0 carries the tailor, the suite and the client; CPU 1 what disturbs, and
servers that are pinned.
"""

import json
import os
import re
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import time

from .process import Process
from .tailor import Tailor, configuration
from .verdicts import Injection
from .wait import wait_until

PROXY_CPU, SERVER_CPU = 0, 1
BOOT_ID = "/proc/sys/kernel/random/boot_id"
SERVER_PRIORITY = 10
NICER = ["nice", "-n", "-18", "chrt", "-o", "0"]  # ordinary, yet before most

CONFIG = {
    "warmup": {"requests": 0},
    "hedging": {"mode": "watch"},
    "proxy": {"stop_timeout": "2s", "trusted_proxies": ["127.0.0.1/32"]},
    "talechain": {"allow": ["127.0.0.1/32"]},
    "slow": {"target": "2ms"},
    "analysis": {"cpu": 1},  # each of them
    "log": {"level": "info"},
}


def before_others():
    """Have this process and its children scheduled before all ordinary ones.

    What the rest of the machine does then disturbs nothing here.  Servers
    are put below Tailor and the client, which hardly compute.  Returns
    whether that is allowed.
    """
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(20))
        return True
    except PermissionError:
        return False


def may_schedule():
    """Whether before_others() did."""
    return os.sched_getscheduler(0) == os.SCHED_RR


class Disturber(Process):
    """disturb.c: begin() an order, end() it and learn when it was."""

    def __init__(self, build):
        super().__init__(
            [os.path.join(build, "hazards", "disturb"), SERVER_CPU, -20],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def begin(self, what, after_us, us, pid=0):
        """Order: after that time, for that time."""
        self.stdin.write(f"{what} {after_us} {us} {pid}\n")
        self.stdin.flush()

    def end(self):
        """Wait until it is done: (begin, end); or PermissionError."""
        line = self.stdout.readline()
        if not line or line.startswith("error"):
            raise PermissionError(line.strip())
        begin, end = line.split()
        return int(begin), int(end)

    def stop(self):
        self.stdin.close()
        self.wait()


class Account:
    """The kernel's own account of the threads of processes, ns.

    delay_ns: runnable without a CPU; compiled_ns: the JVM's compilers' time on
    one.  ran, delay: of each thread, on a CPU and without one.
    """

    def __init__(self, *pids):
        self._pids = pids
        self.delay_ns = self.compiled_ns = 0
        self.ran, self.delay = {}, {}
        self._before = dict(self._threads())

    def _threads(self):
        """Thread -> (ran_ns, delay_ns, name), of all that are there."""
        for pid in self._pids:
            for tid in os.listdir(f"/proc/{pid}/task"):
                base = f"/proc/{pid}/task/{tid}"
                try:
                    ran_ns, delay_ns, _ = read(f"{base}/schedstat").split()
                    name = read(f"{base}/comm")
                except (FileNotFoundError, ProcessLookupError):
                    continue  # it ended just now
                yield tid, (int(ran_ns), int(delay_ns), name)

    def since(self):
        """What came on top since this object was made; of a thread that has
        ended it is not known."""
        for tid, (ran_ns, delay_ns, name) in self._threads():
            before = self._before.get(tid, (0, 0))
            self.ran[int(tid)] = ran_ns - before[0]
            self.delay[int(tid)] = delay_ns - before[1]
            self.delay_ns += delay_ns - before[1]
            if name.startswith(("C1 Compiler", "C2 Compiler")):
                self.compiled_ns += ran_ns - before[0]
        return self


def read(path):
    """A file's text."""
    with open(path, encoding="ascii") as file:
        return file.read()


class Stage:
    """Servers behind a tailor, and one client connection to it."""

    def __init__(self, build, preload=None, **sections):
        self.build = build
        self._preload = preload
        self._directory = tempfile.mkdtemp(prefix="tailor-")
        self.channels = os.path.join(self._directory, "channels.sock")
        self._sections = sections
        self.servers = []
        self.tailor = self.client = self._config = None

    def start(self, *servers):
        """Start the tailor; the servers run already."""
        self.servers = list(servers)
        self._config = configuration(
            self._directory, [{"name": f"s{i}", "address": s.address,
                               **getattr(s, "keys", {})}
                              for i, s in enumerate(servers)],
            CONFIG, self._sections)
        self.restart()
        self.tailor.wait_ready()
        for i, server in enumerate(servers):
            self.tailor.wait_server(f"s{i}", state="ready")
            wait_until(lambda: self.tailor.server(f"s{i}")["pid"]
                       in server.processes(), "tailor finds the server")
        self.connect()
        return self

    def restart(self):
        """A new tailor, which listens; its servers may not be ready."""
        if self._preload:
            os.environ["LD_PRELOAD"] = os.path.join(self.build, "hazards",
                                                    self._preload)
        try:
            self.tailor = Tailor(self.build, self._directory, self._config)
        finally:
            os.environ.pop("LD_PRELOAD", None)
        self.tailor.wait_log("listening")
        self.need_kernel()

    def need_kernel(self):
        """Without the kernel's events nothing here can be judged."""
        said = [x for x in self.tailor.lines if re.search("kernel_o(n|ff)", x)]
        if not any("kernel_on" in x for x in said):
            raise PermissionError(
                " ".join(said) or "this tailor has no events of the kernel")

    def connect(self):
        """A new connection of the client."""
        if self.client:
            self.client.close()
        self.client = self.tailor.client()

    def stop(self):
        """End all; what failed to end well is reported on standard error."""
        try:
            if self.client:
                self.client.close()
            if self.tailor:
                self.tailor.stop()
        except AssertionError as error:
            print(f"tailor did not end well: {error}", file=sys.stderr)
        finally:
            for process in [self.tailor, *self.servers]:
                if process:
                    process.kill()
            shutil.rmtree(self._directory, ignore_errors=True)

    def read_late(self, target, us):
        """A client that does nothing for so long after the first byte of a
        long response: its buffer fills, then Tailor's, then the server's, and
        each window closes.  The harm lasts from that byte's arrival until it
        has read all."""
        with self.tailor.client(receive_buffer=65536) as client:
            sent_ns = time.monotonic_ns()
            client.request("GET", target, fields=[("Connection", "close")])
            select.select([client.socket], [], [])
            arrived_ns = time.monotonic_ns()
            sleep_us(us)
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF,
                                     8 << 20)
            client.socket.settimeout(None)  # no poll() before each read
            head = client.response_head()
            while client.socket.recv(1 << 20):
                continue
            read_ns = time.monotonic_ns()
        return Injection(head.get("x-request-id"), read_ns - arrived_ns,
                         {"sched_ns": sent_ns, "send_ns": sent_ns,
                          "last_ns": read_ns})

    def tale(self, request, stamps=None):
        """A request's timeline; with stamps as the client saw it."""
        if stamps is None:
            return self.tailor.ask_json(f"/timeline/{request}?format=json")
        body = json.dumps({"id": request, "client": {
            "boot_id": read(BOOT_ID).strip(),
            **{k: str(v) for k, v in stamps.items()}}})
        with self.tailor.client() as client:
            client.request("POST", "/.talechain/analyze", body=body.encode())
            return json.loads(client.response("POST").body)


def sleep_us(us):
    """Sleep; what comes after is late by the client's own lateness."""
    time.sleep(us / 1e6)
