#!/usr/bin/python3
"""The microscope beside sampling profilers, on the same program.

    tests/bench/bench_shim.py [--rounds N] [--json FILE] [BUILD]

A program runs two functions in turn, 5 us each, and counts in shared memory
what it gets done.  It is observed by nobody, by `tailor shim` as fast as it
can and at 1200 cycles, by perf record at the highest rate the kernel allows
and by bpftrace's profile, in turn in each round.  Told are samples per
second, the time between two, and how much less the program got done than in
the same round without an observer (medians).
"""

import argparse
import json
import pathlib
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SECONDS = 2


class Workload:
    def __init__(self, build, file, cpu):
        self.child = subprocess.Popen(
            [build / "bench/shim_workload", file, str(cpu)], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.child.stdout.readline() == "ready\n"

    def lap(self):
        """Changes per second since the last lap."""
        self.child.stdin.write("\n")
        self.child.stdin.flush()
        changes, ns = map(int, self.child.stdout.readline().split())
        return changes * 1e9 / ns

    def stop(self):
        self.child.stdin.close()
        self.child.wait()


def run(argv):
    return subprocess.run(argv, capture_output=True, text=True, check=False,
                          timeout=60)


def nobody(_):
    run(["sleep", str(SECONDS)])
    return 0


def shim(period):
    def observe(b):
        done = run([b.build / "tailor", "shim", "--on", str(b.observer_cpu),
                    "--signal", f"word:{b.file}:0", "--tag",
                    f"word:{b.file}:128", "--period", str(period),
                    "--seconds", str(SECONDS), "--json"])
        seen = json.loads(done.stdout)
        return seen["periods"] / (seen["taken_ns"] / 1e9)
    return observe


def perf(b):
    rate = pathlib.Path(
        "/proc/sys/kernel/perf_event_max_sample_rate").read_text().strip()
    data = f"{b.directory}/perf.data"
    done = run(["perf", "record", "-q", "-e", "cpu-clock", "-F", rate, "-o",
                data, "-p", str(b.workload.child.pid), "sleep",
                str(SECONDS)])
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip()[-120:])
    counted = run(["perf", "script", "-i", data, "-F", "time"])
    return len(counted.stdout.splitlines()) / SECONDS


def bpftrace(b):
    done = run(["bpftrace", "-e",
                f"profile:hz:9999 /pid == {b.workload.child.pid}/ "
                "{ @n = count(); @[reg(\"ip\")] = count(); } "
                f"interval:s:{SECONDS} {{ clear(@); exit(); }}"])
    found = re.search(r"@n: (\d+)", done.stdout)
    if found is None:
        raise RuntimeError((done.stdout + done.stderr).strip()[-120:])
    return int(found[1]) / SECONDS


OBSERVERS = {"nobody": nobody, "tailor shim": shim(0),
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
        self.workload = Workload(build, self.file, cpus[0])


def main():
    p = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    p.add_argument("--rounds", type=int, default=5, metavar="N")
    p.add_argument("--json", metavar="FILE")
    p.add_argument("build", nargs="?", type=pathlib.Path,
                   default=os.environ.get("TAILOR_BUILD") or ROOT / "build")
    o = p.parse_args()
    if len(os.sched_getaffinity(0)) < 2:
        print("bench_shim: needs two CPUs; nothing measured")
        return 0
    names = [n for n in OBSERVERS
             if n.startswith(("nobody", "tailor")) or
             shutil.which(n.split()[0])]
    left_out = {n: "not installed" for n in OBSERVERS if n not in names}
    rounds, order = [], random.Random(1)
    with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
        bench = Bench(o.build.resolve(), directory)
        try:
            for _ in range(o.rounds):
                found = {}
                for name in order.sample(names, len(names)):
                    bench.workload.lap()
                    try:
                        samples = OBSERVERS[name](bench)
                    except RuntimeError as trouble:
                        left_out[name] = str(trouble)
                        names.remove(name)
                        continue
                    found[name] = (samples, bench.workload.lap())
                rounds.append(found)
        finally:
            bench.workload.stop()
    rows = []
    print(f"\nTwo functions of 5 us in turn, {len(rounds)} rounds\n\n"
          f"  {'observer':20}{'samples/s':>12}{'every us':>10}"
          f"{'done':>8}  (range)")
    for name in names:
        mine = [r[name] for r in rounds]
        done = [r[name][1] / r["nobody"][1] for r in rounds]
        rate = statistics.median(m[0] for m in mine)
        rows.append({"observer": name, "samples_per_s": rate,
                     "done_ratio": statistics.median(done),
                     "range": [min(done), max(done)]})
        every = f"{1e6 / rate:10.2f}" if rate else f"{'-':>10}"
        print(f"  {name:20}{rate:12.0f}{every}{statistics.median(done):8.3f}"
              f"  {min(done):.3f}-{max(done):.3f}")
    for name, why in left_out.items():
        print(f"  {name}: left out: {why}")
    print("  done: work got done, beside that with nobody looking")
    if o.json:
        pathlib.Path(o.json).write_text(json.dumps(
            {"rows": rows, "left_out": left_out}, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
