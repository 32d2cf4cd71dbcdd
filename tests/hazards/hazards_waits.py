"""What a request waits for within its service, or for another process: locks,
pools, queues, and who has them.
"""

from hazards_own import LockCompute, LockSleep
from hazards_requests import Pool
from rig.stage import PROXY_CPU, SERVER_CPU


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


HAZARDS = (ConnectionPool, ConnectionPoolOfGo, Writer, Initialiser, SecondPool,
           FullPool)
