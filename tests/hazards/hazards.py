#!/usr/bin/python3
"""Injects hazards into real servers behind a real tailor, and holds what
their timelines report against what was done.

    tests/hazards/hazards.py --build build [--times 20] [--seed N] [NAME...]

Each hazard is injected --times times at random moments among requests that
nothing is done to; the timelines of all the former and of some of the latter
are fetched and judged (rig/verdicts.py says how), and two tables come out: which
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
import shutil
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from matrix import Matrix  # noqa: E402
from rig import stage  # noqa: E402
from rig.injector import Missed, Runner, say  # noqa: E402
from rig.process import ROOT  # noqa: E402
from scenarios import Java, all_scenarios  # noqa: E402

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


def run(kind, runner):
    """One row, on a stage of its own."""
    scenario = kind(runner.given.build)
    try:
        runner.row(scenario)
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
    matrix = Matrix({
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
                run(known[name], runner)
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
