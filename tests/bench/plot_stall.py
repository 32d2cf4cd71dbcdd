#!/usr/bin/python3
"""The pictures of docs/loadgen.md: what three kinds of arrivals see of a stall.

    tests/bench/plot_stall.py [--out DIR] [--tries N]

A server that answers at once but stalls for 50 ms in request 300 of every
1000 is asked by tailor-load with Poisson arrivals and equal gaps, 1000/s each,
and in a closed loop of one.  Of each the iteration with the slowest request
becomes DIR/load-open.svg, load-uniform.svg and load-closed.svg, and a row of
the page's table is printed.  A run that the generator would not trust is made
again, at most N times; the last one is then used and said to be bad.  Where
that is permitted server and generator have real-time priority.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TAILOR_BUILD", ROOT / "build"))
sys.path.insert(0, str(ROOT / "tests"))

from rig.stub import OK, Stub  # noqa: E402

STALL_S = 0.05
STALLED = "-0300"
SLOW_NS = 2_000_000
RUNS = (("open", "Poisson", ("-r", "1000")),
        ("uniform", "equal gaps", ("-r", "1000", "--arrivals", "uniform")),
        ("closed", "closed loop", ("--arrivals", "closed:1")))


def answer(request):
    """At once, but for one request of each iteration."""
    if request.get("x-request-id").endswith(STALLED):
        time.sleep(STALL_S)
    return OK


def urgent(policy):
    """Real-time priority of this thread, where it is permitted."""
    try:
        os.sched_setscheduler(0, policy, os.sched_param(1))
    except PermissionError:
        print("no real-time priority: not permitted", file=sys.stderr)


def load(url, arguments, directory):
    """A run; its run.json and lines."""
    done = subprocess.run(
        [BUILD / "tailor-load", "-q", "-i", "6", "-n", "1000", "--priority",
         "-o", directory, *arguments, url], check=False)
    if done.returncode not in (0, 4):
        sys.exit(f"tailor-load failed ({done.returncode})")
    with open(directory / "run.json", encoding="utf-8") as file:
        run = json.load(file)
    with open(directory / "requests.ndjson", encoding="utf-8") as file:
        return run, [json.loads(line) for line in file]


def row(title, run, lines):
    """Of the table: latencies, and how many requests met the stall."""
    p50 = sorted(i["latency"]["p50_ns"] for i in run["iterations"])[2] / 1e6
    p99 = run["summary"]["p99"]
    low, high = (x / 1e6 for x in p99["ci95_ns"])
    most = run["summary"]["pooled"]["max_ns"] / 1e6
    delayed = [sum(line["i"] == i["index"] and line["lat"] > SLOW_NS
                   for line in lines) for i in run["iterations"]]
    return (f"| {title} | {p50:.2f} ms | {p99['median_ns'] / 1e6:.2f} ms "
            f"({low:.2f} - {high:.2f}) | {most:.1f} ms | "
            f"{', '.join(map(str, delayed))} | "
            f"{run['generator']['verdict']} |")


def main():
    p = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    p.add_argument("--out", type=pathlib.Path,
                   default=ROOT / "docs" / "pictures")
    p.add_argument("--tries", type=int, default=5)
    options = p.parse_args()
    # the server's thread inherits these; the generator has the last CPU
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    urgent(os.SCHED_FIFO)
    server = Stub(answer)
    os.sched_setaffinity(0, allowed)
    urgent(os.SCHED_FIFO | os.SCHED_RESET_ON_FORK)
    print("| arrivals | p50 | p99 (median, 95 % interval) | max | requests "
          "over 2 ms, iteration by iteration | generator |\n"
          "|---|---|---|---|---|---|")
    try:
        for name, title, arguments in RUNS:
            with tempfile.TemporaryDirectory(prefix="tailor-stall-") as made:
                directory = pathlib.Path(made)
                for _ in range(options.tries):
                    run, lines = load(server.url, arguments, directory)
                    if run["generator"]["verdict"] != "bad":
                        break
                print(row(title, run, lines), flush=True)
                page = (directory / "report.html").read_text("utf-8")
                (options.out / f"load-{name}.svg").write_text(
                    re.findall("<svg.*?</svg>\n", page, re.S)[1], "utf-8")
    finally:
        server.kill()


if __name__ == "__main__":
    main()
