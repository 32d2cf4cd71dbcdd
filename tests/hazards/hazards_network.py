"""Hazards of connections: what TCP does with bytes, and its two ends.
"""

import contextlib
import ctypes
import os
import select
import shutil
import socket
import struct
import subprocess
import time

from hazard import C, Hazard, truth_of
from rig.client import Client
from rig.lossy import dropping
from rig.ports import free_port
from rig.stage import sleep_us
from rig.verdicts import MS, Injection
from rig.wait import wait_until


class DelayedAck(Hazard):
    # Against a Tailor that does not acknowledge at once, as it else would.
    kind = "nagle"
    services = C
    accept = ("tcp_delayed_ack",)
    own_stage = True
    preload = "noquickack.so"

    def target(self, random):
        return f"/work?kind=nagle&us={random.randint(100, 1500)}"

    def measured(self):
        """Its own time is over before the kernel has sent the response."""
        truth = truth_of(self.stage.client.get("/work?kind=last"))
        return truth.end - truth.begin

    def window(self):
        return None


class Received(Hazard):
    """A request whose client reports when it read the response."""
    services = C

    def injection(self, response, harm_ns):
        """Of a response that has just been read."""
        self.got = time.monotonic_ns()
        return Injection(self.learn(response), harm_ns,
                         {"sched_ns": self.sent, "send_ns": self.sent,
                          "last_ns": self.got})


class ClientLate(Received):
    # The response is there and the client's thread does something else.  Its
    # own stamps say when it read: it asks with them (analyze).
    kind = "client-late"
    accept = ("client_late",)

    def inject(self, random):
        client = self.stage.client
        self.sent = time.monotonic_ns()
        client.request("GET", "/work?kind=compute&us=300")
        select.select([client.socket], [], [])
        arrived_ns = time.monotonic_ns()
        sleep_us(random.randint(5_000, 40_000))
        late_ns = time.monotonic_ns() - arrived_ns
        return self.injection(client.response(), late_ns)


class Unaccepted(Hazard):
    # A new Tailor, whose server is not there yet: who connects waits in the
    # kernel's queue.  How long: from sending until the server has it.
    kind = "accept"
    services = C
    accept = ("accept_queue",)

    def inject(self, random):
        self.stage.client.close()
        self.stage.tailor.stop()
        self.service.kill()
        self.stage.restart()
        self.stage.connect()
        self.sent = time.monotonic_ns()
        self.stage.client.request("GET", "/work?kind=compute&us=500")
        sleep_us(random.randint(20_000, 200_000))
        self.service.launch()
        response = self.stage.client.response()
        self.got = time.monotonic_ns()
        self.service.pin(*self.service.cpus)
        self.service.before_most()
        return Injection(self.learn(response), self.begin - self.sent)


class Retransmit(Received):
    # A segment with data is dropped by a filter at the receiving socket, as
    # a lossy link would: the request at the server, or the response at the
    # client, in turn.
    kind = "retransmit"
    accept = ("tcp_retransmit",)
    accounted = False
    turn = 0

    def inject(self, random):
        self.turn += 1
        if self.turn % 2 == 0:
            return self.lose_response()
        self.stage.client.get("/work?kind=drop")
        return Injection(self.ask("/work?kind=none"), self.wall())

    def lose_response(self):
        client, sock = self.stage.client, self.stage.client.socket
        self.sent = time.monotonic_ns()
        with dropping(sock) as dropped:
            client.request("GET", "/work?kind=compute&us=2000")
            while not dropped():
                sleep_us(20)
            lost_ns = time.monotonic_ns()
        select.select([sock], [], [])
        lost_ns = time.monotonic_ns() - lost_ns
        return self.injection(client.response(), lost_ns)


class Namespace:
    """Another host: a network namespace behind a pair of interfaces."""
    HERE, THERE = "198.51.100.1", "198.51.100.2"

    def __init__(self):
        self.name = f"hazards{os.getpid()}"
        link, peer = f"hz{os.getpid()}", f"hp{os.getpid()}"
        for tool in ("ip", "nft"):
            if shutil.which(tool) is None:
                raise PermissionError(f"{tool} is not installed")
        self.run("ip", "netns", "add", self.name)
        try:
            for words in (f"link add {link} type veth peer {peer} "
                          f"netns {self.name}",
                          f"addr add {self.HERE}/30 dev {link}",
                          f"link set {link} up",
                          f"-n {self.name} addr add {self.THERE}/30 dev {peer}",
                          f"-n {self.name} link set {peer} up"):
                self.run("ip", *words.split())
        except PermissionError:
            self.end()
            raise

    @staticmethod
    def run(*argv):
        done = subprocess.run(argv, capture_output=True, text=True,
                              check=False)
        if done.returncode != 0:
            raise PermissionError(f"{' '.join(argv[:3])}: {done.stderr[:80]}")

    @contextlib.contextmanager
    def inside(self):
        """This thread's new sockets are the other host's."""
        libc = ctypes.CDLL(None, use_errno=True)
        with (open("/proc/thread-self/ns/net", "rb") as here,
              open(f"/run/netns/{self.name}", "rb") as there):
            assert libc.setns(there.fileno(), 0) == 0
            try:
                yield
            finally:
                assert libc.setns(here.fileno(), 0) == 0

    def lose_one(self):
        """Drop the next segment with data that comes in there."""
        chain = ("type filter hook input priority 0; ip protocol tcp "
                 "meta length > 100 limit rate 1/day burst 1 packets drop;")
        self.run("ip", "netns", "exec", self.name, "nft",
                 "table ip lossy; delete table ip lossy; "
                 f"table ip lossy {{ chain input {{ {chain} }}; }}")

    def end(self):
        subprocess.run(["ip", "netns", "del", self.name], check=False)


class Loss(Received):
    # The first segment of the response is lost on its way into another network
    # namespace, as a container has one.  How long: from the server's response
    # until it came.  The client asks with its stamps: it alone knows.
    kind = "loss"
    accept = ("tcp_retransmit",)
    own_stage = True

    @classmethod
    def sections(cls):
        cls.listen = (Namespace.HERE, free_port())
        cls.host = Namespace()
        return {"listen": [f"127.0.0.1:{free_port()}",
                           f"{Namespace.HERE}:{cls.listen[1]}"],
                "proxy": {"trusted_proxies": ["127.0.0.1/32", "198.51.100.0/30"]}}

    first = "/work?kind=compute&us=50"

    def start(self):
        super().start()
        with self.host.inside():
            self.far = Client(self.listen)
        self.far.get(self.first)

    def stop(self):
        super().stop()
        self.far.close()
        self.host.end()

    def inject(self, random):
        self.host.lose_one()
        self.sent = time.monotonic_ns()
        response = self.far.get(
            f"/work?kind=compute&us={random.randint(500, 2000)}")
        injection = self.injection(response, None)
        injection.harm_ns = self.got - self.end
        return injection


class ClientLoss(Loss):
    # The same, and nothing is known of the client but when its kernel had
    # acknowledged the response, which Tailor looks for now and then.
    kind = "client-loss"
    services = ("python", "nginx", "tomcat")
    accept = ("client_network",)
    first = "/work?kind=none"

    def is_late(self, request):
        """Whether Tailor has examined it a second time, as a late one."""
        slow = self.stage.tailor.ask_json("/slow?n=100")["slow"]
        return any(one["id"] == request and one["total_ns"] > 100 * MS
                   for one in slow)

    def inject(self, random):
        self.host.lose_one()
        self.sent = time.monotonic_ns()
        response = self.far.get(self.first)
        self.got = time.monotonic_ns()
        request = self.learn(response)
        wait_until(lambda: self.is_late(request), "it is known to be late")
        return Injection(request, self.got - self.end)


HAZARDS = (DelayedAck, Unaccepted, ClientLate, Retransmit, Loss, ClientLoss)
