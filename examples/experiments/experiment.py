#!/usr/bin/python3
"""The thesis's evaluation, and what one would use instead of Tailor.

Each experiment is a JSON file here: a plan and its set-ups.  They are run in
rounds: in each round every set-up is started, warmed up, measured with the
same seeds, and stopped, so that what changes on the machine in an hour falls
on all.  Every cell (set-up and round) is kept; what is there is not measured
again, so an interrupted run is continued by the same command.

    make experiment               all; prints how long that takes
    make experiment SIZE=medium   a part of it; the full run goes on from there
    make experiment SIZE=short    some minutes, for a first look
    experiment.py --only instead,delay --out DIR
"""

import argparse
import os
import pathlib
import shlex
import shutil
import signal
import sys
import tempfile
import time

import goals
import measure
import page
from placement import Placement
from plans import ORDER, SIZES, cells_of, load_plan, reported
from setups import StubRecipe
from shared import (HERE, QUERIES, ROOT, Appliance, Trouble, adopt_orphans,
                    end_all, java, lucene_jars, web, write_targets)

SLOW_EVERY = 33
# three words, each with up to two letters wrong: tens of ms of honest work
SLOW_WORDS = 3

_begun = time.monotonic()


def say(text):
    print(f"[{time.monotonic() - _begun:5.0f} s] {text}", file=sys.stderr,
          flush=True)


def size_of_environment():
    """SIZE, or SHORT=1, or neither."""
    if (os.environ.get("SHORT") or "0") not in ("0", "no"):
        return "short"
    return os.environ.get("SIZE") or "full"


def options():
    env = os.environ.get
    p = argparse.ArgumentParser(
        description=__doc__.partition("\n")[0],
        epilog="SIZE (or SHORT=1), ONLY, OUT and BUILD in the environment set "
               "the defaults of the options of those names.")
    p.add_argument("--only", default=env("ONLY") or ",".join(ORDER),
                   metavar="NAMES", help="experiments, by comma [all]")
    p.add_argument("--setups", default="", metavar="KEYS",
                   help="only these set-ups, by comma [all]")
    p.add_argument("--size", choices=SIZES, default=size_of_environment(),
                   help="how much is measured [full]; the cells of medium "
                        "count for full")
    p.add_argument("--seed", type=int, default=1, metavar="N",
                   help="of the arrivals [1]")
    p.add_argument("--build", type=pathlib.Path, metavar="DIR",
                   default=ROOT / (env("BUILD") or "build"),
                   help="the programs [build]")
    p.add_argument("--out", type=pathlib.Path, metavar="DIR",
                   default=pathlib.Path(env("OUT")) if env("OUT") else None,
                   help="cells and report [build/experiments, of the short "
                        "size build/experiments-short]")
    p.add_argument("--plans", type=pathlib.Path, metavar="DIR", default=HERE,
                   help="where the experiments' files are [beside this]")
    p.add_argument("--stub", action="store_true",
                   help="a small server in place of the search service, for "
                        "the self-test")
    p.add_argument("--report-only", action="store_true",
                   help="measure nothing, only write the report")
    p.add_argument("--report-to", type=pathlib.Path, metavar="DIR",
                   help="where to put the report [beside the cells]")
    p.add_argument("--redo-bad", action="store_true",
                   help="measure cells again whose figures are mostly the "
                        "generator's lateness")
    p.add_argument("--forecast", action="store_true",
                   help="only say how long what is missing would take")
    o = p.parse_args()
    o.build = o.build.resolve()
    o.out = (o.out or o.build / ("experiments-short" if o.size == "short"
                                 else "experiments")).resolve()
    return o


def command(o):
    """What would make the same report; no machine's own paths."""
    words = ["make", "experiment"]
    if o.size != "full":
        words.append(f"SIZE={o.size}")
    if o.only != ",".join(ORDER):
        words.append(f"ONLY={o.only}")
    if o.setups or o.seed != 1 or o.stub:
        words = ["examples/experiments/experiment.py", "--size", o.size,
                 "--only", o.only]
        words += ["--setups", o.setups] if o.setups else []
        words += ["--seed", str(o.seed)] if o.seed != 1 else []
        words += ["--stub"] if o.stub else []
    return " ".join(map(shlex.quote, words))


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
        self.tailor = {"warmup": {"requests": 100}} \
            if o.size == "short" else {}
        if o.stub:
            self.tailor = {"warmup": {"target": "/", "requests": 5}}
        self.sockets = sockets
        if len(os.sched_getaffinity(0)) < 2:
            raise Trouble("one CPU only: two servers need one each")
        self.place = Placement(ask=self._ask_tailor)
        # what is started from here on stays off the generator's core
        os.sched_setaffinity(0, self.place.rest)
        self.targets = {}
        for mixed in (False, True):
            path = sockets / f"targets-{int(mixed)}.txt"
            self._write_targets(path, mixed)
            self.targets[mixed] = path

    def _ask_tailor(self, cpus):
        """Where Tailor puts its servers: {name: CPUs}."""
        os.sched_setaffinity(0, cpus)
        directory = self.sockets / "ask"
        directory.mkdir()
        appliance = Appliance(
            StubRecipe(self.build, self.sockets / "ask.sock"),
            str(directory), [web.free_port() for _ in range(3)], "act",
            {"a": "auto", "b": "auto"}, {"warmup": {"requests": 0}})
        try:
            return {name: set(found) for name, found
                    in appliance.affinity().items()}
        finally:
            appliance.stop()

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


def missing_cells(o, plans):
    """What is to be measured."""
    return [cell for name, plan in plans.items()
            for cell in cells_of(o, name, plan)
            if not cell.done()
            or (o.redo_bad and not cell.read()["trusted"])]


def minutes(cells):
    return sum(cell.seconds() for cell in cells) / 60


def run_all(o, plans, environment):
    """Measure what is not there yet."""
    missing = missing_cells(o, plans)
    whole = sum(len(cells_of(o, name, plan)) for name, plan in plans.items())
    if len(missing) < whole:
        say(f"{whole - len(missing)} of {whole} cells are there already")
    for number, cell in enumerate(missing):
        say(f"{number + 1}/{len(missing)}, about "
            f"{minutes(missing[number:]):.0f} min left  {cell.name}")
        try:
            found = cell.run(environment)
        except Exception as e:  # pylint: disable=broad-except
            # one that cannot run must not cost the others, whatever it has
            text = str(e).strip() or type(e).__name__
            say(f"   FAILED: {text}")
            cell.failed.write_text(text.splitlines()[-1] + "\n",
                                   encoding="utf-8")
        else:
            worst = found["latencies"][-1]
            say(f"   slowest {worst:.1f} ms, {found['errors']} failed, "
                f"generator {found['verdict']}")


def report(o, plans):
    """From all cells there are."""
    result = page.Report(command(o), o.size)
    lacking = 0
    for name, plan in plans.items():
        rows, failures = [], []
        for setup in plan["setups"]:
            cells = reported(o, name, plan, setup)
            lacking += sum(not cell.done() for cell in cells)
            found = [cell.read() for cell in cells if cell.done()]
            failures += [cell.why_not() for cell in cells if cell.why_not()]
            if found:
                rows.append(measure.combine(setup, found))
                result.add_timeline(name, rows[-1], cells)
        if rows:
            result.add(name, plan, rows, failures)
            print(f"\n{plan['title']}: "
                  f"{result.rows[name]['shows']}")
    for goal in goals.judge(plans, result.rows):
        result.add_goal(goal)
        print(f"\ngoal: {goal.text}: {goal.state}. {goal.why}")
    result.lacking(lacking)
    place = o.report_to or o.out
    result.write(place, page.read_machine(o.out))
    print(f"\n{place / 'report.html'}")
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
        keys = [key for key in o.setups.split(",") if key]
        plans = {name: load_plan(o.plans, name, o.size, keys)
                 for name in o.only.split(",") if name}
        if o.forecast:
            missing = missing_cells(o, plans)
            print(f"{len(missing)} cells, about {minutes(missing):.0f} min")
            return 0
        if not o.report_only:
            check(o)
            environment = Environment(o, sockets)
            page.write_machine(o.out, environment.place.words(),
                               environment.place.cpus, o.build)
            run_all(o, plans, environment)
        lacking = report(o, plans)
        if lacking:
            print(f"{page.many(lacking, 'cell')} missing", file=sys.stderr)
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
