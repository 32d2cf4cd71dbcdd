"""What every hazard is: one row of the matrix.

A scenario owns a stage.  calm() makes one request that nothing is done to;
inject() makes one that something is done to, and returns an Injection: what
was done and for how long, as measured by the injector or the victim, never
by Tailor.  Where two codes are both true, both are accepted, and the reason
stands with the scenario.
"""

import dataclasses

from stage import Account, CServer, Stage

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
    reported = None       # codes whose time it is; None: those of accept
    naming = ""           # a word that the verdict must contain
    # Two causes are true and can be of one length: of a few injections half
    # may be reported as the other one.  The goal of 19 in 20 stands.
    edge = False
    may_miss = ""         # why there may be no harm at all on some machines
    single = False        # the server has one thread
    ordinary = False      # the server is scheduled as any other process
    sections = {}         # of Tailor's configuration
    preload = None        # a library under Tailor

    def __init__(self, build):
        self.stage = Stage(build, self.preload, **self.sections)
        try:
            self.start(build)
            self.warm()
        except BaseException:
            self.stage.stop()
            raise

    def start(self, build):
        self.server = CServer(build, self.single, self.ordinary)
        self.stage.start(self.server)

    def warm(self):
        for _ in range(20):
            self.stage.get("/compute?us=50")

    def stop(self):
        self.stage.stop()

    def calm(self, random):
        """(x-request-id, what happened to Tailor and its server meanwhile)."""
        account = Account(self.stage.tailor.pid, self.server.pid)
        request = self.stage.get(f"/compute?us={random.randint(100, 1500)}")
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
        request = self.stage.get(self.target(random))
        return Injection(request)

    def harm_ns(self, tale):
        begin, end = self.server.record(tale["request"]["id"])["harm"]
        return end - begin
