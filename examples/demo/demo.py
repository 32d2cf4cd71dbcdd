#!/usr/bin/python3
"""Two servers, their collections and a kill -9, with and without Tailor.

The same seeded load goes

  direct   straight to one server
  watch    through Tailor, which only watches
  steer    through Tailor, which acts before a collection, too
  act      through Tailor, which acts

and in the middle of each run the server that serves is killed with SIGKILL and
started again (behind Tailor, by Tailor).  A page shows what the clients saw.
The rate is a share of what one server carries here, measured before.  Needs no
root and nothing outside Debian; see --help.
"""

import argparse
import json
import os
import pathlib
import platform
import shutil
import signal
import sys
import tempfile
import time

import capacity
import chart
import report
import result_page
import stories
import web
from appliance import Appliance
from heating import Pauses
from load import Generator, quantile
from others import Others
from processes import (Process, Trouble, adopt_orphans, end_all, in_background,
                       wait_until)
from service import KeptServer
from workloads import ROOT, WORKLOADS

# act is the last: it may be kept
SETUPS = {"direct": ("direct", {}),
          "watch": ("Tailor, watching", {"mode": "watch"}),
          "steer": ("Tailor, steering", {"mode": "act", "steer": True}),
          "act": ("Tailor, acting", {"mode": "act"})}
PAUSE_MS = 100
STYLE = ROOT / "proxy" / "admin" / "page" / "live.css"

_begun = time.monotonic()


def say(text, passing=False):
    """A line of progress, with the time since the start; a passing one is for
    those who look on only, and gives way to the next."""
    terminal = sys.stderr.isatty()
    if passing and not terminal:
        return
    print(("\r\033[K" if terminal else "")
          + report.cut(f"[{time.monotonic() - _begun:4.0f} s] {text}"),
          end="" if passing else "\n", file=sys.stderr, flush=True)


def options():
    """The command line; the environment (make demo AGENT=jvmti) below it."""
    env = os.environ.get
    p = argparse.ArgumentParser(
        description=__doc__.partition("\n")[0],
        epilog="RUNTIME, AGENT, RATE, RUNS, ITERATIONS, QUICK, KEEP and BUILD "
               "in the environment set the defaults of the options of those "
               "names.")
    p.add_argument("--runtime", choices=WORKLOADS,
                   default=env("RUNTIME") or "lucene",
                   help="what the servers are [lucene]")
    p.add_argument("--agent", choices=("jvmti", "none"),
                   default=env("AGENT") or "none",
                   help="what is loaded into the JVMs: Tailor's agent, or "
                   "nothing [none]")
    p.add_argument("--rate", type=float, default=float(env("RATE") or 0),
                   metavar="N", help="requests per second [40 % of what one "
                   "server carries, at most 400; node: 100]")
    p.add_argument("--iterations", type=int, metavar="N",
                   default=int(env("ITERATIONS") or 0),
                   help="of 1000 requests, in each set-up [12; node: 6; "
                   "fewer at a lower rate]")
    p.add_argument("--runs", type=int, default=int(env("RUNS") or 1),
                   metavar="N", help="do it all so often [1]")
    p.add_argument("--quick", action="store_true",
                   default=(env("QUICK") or "0") not in ("0", "no"),
                   help="4 iterations: a minute, and rougher figures")
    p.add_argument("--keep", action="store_true",
                   default=(env("KEEP") or "0") not in ("0", "no"),
                   help="leave the last set-up running, under load")
    p.add_argument("--setups", metavar="NAMES",
                   help="only these, of " + ",".join(SETUPS))
    p.add_argument("--seed", type=int, default=1, metavar="N",
                   help="of the arrivals [1]")
    p.add_argument("--port", type=int, default=0, metavar="N",
                   help="Tailor's port [any free one]")
    p.add_argument("--build", type=pathlib.Path, metavar="DIR",
                   default=ROOT / (env("BUILD") or "build"),
                   help="the programs [build]")
    p.add_argument("--out", type=pathlib.Path, metavar="DIR",
                   help="the page and raw results [build/demo/<time>]")
    p.add_argument("--svg", metavar="FILE",
                   help="write the chart of direct and act")
    o = p.parse_args()
    o.work = WORKLOADS[o.runtime]
    if o.rate < 0 or o.iterations < 0 or o.runs < 1:
        p.error("--rate, --iterations and --runs must be positive")
    o.setups = o.setups.split(",") if o.setups else o.work.setups
    if not set(o.setups) <= set(SETUPS):
        p.error("--setups takes names of " + ",".join(SETUPS))
    if o.keep and "act" not in o.setups:
        p.error("--keep keeps the set-up act, which is left out")
    o.build = o.build.resolve()
    o.out = (o.out or o.build / "demo" / time.strftime("%Y%m%d-%H%M%S")) \
        .resolve()
    return o


def check(o):
    """Trouble unless everything is there."""
    needed = {"tailor": "make", "tailor-load": "make", "tailorctl": "make",
              **o.work.needs(o.agent)}
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
        self.sockets = sockets
        directory.mkdir(parents=True)
        targets = directory / "targets.txt"
        self.requests = o.work.write_targets(targets)
        self.generator = Generator(o.build, targets, o.rate, o.seed)
        self.generator.most = o.warm_rate
        # as many as fill the sessions, so that collections are as long at
        # the beginning as at the end
        self.warm_up = o.work.warm_up // (3 if o.quick else 1)
        self.middle = o.iterations // 2
        self.cpus = {"a": "0", "b": "1"}
        self.direct_cpus = {0}
        self.kept = None

    def place(self):
        """With CPUs to spare, Tailor's own placement, for all set-ups."""
        allowed = sorted(os.sched_getaffinity(0))
        if len(allowed) == 1:
            raise Trouble("one CPU only: two servers need one each")
        self.cpus = {"a": str(allowed[0]), "b": str(allowed[1])}
        self.direct_cpus = {allowed[0]}
        if len(allowed) == 2 or self.o.setups == ["direct"]:
            return
        say("asking Tailor where the servers should run", passing=True)
        self.cpus = {"a": "auto", "b": "auto"}
        appliance = self.appliance(self.folder("placement"),
                                   {"mode": "watch"})
        try:
            self.direct_cpus = set(appliance.affinity()["a"])
        finally:
            appliance.stop()

    def folder(self, name):
        path = self.directory / name
        path.mkdir()
        return path

    def appliance(self, directory, hedging):
        ports = [self.o.port or web.free_port(), web.free_port(),
                 web.free_port()]
        recipe = self.o.work.recipe(self.o, self.sockets / "channels.sock")
        return Appliance(recipe, str(directory), ports, hedging["mode"],
                         self.cpus, {**self.o.work.more, "hedging": hedging})

    def setup(self, key):
        """Run one set-up; returns all that was found."""
        title, hedging = SETUPS[key]
        directory = self.folder(key)
        say(f"{key}: starting and warming up", passing=True)
        found = self.through(directory, key, hedging) if hedging \
            else self.direct(directory)
        say(f"{key}: slowest {report.number(found['story']['ms'])} ms, "
            f"{found['errors']} failed", passing=self.o.runs > 1)
        return {"key": key, "title": title, **found}

    def warm(self, servers, directory):
        self.o.work.warm(self.generator, servers, directory, self.warm_up)

    def direct(self, directory):
        server = KeptServer(self.o.work.recipe(self.o, None), "a",
                            web.free_port(), str(directory), True,
                            self.direct_cpus)
        try:
            server.wait_ready()
            self.warm({"a": server.port}, directory)
            pauses = Pauses(directory, "a")
            result, killed = self.measure("direct", server.port, directory,
                                          server.kill)
            restarted_ns = server.restarted_ns
        finally:
            server.stop()
        story = stories.of_facts(result.worst["lat"] / 1e6,
                                 result.worst_span_ns(), pauses.ends(),
                                 killed.get("a"), restarted_ns)
        return self.outcome(result, story)

    def through(self, directory, key, hedging):
        appliance = self.appliance(directory, hedging)
        try:
            self.o.work.check_seen(appliance)
            self.warm(appliance.servers, directory)
            appliance.wait_calm()
            before = appliance.metrics()
            result, killed = self.measure(key, appliance.port, directory,
                                          appliance.kill_active)
            appliance.check_alive()
            after = appliance.metrics()
            story = self.story(appliance, result, directory, killed)
        except BaseException:
            appliance.stop()
            raise
        if self.o.keep and key == "act":
            self.kept = appliance
        else:
            appliance.stop()
        hedges = sum(value - before.get(name, 0)
                     for name, value in after.items()
                     if name.startswith("tailor_hedges_sent_total"))
        return {**self.outcome(result, story), "hedges": int(hedges),
                "extra_pct": 100 * hedges / result.requests}

    def story(self, appliance, result, directory, killed):
        ms = result.worst["lat"] / 1e6
        tale, why = appliance.timeline(result.worst["id"])
        if tale is None:
            return {"ms": ms, "cause": f"not observed: {why}", "lines": [],
                    "moments": []}
        link = os.path.relpath(directory / "worst.html", self.o.out)
        return {**stories.of_timeline(ms, tale, list(appliance.servers),
                                      killed), "link": link}

    @staticmethod
    def outcome(result, story):
        return {"requests": result.requests, "errors": result.errors,
                "parts": result.parts, "kept": result.kept,
                "trusted": result.trusted, "others": result.others,
                "story": story}

    def measure(self, key, port, directory, kill):
        """The measured load, with a kill -9 in its middle: (Result, {server:
        when it was killed})."""
        o = self.o
        one_s = self.requests / o.rate + PAUSE_MS / 1000
        say(f"{key}: {o.iterations} x {self.requests} requests at "
            f"{o.rate:g}/s, {o.iterations * one_s:.0f} s", passing=True)
        others = Others()
        run = self.generator.start(
            port, self.requests, o.iterations, PAUSE_MS, directory)
        # early in an iteration, so that it sees the whole restart
        due = None
        while o.work.kills and run.running() and (
                due is None or time.monotonic() < due):
            if due is None and run.iteration() >= self.middle:
                due = time.monotonic() + 0.2 * one_s
            time.sleep(0.02)
        killed = {kill(): time.monotonic_ns()} \
            if o.work.kills and run.running() else {}
        result = run.wait()
        result.others = others.cpus()
        return result, killed

    def run(self):
        self.place()
        return [self.setup(key) for key in SETUPS if key in self.o.setups]


def find_rate(o, directory):
    """Measure what one server carries, without Tailor, and choose the rate and
    the number of iterations where none is given."""
    say("measuring what one server carries here", passing=True)
    directory.mkdir(parents=True)
    targets = directory / "targets.txt"
    requests = o.work.write_targets(targets)
    generator = Generator(o.build, targets, 0, o.seed)
    server = KeptServer(o.work.recipe(o, None), "a", web.free_port(),
                        str(directory), True,
                        {min(os.sched_getaffinity(0))})
    try:
        server.wait_ready()
        generator.closed(server.port, capacity.CLIENTS,
                         o.work.warm_up // (3 if o.quick else 1))
        o.carries, _ = generator.closed(server.port, capacity.CLIENTS,
                                        requests)
        _, o.unloaded_ms = generator.closed(server.port, 1, requests // 4)
    finally:
        server.stop()
    o.warm_rate = capacity.WARM_SHARE * o.carries
    o.rate = o.rate or capacity.rate(o.carries, o.work.rate)
    o.iterations = o.iterations or capacity.iterations(
        o.rate, o.work.rate, o.work.iterations)
    if o.quick:
        o.iterations = min(o.iterations, capacity.LEAST_ITERATIONS)
    say(f"one server carries {o.carries:.0f}/s, a request alone takes "
        f"{report.number(o.unloaded_ms)} ms: {o.rate:g}/s")


def together(runs, unloaded_ms):
    """The set-ups with the iterations of all runs, and what they say."""
    found = []
    for same in zip(*runs):
        parts = [part for s in same for part in s["parts"]]
        s = {**same[0], "parts": parts, "figures": report.figures(parts),
             "saturated": capacity.saturated(
                 [quantile(part, 0.5) for part in parts],
                 [share for s in same for share in s["kept"]], unloaded_ms),
             "slowest": [part[-1] for part in parts],
             "errors": sum(s["errors"] for s in same),
             "requests": sum(s["requests"] for s in same),
             "trusted": all(s["trusted"] for s in same),
             "others": max((s["others"] for s in same), key=sum),
             "story": max((s["story"] for s in same),
                          key=lambda story: story["ms"])}
        if "hedges" in s:
            s["hedges"] = sum(s["hedges"] for s in same)
            s["extra_pct"] = 100 * s["hedges"] / s["requests"]
        found.append(s)
    return found


def describe(o):
    every = o.iterations * o.runs
    return (f"{every} x 1000 searches at {o.rate:g}/s"
            + (f", {o.runs} kill -9" if o.work.kills else "")
            + (f", agent {o.agent}" if o.agent != "none" else "")
            + f"; {os.cpu_count()} CPUs, Linux {platform.release()}")


def print_report(o, setups, found):
    """What the terminal gets of it."""
    lines = ["", describe(o), *report.table(setups), report.READING,
             report.ratio_line(setups, found), *report.doubts(setups)]
    lines += [report.cut(f"{s['key']}, {report.number(s['story']['ms'])} ms: "
                         f"{s['story']['cause']}") for s in setups]
    doubtful = [s["key"] for s in setups if not s["trusted"]]
    if doubtful:
        lines.append("The load generator itself was late: "
                     f"{', '.join(doubtful)}; see load.txt there.")
    print("\n".join(line for i, line in enumerate(lines) if line or not i))


def write_results(o, setups, found):
    kills = [run * o.iterations + o.iterations // 2 for run in range(o.runs)] \
        if o.work.kills else []
    (o.out / "index.html").write_text(
        result_page.page(STYLE.read_text(encoding="utf-8"), setups, found,
                  describe(o), kills), encoding="utf-8")
    kept = [{k: v for k, v in s.items() if k != "parts"} for s in setups]
    (o.out / "results.json").write_text(json.dumps(
        {"schema": "tailor.demo/3", "what": describe(o), "seed": o.seed,
         "rate_per_s": o.rate, "capacity_per_s": o.carries,
         "unloaded_p50_ms": o.unloaded_ms, "p999_ratio": found,
         "setups": kept}, indent=2) + "\n",
        encoding="utf-8")
    if o.svg:
        pathlib.Path(o.svg).write_text(chart.svg(
            [s for s in setups if s["key"] != "watch"], describe(o)),
            encoding="utf-8")


def run_all(o, sockets):
    """All runs, and what is made of them; the last Demo."""
    find_rate(o, sockets / "capacity")
    runs, demo = [], None
    for number in range(1, o.runs + 1):
        if demo and demo.kept:
            demo.kept.stop()
        where = o.out / f"run{number}" if o.runs > 1 else o.out
        demo = Demo(o, where, sockets)
        runs.append(demo.run())
        if o.runs > 1:
            say(f"run {number} of {o.runs}: slowest " + ", ".join(
                f"{s['key']} {report.number(s['story']['ms'])} ms"
                for s in runs[-1]))
    setups = together(runs, o.unloaded_ms)
    parts = {s["key"]: s["parts"] for s in setups if not s["saturated"]}
    found = report.ratio(parts.get("direct"), parts.get("act"))
    print_report(o, setups, found)
    write_results(o, setups, found)
    return demo


def keep(o, demo):
    """Show the live page of what is left running."""
    shown = o.out / "live.txt"
    live = Process([o.build / "tailorctl", "--admin", demo.kept.admin, "live"],
                   shown)
    wait_until(lambda: "/live" in shown.read_text(), live,
               "tailorctl live had printed an address")
    print(f"\nIt goes on, at {shown.read_text().split()[0]}\n"
          f"To end it: kill {os.getpid()}")


def main():
    o = options()
    ready = in_background() if o.keep else None
    adopt_orphans()
    # the paths of Unix sockets are limited to 107 bytes
    sockets = tempfile.mkdtemp(prefix="tailor-demo-")
    # also where a shell started us in the background with SIGINT ignored
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        check(o)
        demo = run_all(o, pathlib.Path(sockets))
        if o.keep:
            keep(o, demo)
        print(f"\n{o.out / 'index.html'}", flush=True)
        if o.keep:
            ready()
        while o.keep:
            demo.generator.warm_up(demo.kept.port, int(60 * o.rate), o.rate)
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
