#!/usr/bin/python3
"""Puts small faults into the product and counts which the tests find.

    tests/mutate.py [--count 40] [--seed 1] [--long] [--json FILE] [DIR...]

Run it in a clone of its own: it changes sources, one line at a time, and puts
them back.  A fault is one operator in one line of C: a comparison turned round,
a condition negated, "and" for "or", one more or less, a call left out.  Places
are drawn from all rooms (or those below DIR) alike; what does not compile is
drawn anew.  Each is looked for by the unit tests, then by the end-to-end tests
of `make check`; --long adds those of `make check-all` on the plain build.  It
prints one line for each, and ends with "N of M found".  What is in FILE already
is not tried again.

Some faults change nothing that can be seen.  So the share says little by
itself; what counts is that the same faults (the same seed) are still found
after tests were changed.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CPUS = os.cpu_count() or 1
ROOMS = ["base", "blame", "config", "daemon", "hedging", "http", "loadgen",
         "profiler", "proxy", "shim", "tailorctl", "talechain"]
OPERATORS = [(re.compile(pattern), to) for pattern, to in (
    (r" == ", " != "), (r" != ", " == "), (r" < ", " <= "), (r" > ", " >= "),
    (r" <= ", " < "), (r" >= ", " > "), (r" && ", " || "), (r" \|\| ", " && "),
    (r" \+ 1\b", ""), (r" - 1\b", ""), (r" \+ ", " - "), (r" - ", " + "),
    (r"\bif \((.*)\)$", r"if (!(\1))"), (r"\btrue\b", "false"),
    (r"\bfalse\b", "true"), (r"^\t+[a-z_]+\([^;]*\);$", ";"))]
LEAVE = re.compile(r"^\s*(\*|/\*|//|#)|assert|\"|case |free\(|for \(")


def options():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--count", type=int, default=40)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--build", default="build-mutate")
    p.add_argument("--long", action="store_true",
                   help="also the tests of check-all, on the plain build")
    p.add_argument("--json", default="mutations.json", metavar="FILE")
    p.add_argument("directory", nargs="*", default=ROOMS)
    return p.parse_args()


def places(directory):
    """(path, line number, old line, new line) of every fault there."""
    found = []
    for path in sorted((ROOT / directory).rglob("*.c")):
        if path.name.endswith(".bpf.c"):
            continue
        for number, line in enumerate(path.read_text().split("\n")):
            if LEAVE.search(line):
                continue
            for pattern, to in OPERATORS:
                new = pattern.sub(to, line, count=1)
                if new != line:
                    found.append((str(path.relative_to(ROOT)), number, line,
                                  new))
    return found


def run(argv, limit_s, **more):
    """(exit status, output); -9 if it takes too long."""
    child = subprocess.Popen(
        argv, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, errors="replace",
        start_new_session=True, env={**os.environ, **more})
    try:
        output, _ = child.communicate(timeout=limit_s)
        return child.returncode, output
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.communicate()
        return -signal.SIGKILL, ""


def unit(build, kinds):
    """The first unit test program that fails, or None."""
    programs = sorted(p for kind in kinds
                      for p in (ROOT / build / "unit").glob(f"*/{kind}_*")
                      if p.suffix == "")
    with concurrent.futures.ThreadPoolExecutor(CPUS) as pool:
        waiting = {pool.submit(run, [p], 120): p for p in programs}
        for done in concurrent.futures.as_completed(waiting):
            if done.result()[0] != 0:
                for other in waiting:
                    other.cancel()
                program = waiting[done]
                return f"{program.parent.name}/{program.name}"
    return None


def e2e(build, mark):
    """The first end-to-end test that fails, or None."""
    status, output = run(
        ["/usr/bin/python3", "-m", "pytest", "-q", "-x", "-n", str(3 * CPUS),
         "-p", "no:cacheprovider", "-m", mark, "tests/e2e"], 1800,
        TAILOR_BUILD=str(ROOT / build), TAILOR_PATIENCE_S="60",
        PYTHONDONTWRITEBYTECODE="1")
    if status in (0, 5):
        return None
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", output, re.M)
    return failed[1] if failed else f"pytest: exit status {status}"


def look(given):
    """Who finds what is there now: a test, None, or "build"."""
    status, _ = run(["make", f"-j{CPUS}", f"BUILD={given.build}", "CC=gcc",
                     "all", "e2e-programs", "unit-programs", "lucene-index",
                     *(["unit-long-programs"] if given.long else [])], 1800)
    if status != 0:
        return "build"
    return (unit(given.build, ["test"])
            or e2e(given.build, "not long")
            or (given.long and (unit(given.build, ["long"])
                                or e2e(given.build, "long")))
            or None)


def main():
    given = options()
    dirty, text = run(["git", "status", "--porcelain", *ROOMS], 60)
    if dirty or text:
        sys.exit("sources are changed: run it in a clean clone")
    kept = pathlib.Path(given.json)
    done = json.loads(kept.read_text()) if kept.exists() else {}
    if "none" not in done:
        done["none"] = look(given)
        kept.write_text(json.dumps(done, indent=1) + "\n")
    if done["none"]:
        sys.exit(f"{done['none']} fails without any fault")
    draw = random.Random(given.seed)
    all_ = {d: places(d) for d in given.directory}
    tried, found = 0, 0
    while tried < given.count:
        path, number, old, new = draw.choice(
            all_[given.directory[tried % len(given.directory)]])
        name = f"{path}:{number + 1}: {new.strip()}"
        if name not in done:
            source = ROOT / path
            text = source.read_text()
            lines = text.split("\n")
            lines[number] = new
            source.write_text("\n".join(lines))
            try:
                done[name] = look(given)
            finally:
                source.write_text(text)
            kept.write_text(json.dumps(done, indent=1) + "\n")
        if done[name] == "build":
            continue
        tried += 1
        found += done[name] is not None
        print(f"{'found' if done[name] else 'MISSED'} {name}\n"
              f"    was: {old.strip()}\n    by:  {done[name]}", flush=True)
    print(f"{found} of {tried} found")
    return 0


if __name__ == "__main__":
    sys.exit(main())
