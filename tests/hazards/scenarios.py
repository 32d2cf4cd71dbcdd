"""The hazards: how each is injected, and what a true tale says of it.

A scenario owns a rig.  calm() makes one request that nothing is done to;
inject() makes one that something is done to, and returns an Injection: what
was done and for how long, as measured by whoever did it or suffered it, never
by Tailor.  Where two codes are both true, both are accepted, and the reason
stands with the scenario.
"""

import ctypes
import dataclasses
import select
import socket
import struct
import time

from rig import (Account, CServer, Client, Disturber, JavaServer, Rig,
                 may_schedule, sleep_us)

MS = 1_000_000
HIT_NS = MS // 2  # less harm than this has missed its request


@dataclasses.dataclass
class Injection:
    """One request and what was done to it."""
    request: str                  # its x-request-id
    harm_ns: int = None           # how long; None: not measured
    stamps: dict = None           # the client's own, if they matter


@dataclasses.dataclass
class Witness:
    """What others than Tailor say happened to a request, ns."""
    run_delay_ns: int = 0         # server and Tailor, without a CPU
    compiled_ns: int = 0          # the JVM's compilers, on one
    off_cpu_ns: int = 0           # server's thread, for whatever reason
    faults: int = 0
    paused_ns: int = 0            # the JVM in safepoints


class Scenario:
    """One row of the matrix."""
    name = ""
    accept = ()           # codes that name it right; None: whichever is
    told = None           # codes whose time it is; None: those of accept
    naming = ""           # a word that the verdict must contain
    # Two causes are true and can be of one length: of a few injections half
    # may be told as the other one.  The goal of 19 in 20 stands.
    edge = False
    may_miss = ""         # why there may be no harm at all on some machines
    single = False        # the server has one thread
    ordinary = False      # the server is scheduled as any other process
    sections = {}         # of Tailor's configuration
    preload = None        # a library under Tailor

    def __init__(self, build):
        self.rig = Rig(build, self.preload, **self.sections)
        try:
            self.start(build)
            self.warm()
        except BaseException:
            self.rig.stop()
            raise

    def start(self, build):
        self.server = CServer(build, self.single, self.ordinary)
        self.rig.start(self.server)

    def warm(self):
        for _ in range(20):
            self.rig.get("/compute?us=50")

    def stop(self):
        self.rig.stop()

    def calm(self, random):
        """(x-request-id, what happened to Tailor and its server meanwhile)."""
        account = Account(self.rig.tailor.pid, self.server.pid)
        request = self.rig.get(f"/compute?us={random.randint(100, 1500)}")
        return request, account.since()

    def witness(self, tale, account):
        record = self.server.record(tale["request"]["id"])
        return Witness(account.delay_ns, account.compiled_ns,
                       record["off_cpu"], record["faults"],
                       self.paused_ns(record))

    def paused_ns(self, record):
        return 0

    def inject(self, random):
        raise NotImplementedError

    def hit(self, tale, harm_ns):
        """Whether the harm struck the request, by the injector's account."""
        return harm_ns > HIT_NS


class Own(Scenario):
    """Harm that the server does itself, and measures."""

    def target(self, random):
        raise NotImplementedError

    def inject(self, random):
        request = self.rig.get(self.target(random))
        return Injection(request)

    def harm_ns(self, tale):
        begin, end = self.server.record(tale["request"]["id"])["harm"]
        return end - begin


class Work(Own):
    name = "work"
    accept = ("work",)

    def target(self, random):
        return f"/compute?us={random.randint(10_000, 40_000)}"


class DelayedAck(Own):
    # Against a Tailor that does not acknowledge at once, as it else would.
    name = "nagle"
    accept = ("tcp_delayed_ack",)
    preload = "noquickack.so"

    def target(self, random):
        return f"/nagle?us={random.randint(100, 1500)}"


class HugeFault(Own):
    name = "fault-huge"
    accept = ("page_fault",)

    def target(self, random):
        return f"/fault-huge?n={random.randint(8, 48)}"


class SmallFaults(Own):
    name = "fault-small"
    accept = ("page_fault",)

    def target(self, random):
        return f"/fault-small?n={random.randint(1500, 20000)}"


class Lock(Own):
    name = "lock"
    accept = ("lock",)
    naming = "holder"

    def inject(self, random):
        self.rig.get(f"/hold?us={random.randint(8_000, 40_000)}")
        return super().inject(random)

    def target(self, random):
        return "/lock"


class Disturbed(Scenario):
    """Somebody else's doing while a request computes."""
    order = ""
    pid = 0
    COMPUTE_US = 8000

    def start(self, build):
        super().start(build)
        self.disturber = Disturber(build)

    def stop(self):
        self.disturber.kill()
        super().stop()

    def inject(self, random):
        self.disturber.begin(self.order, random.randint(1000, 5000),
                             random.randint(15_000, 50_000), self.pid)
        self.sent_ns = time.monotonic_ns()
        try:
            request = self.rig.get(f"/compute?us={self.COMPUTE_US}")
        finally:
            self.order_begin, self.order_end = self.disturber.end()
        return Injection(request)

    def harm_ns(self, tale):
        """What of it fell into the time the server had the request."""
        record = self.server.record(tale["request"]["id"])
        return (min(self.order_end, record["end"])
                - max(self.order_begin, record["begin"]))


class Hog(Disturbed):
    # Scheduled as the server is, and there first: the server's thread is
    # woken and waits until the hog's turn is over.
    name = "cpu-hog"
    accept = ("runq",)
    naming = "peer"

    def inject(self, random):
        if not may_schedule():
            raise PermissionError("no permission for real-time scheduling")
        self.disturber.begin("peer", 0, random.randint(15_000, 60_000))
        sleep_us(random.randint(1000, 5000))
        self.sent_ns = time.monotonic_ns()
        request = self.rig.get("/compute?us=2000")
        self.disturber.end()
        return Injection(request)

    def harm_ns(self, tale):
        """From the client's sending until the server took it up."""
        record = self.server.record(tale["request"]["id"])
        return record["begin"] - self.sent_ns


class FairHog(Disturbed):
    # Both are ordinary: the server's thread loses the CPU to it (preempted),
    # or finds it taken when it is woken (runq), and so do both to whoever
    # else computes here: on a machine in use it is not the only one.
    # How long: what it took from the client's sending to the end of the
    # computing, but for its CPU time.
    edge = True  # the hog and the computing
    name = "cpu-hog-fair"
    accept = ("preempted", "runq")
    order = "hog"
    ordinary = True

    def harm_ns(self, tale):
        end = self.server.record(tale["request"]["id"])["harm"][1]
        return end - self.sent_ns - self.COMPUTE_US * 1000


class Fifo(Disturbed):
    # Real-time: the thread computes when it comes, and is pushed off.
    name = "fifo"
    accept = ("preempted",)
    naming = "fifo"
    order = "fifo"


class Stopped(Disturbed):
    name = "sigstop"
    accept = ("stopped",)
    order = "stop"

    def start(self, build):
        super().start(build)
        self.pid = self.server.pid


class Queue(Scenario):
    name = "queue"
    accept = ("backend_queue",)
    single = True

    def start(self, build):
        super().start(build)
        self.other = self.rig.tailor.client()

    def stop(self):
        self.other.close()
        super().stop()

    def inject(self, random):
        self.other.request("GET",
                           f"/compute?us={random.randint(10_000, 40_000)}")
        sleep_us(random.randint(500, 3000))
        self.sent_ns = time.monotonic_ns()
        request = self.rig.get("/compute?us=500")
        self.other.response()
        return Injection(request)

    def harm_ns(self, tale):
        """From the client's sending until the server took it up."""
        record = self.server.record(tale["request"]["id"])
        return record["begin"] - self.sent_ns


class ClientLate(Scenario):
    # The answer is there and the client's thread does something else.  Its
    # own stamps say when it read: it asks with them (analyze).
    name = "client-late"
    accept = ("client_late",)

    def inject(self, random):
        client, sock = self.rig.client, self.rig.client._socket
        sent_ns = time.monotonic_ns()
        client.request("GET", "/compute?us=300")
        select.select([sock], [], [])
        arrived_ns = time.monotonic_ns()
        sleep_us(random.randint(5_000, 40_000))
        read_ns = time.monotonic_ns()
        response = client.response()
        return Injection(response.get("x-request-id"), read_ns - arrived_ns,
                         {"sched_ns": sent_ns, "send_ns": sent_ns,
                          "last_ns": time.monotonic_ns()})


class Window(Scenario):
    # A long answer to a client that does not read: its buffer fills, then
    # Tailor's, then the server's, and each window closes.  How long: from the
    # first byte's arrival until it has read all.
    name = "slow-reader"
    accept = ("tcp_window",)
    BYTES = 16 << 20

    def inject(self, random):
        with socket.socket() as sock:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
            sock.connect(self.rig.tailor.address)
            sent_ns = time.monotonic_ns()
            sock.sendall(f"GET /big?bytes={self.BYTES} HTTP/1.1\r\n"
                         "Host: test\r\nConnection: close\r\n\r\n".encode())
            select.select([sock], [], [])
            arrived_ns = time.monotonic_ns()
            sleep_us(random.randint(50_000, 150_000))
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
            head = sock.recv(4096)
            while sock.recv(1 << 20):
                continue
            read_ns = time.monotonic_ns()
        name = b"x-request-id: "
        at = head.lower().index(name) + len(name)
        request = head[at:head.index(b"\r\n", at)].decode()
        return Injection(request, read_ns - arrived_ns,
                         {"sched_ns": sent_ns, "send_ns": sent_ns,
                          "last_ns": read_ns})


class Retransmit(Scenario):
    # A segment with data is dropped by a filter at the receiving socket, as
    # a lossy link would: the request at the server, or the answer at the
    # client, in turn.
    name = "retransmit"
    accept = ("tcp_retransmit",)
    turn = 0

    def inject(self, random):
        self.turn += 1
        if self.turn % 2:
            return self.lose_request()
        return self.lose_answer()

    def lose_request(self):
        self.rig.get("/drop-next")
        self.lost_ns = None
        return Injection(self.rig.get("/"))

    def harm_ns(self, tale):
        if self.lost_ns is not None:
            return self.lost_ns
        begin, end = self.server.record(tale["request"]["id"])["harm"]
        return end - begin

    # SO_MEMINFO's ninth word counts what the socket dropped.
    SO_MEMINFO, DROPS = 55, 8

    def lose_answer(self):
        client, sock = self.rig.client, self.rig.client._socket

        def drops():
            return struct.unpack("9I", sock.getsockopt(
                socket.SOL_SOCKET, self.SO_MEMINFO, 36))[self.DROPS]

        before, sent_ns = drops(), time.monotonic_ns()
        attach_filter(sock)
        client.request("GET", "/compute?us=2000")
        while drops() == before:
            sleep_us(20)
        lost_ns = time.monotonic_ns()
        sock.setsockopt(socket.SOL_SOCKET, 27, 0)  # SO_DETACH_FILTER
        select.select([sock], [], [])
        self.lost_ns = time.monotonic_ns() - lost_ns
        response = client.response()
        return Injection(response.get("x-request-id"), self.lost_ns,
                         {"sched_ns": sent_ns, "send_ns": sent_ns,
                          "last_ns": time.monotonic_ns()})


def attach_filter(sock):
    """Have the kernel drop segments with data, as in injections.c."""
    code = [(0x30, 0, 0, 12), (0x74, 0, 0, 2), (0x54, 0, 0, 0x3c),
            (0x07, 0, 0, 0), (0x80, 0, 0, 0), (0x2d, 0, 1, 0),
            (0x06, 0, 0, 0), (0x06, 0, 0, 0xffffffff)]
    text = b"".join(struct.pack("HBBI", *c) for c in code)
    buffer = ctypes.create_string_buffer(text)
    program = struct.pack("HP", len(code), ctypes.addressof(buffer))
    sock.setsockopt(socket.SOL_SOCKET, 26, program)  # SO_ATTACH_FILTER


class Java(Scenario):
    """A JVM is stopped by an order past Tailor while a request computes."""
    collector = "G1"
    order = ""
    prepare = None

    def start(self, build):
        self.server = JavaServer(build, self.collector, self.rig.channels)
        self.rig.start(self.server)
        self.past = Client(("127.0.0.1", self.server.port))

    def warm(self):
        for _ in range(50):
            self.rig.get("/compute?us=200")
        for order in ("/dump", "/full", "/prime", "/young", "/dump", "/prime",
                      "/young", "/full"):
            self.past.get(order)
        self.server.before_others()

    def stop(self):
        self.past.close()
        super().stop()

    def inject(self, random):
        client = self.rig.client
        if self.prepare:
            self.past.get(self.prepare)
        client.request("GET", "/compute?us=8000")
        sleep_us(random.randint(0, 2000))
        self.past.request("GET", self.order)
        response = client.response()
        self.past.response()
        return Injection(response.get("x-request-id"))

    def harm_ns(self, tale):
        return self.paused_ns(self.server.record(tale["request"]["id"]))

    def paused_ns(self, record):
        return self.server.paused_ns(record["begin"], record["end"])


class Young(Java):
    order = "/young"
    prepare = "/prime"

    def hit(self, tale, harm_ns):
        # A collection shorter than the computing is not what made it slow.
        return harm_ns > 10 * MS
    may_miss = "no collection is as long as 10 ms here"
    accept = ("gc",)
    told = ("gc", "safepoint")


class Full(Young):
    order = "/full"
    prepare = None


class Safepoint(Java):
    name = "safepoint"
    order = "/dump"
    accept = ("safepoint",)


class Classes(Java):
    # After a restart, the first request to a cold server.
    edge = True  # told in windows of 0.1 s; the rest is computing
    name = "class-loading"
    accept = ("class_loading",)

    def inject(self, random):
        self.restart()
        return Injection(self.rig.get(
            f"/classes?n={random.randint(200, 500)}"))

    def restart(self):
        old = self.server
        self.past.close()
        old.kill()
        self.server = JavaServer(self.rig.build, self.collector,
                                 self.rig.channels, old.port)
        self.rig.servers = [self.server]
        self.rig.tailor.wait_server("s0", state="ready", pid=self.server.pid)
        self.server.before_others()
        self.past = Client(("127.0.0.1", self.server.port))

    def harm_ns(self, tale):
        begin, end = self.server.record(tale["request"]["id"])["harm"]
        return end - begin


class Resent(Java):
    # Acting: the request is sent to the other server when the collection
    # begins.  Which part is then the largest depends on who wins, and on what
    # the collecting JVM leaves of the CPUs; that it was sent again, and why,
    # must be in the words.
    name = "gc-resent"
    order = "/full"
    accept = None
    naming = "began a gc"
    sections = {"hedging": {"mode": "act"}}

    def start(self, build):
        self.pair = [JavaServer(build, "Serial", self.rig.channels)
                     for _ in range(2)]
        self.rig.start(*self.pair)
        self.server = self.pair[0]
        self.direct = [Client(("127.0.0.1", s.port)) for s in self.pair]
        self.past = self.direct[0]

    def warm(self):
        for self.server, self.past in zip(self.pair, self.direct):
            super().warm()

    def stop(self):
        for client in self.direct:
            client.close()
        self.past = self.direct[0]
        super().stop()

    def choose(self):
        """Which of the two is active now."""
        state = self.rig.tailor.ask_json("/servers")
        number = int(state["active"][1:])
        self.server, self.past = self.pair[number], self.direct[number]

    def calm(self, random):
        self.choose()
        return super().calm(random)

    def inject(self, random):
        self.choose()
        return super().inject(random)

    def hit(self, tale, harm_ns):
        return len(tale["attempts"]) == 2

    harm_ns = None


def all_scenarios():
    """Name -> class, in the order of the matrix."""
    rows = [Work, DelayedAck, HugeFault, SmallFaults, Hog, FairHog, Fifo, Lock,
            Stopped, Queue, ClientLate, Window, Retransmit]
    for kind in (Young, Full):
        for collector in ("G1", "Parallel", "Serial"):
            rows.append(type(kind.__name__ + collector, (kind,), {
                "collector": collector,
                "name": f"gc-{kind.__name__}-{collector}".lower()}))
    rows += [Safepoint, Classes, Resent]
    return {row.name: row for row in rows}
