"""What a request waits for within its service, or for another process: locks,
pools, queues, and who has them.
"""

from hazard import PYTHON, Hazard
from hazards_own import LockCompute, LockSleep
from hazards_requests import Pool
from rig.stage import PROXY_CPU, SERVER_CPU, sleep_us
from rig.verdicts import Injection


class Held(LockSleep):
    # A thread called so holds it, and sleeps.
    services = ("tomcat",)
    naming = "holder"


class ConnectionPool(Held):
    # Empty: a semaphore, fair as HikariCP's is.
    kind = "pool-empty"
    of = "pool"


class ConnectionPoolOfGo(LockCompute):
    # As database/sql's: a channel, for which no thread waits.
    kind = ConnectionPool.kind
    services = ("go",)
    of = "pool"


class Writer(Held):
    kind = "writer"
    of = "writer"


class Initialiser(Held):
    kind = "class-initialiser"
    of = "class"


class SecondPool(Held):
    # The request hands a task to a pool, whose one thread has another.
    kind = "second-pool"
    naming = "second"
    of = "second"


class RowLock(Held):
    # Held by another session of PostgreSQL.  That it waits for the server
    # process, and this for a lock, is to be said once such waits are followed
    # into other processes: today it is an outbound wait.
    kind = "row-lock"
    services = PYTHON
    accept = ("sleep",)
    naming = ""
    database = True
    of = "row"


class FullPool(Pool):
    # Requests that Tailor does not know have all threads.
    kind = "pool-full"
    services = ("tomcat", "puma")
    cpus = (PROXY_CPU, SERVER_CPU)
    THREADS = {"tomcat": 16, "puma": 8}

    def connect(self, count):
        """New ones: Puma's threads would wait for more on the old ones."""
        self.close_others()
        for _ in range(self.THREADS[self.service.name]):
            self.others.append(self.service.client())

    def occupy(self, client, target):
        client.request("GET", target, fields=[("Connection", "close")])


class Session(Hazard):
    # PHP holds the session's file by flock() until its request is over.
    kind = "session"
    services = ("apache",)
    accept = ("lock", "sleep")  # it is another process that has it
    naming = "flock"
    target_of = "/work?kind=session&id=user&ms={}"

    def inject(self, random):
        self.connect(1)
        self.early = self.accounts()
        self.others[0].request("GET", self.target_of.format(
            random.randint(15, 40)))
        sleep_us(4000)
        request = self.ask(self.target_of.format(0))
        self.others[0].response()
        return Injection(request, self.wall(), window=self.window())


class Gvl(Hazard):
    # Ruby's threads take turns of 100 ms; who waits for one's end waits for a
    # timer.
    kind = "gvl"
    services = ("puma",)
    accept = ("lock",)
    plain = ("sleep",)
    cpus = (PROXY_CPU, SERVER_CPU)

    def inject(self, random):
        self.connect(1)
        self.others[0].request("GET", "/work?kind=spin&n=1&ms="
                               f"{random.randint(20, 60)}")
        sleep_us(5000)
        request = self.ask("/work?kind=compute&ms=1")
        self.others[0].response()
        return Injection(request, self.begin - self.sent)


class Libuv(Hazard):
    # Its four threads compute for others; what they are to do next waits where
    # no call shows it, and Node for one of them.
    kind = "libuv-full"
    services = ("node",)
    accept = ("lock", "backend_queue")
    plain = ("sleep",)  # a timer of Node's own comes in between
    ordinary = True     # its threads take the main one's CPU
    cpus = (PROXY_CPU, SERVER_CPU)

    def inject(self, random):
        self.connect(4)
        self.early = self.accounts()
        for client in self.others:
            client.request("GET", "/work?kind=scrypt&n=4096")
        sleep_us(3000)
        request = self.ask("/work?kind=stat")
        for client in self.others:
            client.response()
        return Injection(request, self.wall())


class Child(Hazard):
    # As with row-lock: which process it was, and that it computed.
    kind = "child-computes"
    services = ("node",)
    accept = ("sleep",)
    cpus = (PROXY_CPU, SERVER_CPU)

    def target(self, random):
        return f"/work?kind=child&n={random.randint(5_000, 20_000)}"

    def measured(self):
        return self.waited()


class Guarded(Hazard):
    # nginx asks another server first.
    kind = "auth-request"
    services = ("nginx",)
    accept = ("sleep",)

    def target(self, random):
        return "/guarded"

    def measured(self):
        """Until the second server it asks has the request."""
        return self.begin - self.sent

    def window(self):
        return self.sent, self.begin


class Dead(Guarded):
    # Its first server answers no SYN.
    kind = "connect-dead"

    def target(self, random):
        return "/dead"


class CacheLock(Hazard):
    # Another request fetches the response that this one needs; nginx looks
    # each half second whether it is there.
    kind = "cache-lock"
    services = ("nginx",)
    accept = ("sleep",)
    turn = 0

    def inject(self, random):
        self.connect(1)
        self.turn += 1
        target = f"/cached?kind=sleep&ms=30&n={self.turn}"
        self.early = self.accounts()
        self.others[0].request("GET", target)
        sleep_us(5000)
        request = self.ask(target)
        self.others[0].response()
        return Injection(request, self.got - self.sent)


HAZARDS = (ConnectionPool, ConnectionPoolOfGo, Writer, Initialiser, SecondPool,
           RowLock, FullPool, Session, Gvl, Libuv, Child, Guarded, Dead,
           CacheLock)
