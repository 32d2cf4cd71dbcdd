"""What is done to a service, and how long it really was.

The truth is the service's own, from its header Truth: clocks around the thing
itself; or the injector's; or the kernel's (schedstat, throttled time), or the
JVM's log.  A hazard says which services it can be done to.
"""

import collections
import contextlib
import os
import time

from rig.injector import HIT_NS
from rig.safepoints import Safepoints
from rig.stage import Account, sleep_us
from rig.verdicts import (EXACT_NS, EXACT_SHARE, Injection, Witness, by_thread,
                          stolen)

JVM = ("tomcat", "jetty")
PYTHON = ("python", "gunicorn")
NODE = ("node", "cluster")
ALL = (*JVM, "nginx", "apache", *PYTHON, "puma", *NODE, "go")
OWN = tuple(name for name in ALL if name != "nginx")  # they compute themselves
C = ("c",)          # ours, in C
JDK = ("jdk-serial", "jdk-g1", "jdk-parallel")  # its HTTP server, our agent
POOL = ("waitress",)  # only what their queue of requests is for
FORKING = ("nginx", "gunicorn", "cluster")
PASSING = ("nginx", "fpm")  # to another process


# What a service says of a request: when, ns; its CPU time; who had it.
Truth = collections.namedtuple("Truth", "begin end cpu pid tid")


def truth_of(response):
    """The Truth of a response, or None."""
    text = response.get("truth")
    return Truth(*map(int, text.split())) if text else None


def overlap(one, other):
    """How long two intervals have in common."""
    return max(0, min(one[1], other[1]) - max(one[0], other[0]))


def within(reported_ns, true_ns):
    """Whether no more is reported than there was."""
    return reported_ns <= true_ns + max(EXACT_NS, EXACT_SHARE * true_ns)


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


class Hazard:
    """One hazard of one service.

    calm() makes one request that nothing is done to; inject() makes one that
    something is done to, and returns an Injection: target() is the request.
    Where two codes are both true, both are accepted, and the reason stands with
    the hazard.
    """
    kind = ""
    services = ALL
    accept = ()         # codes that name it right; None: whichever is
    reported = None     # codes whose time it is; None: those of accept
    naming = ""         # a word that the verdict must contain
    plain = ()          # codes that are true and say less
    may_miss = ""       # why there may be no harm at all on some machines
    # Two causes are true and can be of one length: of a few injections half
    # may be reported as the other one.  The goal of 19 in 20 stands.
    edge = False
    own_stage = False   # it needs a Tailor of its own: the next three
    preload = None      # a library under that
    servers = 1         # before that
    database = False
    warm = None         # what to ask for first, in each worker
    # Its threads share a CPU with each other and the rest of the machine: in a
    # real-time class one that computes would keep the others from it.
    ordinary = False
    cpus = None         # of the service, if not its own choice
    share = 0.6         # of the request that the harm must take to count
    crowded = False     # to wait for a CPU is the harm, or part of it
    accounted = True    # the kernel's account is taken of each request

    def __init__(self, service, stage):
        self.service, self.stage = service, stage
        self.name = f"{service.name}/{self.kind}"
        self.begin = self.end = self.cpu = self.pid = self.tid = 0
        self.sent = self.got = 0
        self.account = None   # the kernel's, of Tailor and the service
        self.early = None     # its begin, where there is no time for it later
        self.others = []

    @classmethod
    def sections(cls):
        """Of its own Tailor's configuration."""
        return {}

    def start(self):
        """Before the first injection."""
        if self.ordinary:
            self.service.ordinary()
        self.service.pin(*(self.cpus or self.service.cpus))
        for _ in range(8 if self.warm else 0):
            self.stage.client.get(self.warm)

    def stop(self):
        """After the last one."""
        if self.ordinary:
            self.service.before_most()
        self.close_others()

    def close_others(self):
        while self.others:
            self.others.pop().close()

    def connect(self, count):
        """More clients: past Tailor, or else beside the first."""
        while len(self.others) < count:
            self.others.append(self.stage.tailor.client())

    def ask(self, target, **more):
        """One request; what its service says of it.  Returns its id."""
        account, self.early = self.early, None
        if account is None and self.accounted:
            account = self.accounts()
        self.sent = time.monotonic_ns()
        response = self.stage.client.get(target, **more)
        self.got = time.monotonic_ns()
        self.account = account and account.since()
        return self.learn(response, target)

    def accounts(self):
        """The kernel's account of Tailor, the service and the client, which
        is this process, from now on."""
        return Account(self.stage.tailor.pid, *self.service.processes(),
                       os.getpid())

    def learn(self, response, target=""):
        """Keep what a service says of a request.  Returns its id."""
        if response.status != 200:
            raise AssertionError(f"{target}: {response.start}")
        self.begin, self.end, self.cpu, self.pid, self.tid = (
            truth_of(response) or (self.sent, self.got, 0, 0, 0))
        if response.get("pid"):  # nginx
            self.pid = self.tid = int(response.get("pid"))
        return response.get("x-request-id")

    def prepare(self, random):
        """What is done before the request, unseen by it."""

    def target(self, random):
        raise NotImplementedError

    def wall(self):
        return self.end - self.begin

    measured = wall

    def waited(self):
        """Of wall(), the time in which its thread did not compute.  A request
        that sleeps has no thread of its own in Go."""
        return self.wall() - (self.cpu if self.service.name != "go" else 0)

    def window(self):
        """The times that measured() is of."""
        return self.begin, self.end

    def beside(self):
        """What else was measured, as in Injection."""
        return {"work": self.cpu}

    def inject(self, random):
        self.prepare(random)
        request = self.ask(self.target(random))
        return Injection(request, self.measured(), window=self.window(),
                         beside=self.beside())

    def hit(self, tale, harm_ns):
        """Whether it is what made the request slow: on a machine in use there
        is more that does."""
        total_ns = self.got - self.sent
        return (harm_ns > max(HIT_NS, self.share * total_ns)
                and self.paused_ns() < total_ns / 5
                and (self.crowded or self.ordinary
                     or self.delayed_ns() < total_ns / 5))

    def delayed_ns(self):
        """How long Tailor's thread or the request's had no CPU, by the kernel's
        account of each."""
        delay = self.account.delay if self.account else {}
        return max(delay.get(self.tid, 0),
                   delay.get(self.stage.tailor.pid, 0))

    def paused_ns(self):
        """Of the request, how long its JVM was stopped, uninjected."""
        if not isinstance(self.service, Safepoints):
            return 0
        return self.service.paused_ns(self.sent, self.got)

    def is_named(self, verdict):
        """Whether a verdict has the word."""
        return self.naming in " ".join([verdict["text"],
                                        *verdict.get("evidence", ())])

    def is_witnessed(self, tale):
        """On a machine in use another thread than the request's own may have
        waited for a CPU, for which hit() has no rule.  Where that is the harm
        itself, the verdict must name who had the CPU."""
        return (tale["verdict"]["code"] not in self.accept
                and self.cpu_missed(tale))

    def cpu_missed(self, tale):
        """Whether the verdict names waits for a CPU, or what the host took of
        one, and the kernel's account of each thread has no less."""
        code, account = tale["verdict"]["code"], self.account
        if account is not None and code == "steal":
            return within(tale["causes"][code],
                          stolen(tale, account, self.stage.tailor.pid))
        if account is None or code not in ("runq", "preempted",
                                           "class_loading"):
            return False
        if code == "class_loading" and not within(tale["causes"][code],
                                                  account.compiled_ns):
            return False
        return all(within(ns, account.delay.get(tid, 0))
                   for tid, ns in by_thread(
                       tale, code, self.stage.tailor.pid).items())

    # --- undisturbed requests ---------------------------------------------

    def calm(self, random):
        pids = self.service.processes()
        self.early = Account(self.stage.tailor.pid, *pids)
        faults = minor_faults(pids)
        request = self.ask(self.service.calm(random))
        return request, (self.account, minor_faults(pids) - faults,
                         self.sent, self.got)

    def witness(self, tale, account):
        kernel, faults, sent, got = account
        paused = 0
        if isinstance(self.service, Safepoints):
            if {"gc", "safepoint"} & tale["causes"].keys():
                sleep_us(50_000)  # the JVM logs it at its end
            paused = self.service.paused_ns(sent, got)
        return Witness(kernel.delay_ns, kernel.compiled_ns, faults, paused,
                       stolen(tale, kernel, self.stage.tailor.pid))


class Busy(Hazard):
    """A request that computes: nginx by compressing a file, for which its CPU
    time is the kernel's account of the whole request."""

    def target(self, random):
        if self.service.name == "nginx":
            return "/text"
        return f"/work?kind=compute&ms={random.randint(8, 12)}"

    def ask(self, target, **more):
        if self.service.name != "nginx":
            return super().ask(target, **more)
        request = super().ask(target, fields=[("Accept-Encoding", "gzip")],
                              **more)
        self.cpu = self.account.ran.get(self.tid, 0)
        return request
