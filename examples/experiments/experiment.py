#!/usr/bin/python3
"""The thesis's evaluation, and what one would use instead of Tailor.

Each experiment is a JSON file here: a plan and its set-ups.  They are run in
rounds: in each round every set-up is started, warmed up, measured with the
same seeds, and stopped, so that what changes on the machine in an hour falls
on all.  Every cell (set-up and round) is kept; what is there is not measured
again, so an interrupted run is continued by the same command.

    make experiment               all, tens of minutes
    make experiment SHORT=1       two minutes, for a first look
    experiment.py --only instead,delay --out DIR
"""

import argparse
import hashlib
import json
import os
import pathlib
import shlex
import shutil
import signal
import sys
import tempfile
import time

import measure
import page
from setups import Running
from shared import (HERE, QUERIES, ROOT, Generator, Trouble, adopt_orphans,
                    end_all, java, lucene_jars, write_targets)

ORDER = ("thesis", "instead", "slow-queries", "restart", "delay",
         "scale-rate", "scale-heap")
SHORT = {"requests": 200, "iterations": 3, "rounds": 1, "heat": 500}
SLOW_EVERY = 33
# three words, each with up to two letters wrong: tens of ms of honest work
SLOW_WORDS = 3
START_S = 8  # to start and stop a set-up, for the forecast

_begun = time.monotonic()


def say(text):
    print(f"[{time.monotonic() - _begun:5.0f} s] {text}", file=sys.stderr,
          flush=True)


def options():
    env = os.environ.get
    p = argparse.ArgumentParser(
        description=__doc__.partition("\n")[0],
        epilog="SHORT, ONLY, OUT and BUILD in the environment set the "
               "defaults of the options of those names.")
    p.add_argument("--only", default=env("ONLY") or ",".join(ORDER),
                   metavar="NAMES", help="experiments, by comma [all]")
    p.add_argument("--setups", default="", metavar="KEYS",
                   help="only these set-ups, by comma [all]")
    p.add_argument("--short", action="store_true",
                   default=(env("SHORT") or "0") not in ("0", "no"),
                   help="few set-ups, one round: two minutes in all")
    p.add_argument("--rounds", type=int, metavar="N",
                   help="instead of each experiment's own number")
    p.add_argument("--seed", type=int, default=1, metavar="N",
                   help="of the arrivals [1]")
    p.add_argument("--build", type=pathlib.Path, metavar="DIR",
                   default=ROOT / (env("BUILD") or "build"),
                   help="the programs [build]")
    p.add_argument("--out", type=pathlib.Path, metavar="DIR",
                   default=pathlib.Path(env("OUT")) if env("OUT") else None,
                   help="cells and report [build/experiments, with --short "
                        "build/experiments-short]")
    p.add_argument("--plans", type=pathlib.Path, metavar="DIR", default=HERE,
                   help="where the experiments' files are [beside this]")
    p.add_argument("--stub", action="store_true",
                   help="a small server in place of the search service, for "
                        "the self-test")
    p.add_argument("--report-only", action="store_true",
                   help="measure nothing, only write the report")
    o = p.parse_args()
    o.build = o.build.resolve()
    o.out = (o.out or o.build / ("experiments-short" if o.short
                                 else "experiments")).resolve()
    return o


def slow_targets(count):
    """Requests that are much work, each another: answers are cached."""
    words = sorted({word for word in
                    QUERIES.read_text(encoding="utf-8").split()
                    if word.isalpha() and word.islower() and len(word) > 4})
    return ["/search?q=" + "+".join(
        f"{words[(i * SLOW_WORDS + k) % len(words)]}~2"
        for k in range(SLOW_WORDS)) for i in range(count)]


class Environment:
    """What all cells share."""

    def __init__(self, o, sockets):
        self.build = o.build
        self.stub = o.stub
        # Tailor's own warm-up of a server is most of its start
        self.tailor = {"warmup": {"requests": 100}} if o.short else {}
        if o.stub:
            self.tailor = {"warmup": {"target": "/", "requests": 5}}
        self.sockets = sockets
        allowed = sorted(os.sched_getaffinity(0))
        if len(allowed) < 2:
            raise Trouble("one CPU only: two servers need one each")
        self.cpus = {"a": str(allowed[0]), "b": str(allowed[1])}
        self.targets = {}
        for mixed in (False, True):
            path = sockets / f"targets-{int(mixed)}.txt"
            self._write_targets(path, mixed)
            self.targets[mixed] = path

    def _write_targets(self, path, mixed):
        if self.stub:
            path.write_text("/\n", encoding="ascii")
            return
        write_targets(QUERIES, path)
        if not mixed:
            return
        lines = path.read_text(encoding="utf-8").splitlines()
        lines[::SLOW_EVERY] = slow_targets(len(lines[::SLOW_EVERY]))
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def load_plan(o, name):
    """An experiment's file, shortened if asked."""
    path = o.plans / f"{name}.json"
    if not path.exists():
        raise Trouble(f"there is no experiment {name}; there are: "
                      f"{', '.join(ORDER)}")
    plan = json.loads(path.read_text(encoding="utf-8"))
    keys = [k for k in o.setups.split(",") if k] or \
        (plan["short"] if o.short else None)
    if keys:
        plan["setups"] = [s for s in plan["setups"] if s["key"] in keys]
    if o.short:
        plan.update({k: min(v, plan[k]) for k, v in SHORT.items()})
        for setup in plan["setups"]:
            if "heat" in setup:
                setup["heat"] = min(setup["heat"], SHORT["heat"])
    if o.rounds:
        plan["rounds"] = o.rounds
    return plan


def identity(plan, setup, seed):
    """Names what was measured: another plan is another cell."""
    what = {k: plan[k] for k in ("rate_per_s", "requests", "iterations",
                                 "heat")}
    what.update(setup=setup, seed=seed, mixed=plan.get("mixed", False))
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()) \
        .hexdigest()[:12]


class Cell:
    """One set-up in one round."""

    def __init__(self, o, name, plan, setup, number):
        self.plan, self.setup, self.number = plan, setup, number
        # the same arrivals for all set-ups of a round
        self.seed = o.seed + 1000 * number
        key = identity(plan, setup, self.seed)
        self.directory = o.out / "cells" / name / \
            f"{setup['key']}-{number + 1}-{key}"
        self.path = self.directory / "cell.json"
        self.name = f"{name}: {setup['title']}, round {number + 1}"

    def done(self):
        return self.path.exists()

    def seconds(self):
        """About how long it takes."""
        rate = self.setup.get("rate_per_s", self.plan["rate_per_s"])
        heat = self.setup.get("heat", self.plan["heat"])
        return START_S + 1.5 * heat / measure.WARM_UP_RATE + \
            self.plan["iterations"] * self.plan["requests"] / rate

    def run(self, environment):
        shutil.rmtree(self.directory, ignore_errors=True)
        self.directory.mkdir(parents=True)
        generator = Generator(
            environment.build, environment.targets[
                self.plan.get("mixed", False)],
            self.setup.get("rate_per_s", self.plan["rate_per_s"]), self.seed)
        running = Running(self.setup, environment, self.directory)
        try:
            found = measure.measure(running, generator, self.plan,
                                    self.directory)
        finally:
            running.stop()
        # the file is there whole or not at all
        part = self.path.with_suffix(".part")
        part.write_text(json.dumps(found), encoding="utf-8")
        part.rename(self.path)
        (self.directory / "requests.ndjson").unlink()
        return found

    def read(self):
        return json.loads(self.path.read_text(encoding="utf-8"))


def cells_of(o, name, plan):
    """All cells, round by round; the order changes from round to round."""
    found = []
    for number in range(plan["rounds"]):
        setups = plan["setups"]
        first = number % len(setups)
        found += [Cell(o, name, plan, setup, number)
                  for setup in setups[first:] + setups[:first]]
    return found


def run_all(o, plans, environment):
    """Measure what is not there yet."""
    missing = [cell for name, plan in plans.items()
               for cell in cells_of(o, name, plan) if not cell.done()]
    left = sum(cell.seconds() for cell in missing)
    for number, cell in enumerate(missing):
        say(f"{number + 1}/{len(missing)}, {left / 60:.0f} min left  "
            f"{cell.name}")
        try:
            found = cell.run(environment)
        except Trouble as e:
            # one that cannot run must not cost the others
            say(f"   FAILED: {e}")
        else:
            worst = found["latencies"][-1]
            say(f"   slowest {worst:.1f} ms, {found['errors']} failed, "
                f"generator {found['verdict']}")
        left -= cell.seconds()


def report(o, plans):
    """From all cells there are."""
    result = page.Report(" ".join(
        ["examples/experiments/experiment.py",
         *map(shlex.quote, sys.argv[1:])]))
    lacking = 0
    for name, plan in plans.items():
        rows = []
        for setup in plan["setups"]:
            cells = [Cell(o, name, plan, setup, number)
                     for number in range(plan["rounds"])]
            lacking += sum(not cell.done() for cell in cells)
            found = [cell.read() for cell in cells if cell.done()]
            if found:
                rows.append(measure.combine(setup, found))
        if rows:
            result.add(name, plan, rows)
            print(f"\n{plan['title']}: "
                  f"{result.rows[name]['shows']}")
    result.write(o.out)
    print(f"\n{o.out / 'report.html'}")
    return lacking


def check(o):
    """Trouble unless what all need is there."""
    needed = {"tailor": "make", "tailor-load": "make", "tailorctl": "make"}
    if not o.stub:
        java()
        lucene_jars()
        needed.update({"libtailor-jvm.so": "make agent",
                       "examples/lucene/SearchService.class": "make lucene",
                       "lucene-index": "make lucene-index"})
    for name, command in needed.items():
        if not (o.build / name).exists():
            raise Trouble(f"{o.build / name} is missing: {command}")


def main():
    o = options()
    adopt_orphans()
    # the paths of Unix sockets are limited to 107 bytes
    sockets = pathlib.Path(tempfile.mkdtemp(prefix="tailor-exp-"))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        plans = {name: load_plan(o, name)
                 for name in o.only.split(",") if name}
        if not o.report_only:
            check(o)
            run_all(o, plans, Environment(o, sockets))
        lacking = report(o, plans)
        if lacking:
            print(f"{lacking} cells are missing", file=sys.stderr)
        return 1 if lacking else 0
    except Trouble as e:
        print(f"experiment: {e}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("experiment: interrupted; the same command goes on from here",
              file=sys.stderr)
        return 130
    finally:
        end_all()
        shutil.rmtree(sockets, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
