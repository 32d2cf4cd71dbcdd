#!/usr/bin/python3
"""The microscope beside sampling profilers, on the same program.

    tests/bench/bench_shim.py [--rounds N] [--limit S] [--json FILE] [BUILD]

A program runs two functions in turn, 5 us each, and counts in shared memory
what it gets done.  It is observed by nothing, by `tailor shim` as fast as it
can and at 1200 cycles, by perf record at the highest rate the kernel allows
and by bpftrace's profile, in turn in each round.  Shown are samples per
second, the time between two, and how much less the program got done than in
the same round without an observer (medians).  What the others do before and
after they observe is not counted against them.

A round takes some 15 s.  After --limit seconds no observation begins; each
ends within 40 s or is left out.  On a machine with nothing else to do: not
under chrt, because a program that never sleeps keeps the kernel's own threads
from its CPU then, and perf and bpftrace wait for them (it is undone here).
"""

import argparse
import contextlib
import json
import pathlib
import os
import random
import re
import select
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
SECONDS = 2
COMMAND_SECONDS = 40    # of one command, at most
LAP_SECONDS = 5         # until the program answers


class Workload:
    def __init__(self, build, file, cpu):
        self.child = subprocess.Popen(
            [build / "bench/shim_workload", file, str(cpu)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        assert self.line() == b"ready\n"

    def line(self):
        ready, _, _ = select.select([self.child.stdout], [], [], LAP_SECONDS)
        if not ready:
            raise RuntimeError("the observed program does not get its CPU")
        return self.child.stdout.readline()

    def lap(self):
        """Changes per second since the last lap."""
        self.child.stdin.write(b"\n")
        changes, ns = map(int, self.line().split())
        return changes * 1e9 / ns

    def stop(self):
        self.child.stdin.close()
        try:
            self.child.wait(LAP_SECONDS)
        except subprocess.TimeoutExpired:
            self.child.kill()


def run(argv):
    try:
        return subprocess.run(argv, capture_output=True, text=True,
                              check=False, timeout=COMMAND_SECONDS)
    except subprocess.TimeoutExpired as late:
        raise RuntimeError(
            f"{argv[0]} did not end in {COMMAND_SECONDS} s") from late


def nothing(b):
    with b.observed():
        time.sleep(SECONDS)
    return 0


def shim(period):
    def observe(b):
        with b.observed():
            done = run([b.build / "tailor", "shim", "--on",
                        str(b.observer_cpu), "--signal", f"word:{b.file}:0",
                        "--tag", f"word:{b.file}:128", "--period",
                        str(period), "--seconds", str(SECONDS), "--json"])
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip()[-120:])
        seen = json.loads(done.stdout)
        return seen["periods"] / (seen["taken_ns"] / 1e9)
    return observe


def perf(b):
    rate = pathlib.Path(
        "/proc/sys/kernel/perf_event_max_sample_rate").read_text().strip()
    data = f"{b.directory}/perf.data"
    with b.observed():
        done = run(["perf", "record", "-q", "-e", "cpu-clock", "-F", rate,
                    "-o", data, "-p", str(b.workload.child.pid), "sleep",
                    str(SECONDS)])
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip()[-120:])
    counted = run(["perf", "report", "-i", data, "--stats"])
    found = re.search(r"SAMPLE events:\s+(\d+)", counted.stdout)
    if found is None:
        raise RuntimeError((counted.stdout + counted.stderr).strip()[-120:])
    return int(found[1]) / SECONDS


def bpftrace(b):
    program = ("BEGIN { printf(\"begun\\n\"); } "
               f"profile:hz:9999 /pid == {b.workload.child.pid}/ "
               "{ @n = count(); @[reg(\"ip\")] = count(); } "
               f"interval:s:{SECONDS} {{ clear(@); exit(); }}")
    with subprocess.Popen(["timeout", str(COMMAND_SECONDS), "bpftrace", "-e",
                           program], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT) as tracer:
        said = ""
        for line in tracer.stdout:
            said += line
            if line == "begun\n":
                break
        with b.observed():
            said += tracer.stdout.read()
    found = re.search(r"@n: (\d+)", said)
    if found is None:
        raise RuntimeError(said.strip()[-120:] or "bpftrace said nothing")
    return int(found[1]) / SECONDS


OBSERVERS = {"nothing": nothing, "tailor shim": shim(0),
             "tailor shim, 1200": shim(1200), "perf record": perf,
             "bpftrace": bpftrace}


class Bench:
    def __init__(self, build, directory):
        cpus = sorted(os.sched_getaffinity(0))
        self.build = build
        self.directory = directory
        self.observer_cpu = cpus[-1]
        self.file = pathlib.Path(directory) / "words"
        self.file.write_bytes(bytes(4096))
        self.done = None
        self.workload = Workload(build, self.file, cpus[0])

    @contextlib.contextmanager
    def observed(self):
        """Around the time in which the program is observed."""
        self.workload.lap()
        yield
        self.done = self.workload.lap()


def measure(bench, names, rounds, limit):
    """What each round found, and who was left out and why."""
    found, left_out, order = [], {}, random.Random(1)
    end = time.monotonic() + limit
    for number in range(rounds):
        mine = {}
        for name in order.sample(names, len(names)):
            if time.monotonic() > end:
                return found, left_out
            print(f"\rround {number + 1} of {rounds}: {name:24}", end="",
                  file=sys.stderr, flush=True)
            try:
                mine[name] = OBSERVERS[name](bench), bench.done
            except RuntimeError as trouble:
                left_out[name] = str(trouble)
                names.remove(name)
        found.append(mine)
    return found, left_out


def rows_of(names, rounds):
    rows = []
    for name in names:
        done = [r[name][1] / r["nothing"][1] for r in rounds]
        rows.append({
            "observer": name,
            "samples_per_s": statistics.median(r[name][0] for r in rounds),
            "done_ratio": statistics.median(done),
            "range": [min(done), max(done)]})
    return rows


def show(rows, left_out, rounds):
    print(f"\n\nTwo functions of 5 us in turn, {rounds} whole rounds\n\n"
          f"  {'observer':20}{'samples/s':>12}{'every us':>10}"
          f"{'done':>8}  (range)")
    for r in rows:
        rate = r["samples_per_s"]
        every = f"{1e6 / rate:10.2f}" if rate else f"{'-':>10}"
        print(f"  {r['observer']:20}{rate:12.0f}{every}"
              f"{r['done_ratio']:8.3f}"
              f"  {r['range'][0]:.3f}-{r['range'][1]:.3f}")
    for name, why in left_out.items():
        print(f"  {name}: left out: {why}")
    print("  done: work got done, beside that with no observer")


def main():
    p = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    p.add_argument("--rounds", type=int, default=3, metavar="N")
    p.add_argument("--limit", type=float, default=120, metavar="SECONDS")
    p.add_argument("--json", metavar="FILE")
    p.add_argument("build", nargs="?", type=pathlib.Path,
                   default=os.environ.get("TAILOR_BUILD") or ROOT / "build")
    o = p.parse_args()
    if len(os.sched_getaffinity(0)) < 2:
        print("bench_shim: needs two CPUs; nothing measured")
        return 0
    if os.sched_getscheduler(0) != os.SCHED_OTHER:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    names = [n for n in OBSERVERS
             if n.startswith(("nothing", "tailor")) or
             shutil.which(n.split()[0])]
    missing = {n: "not installed" for n in OBSERVERS if n not in names}
    with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
        bench = Bench(o.build.resolve(), directory)
        try:
            rounds, left_out = measure(bench, names, o.rounds, o.limit)
        finally:
            bench.workload.stop()
    if not rounds or "nothing" not in names:
        print(f"\nbench_shim: nothing measured: {left_out or 'no time'}")
        return 1
    left_out.update(missing)
    rows = rows_of(names, rounds)
    show(rows, left_out, len(rounds))
    if o.json:
        pathlib.Path(o.json).write_text(json.dumps(
            {"rows": rows, "left_out": left_out}, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
