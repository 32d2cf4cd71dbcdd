"""What other processes and the kernel do to a service.
"""

import contextlib
import os
import pathlib
import re
import threading
import time

from hazard import ALL, C, FORKING, OWN, Busy, overlap
from rig.process import Process
from rig.stage import SERVER_CPU, Disturber, may_schedule, read, sleep_us
from rig.verdicts import MS, NEAR_TIE, Injection


class Disturbed(Busy):
    """A process acts while the request is served."""
    order = ""
    cpus = (SERVER_CPU,)  # where the disturber is

    def start(self):
        super().start()
        self.disturber = Disturber(self.service.world.build)

    def stop(self):
        self.disturber.stop()
        super().stop()

    def victim(self):
        """The process to be stopped."""
        return 0

    def inject(self, random):
        self.early = self.accounts()
        self.disturber.begin(self.order, random.randint(1000, 5000),
                             random.randint(15_000, 50_000), self.victim())
        try:
            request = self.ask(self.target(random))
        finally:
            self.acted = self.disturber.end()
        return Injection(request, self.measured(), window=self.window())

    def measured(self):
        """While it acted, but for what the request computed all the same: a
        signal stops a process when one of its threads has run."""
        return min(overlap(self.acted, (self.begin, self.end)),
                   self.wall() - self.cpu)


class Fifo(Disturbed):
    kind = "rt-hog"
    services = (*ALL, *C)
    accept = ("preempted",)
    crowded = True
    naming = "fifo"
    order = "fifo"


class Hog(Disturbed):
    # Scheduled as the service is, and there first: the service's thread is
    # woken and waits until the hog's turn is over.
    kind = "cpu-hog"
    services = (*OWN, *C)
    accept = ("runq",)
    crowded = True
    naming = "peer"

    def inject(self, random):
        if not may_schedule():
            raise PermissionError("no permission for real-time scheduling")
        self.early = self.accounts()
        self.disturber.begin("peer", 0, random.randint(15_000, 60_000))
        sleep_us(random.randint(1000, 5000))
        request = self.ask("/work?kind=compute&ms=2")
        self.disturber.end()
        return Injection(request, self.begin - self.sent)


class FairHog(Disturbed):
    # Both are ordinary: the service's thread loses the CPU to it (preempted),
    # or finds it taken when it is woken (runq), and so do both to any
    # other process that computes: on a machine in use there are some.
    # How long: what it took from the client's sending to the end of the
    # computing, but for its CPU time.
    kind = "cpu-hog-fair"
    services = C
    edge = True  # the hog and the computing
    accept = ("preempted", "runq")
    order = "hog"
    ordinary = True

    def measured(self):
        return self.end - self.sent - self.cpu

    def window(self):
        return None

    def hit(self, tale, harm_ns):
        # With less than the computing it is not what made it slow.
        return harm_ns > self.cpu + MS


class Turns(Busy):
    # Several hogs, each with a weight of its own, take turns on its CPU.  What
    # the verdict names first must be the one that ran longest by the kernel's
    # account of each, or about as long; on a machine in use it may be another
    # process that took more of the CPU than any of them.
    kind = "cpu-hogs"
    services = ("python", "tomcat", "go")
    accept = ("preempted", "runq")
    crowded = True
    ordinary = True
    cpus = (SERVER_CPU,)
    NICE = {"hog1": -15, "hog2": -20, "hog3": -18}  # as the service's is

    def start(self):
        super().start()
        self.hogs = {}
        for name, nice in self.NICE.items():
            path = pathlib.Path(self.service.world.folder, name)
            if not path.exists():
                path.symlink_to("/bin/sh")
            hog = self.hogs[name] = Process(
                [path, "-c", "while :; do :; done"], group=True)
            hog.pause()
            os.sched_setscheduler(hog.pid, os.SCHED_OTHER, os.sched_param(0))
            os.setpriority(os.PRIO_PROCESS, hog.pid, nice)
            with contextlib.suppress(OSError):  # of its session
                pathlib.Path(f"/proc/{hog.pid}/autogroup").write_text(
                    str(nice + 16), encoding="ascii")
            os.sched_setaffinity(hog.pid, {SERVER_CPU})

    def stop(self):
        for hog in self.hogs.values():
            hog.kill()
        super().stop()

    def ran(self):
        """{hog: how long it has had a CPU, ns}."""
        return {name: int(read(f"/proc/{hog.pid}/schedstat").split()[0])
                for name, hog in self.hogs.items()}

    def target(self, random):
        return f"/work?kind=compute&ms={random.randint(20, 30)}"

    def inject(self, random):
        before = self.ran()
        for hog in self.hogs.values():
            hog.resume()
        try:
            return super().inject(random)
        finally:
            self.turns = {name: ns - before[name]
                          for name, ns in self.ran().items()}
            for hog in self.hogs.values():
                hog.pause()

    def measured(self):
        return self.wall() - self.cpu

    def is_named(self, verdict):
        named, part = re.search(
            r" ran (\w+)\S*(?: \(([\d.]+) ms of it\))?",
            verdict["text"]).groups()
        ran_ns = self.turns.get(named, float(part or 0) * MS)
        return (ran_ns >= NEAR_TIE * max(self.turns.values())
                or "perhaps among others" in verdict["text"])


class StopAll(Disturbed):
    kind = "stop-all"
    services = (*ALL, *C)
    ordinary = True
    accept = ("stopped",)
    order = "stop"

    def victim(self):
        return -self.service.pid

    def inject(self, random):
        """While two other requests are in flight."""
        self.connect(2 if self.service.threads else 0)
        for client in self.others:
            client.request("GET", f"/work?kind=sleep&ms={random.randint(2, 9)}")
        try:
            return super().inject(random)
        finally:
            for client in self.others:
                client.response()


class StopWorker(Disturbed):
    kind = "stop-worker"
    services = FORKING
    ordinary = True
    accept = ("stopped",)
    order = "stop"

    def start(self):
        super().start()
        self.turn = 0

    def victim(self):
        """Each in turn: which one takes the request is not known before."""
        serving = self.service.serving()
        self.turn += 1
        self.stopped = serving[self.turn % len(serving)]
        return self.stopped

    def hit(self, tale, harm_ns):
        return self.pid == self.stopped and super().hit(tale, harm_ns)


class Freeze(Busy):
    kind = "freeze"
    ordinary = True
    accept = ("stopped",)

    def start(self):
        super().start()
        self.service.group.freeze(False)  # or PermissionError

    def inject(self, random):
        acted = []

        def freeze():
            sleep_us(random.randint(1000, 5000))
            acted.append(time.monotonic_ns())
            try:
                self.service.group.freeze(True)
                sleep_us(random.randint(15_000, 50_000))
            finally:
                acted.append(time.monotonic_ns())
                self.service.group.freeze(False)
        self.early = self.accounts()
        thread = threading.Thread(target=freeze)
        thread.start()
        request = self.ask(self.target(random))
        thread.join()
        harm_ns = min(overlap(acted, (self.begin, self.end)),
                      self.wall() - self.cpu)
        return Injection(request, harm_ns, window=self.window())


class Quota(Busy):
    # 10 ms of CPU in each 100 ms.
    kind = "quota"
    ordinary = True
    accept = ("quota",)

    def target(self, random):
        if self.service.name == "nginx":
            return "/long"
        return f"/work?kind=compute&ms={random.randint(20, 40)}"

    def inject(self, random):
        group = self.service.group
        before = group.throttled_ns()
        group.limit(10_000)
        try:
            request = self.ask(self.target(random))
        finally:
            group.limit(None)
        return Injection(request, group.throttled_ns() - before)


HAZARDS = (Fifo, Hog, FairHog, Turns, StopAll, StopWorker, Freeze, Quota)
