"""What the hazard suite runs on: real servers, a real tailor, a disturber.

CPU 0 carries the tailor, this program and the client; CPU 1 the C server and
what disturbs it.  A JVM may use both, for its collector has threads of its
own.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))

from support.client import Client  # noqa: E402
from support.process import Process, Tailor, free_port  # noqa: E402
from support.wait import PATIENCE_S, Late, wait_until  # noqa: E402

PROXY_CPU, SERVER_CPU = 0, 1
BOOT_ID = "/proc/sys/kernel/random/boot_id"
SERVER_PRIORITY = "10"
NICER = ["nice", "-n", "-18", "chrt", "-o", "0"]  # ordinary, yet before most

CONFIG = {
    "warmup": {"requests": 0},
    "hedging": {"mode": "watch"},
    "profiler": {"poll": "sleep", "cpu": "none", "blind": "5ms"},
    "proxy": {"cpu": "none", "stop_timeout": "2s", "trust": ["127.0.0.1/32"]},
    "talechain": {"allow": ["127.0.0.1/32"]},
    "slow": {"target": "2ms", "store": ""},
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


def merged(base, over):
    """A deep merge of two JSON objects; over wins."""
    result = dict(base)
    for key, value in over.items():
        if isinstance(value, dict) and isinstance(result.get(key), dict):
            value = merged(result[key], value)
        result[key] = value
    return result


class Server(Process):
    """A server that reports each request on its standard output."""

    def __init__(self, argv, port):
        self.port = port
        self.address = f"127.0.0.1:{port}"
        self._records = {}
        self._told = threading.Condition()
        super().__init__(argv, stdout=subprocess.PIPE)
        threading.Thread(target=self._read, daemon=True).start()
        self.wait_log("server: listening")

    def _read(self):
        for line in self._child.stdout:
            record = json.loads(line)
            with self._told:
                self._records[record["request"]] = record
                self._told.notify_all()

    def record(self, request):
        """What it says about a request, by Tailor's id of it."""
        with self._told:
            if not self._told.wait_for(lambda: request in self._records,
                                       PATIENCE_S):
                raise Late(f"no record of request {request}")
            return self._records[request]


class CServer(Server):
    """server.c; single=True: one thread serves all."""

    def __init__(self, build, single=False, ordinary=False, port=None):
        port = port or free_port()
        first = (NICER if ordinary
                 else ["chrt", "-r", SERVER_PRIORITY]) * may_schedule()
        super().__init__(
            first + [os.path.join(build, "hazards", "server"), port, SERVER_CPU]
            + ["single"] * single, port)


SAFEPOINT = re.compile(
    r'\[(\d+)ns\] Safepoint "(\w+)", .* Total: +(\d+) ns')


class JavaServer(Server):
    """HazardServer.java; safepoints() is the JVM's own log of them."""

    def __init__(self, build, collector, channels, port=None):
        port = port or free_port()
        agent = os.path.join(build, "libtailor-jvm.so")
        super().__init__(
            NICER * may_schedule()
            + ["taskset", "-c", f"{PROXY_CPU},{SERVER_CPU}",
             shutil.which("java"), "-Xms640m", "-Xmx640m", "-Xmn96m",
             f"-XX:+Use{collector}GC", "-Dsun.net.httpserver.nodelay=true",
             "-Xlog:safepoint=info:stderr:timenanos",
             f"-agentpath:{agent}=socket={channels}",
             "-cp", os.path.join(build, "hazards", "classes"),
             "HazardServer", str(port)], port)

    def before_others(self):
        """From now on; not while it starts, when it takes all there is and
        the kernel would throttle everybody who is before others."""
        if may_schedule():
            subprocess.run(["chrt", "-a", "-r", "-p", SERVER_PRIORITY,
                            str(self.pid)], check=True)

    def safepoints(self):
        """[(begin, end, operation)], instants of CLOCK_MONOTONIC."""
        found = []
        for line in self.lines:
            match = SAFEPOINT.match(line)
            if match:
                end = int(match[1])
                found.append((end - int(match[3]), end, match[2]))
        return found

    def paused_ns(self, begin, end):
        """Time in safepoints within an interval."""
        return sum(max(0, min(end, e) - max(begin, b))
                   for b, e, _ in self.safepoints())


class Disturber:
    """disturb.c: begin() an order, end() it and learn when it was."""

    def __init__(self, build, nice=-20):
        self._child = subprocess.Popen(
            [os.path.join(build, "hazards", "disturb"), str(SERVER_CPU),
             str(nice)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True)

    def begin(self, what, after_us, us, pid=0):
        """Order: after that time, for that time."""
        self._child.stdin.write(f"{what} {after_us} {us} {pid}\n")
        self._child.stdin.flush()

    def end(self):
        """Wait until it is done: (begin, end); or PermissionError."""
        answer = self._child.stdout.readline()
        if not answer or answer.startswith("error"):
            raise PermissionError(answer.strip())
        begin, end = answer.split()
        return int(begin), int(end)

    def kill(self):
        self._child.stdin.close()
        self._child.wait(PATIENCE_S)


class Account:
    """The kernel's own account of the threads of processes, ns.

    delay_ns: runnable without a CPU; compiled_ns: the JVM's compilers' time
    on one.
    """

    def __init__(self, *pids):
        self._pids = pids
        self.delay_ns = self.compiled_ns = 0
        self._add(-1)

    def _add(self, sign):
        for pid in self._pids:
            for tid in os.listdir(f"/proc/{pid}/task"):
                base = f"/proc/{pid}/task/{tid}"
                try:
                    ran_ns, delay_ns, _ = read(f"{base}/schedstat").split()
                    name = read(f"{base}/comm")
                except (FileNotFoundError, ProcessLookupError):
                    continue  # it ended just now
                self.delay_ns += sign * int(delay_ns)
                if name.startswith(("C1 Compiler", "C2 Compiler")):
                    self.compiled_ns += sign * int(ran_ns)

    def since(self):
        """What came on top since this object was made."""
        self._add(1)
        return self


def read(path):
    """A file's text."""
    with open(path, encoding="ascii") as file:
        return file.read()


class Rig:
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
        name = os.path.basename(self._directory)
        self._config = merged(merged(CONFIG, {
            "listen": [f"127.0.0.1:{free_port()}"],
            "admin": f"unix:{self._directory}/admin.sock",
            "servers": [{"name": f"s{i}", "address": s.address}
                        for i, s in enumerate(servers)],
            "profiler": {"channel_socket": self.channels,
                         "stream": f"/dev/shm/{name}"},
        }), self._sections)
        self.restart()
        self.tailor.wait_ready()
        for i, server in enumerate(servers):
            self.tailor.wait_server(f"s{i}", state="ready", pid=server.pid)
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
        """Without the kernel's events nothing here can be told."""
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
        """End all; what failed to end well is said on standard error."""
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

    def get(self, target):
        """A GET over the client's connection; its x-request-id."""
        response = self.client.get(target)
        if response.status != 200:
            raise AssertionError(f"{target}: {response.start}")
        return response.get("x-request-id")

    def tale(self, request, stamps=None):
        """A request's timeline; with stamps as the client saw it."""
        if stamps is None:
            return self.tailor.ask_json(f"/timeline/{request}?format=json")
        body = json.dumps({"id": request, "client": {
            "boot_id": read(BOOT_ID).strip(), **{k: str(v) for k, v in stamps.items()}}})
        with self.tailor.client() as client:
            client.request("POST", "/.talechain/analyze", body=body.encode())
            return json.loads(client.response("POST").body)


def sleep_us(us):
    """Sleep; what comes after is late by the client's own lateness."""
    time.sleep(us / 1e6)


__all__ = ["Account", "CServer", "Client", "Disturber", "JavaServer", "Late",
           "Rig", "free_port", "may_schedule", "sleep_us", "wait_until"]
