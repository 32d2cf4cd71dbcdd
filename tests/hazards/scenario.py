"""What every hazard is: one row of the matrix.
"""

from rig import injector
from rig.stage import Account, Stage
from rig.verdicts import Injection, Witness, stolen
from servers import CServer


class Scenario(injector.Scenario):
    """One row of the matrix, with a stage of its own."""
    # Two causes are true and can be of one length: of a few injections half
    # may be reported as the other one.  The goal of 19 in 20 stands.
    edge = False
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
                       self.paused_ns(record),
                       stolen(tale, account, self.stage.tailor.pid))

    def paused_ns(self, record):
        return 0


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
