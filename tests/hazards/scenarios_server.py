"""Hazards of a server's threads: memory, disk, CPU, locks, queues.
"""

import time

from rig.stage import Disturber, may_schedule, sleep_us
from rig.verdicts import MS, Injection
from scenario import Own, Scenario


class Work(Own):
    name = "work"
    accept = ("work",)

    def target(self, random):
        return f"/compute?us={random.randint(10_000, 40_000)}"


class HugeFault(Own):
    name = "fault-huge"
    accept = ("page_fault",)

    def inject(self, random):
        # A virtual machine may have given free memory back to its host.  Then
        # the first touch waits for the host, which is no fault of this kernel.
        self.stage.get("/fault-huge?n=48")
        return super().inject(random)

    def target(self, random):
        return f"/fault-huge?n={random.randint(8, 48)}"


class SmallFaults(Own):
    name = "fault-small"
    accept = ("page_fault",)

    def target(self, random):
        return f"/fault-small?n={random.randint(1500, 20000)}"


class Disk(Own):
    # How long: the time its thread was on no CPU.
    name = "disk"
    accept = ("disk",)
    reported = ("disk", "idle_wakeup", "runq")

    def harm_ns(self, tale):
        return self.server.record(tale["request"]["id"])["off_cpu"]

    def target(self, random):
        return f"/disk?n={random.randint(16, 64)}"

    def warm(self):
        super().warm()
        if self.stage.client.get("/disk?n=1").status != 200:
            raise PermissionError("no direct I/O in /var/tmp")


class Lock(Own):
    name = "lock"
    accept = ("lock",)
    naming = "holder"

    def inject(self, random):
        self.stage.get(f"/hold?us={random.randint(8_000, 40_000)}")
        return super().inject(random)

    def target(self, random):
        return "/lock"


class Disturbed(Scenario):
    """Another process acts while a request computes."""
    order = ""
    pid = 0
    COMPUTE_US = 8000

    def start(self, build):
        super().start(build)
        self.disturber = Disturber(build)

    def stop(self):
        self.disturber.stop()
        super().stop()

    def inject(self, random):
        self.disturber.begin(self.order, random.randint(1000, 5000),
                             random.randint(15_000, 50_000), self.pid)
        self.sent_ns = time.monotonic_ns()
        try:
            request = self.stage.get(f"/compute?us={self.COMPUTE_US}")
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
        request = self.stage.get("/compute?us=2000")
        self.disturber.end()
        return Injection(request)

    def harm_ns(self, tale):
        """From the client's sending until the server took it up."""
        record = self.server.record(tale["request"]["id"])
        return record["begin"] - self.sent_ns


class FairHog(Disturbed):
    # Both are ordinary: the server's thread loses the CPU to it (preempted),
    # or finds it taken when it is woken (runq), and so do both to any
    # other process that computes: on a machine in use there are some.
    # How long: what it took from the client's sending to the end of the
    # computing, but for its CPU time.
    edge = True  # the hog and the computing
    name = "cpu-hog-fair"
    accept = ("preempted", "runq")
    order = "hog"
    ordinary = True

    def hit(self, tale, harm_ns):
        # With less than the computing it is not what made it slow.
        return harm_ns > 9 * MS

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
        self.other = self.stage.tailor.client()

    def stop(self):
        self.other.close()
        super().stop()

    def inject(self, random):
        self.other.request("GET",
                           f"/compute?us={random.randint(10_000, 40_000)}")
        sleep_us(random.randint(500, 3000))
        self.sent_ns = time.monotonic_ns()
        request = self.stage.get("/compute?us=500")
        self.other.response()
        return Injection(request)

    def harm_ns(self, tale):
        """From the client's sending until the server took it up."""
        record = self.server.record(tale["request"]["id"])
        return record["begin"] - self.sent_ns


HAZARDS = (Work, HugeFault, SmallFaults, Disk, Hog, FairHog, Fifo, Lock,
           Stopped, Queue)
