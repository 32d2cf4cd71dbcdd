"""Hazards of a JVM: collections, safepoints, classes.
"""

from rig import Client, JavaServer, sleep_us
from scenario import MS, Injection, Scenario


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
