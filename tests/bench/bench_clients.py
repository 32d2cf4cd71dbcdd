#!/usr/bin/python3
"""What a crowd of clients costs the others, and what memory it takes.

    tests/bench/bench_clients.py [--rounds N] [--idle N] [--slow N]

Two tailors in front of one nginx.  One has a crowd: idle connections that
have each had a response and may ask again (10000), and attackers that send a
head a byte a second and come again when they are thrown out (2000).  The
other has none.  In each round ordinary requests at a fixed rate are measured
through both, in turns, while the crowd goes on; shown are medians over the
rounds, and of the ratio of the two in the same round.  Both thus share the
machine with what plays the crowd.

Memory is tailor's own, resident: what the kernel keeps for sockets is not in
it.  Needs 13000 descriptors and tailor-load; prints figures, judges nothing.
"""

import argparse
import heapq
import json
import multiprocessing
import os
import resource
import selectors
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

from bench_load import BUILD, nginx
from rig import tailor
from rig.ports import free_port
from rig.wait import wait_until

RATE = 500
SECONDS = 2
ALONE_S = 5  # so long the crowd's own cost is counted
HEAD = b"GET / HTTP/1.1\r\nHost: slow.example\r\nX-Slow: " + b"y" * 4096
REQUEST = b"GET / HTTP/1.1\r\nHost: t\r\n\r\n"


class Slow:
    """Attackers: each sends one byte of a head a second."""

    def __init__(self, port, count):
        self.port = port
        self.thrown_out = 0
        self.selector = selectors.DefaultSelector()
        self.at = {}
        self.queue = []  # (due, order, socket)
        self.pushed = 0
        for i in range(count):
            self.enter(time.monotonic() + i / count)

    def enter(self, due):
        sock = socket.create_connection(("127.0.0.1", self.port))
        sock.setblocking(False)
        self.selector.register(sock, selectors.EVENT_READ)
        self.at[sock] = 0
        self.push(due, sock)

    def push(self, due, sock):
        self.pushed += 1  # sockets cannot be compared
        heapq.heappush(self.queue, (due, self.pushed, sock))

    def leave(self, sock):
        self.selector.unregister(sock)
        del self.at[sock]
        sock.close()
        self.thrown_out += 1
        self.enter(time.monotonic() + 1)

    def turn(self):
        """What is due now, ten milliseconds' worth of it at a time."""
        for key, _ in self.selector.select(0.01):
            self.leave(key.fileobj)  # a response is a 408: it is over
        now = time.monotonic()
        while self.queue[0][0] <= now:
            due, _, sock = heapq.heappop(self.queue)
            at = self.at.get(sock)
            if at is None:
                continue
            try:
                sock.send(HEAD[at:at + 1])
            except OSError:
                self.leave(sock)
                continue
            self.at[sock] = at + 1
            self.push(due + 1, sock)


def play_idle(port, count, pipe):
    """A process: count clients that have each had one response."""
    clients = []
    for _ in range(count):
        sock = socket.create_connection(("127.0.0.1", port))
        sock.sendall(REQUEST)
        assert sock.recv(65536).startswith(b"HTTP/1.1 200 ")
        clients.append(sock)
    pipe.send(len(clients))
    pipe.recv()
    # Each is still good for another request.
    for sock in clients[::100]:
        sock.sendall(REQUEST)
        assert sock.recv(65536).startswith(b"HTTP/1.1 200 ")
    pipe.send("all served")


def play_slow(port, count, pipe):
    """A process: count attackers, until a message comes."""
    slow = Slow(port, count)
    pipe.send(count)
    while not pipe.poll():
        slow.turn()
    pipe.send(slow.thrown_out)


class Player:
    """A process of the crowd."""

    def __init__(self, play, port, count):
        self.pipe, other = multiprocessing.Pipe()
        self.process = multiprocessing.Process(
            target=play, args=(port, count, other), daemon=True)
        self.process.start()
        self.pipe.recv()

    def stop(self):
        """End it; returns its last message."""
        self.pipe.send("stop")
        said = self.pipe.recv()
        self.process.join()
        return said


class Tailor(tailor.Tailor):
    """A tailor in front of nginx."""

    def __init__(self, directory, name, server, most):
        directory = f"{directory}/{name}"
        os.mkdir(directory)
        super().__init__(BUILD, directory, tailor.configuration(
            directory, [{"name": "a", "address": f"127.0.0.1:{server}"}], {
                "proxy": {"connections_max": most, "idle_timeout": "3600s",
                          "header_timeout": "10s"},
                "profiler": {"kernel": "off", "stream": "",
                             "channel_socket": ""},
                "slow": {"target": "10s", "keep_slowest": 0}}))
        self.wait_ready()

    def half_open(self):
        """How many connections have begun a head."""
        return self.metrics()["tailor_connections_half_open"]

    def p99(self):
        """(p50, p99) in us of ordinary requests, and their errors."""
        done = subprocess.run(
            [f"{BUILD}/tailor-load", "-r", str(RATE), "-d", f"{SECONDS}s",
             "-i", "1", "--stamps", "user", "--json", "-",
             f"http://127.0.0.1:{self.port}/"],
            capture_output=True, text=True, check=False)
        if done.returncode not in (0, 4):
            sys.exit(done.stderr)
        out = json.loads(done.stdout)
        latency = out["iterations"][0]["latency"]
        return (latency["p50_ns"] / 1e3, latency["p99_ns"] / 1e3,
                out["summary"]["errors"])


def measure(crowded, quiet, rounds):
    """The rounds, and their medians."""
    print(f"\n{RATE} requests/s, {SECONDS} s each, {rounds} rounds\n"
          f"{'round':>6}{'p50 us':>22}{'p99 us':>22}{'p99':>8}\n"
          f"{'':6}{'quiet':>12}{'crowd':>10}{'quiet':>12}{'crowd':>10}"
          f"{'ratio':>8}")
    found = []
    for number in range(rounds):
        order = (crowded, quiet) if number % 2 else (quiet, crowded)
        one = {tailor: tailor.p99() for tailor in order}
        a, b = one[quiet], one[crowded]
        errors = a[2] or b[2]
        found.append((a[0], b[0], a[1], b[1], b[1] / a[1]))
        print("{:6}{:12.0f}{:10.0f}{:12.0f}{:10.0f}{:8.2f}".format(
            number + 1, *found[-1]), f" errors {errors}" if errors else "",
              flush=True)
    print("median{:12.0f}{:10.0f}{:12.0f}{:10.0f}{:8.2f}".format(
        *(statistics.median(column) for column in zip(*found))))


def bench(options, directory):
    port = free_port()
    server = nginx(directory, port)
    most = options.idle + options.slow + 1000
    crowded = quiet = None
    try:
        crowded = Tailor(directory, "crowded", port, most)
        quiet = Tailor(directory, "quiet", port, most)
        crowded.p99()
        at_first = crowded.resident_kib()
        idle = Player(play_idle, crowded.port, options.idle)
        with_idle = crowded.resident_kib()
        slow = Player(play_slow, crowded.port, options.slow)
        # Some may be on their way again.
        wait_until(lambda: crowded.half_open() > options.slow * 0.99,
                   "each has sent a byte")
        with_slow = crowded.resident_kib()
        for count, kib, what in (
                (options.idle, with_idle - at_first, "idle connections"),
                (options.slow, with_slow - with_idle, "slow heads")):
            print(f"{count} {what}: {1024 * kib / count:.0f} bytes each")
        used, since = crowded.cpu_s(), time.monotonic()
        time.sleep(ALONE_S)
        print("the crowd alone takes "
              f"{(crowded.cpu_s() - used) / (time.monotonic() - since):.1%} "
              "of a CPU of tailor's")
        measure(crowded, quiet, options.rounds)
        print(f"attackers thrown out: {slow.stop()}; idle ones asked again: "
              f"{idle.stop()}")
    finally:
        for process in (crowded, quiet):
            if process is not None:
                process.stop()
        server.terminate()


def main():
    p = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    p.add_argument("--rounds", type=int, default=15)
    p.add_argument("--idle", type=int, default=10000)
    p.add_argument("--slow", type=int, default=2000)
    options = p.parse_args()
    need = options.idle + options.slow + 1000
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < need:
        print(f"bench_clients: left out, {hard} descriptors are too few")
        return
    if not shutil.which("nginx"):
        print("bench_clients: left out, there is no nginx (apt-get install "
              "nginx-light)")
        return
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, need), hard))
    with tempfile.TemporaryDirectory(prefix="tailor-bench-") as directory:
        bench(options, directory)


if __name__ == "__main__":
    main()
