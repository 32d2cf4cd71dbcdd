"""Load through tailor-load, and what it measured."""

import json
import math
import os
import re
import subprocess
import time
import urllib.parse

from capacity import kept
from processes import Trouble

# tailor-load's exit status when it does not trust its own figures.
NOT_TRUSTED = 4
# What it may take longer than its plan: every request may time out.
PATIENCE_S = 60


def quantile(ordered, q):
    """Nearest rank, as everywhere in Tailor; ordered must not be empty."""
    return ordered[max(0, math.ceil(q * len(ordered)) - 1)]


def write_targets(queries, path):
    """The list of queries as request targets, one a line."""
    with open(queries, encoding="utf-8") as file:
        lines = file.read().splitlines()
    with open(path, "w", encoding="utf-8") as file:
        for line in lines:
            file.write(f"/search?q={urllib.parse.quote_plus(line)}\n")
    return len(lines)


class Generator:
    """tailor-load with what is the same for all set-ups."""

    def __init__(self, build, targets, rate, seed, cpus=None, fields=()):
        self.program = f"{build}/tailor-load"
        self.targets = targets
        self.rate = rate
        self.seed = seed
        self.cpus = cpus  # where it runs, or None: wherever we do
        self.most = math.inf  # of requests per second in a warm-up
        self.fields = [word for field in fields for word in ("-H", field)]

    def _place(self):
        if self.cpus:
            os.sched_setaffinity(0, self.cpus)

    def _argv(self, port, *more):
        return [self.program, f"http://127.0.0.1:{port}",
                "--urls", self.targets,
                "--warmup", "0", "--cpu", "none", "--priority",
                # explaining costs CPU time, and only where there is a Tailor
                "--analyze", "off", "--stamps", "user",
                "--seed", str(self.seed), *map(str, more)]

    def _run(self, what, *argv):
        done = subprocess.run(self._argv(*argv), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False,
                              preexec_fn=self._place)
        if done.returncode not in (0, NOT_TRUSTED):
            raise Trouble(f"tailor-load failed while {what}:\n"
                          f"{done.stderr}")
        return done.stdout

    def warm_up(self, port, requests, rate):
        """Requests that are not measured; open loop like the others."""
        self._run("warming up", port, "--rate", min(rate, self.most), "-n",
                  requests, "-i", 1, "--quiet")

    def closed(self, port, clients, requests):
        """(requests per second, p50 in ms) of clients that each wait for a
        response before the next request."""
        found = json.loads(self._run(
            "measuring the capacity", port, "--arrivals", f"closed:{clients}",
            "-n", requests, "-i", 1, "--json", "-"))["iterations"][0]
        return (found["achieved_rate_per_s"],
                found["latency"]["p50_ns"] / 1e6)

    def start(self, port, requests, iterations, pause_ms, directory,
              method="GET"):
        """Begin the measured load; returns a Run to wait for."""
        argv = self._argv(port, "--rate", self.rate, "-n", requests,
                          "-i", iterations, "--method", method,
                          "--pause", f"{pause_ms}ms", "--timeout", "10s",
                          *self.fields,
                          "--json", f"{directory}/run.json",
                          "--ndjson", f"{directory}/requests.ndjson")
        seconds = iterations * (requests / self.rate + pause_ms / 1000)
        return Run(argv, directory, seconds + PATIENCE_S, self._place)


class Run:
    """One run of tailor-load, which should be over within limit_s."""

    def __init__(self, argv, directory, limit_s, place=None):
        self.directory = directory
        self._deadline = time.monotonic() + limit_s
        self._report = open(f"{directory}/load.txt", "w", encoding="utf-8")
        self.child = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=self._report,
            stderr=subprocess.STDOUT, preexec_fn=place)

    def running(self):
        return self.child.poll() is None

    def iteration(self):
        """The last one that is over (from 1), as far as is written; 0: none."""
        try:
            with open(f"{self.directory}/requests.ndjson", "rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - 4096))
                return int(re.findall(rb'^\{"i":(\d+),', file.read(),
                                      re.MULTILINE)[-1])
        except (FileNotFoundError, IndexError):
            return 0

    def wait(self):
        """The results; Trouble if it could not run."""
        try:
            status = self.child.wait(self._deadline - time.monotonic())
        except subprocess.TimeoutExpired:
            self.child.kill()
            raise Trouble("tailor-load does not end; so far: "
                          f"{self.directory}/requests.ndjson") from None
        finally:
            self._report.close()
        if status not in (0, NOT_TRUSTED):
            with open(self._report.name, encoding="utf-8") as file:
                raise Trouble(f"tailor-load failed ({status}):\n"
                              f"{file.read()[-2000:]}")
        return Result(self.directory, status != NOT_TRUSTED)


class Result:
    """What a run measured.  Times in ms.

    latency, server   of answered requests, ascending
    parts             [latencies, ascending] of each iteration
    kept              share of the rate achieved in each iteration
    errors            requests without a good answer
    worst             the slowest answered request, as tailor-load wrote it
    """

    def __init__(self, directory, trusted):
        path = os.path.join(directory, "requests.ndjson")
        self.trusted = trusted
        self.errors = 0
        self.requests = 0
        self.worst = None
        latency, server, by_iteration, spans = [], [], {}, {}
        with open(path, encoding="utf-8") as file:
            for line in file:
                request = json.loads(line)
                self.requests += 1
                if not good(request):
                    self.errors += 1
                    continue
                ms = request["lat"] / 1e6
                latency.append(ms)
                by_iteration.setdefault(request["i"], []).append(ms)
                spans.setdefault(request["i"], []).append(
                    (request["sched"], request["last"]))
                if "srv" in request:
                    server.append(request["srv"] / 1e6)
                if self.worst is None \
                        or request["lat"] > self.worst["lat"]:
                    self.worst = request
        if not latency:
            raise Trouble(f"not one of {self.requests} requests was "
                          f"answered; see {directory}")
        self.latency = sorted(latency)
        self.server = sorted(server)
        self.parts = [sorted(v) for _, v in sorted(by_iteration.items())]
        self.kept = [kept(v) for v in spans.values()]
        self._run = os.path.join(directory, "run.json")

    def worst_span_ns(self):
        """When the slowest was due and when it was answered, as
        time.monotonic_ns() has it."""
        with open(self._run, encoding="utf-8") as file:
            epoch = int(json.load(file)["clock"]["epoch_ns"])
        return epoch + self.worst["sched"], epoch + self.worst["last"]

    def summary(self):
        """{name: ms} of the table's columns."""
        found = {f"client_{name}_ms": quantile(self.latency, q)
                 for name, q in (("p50", 0.5), ("p99", 0.99),
                                 ("p999", 0.999), ("max", 1.0))}
        if self.server:
            found["server_p99_ms"] = quantile(self.server, 0.99)
            found["server_max_ms"] = self.server[-1]
        found["requests"] = self.requests
        found["errors"] = self.errors
        return found


def good(request):
    """Whether a line of requests.ndjson is of an answered request."""
    return "err" not in request
