"""Hazards of a JVM: collections, safepoints, classes.
"""

import time

from rig.client import Client
from rig.stage import sleep_us
from rig.verdicts import MS, Injection
from scenario import Scenario
from servers import JavaServer


class Java(Scenario):
    """A JVM is stopped by an order past Tailor while a request computes."""
    collector = "G1"
    COMPUTE_US = 8000
    order = ""
    prepare = None

    def start(self, build):
        self.server = JavaServer(build, self.collector, self.stage.channels)
        self.stage.start(self.server)
        self.past = Client(("127.0.0.1", self.server.port))

    def warm(self):
        for _ in range(50):
            self.stage.get("/compute?us=200")
        for order in ("/dump", "/full", "/prime", "/young", "/dump", "/prime",
                      "/young", "/full"):
            self.past.get(order)
        self.server.before_others()

    def stop(self):
        self.past.close()
        super().stop()

    def inject(self, random):
        client = self.stage.client
        if self.prepare:
            self.past.get(self.prepare)
        self.sent_ns = time.monotonic_ns()
        client.request("GET", f"/compute?us={self.COMPUTE_US}")
        sleep_us(random.randint(0, self.COMPUTE_US // 4))
        self.past.request("GET", self.order)
        response = client.response()
        self.got_ns = time.monotonic_ns()
        self.past.response()
        return Injection(response.get("x-request-id"))

    def harm_ns(self, tale):
        record = self.server.record(tale["request"]["id"])
        # From the client's sending: the handler may begin in the pause.  One
        # after the response had come did no harm.
        return self.paused_ns({"begin": self.sent_ns,
                               "end": min(record["end"], self.got_ns)})

    def paused_ns(self, record):
        return self.server.paused_ns(record["begin"], record["end"])


class Young(Java):
    order = "/young"
    prepare = "/prime"

    def hit(self, tale, harm_ns):
        # Computing is longer after a collection, whose memory is cold: only
        # one of twice its length is surely what made the request slow.
        return harm_ns > 6 * MS
    COMPUTE_US = 3000
    may_miss = "no collection is as long as 6 ms here"
    accept = ("gc",)
    reported = ("gc", "safepoint")


class Full(Young):
    order = "/full"
    prepare = None


class Safepoint(Java):
    name = "safepoint"
    order = "/dump"
    accept = ("safepoint",)


class Classes(Java):
    # After a restart, the first request that needs its classes.  Those of
    # the HTTP server are loaded by a request before it: what they take is
    # not known.  The time is the clock's: the compilers take the CPU
    # meanwhile, and new memory faults.
    reported = ("class_loading", "runq", "preempted", "page_fault",
                "safepoint")
    name = "class-loading"
    accept = ("class_loading",)

    def inject(self, random):
        self.restart()
        self.stage.get("/compute?us=50")
        return Injection(self.stage.get(
            f"/classes?n={random.randint(200, 500)}"))

    def restart(self):
        old = self.server
        self.past.close()
        old.kill()
        self.server = JavaServer(self.stage.build, self.collector,
                                 self.stage.channels, old.port)
        self.stage.servers = [self.server]
        self.stage.tailor.wait_server("s0", state="ready", pid=self.server.pid)
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
        self.pair = [JavaServer(build, "Serial", self.stage.channels)
                     for _ in range(2)]
        self.stage.start(*self.pair)
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
        number = int(self.stage.tailor.active()[1:])
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


def of_each_collector(kind):
    """A class of that kind for each collector."""
    return [type(kind.__name__ + collector, (kind,), {
        "collector": collector,
        "name": f"gc-{kind.__name__}-{collector}".lower()})
        for collector in ("G1", "Parallel", "Serial")]


HAZARDS = (*of_each_collector(Young), *of_each_collector(Full), Safepoint,
           Classes, Resent)
