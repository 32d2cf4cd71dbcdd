"""Hazards of a JVM with Tailor's agent: safepoints, classes, and a collection
from which a request is sent elsewhere.
"""

from hazard import Hazard
from hazards_requests import Full
from rig.stage import sleep_us
from rig.verdicts import MS, Injection


class Safepoint(Full):
    # All threads' stacks are asked for by another request.
    kind = "safepoint"
    services = ("jdk-g1",)
    accept = ("safepoint",)
    reported = None
    order = "/work?kind=dump"
    may_miss = "no safepoint is as long as 1 ms here"
    PAUSE_NS = MS


class Classes(Hazard):
    # After a restart, the first request that needs its classes.  Those of
    # the HTTP server are loaded by a request before it: what they take is
    # not known.  The time is the clock's: the compilers take the CPU
    # meanwhile, and new memory faults.
    kind = "class-loading"
    services = ("jdk-g1",)
    accept = ("class_loading",)
    reported = ("class_loading", "runq", "preempted", "page_fault",
                "safepoint")
    crowded = True

    def prepare(self, random):
        self.service.kill()
        self.service.launch()
        self.stage.tailor.wait_server("s0", state="ready",
                                      pid=self.service.pid)
        self.service.pin(*self.service.cpus)
        self.service.before_most()
        self.stage.client.get("/work?kind=compute&ms=1")

    def target(self, random):
        return f"/work?kind=classes&n={random.randint(200, 500)}"


class Resent(Hazard):
    # Acting: the request is sent to the other server when the collection
    # begins.  Which part is then the largest depends on who wins, and on what
    # the collecting JVM leaves of the CPUs; that it was sent again, and why,
    # must be in the words.
    kind = "gc-resent"
    services = ("jdk-serial",)
    accept = None
    naming = "began to collect garbage"
    own_stage = True
    servers = 2
    COMPUTE_MS = 8

    @classmethod
    def sections(cls):
        return {"hedging": {"mode": "act"}}

    def start(self):
        self.past = {server: server.client() for server in self.stage.servers}
        for self.service, past in self.past.items():
            super().start()
            past.get(Full.order)

    def stop(self):
        for client in self.past.values():
            client.close()
        super().stop()

    def choose(self):
        """The server that is active now."""
        self.service = self.stage.servers[int(self.stage.tailor.active()[1:])]

    def calm(self, random):
        self.choose()
        return super().calm(random)

    def inject(self, random):
        self.choose()
        client, past = self.stage.client, self.past[self.service]
        client.request("GET", f"/work?kind=compute&ms={self.COMPUTE_MS}")
        sleep_us(random.randint(0, 1000 * self.COMPUTE_MS // 4))
        past.request("GET", Full.order)
        response = client.response()
        past.response()
        return Injection(self.learn(response))

    def hit(self, tale, harm_ns):
        return len(tale["attempts"]) == 2


HAZARDS = (Safepoint, Classes, Resent)
