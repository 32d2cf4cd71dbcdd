#!/usr/bin/python3
"""What `tailorctl gain` predicts in watch mode beside what acting does.

    tests/bench/bench_gain.py [--pairs N] [--first I] [--seconds S] [--until T]
                              [--shared] [BUILD]

Two JVM servers that hold 150 MB and collect whole heaps, on command, at random
times (the same in both halves of a pair) under Poisson load; first Tailor
watches, then it acts.  Each has a CPU of its own, as if Tailor had launched it,
unless --shared.  Both are warm: otherwise the one that stood by is compiled
while the other half runs.  Predicted p99.9 and slowest request against those of
the access log, which measures the same: from a request's first byte to its
response's last.  ok: within 15 % or 1 ms; in: within the interval.  The client's
are tailor-load's, with its own lag.

No estimate can be nearer to a run than such runs are to each other: the last
line has how many pairs of two acting runs are within 15 % or 1 ms.
"""

import argparse
import itertools
import json
import math
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "e2e")]

from rig.tailor import Tailor, configuration  # noqa: E402
from support import jvm  # noqa: E402

# Otherwise a body waits for the delayed ACK of its head, now and then.
JAVA = ("-Xms400m", "-Xmx400m", "-XX:+UseSerialGC",
        "-Dsun.net.httpserver.nodelay=true")
MS = 1e6


def collections(t, servers, seed, done):
    """Collect the active server's heap, at times that the seed gives."""
    dice = random.Random(seed)
    while not done.wait(dice.uniform(0.5, 1.5)):
        servers[t.active()].collect()


def pin(server, cpu):
    """All threads of a server to one CPU."""
    for task in os.listdir(f"/proc/{server.pid}/task"):
        os.sched_setaffinity(int(task), {cpu})


def near(value, measured):
    return abs(value - measured) <= max(0.15 * measured, 1)


def start(o, classes):
    """Two servers, filled and warm."""
    servers = {n: jvm.Jvm(classes, JAVA) for n in "ab"}
    loads = []
    for cpu, server in enumerate(servers.values()):
        assert server.get("/fill?mb=150").status == 200
        if not o.shared:
            pin(server, cpu)
        loads.append(subprocess.Popen(
            [f"{o.build}/tailor-load", "-r", "500", "-d", "12s", "--no-spin",
             "-q", "--no-report", "--analyze", "off",
             f"http://{server.address}/wait?ms=2"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    for load in loads:
        load.wait()
    return servers


def half(o, directory, servers, mode, seed):
    """Load in one mode; p99.9 and the slowest request in ms, by Tailor and by
    its client, and what gain predicts."""
    os.makedirs(directory)
    t = Tailor(o.build, directory, configuration(
        directory, [{"name": n, "address": s.address, "health": "/wait?ms=2"}
                    for n, s in servers.items()],
        {"hedging": {"mode": mode}, "warmup": {"requests": 0},
         "access_log": {"path": f"{directory}/log"}}))
    t.wait_ready()
    try:
        for name in servers:
            t.wait_server(name, state="ready", source="hsperfdata")
        done = threading.Event()
        collector = threading.Thread(
            target=collections, args=(t, servers, seed, done))
        collector.start()
        run = subprocess.run(
            [f"{o.build}/tailor-load", "-r", str(o.rate), "-i", "1", "-d",
             f"{o.seconds}s", "--seed", str(seed), "--no-spin", "--json", "-",
             "-q", "--no-report", "--analyze", "off",
             f"http://127.0.0.1:{t.port}/wait?ms=2"],
            capture_output=True, text=True, check=False)
        done.set()
        collector.join()
        found = None
        if mode == "watch":
            found = json.loads(subprocess.run(
                [f"{o.build}/tailorctl", "-a", t.admin, "-j", "gain"],
                capture_output=True, text=True, check=True).stdout)
    finally:
        t.stop()
    with open(f"{directory}/log", encoding="utf-8") as log:
        us = sorted(json.loads(line)["t_total_us"] for line in log)
    latency = json.loads(run.stdout)["iterations"][0]["latency"]
    return ((us[math.ceil(0.999 * len(us)) - 1] / 1e3, us[-1] / 1e3),
            (latency["p999_ns"] / MS, latency["max_ns"] / MS), found)


def main():
    p = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    p.add_argument("build", nargs="?", default=str(ROOT / "build"))
    p.add_argument("--pairs", type=int, default=10)
    p.add_argument("--first", type=int, default=0, help="number of a pair")
    p.add_argument("--seconds", type=int, default=25)
    p.add_argument("--until", default="", help="begin no pair after HH:MM")
    p.add_argument("--shared", action="store_true")
    p.add_argument("--rate", type=int, default=200)
    o = p.parse_args()
    right, inside, ran = [0, 0], 0, []
    print("        watching        predicted, 95 % interval"
          "                 acting          client")
    print("pair  " + " p99.9 slowest " + "    p99.9         slowest      "
          + " p99.9 slowest " * 2 + "  ms")
    with tempfile.TemporaryDirectory(prefix="tailor-") as base:
        servers = start(o, jvm.compile_server(base))
        for i in range(o.pairs):
            if o.until and time.strftime("%H:%M") >= o.until:
                break
            seed = 100 + o.first + i
            was, _, found = half(o, f"{base}/w{i}", servers, "watch", seed)
            would = (found["p99.9"]["would_ns"] / MS,
                     found["slowest"]["would_ns"] / MS)
            did, client, _ = half(o, f"{base}/a{i}", servers, "act", seed)
            fits = [near(a, b) for a, b in zip(would, did)]
            ran.append(did)
            low, high = ([found[k].get(end, math.inf) / MS
                          for k in ("p99.9", "slowest")]
                         for end in ("low_ns", "high_ns"))
            holds = [a <= b <= c for a, b, c in zip(low, did, high)]
            right = [a + b for a, b in zip(right, fits)]
            inside += sum(holds)
            print(f"{o.first + i + 1:4}  {was[0]:6.1f} {was[1]:7.1f}"
                  + "".join(f" {a:6.1f} ({b:4.1f}-{c:5.1f})"
                            for a, b, c in zip(would, low, high))
                  + "".join(f" {a:6.1f} {b:7.1f}" for a, b in (did, client))
                  + "  " + " ".join("ok" if f else "--" for f in fits)
                  + " " + " ".join("in" if f else "--" for f in holds),
                  flush=True)
        for server in servers.values():
            server.kill()
    print(f"within 15 % or 1 ms: p99.9 {right[0]}, slowest {right[1]} of "
          f"{len(ran)}; {inside} of {2 * len(ran)} in the interval")
    pairs = list(itertools.permutations(ran, 2))
    print("acting runs among themselves: " + ", ".join(
        f"{name} {sum(near(a[k], b[k]) for a, b in pairs)}"
        for k, name in enumerate(("p99.9", "slowest")))
        + f" of {len(pairs)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
