"""What other requests do to one, and its own client.
"""

import os
import select
import time

from hazard import (ALL, C, JDK, JVM, NODE, POOL, Hazard, overlap, truth_of,
                    within)
from rig.stage import PROXY_CPU, SERVER_CPU, sleep_us
from rig.verdicts import MS, Injection, by_thread


class Full(Hazard):
    """A collection that another request has caused."""
    kind = "gc-full"
    services = (*JVM, *JDK)
    accept = ("gc",)
    reported = ("gc", "safepoint")
    order = "/work?kind=collect&n=600000"
    may_miss = "no collection is as long as 2 ms here"
    PAUSE_NS = 2 * MS
    accounted = False  # it takes as long as a collection
    share = 0.5

    def start(self):
        super().start()
        self.past = self.service.client()
        self.past.get(self.order)

    def stop(self):
        super().stop()
        self.past.close()

    def inject(self, random):
        """Requests follow each other until one was stopped."""
        self.past.request("GET", self.order)
        while True:
            request = self.ask("/work?kind=compute&ms=1")
            sleep_us(300)  # for the log
            paused_ns = self.service.paused_ns(self.sent, self.got)
            over, _, _ = select.select([self.past.socket], [], [], 0)
            if over or paused_ns > self.PAUSE_NS:
                break
        self.past.response()
        return Injection(request, paused_ns)

    def hit(self, tale, harm_ns):
        return harm_ns > max(self.PAUSE_NS,
                             self.share * (self.got - self.sent))


class Young(Full):
    kind = "gc-young"
    order = "/work?kind=young&n=150000"


class OneThread(Hazard):
    kind = "busy"
    cpus = (PROXY_CPU, SERVER_CPU)  # or its workers would wait for one
    services = ("gunicorn", *NODE, "single")
    accept = ("backend_queue", "accept_queue")

    def inject(self, random):
        self.early = self.accounts()
        # Two for each worker: which takes a connection is not known before.
        self.connect(2 * self.service.workers or 1)
        for client in self.others:
            client.request("GET", "/work?kind=compute&ms="
                           f"{random.randint(15, 40)}")
        sleep_us(random.randint(1000, 4000))
        request = self.ask("/work?kind=none")
        truths = [truth_of(client.response()) for client in self.others]
        busy_ns = sum(overlap((other.begin, other.end),
                              (self.sent, self.begin))
                      for other in truths if other.pid == self.pid)
        return Injection(request, busy_ns)


class Pool(Hazard):
    # Its threads sleep for two others, and it waits where no call shows it.
    kind = "pool"
    services = POOL
    accept = ("backend_queue",)

    def occupy(self, client, target):
        """Give one of its threads something to do."""
        client.request("GET", target)

    def inject(self, random):
        self.connect(2)
        self.early = self.accounts()
        for client in self.others:
            self.occupy(client,
                        f"/work?kind=sleep&ms={random.randint(15, 40)}")
        sleep_us(random.randint(2000, 5000))
        request = self.ask("/work?kind=none")
        for client in self.others:
            client.response()
        return Injection(request, self.begin - self.sent)


class Overload(Hazard):
    # Tailor sends no more than 8 at one time; the last of 20 waits in its
    # queue, and then in that of a service which serves fewer.
    kind = "overload"
    accept = ("proxy_queue", "backend_queue", "accept_queue")
    reported = (*accept, "runq")  # Tailor and its client share a CPU here

    def inject(self, random):
        self.connect(19)
        self.early = self.accounts()
        for client in self.others:
            client.request("GET", "/work?kind=sleep&ms=15")
        request = self.ask("/work?kind=none")
        for client in self.others:
            client.response()
        return Injection(request, self.begin - self.sent)

    def hit(self, tale, harm_ns):
        return harm_ns > 5 * MS


class SlowReader(Hazard):
    kind = "slow-reader"
    services = (*ALL, *C)
    crowded = True  # no account is taken of it
    accept = ("tcp_window", "client_late")
    plain = ("tcp_held",)  # the client's socket has it; why is not in it

    def inject(self, random):
        injection = self.stage.read_late(f"/work?kind=big&bytes={2 << 20}",
                                         random.randint(30_000, 100_000))
        self.sent = injection.stamps["sched_ns"]
        self.got = injection.stamps["last_ns"]
        return injection


class Upload(Hazard):
    kind = "slow-upload"
    accept = ("client_send",)

    def inject(self, random):
        account = self.accounts()
        client, body = self.stage.client, b"x" * 8_000
        half = len(body) // 2
        client.send(b"POST /work?kind=upload HTTP/1.1\r\nHost: test\r\n"
                    b"Content-Type: application/octet-stream\r\n"
                    b"Content-Length: %d\r\n\r\n" % len(body) + body[:half])
        begin = self.sent = time.monotonic_ns()
        sleep_us(random.randint(10_000, 40_000))
        end = time.monotonic_ns()
        client.send(body[half:])
        response = client.response("POST")
        self.got = time.monotonic_ns()
        self.account = account.since()
        request = self.learn(response)
        return Injection(request, end - begin)


class Big(Hazard):
    # Nothing is wrong: it is long.  Tailor and its client share a CPU here,
    # nginx waits for its upstream, a JVM makes room: what is named of that must
    # be in the kernel's account of the thread, or in the JVM's log.
    kind = "big"
    cpus = (SERVER_CPU,)
    accept = ("network", "proxy", "work", "tcp_window", "tcp_held",
              "tcp_congestion", "softirq", "unknown", "page_fault")

    def target(self, random):
        return f"/work?kind=big&bytes={random.randint(4 << 20, 8 << 20)}"

    def measured(self):
        return None

    def window(self):
        return None

    def is_witnessed(self, tale):
        code, account = tale["verdict"]["code"], self.account
        if code in ("gc", "safepoint", "client_late"):
            own = os.getpid()  # the client: it read, or had no CPU to
            true_ns = (account.ran[own] + account.delay[own]
                       if code == "client_late" else self.paused_ns())
            return within(tale["causes"][code], true_ns)
        if code != "sleep" or self.service.name != "nginx":
            return self.cpu_missed(tale)
        of = {tid: self.got - self.sent - account.ran[tid] - ns
              for tid, ns in account.delay.items()}
        return all(within(ns, of.get(tid, 0)) for tid, ns in by_thread(
            tale, code, self.stage.tailor.pid).items())

    def hit(self, tale, harm_ns):
        return True


HAZARDS = (Full, Young, OneThread, Pool, Overload, SlowReader, Upload, Big)
