#!/usr/bin/python3
"""tailor-load beside other generators, and how fast its one thread is.

    tests/bench/bench_load.py [--rounds N] [--seconds S] [--only PART]

compare  Closed loops of 1, 8 and 64 connections against an nginx that answers
         from memory: throughput and median of each tool, in rounds in which
         the tools take turns, and the median over rounds of each tool's ratio
         to tailor-load (1.00: they agree).  Only closed loops can be compared:
         the others have no other, or time it differently.
highest  The highest open-loop rate at which one sender thread keeps its lag's
         p99 below 200 us and sends what was planned, and beside it the most
         that the others get out of the same server.
find     --runs searches for the highest rate that keeps a p99 of 20 ms, with
         a server that serves one request after the other in a known time: how
         often the interval holds the rate at which a queue of that kind has
         it.  Only if --only find is given: a minute for each.

The others take four minutes and 70 seconds; a tool that hangs is ended.  How
late it is at the usual rate tailor-load says itself, after each run.
Prints figures, judges nothing.  Needs nginx-light; of wrk and apache2-utils
what is not installed is left out.
With --priority the server and every generator run with real-time priority
(SCHED_FIFO; it has to be permitted), so that other work disturbs them less;
what else runs there meanwhile hardly does.
"""

import argparse
import csv
import json
import os
import pathlib
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from rig import other_proxies  # noqa: E402
from rig.ports import free_port  # noqa: E402
from rig.process import Process  # noqa: E402
from rig.stub import OK, Stub  # noqa: E402

BUILD = pathlib.Path(os.environ.get("TAILOR_BUILD", ROOT / "build"))
FINE_NS = 200_000
PATIENCE_S = 120  # with one run of a tool
OTHERS = ("wrk", "ab")
NGINX = """
    access_log off; keepalive_requests 100000000; keepalive_timeout 1h;
    server {{ listen 127.0.0.1:{port} backlog=4096;
             location / {{ return 200 "hello, tailor\\n"; }} }}"""


def nginx(directory, port, **more):
    """An nginx of one process that responds from memory; it listens."""
    process = Process(other_proxies.nginx(
        directory, NGINX.format(port=port), connections=4096,
        main="master_process off;", level="crit"), **more)
    process.wait_listens(f"127.0.0.1:{port}")
    return process


def cpus():
    """(the server's, the generator's): different where there are two."""
    allowed = sorted(os.sched_getaffinity(0))
    return {allowed[0]}, {allowed[-1]}


def place(where, real_time):
    """Of a child before it runs."""
    os.sched_setaffinity(0, where)
    if real_time:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))


def call(argv, where, real_time=False):
    """Run on a set of CPUs; standard output."""
    try:
        done = subprocess.run(
            [str(a) for a in argv], capture_output=True, text=True,
            check=False, timeout=PATIENCE_S,
            preexec_fn=lambda: place(where, real_time))
    except subprocess.TimeoutExpired:
        sys.exit(f"{argv[0]} did not end in {PATIENCE_S} s")
    if done.returncode not in (0, 4):
        sys.exit(f"{argv[0]} failed: {done.stderr or done.stdout}")
    return done.stdout


class Bench:
    """The server, the tools and what they found."""

    def __init__(self, options, directory):
        self.options = options
        self.directory = pathlib.Path(directory)
        self.server_cpu, self.client_cpu = cpus()
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}/"
        self.server = nginx(
            directory, self.port,
            preexec_fn=lambda: place(self.server_cpu, options.priority))

    def close(self):
        self.server.terminate()

    # each: (requests/s, median in us) of a closed loop of c connections

    def tailor_load(self, c, requests):
        out = json.loads(call(
            [BUILD / "tailor-load", "--arrivals", f"closed:{c}", "-n",
             requests, "-i", 1, "--stamps", "user", "--cpu",
             min(self.client_cpu), "--json", "-", *self.priority(), self.url],
            os.sched_getaffinity(0)))
        it = out["iterations"][0]
        return it["achieved_rate_per_s"], it["latency"]["p50_ns"] / 1e3

    def other(self, argv):
        return call(argv, self.client_cpu, self.options.priority)

    def wrk(self, c, _requests):
        out = self.other(["wrk", "-t1", f"-c{c}", "--latency",
                          f"-d{self.options.seconds}s", self.url])
        value, unit = re.search(r"50%\s+([\d.]+)(us|ms|s)", out).groups()
        scale = {"us": 1, "ms": 1e3, "s": 1e6}[unit]
        return (float(re.search(r"Requests/sec:\s+([\d.]+)", out)[1]),
                float(value) * scale)

    def ab(self, c, requests):
        table = self.directory / "ab.csv"
        out = self.other(["ab", "-q", "-k", f"-c{c}", f"-n{requests}",
                          "-e", table, self.url])
        with open(table, encoding="ascii") as file:
            rows = dict(list(csv.reader(file))[1:])
        return (float(re.search(r"Requests per second:\s+([\d.]+)", out)[1]),
                float(rows["50"]) * 1e3)

    def priority(self):
        return ["--priority"] if self.options.priority else []

    def tools(self):
        found = {"tailor-load": self.tailor_load}
        found.update({name: getattr(self, name) for name in OTHERS
                      if shutil.which(name)})
        return found

    def compare(self, c):
        """Print rounds of a closed loop of c connections."""
        tools = self.tools()
        # so many that each takes about as long as wrk
        rate, _ = self.tailor_load(c, 2000)
        requests = max(2000, int(rate * self.options.seconds))
        results = {name: [] for name in tools}
        for number in range(self.options.rounds):
            order = list(tools)
            for name in order[number % len(order):] \
                    + order[:number % len(order)]:
                results[name].append(tools[name](c, requests))
        print(f"\nclosed loop, {c} connection{'s' if c > 1 else ''}, "
              f"{self.options.rounds} rounds of {requests} requests")
        print(f"{'':14}{'req/s':>10}{'median':>10}{'ratio to tailor-load':>26}"
              f"\n{'':14}{'':>10}{'us':>10}{'req/s':>13}{'median':>13}")
        base = results["tailor-load"]
        for name, found in results.items():
            ratios = [statistics.median(one[i] / own[i]
                                        for one, own in zip(found, base))
                      for i in (0, 1)]
            rate, us = (statistics.median(one[i] for one in found)
                        for i in (0, 1))
            print(f"{name:14}{rate:10.0f}{us:10.1f}{ratios[0]:13.2f}"
                  f"{ratios[1]:13.2f}", flush=True)

    def holds(self, rate):
        """Whether a rate is kept; what disturbs may do so once."""
        return self._kept(rate) or self._kept(rate)

    def _kept(self, rate):
        out = json.loads(call(
            [BUILD / "tailor-load", "-r", rate, "-d", "3s", "-i", 3,
             "--pause", "100ms", "-c", 256, "--stamps", "user", "--cpu",
             min(self.client_cpu), "--json", "-", *self.priority(), self.url],
            os.sched_getaffinity(0)))
        lag = statistics.median(i["lag"]["p99_ns"] for i in out["iterations"])
        kept = all(i["achieved_rate_per_s"] > 0.95 * rate
                   for i in out["iterations"])
        fine = lag < FINE_NS and kept and not out["summary"]["errors"]
        p99 = out["summary"]["p99"]["median_ns"]
        print(f"  {rate:7.0f}/s  lag p99 {lag / 1e3:9.1f} us  latency p99 "
              f"{p99 / 1e3:9.1f} us  {'held' if fine else 'not held'}",
              flush=True)
        return fine

    def highest(self):
        """Double until it is not held, then halve the distance four times."""
        print("\nopen loop, Poisson, one sender thread: held if the lag's "
              "p99 is below 200 us")
        low, high = 0, 2000
        while high < 2e6 and self.holds(high):
            low, high = high, 2 * high
        for _ in range(4):
            middle = (low + high) / 2
            low, high = (middle, high) if self.holds(middle) \
                else (low, middle)
        print(f"highest rate held: {low:.0f}/s")
        for name, tool in self.tools().items():
            if name != "tailor-load":
                most, _ = tool(64, 100000)
                print(f"most that {name} gets with 64 connections: "
                      f"{most:.0f}/s")


FIND_LIMIT_S = 0.02
FIND_SERVICE_S = 0.004


def one_at_a_time(_request):
    """Takes a known time, whatever a sleep would take."""
    end = time.monotonic() + FIND_SERVICE_S
    while time.monotonic() < end:
        pass
    return OK


def share_over(rate, service_s, requests=200000):
    """Of requests to one worker at random instants: over the limit."""
    draw, free, now, over = random.Random(1), 0.0, 0.0, 0
    for _ in range(requests):
        now += draw.expovariate(rate)
        free = max(now, free) + service_s
        over += free - now > FIND_LIMIT_S
    return over / requests


def true_rate(service_s):
    """The rate at which 1 % are over the limit."""
    low, high = 0.0, 1 / service_s
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (middle, high) \
            if share_over(middle, service_s) <= 0.01 else (low, middle)
    return low


def find(runs):
    """Print each search, and how many hold the true rate."""
    server, held = Stub(one_at_a_time), 0
    try:
        done = json.loads(call([
            BUILD / "tailor-load", "--arrivals", "closed:4", "-n", 1000, "-i",
            1, "--json", "-", server.url], os.sched_getaffinity(0)))
        rate = done["iterations"][0]["achieved_rate_per_s"]
        truth = true_rate(1 / rate)
        print(f"\nfind: one worker carries {rate:.0f}/s; p99 is 20 ms at "
              f"{truth:.0f}/s")
        for _ in range(runs):
            # without a result where the machine is too busy
            said = subprocess.run(
                [BUILD / "tailor-load", "find", "-q", "--p99", "20ms", "-d",
                 "60s", "--step", "5s", server.url], capture_output=True,
                text=True, check=False, timeout=PATIENCE_S).stdout
            found = re.search(r"\((?:([\d.]+) to |at most )([\d.]+)", said)
            held += bool(found) and \
                float(found[1] or 0) <= truth <= float(found[2])
            print(f"  {said.splitlines()[0]}", flush=True)
        print(f"in the interval: {held} of {runs}")
    finally:
        server.kill()


def main():
    p = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--seconds", type=int, default=1,
                   help="of each tool in each round [1]")
    p.add_argument("--priority", action="store_true")
    p.add_argument("--only", choices=("compare", "highest", "find"))
    p.add_argument("--runs", type=int, default=20, help="of find [20]")
    options = p.parse_args()
    if options.only == "find":
        find(options.runs)
        return
    if not shutil.which("nginx"):
        print("bench_load: left out, there is no nginx (apt-get install "
              "nginx-light)")
        return
    with tempfile.TemporaryDirectory(prefix="tailor-bench-") as directory:
        bench = Bench(options, directory)
        try:
            for c in (1, 8, 64) if options.only in (None, "compare") else ():
                bench.compare(c)
            if options.only in (None, "highest"):
                bench.highest()
        finally:
            bench.close()


if __name__ == "__main__":
    main()
