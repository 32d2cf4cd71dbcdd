"""What is done to a foreign service, and how long it really was.

The truth is the service's own, from its header Truth: clocks around the thing
itself; or the injector's; or the kernel's (schedstat, throttled time), or the
JVM's log.  A hazard says which services it can be done to.
"""

import contextlib
import time

from rig.injector import HIT_NS, Scenario
from rig.stage import Account
from rig.verdicts import Injection, Witness

JVM = ("tomcat", "jetty")
PYTHON = ("python", "gunicorn")
NODE = ("node", "cluster")
ALL = (*JVM, "nginx", *PYTHON, *NODE, "go")
OWN = tuple(name for name in ALL if name != "nginx")  # they compute themselves
FORKING = ("nginx", "gunicorn", "cluster")


def overlap(one, other):
    """How long two intervals have in common."""
    return max(0, min(one[1], other[1]) - max(one[0], other[0]))


def minor_faults(pids):
    """Of all threads, those that have ended included."""
    count = 0
    for pid in pids:
        with contextlib.suppress(FileNotFoundError):
            with open(f"/proc/{pid}/stat", encoding="utf-8",
                      errors="replace") as file:
                fields = file.read().rpartition(")")[2].split()
            count += int(fields[7]) + int(fields[9])
    return count


class Hazard(Scenario):
    """One hazard of one service; target() is the request that it meets."""
    kind = ""
    services = ALL
    database = False
    warm = None         # what to ask for first, in each worker
    # Its threads share a CPU with each other and the rest of the machine: in a
    # real-time class one that computes would keep the others from it.
    ordinary = False
    cpus = None         # of the service, if not its own choice
    share = 0.6         # of the request that the harm must take to count

    def __init__(self, service, stage, seen):
        """seen: what the service said of each request, by its id."""
        self.service, self.stage, self.seen = service, stage, seen
        self.name = f"{service.name}/{self.kind}"
        self.begin = self.end = self.cpu = self.pid = 0
        self.sent = self.got = 0
        self.others = []

    def start(self):
        """Before the first injection."""
        if self.ordinary:
            self.service.ordinary()
        self.service.pin(*(self.cpus or self.service.cpus))
        for _ in range(8 if self.warm else 0):
            self.stage.client.get(self.warm)

    def finish(self):
        """After the last one."""
        if self.ordinary:
            self.service.before_most()
        for client in self.others:
            client.close()

    def connect(self, count):
        """More clients: past Tailor, or else beside the first."""
        while len(self.others) < count:
            self.others.append(self.stage.tailor.client())

    def ask(self, target, **more):
        """One request; what its service says of it.  Returns its id."""
        self.sent = time.monotonic_ns()
        response = self.stage.client.get(target, **more)
        self.got = time.monotonic_ns()
        return self.learn(response, target)

    def learn(self, response, target=""):
        """Keep what a service says of a request.  Returns its id."""
        if response.status != 200:
            raise AssertionError(f"{target}: {response.start}")
        truth = response.get("truth")
        if truth:
            self.begin, self.end, self.cpu, self.pid = map(int, truth.split())
        else:
            self.begin, self.end = self.sent, self.got
        if response.get("pid"):
            self.pid = int(response.get("pid"))
        request = response.get("x-request-id")
        self.seen[request] = (self.pid, self.begin, self.end)
        return request

    def prepare(self, random):
        """What is done before the request, unseen by it."""

    def target(self, random):
        raise NotImplementedError

    def wall(self):
        return self.end - self.begin

    measured = wall

    def inject(self, random):
        self.prepare(random)
        request = self.ask(self.target(random))
        return Injection(request, self.measured())

    def hit(self, tale, harm_ns):
        """Whether it is what made the request slow: on a machine in use there
        is more that does."""
        total_ns = self.got - self.sent
        return (harm_ns > max(HIT_NS, self.share * total_ns)
                and self.paused_ns() < total_ns / 5)

    def paused_ns(self):
        """Of the request, how long its JVM was stopped, uninjected."""
        if self.service.name not in JVM:
            return 0
        return self.service.paused_ns(self.sent, self.got)

    # --- undisturbed requests ---------------------------------------------

    def calm(self, random):
        pids = self.service.processes()
        account = Account(self.stage.tailor.pid, *pids)
        faults = minor_faults(pids)
        request = self.ask("/work?kind=none")
        account.since()
        return request, (account, minor_faults(pids) - faults,
                         self.sent, self.got)

    def witness(self, tale, account):
        kernel, faults, sent, got = account
        paused = 0
        if self.service.name in JVM:
            paused = self.service.paused_ns(sent, got)
        return Witness(kernel.delay_ns, kernel.compiled_ns, 0, faults, paused)


class Busy(Hazard):
    """A request that computes: nginx by compressing a file."""

    def target(self, random):
        if self.service.name == "nginx":
            return "/text"
        return f"/work?kind=compute&ms={random.randint(8, 12)}"

    def ask(self, target, **more):
        """Its CPU time is the kernel's account, where nothing else runs in
        the service."""
        if self.service.name == "nginx":
            more["fields"] = [("Accept-Encoding", "gzip")]
        account = Account(*self.service.serving())
        request = super().ask(target, **more)
        account.since()
        if self.service.name not in JVM:
            self.cpu = account.ran_ns
        return request
