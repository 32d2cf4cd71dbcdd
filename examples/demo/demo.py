#!/usr/bin/python3
"""Two search servers, their collections and a kill -9, four ways.

The same seeded load goes

  a  straight to the service, as the JDK ships its HTTP server
  b  straight to it, with TCP_NODELAY
  c  through Tailor, which only watches
  d  through Tailor, which acts

and in the middle of each run the JVM that serves is killed with SIGKILL and
started again (in c and d by Tailor).  Then one table says what the clients
saw.  Needs no root and nothing outside Debian; see --help.
"""

import argparse
import json
import os
import pathlib
import platform
import shutil
import signal
import statistics
import sys
import tempfile
import time

import chart
import report
import web
from appliance import Appliance
from heating import heat_apart
from load import Generator, write_targets
from processes import Trouble, adopt_orphans, end_all
from service import KeptServer, Recipe, java, lucene_jars

ROOT = pathlib.Path(__file__).resolve().parents[2]
QUERIES = ROOT / "examples" / "lucene" / "queries.txt"
SETUPS = (("a", "direct, as shipped"), ("b", "direct, NODELAY"),
          ("c", "Tailor, watching"), ("d", "Tailor, acting"))
PAUSE_MS = 100

_begun = time.monotonic()


def say(text):
    """One line of progress, with the time since the start."""
    print(f"[{time.monotonic() - _begun:4.0f} s] {text}", file=sys.stderr,
          flush=True)


def options():
    """The command line; the environment (make demo AGENT=none) below it."""
    env = os.environ.get
    p = argparse.ArgumentParser(
        description=__doc__.partition("\n")[0],
        epilog="AGENT, RATE, RUNS, ITERATIONS, QUICK and BUILD in the "
               "environment set the defaults of the options of those names.")
    p.add_argument("--agent", choices=("jvmti", "none"),
                   default=env("AGENT") or "jvmti",
                   help="how Tailor learns of collections: its JVM agent, "
                        "or nothing in the JVM at all [jvmti]")
    p.add_argument("--rate", type=float, default=float(env("RATE") or 400),
                   metavar="N", help="requests per second [400]")
    p.add_argument("--iterations", type=int, metavar="N",
                   default=int(env("ITERATIONS") or 12),
                   help="of 1000 requests, in each set-up [12]")
    p.add_argument("--runs", type=int, default=int(env("RUNS") or 1),
                   metavar="N", help="do it all so often; medians at the "
                   "end [1]")
    p.add_argument("--quick", action="store_true",
                   default=(env("QUICK") or "0") not in ("0", "no"),
                   help="4 iterations: a minute, and rougher figures")
    p.add_argument("--setups", default="abcd", metavar="LETTERS",
                   help="only these [abcd]")
    p.add_argument("--seed", type=int, default=1, metavar="N",
                   help="of the arrivals [1]")
    p.add_argument("--port", type=int, default=0, metavar="N",
                   help="Tailor's port [any free one]")
    p.add_argument("--build", type=pathlib.Path, metavar="DIR",
                   default=ROOT / (env("BUILD") or "build"),
                   help="the programs [build]")
    p.add_argument("--out", type=pathlib.Path, metavar="DIR",
                   help="raw results [build/demo/<time>]")
    p.add_argument("--json", metavar="FILE",
                   help="write the results as JSON; - for standard output")
    p.add_argument("--svg", metavar="FILE", help="write the chart")
    o = p.parse_args()
    if o.rate <= 0 or o.iterations < 1 or o.runs < 1:
        p.error("--rate, --iterations and --runs must be positive")
    if not set(o.setups) <= set("abcd") or not o.setups:
        p.error("--setups takes letters of abcd")
    if o.quick:
        o.iterations = min(o.iterations, 4)
    o.build = o.build.resolve()
    o.out = (o.out or o.build / "demo" / time.strftime("%Y%m%d-%H%M%S")) \
        .resolve()
    return o


def check(o):
    """Trouble unless everything is there."""
    java()
    lucene_jars()
    needed = {"tailor": "make", "tailor-load": "make",
              "examples/lucene/SearchService.class": "make lucene",
              "lucene-index": "make lucene-index"}
    if o.agent == "jvmti":
        needed["libtailor-jvm.so"] = "make agent"
    if not set(o.setups) & set("cd"):
        del needed["tailor"]
    for name, command in needed.items():
        if not (o.build / name).exists():
            raise Trouble(f"{o.build / name} is missing: {command}")
    if o.port and web.port_in_use(o.port):
        raise Trouble(f"port {o.port} is in use; choose another --port, or "
                      "none for any free one")


class Demo:
    """One run of all set-ups."""

    def __init__(self, o, directory, sockets):
        self.o = o
        self.directory = directory
        directory.mkdir(parents=True)
        targets = directory / "targets.txt"
        self.requests = write_targets(QUERIES, targets)
        self.generator = Generator(o.build, targets, o.rate, o.seed)
        # as many as fill the sessions, so that collections are as long at
        # the beginning as at the end
        self.warm_up = 2000 if o.quick else 6000
        self.sockets = sockets
        self.cpus = {"a": "0", "b": "1"}
        self.direct_cpus = {0}
        self.worst = None
        self.delay = None

    def place(self):
        """With CPUs to spare, Tailor's own placement, for all set-ups."""
        allowed = sorted(os.sched_getaffinity(0))
        if len(allowed) == 1:
            raise Trouble("one CPU only: two servers need one each")
        self.cpus = {"a": str(allowed[0]), "b": str(allowed[1])}
        self.direct_cpus = {allowed[0]}
        if len(allowed) == 2 or not set(self.o.setups) & set("cd"):
            return
        self.cpus = {"a": "auto", "b": "auto"}
        appliance = self.appliance(self.folder("placement"), "watch")
        try:
            self.direct_cpus = set(appliance.affinity()["a"])
        finally:
            appliance.stop()

    def folder(self, name):
        path = self.directory / name
        path.mkdir()
        return path

    def appliance(self, directory, mode):
        ports = [self.o.port or web.free_port(), web.free_port(),
                 web.free_port()]
        recipe = Recipe(self.o.build, self.o.agent,
                        self.sockets / "channels.sock")
        return Appliance(recipe, str(directory), ports, mode, self.cpus)

    def setup(self, key, title):
        """Run one set-up; returns its line of the table, as a dict."""
        directory = self.folder(key)
        say(f"{key}  {title}: starting and warming up")
        if key in "ab":
            found = self.direct(directory, nodelay=key == "b")
        else:
            found = self.through(directory, key)
        say(f"{key}  slowest {found['client_max_ms']:.1f} ms, "
            f"{found['errors']} errors")
        return {"key": key, "title": title, **found}

    def direct(self, directory, nodelay):
        server = KeptServer(Recipe(self.o.build), "a", web.free_port(),
                            str(directory), nodelay, self.direct_cpus)
        try:
            server.wait_ready()
            heat_apart(self.generator, {"a": server.port}, directory,
                       self.warm_up)
            result = self.measure(server.port, directory, server.kill)
        finally:
            server.stop()
        return self.outcome(result)

    def through(self, directory, key):
        appliance = self.appliance(
            directory, "watch" if key == "c" else "act")
        try:
            heat_apart(self.generator, appliance.servers, directory,
                       self.warm_up)
            appliance.wait_calm()
            before = appliance.metrics()
            result = self.measure(
                appliance.port, directory, appliance.kill_active)
            appliance.check_alive()
            after = appliance.metrics()
            if key == "c":
                self.worst = (result.worst["lat"] / 1e6, *appliance.timeline(
                    result.worst["id"]))
            else:
                self.delay = report.send_delay(after)
        finally:
            appliance.stop()
        found = self.outcome(result)
        hedges = sum(value - before.get(name, 0)
                     for name, value in after.items()
                     if name.startswith("tailor_hedges_sent_total"))
        found["hedges"] = int(hedges)
        found["extra_pct"] = 100 * hedges / result.requests
        return found

    @staticmethod
    def outcome(result):
        return {**result.summary(), "iterations": result.iterations,
                "trusted": result.trusted}

    def measure(self, port, directory, kill):
        """The measured load, with a kill -9 in its middle."""
        o = self.o
        one_s = self.requests / o.rate + PAUSE_MS / 1000
        middle = o.iterations // 2
        say(f"   {o.iterations} x {self.requests} requests at {o.rate:g}/s, "
            f"{o.iterations * one_s:.0f} s")
        run = self.generator.start(
            port, self.requests, o.iterations, PAUSE_MS, directory)
        # early in an iteration, so that it sees the whole restart
        due = time.monotonic() + (middle + 0.2) * one_s
        while run.running() and time.monotonic() < due:
            time.sleep(0.02)
        if run.running():
            say(f"   kill -9 {kill()} in iteration {middle + 1}")
        return run.wait()

    def run(self):
        self.place()
        setups = [self.setup(key, title) for key, title in SETUPS
                  if key in self.o.setups]
        return {"setups": setups,
                "max_ratio": report.ratio(setups, "c", "d", "client_max_ms"),
                "p999_ratio": report.ratio(
                    setups, "c", "d", "client_p999_ms")}


def describe(o):
    return (f"{o.iterations} x 1000 searches at {o.rate:g}/s, Poisson, one "
            f"kill -9 each; agent: {o.agent}; {os.cpu_count()} CPUs, Linux "
            f"{platform.release()}")


def print_report(o, demo, found):
    """All there is to say about one run."""
    setups = found["setups"]
    print(f"\n{describe(o)}\n\n{report.table(setups)}\n")
    print("latency = scheduled instant -> last byte, of answered requests; "
          "err = not answered")
    for name, key in (("worst latency", "max_ratio"),
                      ("p99.9", "p999_ratio")):
        if found[key]:
            print(f"{name}: watching / acting = {found[key]:.1f}")
    for s in setups:
        if not s["trusted"]:
            print(f"set-up {s['key']}: the load generator was disturbed "
                  f"itself; see {demo.directory / s['key'] / 'load.txt'}")
    print(f"\nslowest request of each iteration\n{report.chart(setups)}")
    if demo.delay is not None:
        print("\nfrom the begin of a collection to the last request sent "
              f"again:\n{report.wrap(demo.delay)}")
    if demo.worst is not None:
        ms, text, why = demo.worst
        print(f"\nthe slowest request of c, {ms:.1f} ms:\n{text or why}")
    print(f"\nraw results: {demo.directory}")
    for line in WHERE_NEXT:
        print(f"  {line}")


WHERE_NEXT = (
    "?/load.txt          tailor-load's own report, with its self-check",
    "?/requests.ndjson   every request",
    "?/a-gc-PID.log      the JVM's collections, by itself",
    "[cd]/tailor.json    Tailor's configuration:  build/tailor -T -c FILE",
    "[cd]/metrics.txt    Tailor's counters after the run",
    "c/worst.txt         the timeline above",
    "build/tailorctl slow | why ID | log   on a Tailor that runs",
)


def print_medians(results):
    """Over several runs."""
    if len(results) < 2:
        return
    print(f"\nmedians of {len(results)} runs")
    for name, key in (("worst latency", "max_ratio"),
                      ("p99.9", "p999_ratio")):
        values = [r[key] for r in results if r[key]]
        if values:
            each = ", ".join(f"{v:.1f}" for v in values)
            print(f"  {name}: watching / acting = "
                  f"{statistics.median(values):.1f}  ({each})")
    acting = [s for r in results for s in r["setups"] if s["key"] == "d"]
    if acting:
        print(f"  acting: {sum(s['errors'] for s in acting)} errors, "
              f"at most {max(s['extra_pct'] for s in acting):.2f} % extra "
              "requests")


def write_results(o, results):
    text = json.dumps({"schema": "tailor.demo/1", "what": describe(o),
                       "agent": o.agent, "rate_per_s": o.rate,
                       "seed": o.seed, "runs": results}, indent=2) + "\n"
    (o.out / "results.json").write_text(text, encoding="utf-8")
    if o.json == "-":
        print(text, end="")
    elif o.json:
        pathlib.Path(o.json).write_text(text, encoding="utf-8")
    picture = chart.svg(results[-1]["setups"], describe(o))
    (o.out / "demo.svg").write_text(picture, encoding="utf-8")
    if o.svg:
        pathlib.Path(o.svg).write_text(
            chart.short(results[-1]["setups"], describe(o)), encoding="utf-8")


def main():
    o = options()
    adopt_orphans()
    # the paths of Unix sockets are limited to 107 bytes
    sockets = tempfile.mkdtemp(prefix="tailor-demo-")
    # also where a shell started us in the background with SIGINT ignored
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        check(o)
        results = []
        for number in range(1, o.runs + 1):
            where = o.out / f"run{number}" if o.runs > 1 else o.out
            demo = Demo(o, where, pathlib.Path(sockets))
            results.append(demo.run())
            if o.json != "-":
                print_report(o, demo, results[-1])
        write_results(o, results)
        if o.json != "-":
            print_medians(results)
    except Trouble as e:
        print(f"demo: {e}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("demo: interrupted", file=sys.stderr)
        return 130
    finally:
        end_all()
        shutil.rmtree(sockets, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
