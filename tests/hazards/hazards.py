#!/usr/bin/python3
"""Injects hazards into real servers behind a real tailor, and holds what
their timelines report against what was done.

    tests/hazards/hazards.py --build build [--times 20] [--seed N] [NAME...]

Each hazard is injected --times times at random moments among requests that
nothing is done to; the timelines of all the former and of some of the latter
are fetched and judged (verdicts.py says how), and two tables come out: which
cause was reported for which was injected, and how far its time is off.

It needs root for the kernel's events and for SCHED_FIFO, two CPUs, and a JDK
for the JVM's part; what cannot be done here is skipped with its reason.
Exit status 0 if at least 19 of 20 of each were named right, and no request
was given a cause it did not have.
"""

import argparse
import json
import os
import pathlib
import platform
import random as randoms
import shutil
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import stage  # noqa: E402
import verdicts  # noqa: E402
from rig.process import ROOT  # noqa: E402
from rig.wait import Late  # noqa: E402
from scenarios import Java, all_scenarios  # noqa: E402

STRIKES = 16  # an injection that misses its request is tried again
EDGE = 4  # of so many one may be wrong where two causes are true


def options():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--build", default=str(ROOT / "build"))
    p.add_argument("--times", type=int, default=20)
    p.add_argument("--most", type=int, default=0, metavar="N",
                   help="go on to N times where one was not right")
    p.add_argument("--seed", type=int,
                   default=int(time.time()) % 1_000_000)
    p.add_argument("--ordinary", action="store_true",
                   help="share the CPUs with other processes; "
                   "else all of the stage is scheduled before them")
    p.add_argument("--json", metavar="FILE", help="everything, as JSON")
    p.add_argument("--html", metavar="FILE", help="the tables as a page")
    p.add_argument("--tales", metavar="DIRECTORY",
                   help="keep each timeline that is not right")
    p.add_argument("--tap", action="store_true",
                   help="one line of TAP for each hazard")
    p.add_argument("name", nargs="*", help="only these hazards")
    return p.parse_args()


def say(text):
    print(text, file=sys.stderr, flush=True)


class Missed(Exception):
    """By the injector's own account there was no harm to report."""


class Runner:
    """Runs scenarios into a matrix."""

    def __init__(self, given, matrix):
        self.given, self.matrix = given, matrix

    def keep(self, finding, tale):
        """Report one that is not right at once, with its tale."""
        if finding.right and finding.exact:
            return
        say(f"    {finding.injected}: {finding.code}: reported "
            f"{finding.reported_ns / 1e6:.2f} ms of "
            f"{(finding.harm_ns or 0) / 1e6:.2f} {finding.false or ''} "
            f"{finding.text}")
        if self.given.tales:
            os.makedirs(self.given.tales, exist_ok=True)
            path = os.path.join(self.given.tales,
                                f"{finding.injected}-{finding.request}.json")
            with open(path, "w", encoding="utf-8") as file:
                json.dump({**tale, "harm_ns": finding.harm_ns}, file, indent=1)

    def calm(self, scenario, random, look):
        request, account = scenario.calm(random)
        if not look:
            return
        tale = scenario.stage.tale(request)
        finding = verdicts.judge_calm(
            scenario, request, tale,
            scenario.witness(tale, account))
        self.matrix.add(finding)
        self.keep(finding, tale)

    def strike(self, scenario, random):
        """Inject until it hits; (injection, tale, ns)."""
        for _ in range(STRIKES):
            injection = scenario.inject(random)
            tale = scenario.stage.tale(injection.request, injection.stamps)
            harm_ns = injection.harm_ns
            if harm_ns is None and scenario.harm_ns:
                harm_ns = scenario.harm_ns(tale)
            if scenario.hit(tale, harm_ns):
                return injection, tale, harm_ns
        if scenario.may_miss:
            raise Missed(f"{scenario.may_miss}, {STRIKES} times in a row")
        raise Late("the injection keeps missing its request")

    def due(self, name):
        """Whether there is to be one more of that row."""
        row = self.matrix.rows.get(name, [])
        doubt = any(not finding.right for finding in row)
        return len(row) < max(self.given.times, self.given.most * doubt)

    def run(self, kind):
        """One row."""
        random = randoms.Random(f"{self.given.seed} {kind.name}")
        scenario = kind(self.given.build)
        try:
            while self.due(kind.name):
                for _ in range(random.randint(1, 4)):
                    self.calm(scenario, random, random.random() < 0.3)
                    stage.sleep_us(random.randint(0, 3000))
                injection, tale, harm_ns = self.strike(scenario, random)
                finding = verdicts.judge_injected(
                    scenario, injection, harm_ns, tale)
                self.matrix.add(finding)
                self.keep(finding, tale)
        finally:
            scenario.stop()


def unable(kind):
    """Why a hazard cannot be injected here; None if it can."""
    if os.cpu_count() < 2:
        return "one CPU cannot be shared out"
    if issubclass(kind, Java) and not (shutil.which("javac")
                                       and shutil.which("taskset")):
        return "no JDK or no taskset"
    return None


def tap(matrix, known, names):
    """The result as tools/check reads it; whether it is good."""
    passed = True
    rows = [*names, "(nothing)"]
    print(f"1..{len(rows)}")
    for number, name in enumerate(rows, 1):
        if name in matrix.skipped:
            print(matrix.skipped[name])
            print(f"ok {number} # SKIP {name}")
            continue
        row = matrix.rows.get(name, [])
        if not row and len(matrix.skipped) == len(names):
            print("every hazard was skipped")
            print(f"ok {number} # SKIP {name}")
            continue
        wrong = sum(not t.right for t in row)
        edge = name in known and known[name].edge
        allowed = len(row) // (EDGE if edge else 20)
        good = row and wrong <= allowed and name not in matrix.broken
        for line in matrix.wrong(name):
            print(f"# {line}")
        print(f"# {len(row) - wrong} of {len(row)} right")
        print(f"{'' if good else 'not '}ok {number} - {name}")
        passed = passed and bool(good)
    return passed


def main():
    given = options()
    known = all_scenarios()
    for name in given.name:
        if name not in known:
            sys.exit(f"no hazard {name!r}; there are {', '.join(known)}")
    names = given.name or list(known)
    os.sched_setaffinity(0, {stage.PROXY_CPU})
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # end the stage, too
    alone = not given.ordinary and stage.before_others()
    matrix = verdicts.Matrix({
        "seed": given.seed, "times": given.times, "alone": alone,
        "machine": f"{platform.system()} {platform.release()}, "
                   f"{os.cpu_count()} CPUs"})
    say(f"seed {given.seed}")
    runner = Runner(given, matrix)
    for name in names:
        began = time.monotonic()
        why = unable(known[name])
        try:
            if why is None:
                runner.run(known[name])
        except PermissionError as error:
            why = str(error)
        except Missed as error:
            why = str(error)
        except AssertionError as error:
            matrix.broken[name] = str(error)
            say(f"{name}: {error}")
        if why:
            matrix.skipped[name] = why
        row = matrix.rows.get(name, [])
        say(f"{name:17}{sum(t.right for t in row):3}/{len(row)}"
            f"  {time.monotonic() - began:5.1f} s"
            + (f"  skipped: {why}" if why else ""))
    print(matrix.text())
    if given.json:
        with open(given.json, "w", encoding="utf-8") as file:
            json.dump(matrix.json(), file, indent=1)
    if given.html:
        with open(given.html, "w", encoding="utf-8") as file:
            file.write(matrix.html())
    if given.tap:
        return 0 if tap(matrix, known, names) else 1
    for name in matrix.rows:
        for line in matrix.wrong(name):
            say(f"{name}: {line}")
    short = matrix.missing()
    print("\n" + ("\n".join(short) if short else
                  f"{len(matrix.skipped)} hazards skipped; the others right, "
                  "and nothing reported that was not."))
    return 1 if short else 0


if __name__ == "__main__":
    sys.exit(main())
