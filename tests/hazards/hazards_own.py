"""What a service does itself, by the clocks around it.
"""

import contextlib
import os
import random as randoms
import time

from hazard import (ALL, C, JVM, NODE, OWN, PASSING, POOL, PYTHON, Busy,
                    Hazard)
from rig.stage import PROXY_CPU, SERVER_CPU, sleep_us
from rig.verdicts import MS


class Sleep(Hazard):
    kind = "sleep"
    services = (*OWN, *POOL)
    accept = ("sleep",)

    def measured(self):
        return self.waited()

    def target(self, random):
        return f"/work?kind=sleep&ms={random.randint(5, 40)}"


class Backoff(Sleep):
    # Two sleeps, as long as the first two waits for a Java monitor.
    kind = "backoff"
    services = (*JVM, *PYTHON, "puma", "apache")

    def target(self, random):
        return "/work?kind=backoff"


class Compute(Busy):
    kind = "compute"
    services = (*ALL, *C)
    accept = ("work",)

    def target(self, random):
        if self.service.name == "nginx":
            return "/long"
        return f"/work?kind=compute&ms={random.randint(10, 30)}"

    def measured(self):
        return self.cpu

    def window(self):
        # Of nginx the CPU time of the whole request is known.
        return None if self.service.name == "nginx" else super().window()

    def beside(self):
        return None


class Amid(Compute):
    # While other requests are in flight, which sleep.
    kind = "compute-amid"
    services = (*JVM, "python", "puma", *NODE, "go")

    def inject(self, random):
        self.connect(3)
        for client in self.others:
            client.request("GET", f"/work?kind=sleep&ms={random.randint(2, 9)}")
        try:
            return super().inject(random)
        finally:
            for client in self.others:
                client.response()


class LockSleep(Hazard):
    kind = "lock-sleep"
    services = (*JVM, "python", "puma", "go", *C)
    accept = ("lock",)
    how = "sleep"
    of = ""             # what is held, if not the lock

    @property
    def naming(self):
        """What our server calls its thread."""
        return "holder" if self.service.name == "c" else ""

    @property
    def plain(self):
        """In Go no thread waits for a lock, but for the holder's timer."""
        return ("sleep",) if self.service.name == "go" else ()

    def prepare(self, random):
        self.stage.client.get(f"/work?kind=hold&of={self.of}&how={self.how}"
                              f"&ms={random.randint(8, 40)}")

    def target(self, random):
        return f"/work?kind=take&of={self.of}"


class LockCompute(LockSleep):
    kind = "lock-compute"
    ordinary = True
    cpus = (PROXY_CPU, SERVER_CPU)
    how = "compute"

    @property
    def reported(self):
        """In Go the holder's waits for a CPU are shown as such."""
        return (("lock", "runq", "preempted")
                if self.service.name == "go" else ())


class Gil(Hazard):
    # Ten threads compute; one of them at a time has the interpreter's lock,
    # also while the request is read and its response is written.
    kind = "gil"
    services = ("python",)
    ordinary = True
    cpus = (PROXY_CPU, SERVER_CPU)
    accept = ("lock",)
    reported = ("lock", "runq", "preempted")  # to take it, it needs a CPU

    def start(self):
        super().start()
        self.past = self.service.client()

    def stop(self):
        super().stop()
        self.past.close()

    def prepare(self, random):
        self.past.get("/work?kind=spin&n=10&ms=300")
        self.over = time.monotonic_ns() + 400 * MS  # they take turns

    def target(self, random):
        return f"/work?kind=compute&ms={random.randint(2, 8)}"

    def inject(self, random):
        injection = super().inject(random)
        sleep_us(max(0, self.over - time.monotonic_ns()) / 1000)
        return injection

    def measured(self):
        # The client and Tailor want a CPU, too.
        delay = self.account.delay
        return (self.got - self.sent - self.cpu - delay.get(os.getpid(), 0)
                - delay.get(self.stage.tailor.pid, 0))

    def window(self):
        return None


class Disk(Hazard):
    # The kernel holds back what the service reads and writes: a disk may be as
    # fast as to copy what it brought.  Where that is refused it is not.
    PER_S = 100
    PER_S_NGINX = 500  # it reads pieces of 32 KiB, one after the other

    def start(self):
        super().start()
        self.limit(self.PER_S_NGINX if self.service.name == "nginx"
                   else self.PER_S)

    def stop(self):
        self.limit(None)
        super().stop()

    def limit(self, per_s):
        with contextlib.suppress(PermissionError):
            self.service.group.slow_disk(self.service.world.folder, per_s)


class Cold(Disk):
    kind = "cold-file"
    services = (*ALL, *C)
    accept = ("disk",)
    reported = ("disk", "idle_wakeup", "runq")
    plain = ("lock", "sleep")  # Node waits for a thread that waits for the disk
    share = 0.45               # what it computed is measured as well

    def prepare(self, random):
        self.stage.client.get("/work?kind=none")
        self.service.world.forget()

    def target(self, random):
        if self.service.name == "nginx":
            return "/part"
        return f"/work?kind=cold&n={random.randint(8, 16)}"

    def ask(self, target, **more):
        request = super().ask(target, **more)
        if self.service.name == "nginx":
            self.cpu = self.account.ran.get(self.tid, 0)
        return request

    def waited(self):
        return self.wall() - self.cpu  # in Go, too, it keeps its thread

    def measured(self):
        # Of nginx the whole request is known, its client's reading included.
        return None if self.service.name == "nginx" else self.waited()

    def hit(self, tale, harm_ns):
        return super().hit(tale, self.waited() if harm_ns is None else harm_ns)


class Mapped(Cold):
    kind = "mapped-file"
    services = (*JVM, *PYTHON, "go")
    accept = ("disk", "page_fault")
    reported = (*accept, "idle_wakeup", "runq")

    def target(self, random):
        return f"/work?kind=mapped&n={random.randint(20, 40)}"

    def window(self):
        return None  # thousands of pieces are drawn as fewer


class Fsync(Disk):
    kind = "fsync"
    warm = "/work?kind=fsync&n=8"
    share = Cold.share
    services = OWN
    accept = ("disk",)
    reported = Cold.reported
    plain = Cold.plain

    def target(self, random):
        return f"/work?kind=fsync&n={random.randint(12, 24)}"

    def measured(self):
        return self.waited()


class Outbound(Hazard):
    kind = "upstream"
    services = (*ALL, "fpm")
    accept = ("sleep",)
    naming = "nanosleep for "  # is what the other process did

    @property
    def warm(self):
        """Its process is watched from then on."""
        return self.target(randoms.Random(0))

    def target(self, random):
        kind = "sleep" if self.service.name in PASSING else "upstream"
        return f"/work?kind={kind}&ms={random.randint(5, 40)}"

    def measured(self):
        return self.waited()


class PeerCompute(Outbound):
    # What nginx passes on, and the other process does.
    kind = "peer-compute"
    services = PASSING
    naming = "computed for "
    warm = "/work?kind=none"
    measured = Hazard.wall

    def target(self, random):
        return f"/work?kind=compute&ms={random.randint(5, 40)}"


class PeerFsync(PeerCompute):
    kind = "peer-fsync"
    naming = "waited for disk "

    def target(self, random):
        return f"/work?kind=fsync&n={random.randint(12, 24)}"


class Database(Outbound):
    kind = "database"
    services = PYTHON
    naming = "slept in epoll_wait for "
    database = True
    warm = "/work?kind=database&ms=1"

    def target(self, random):
        return f"/work?kind=database&ms={random.randint(5, 40)}"


class DatabaseLock(Database):
    # Another connection has the lock.
    kind = "database-lock"
    naming = " ms until postgres["

    def prepare(self, random):
        self.stage.client.get("/work?kind=database&how=hold"
                              f"&ms={random.randint(15, 40)}")

    def target(self, random):
        return "/work?kind=database&how=take"


class Udp(Sleep):
    kind = "udp-timeout"

    def target(self, random):
        return f"/work?kind=udp&ms={random.randint(5, 40)}"


class Faults(Hazard):
    kind = "page-faults"
    share = 0.45
    services = (*JVM, *PYTHON, *NODE, "go", *C)
    accept = ("page_fault",)

    def target(self, random):
        return f"/work?kind=touch&n={random.randint(6000, 12000)}"

    def measured(self):
        return self.wall() - self.cpu

    def window(self):
        return None  # as of mapped-file


class HugeFaults(Faults):
    kind = "page-faults-huge"
    services = C

    def prepare(self, random):
        # A virtual machine may have given free memory back to its host.  Then
        # the first touch waits for the host, which is no fault of this kernel.
        self.stage.client.get("/work?kind=huge&n=48")

    def target(self, random):
        return f"/work?kind=huge&n={random.randint(8, 48)}"


class Collect(Hazard):
    # The request asks for it: its own thread collects, or waits for those
    # that do.
    kind = "gc-own"
    services = (*PYTHON, "puma", *NODE, "go")
    accept = ("gc",)
    plain = ("work", "lock", "sleep")
    warm = "/work?kind=collect&n=100000"

    def target(self, random):
        return self.warm


HAZARDS = (Sleep, Backoff, Compute, Amid, LockSleep, LockCompute, Gil, Cold,
           Mapped, Fsync, Outbound, PeerCompute, PeerFsync,
           Database, DatabaseLock, Udp, Faults, HugeFaults, Collect)
