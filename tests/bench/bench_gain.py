#!/usr/bin/python3
"""What `tailorctl gain` predicts in watch mode beside what acting does.

    tests/bench/bench_gain.py [--pairs N] [--first I] [--seconds S] [--shared]
                              [BUILD]

Two JVM servers that hold 150 MB and collect whole heaps, on command, at random
times, under Poisson load.  In each pair Tailor watches and acts by turns, for
some 4 s each, so that both meet the same machine; the mode changes between
pauses, by a reload.  Each server has a CPU of its own, as if Tailor had
launched it, unless --shared.  Both are warm: otherwise the one that stood by is
compiled when it gets requests.  Predicted p99.9 and slowest request against
those of the access log, which measures the same: from a request's first byte to
its response's last.  ok: within 15 % or 1 ms; in: within the interval.

No estimate can be nearer to a run than the run is to itself: the last line has
in how many pairs the acting turns, odd against even, are within 15 % or 1 ms.
"""

import argparse
import datetime
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
TURN_S = 4


def turns(t, servers, seed, done, spans):
    """Collect the active server's heap, at times that the seed gives, and
    change the mode now and then; spans: begin, end and mode of each turn."""
    dice = random.Random(seed)
    mode, begun = "watch", time.time()
    while not done.wait(dice.uniform(0.3, 0.9)):
        servers[t.active()].collect()
        if time.time() - begun < TURN_S or done.wait(0.2):
            continue
        spans.append((begun, time.time(), mode))
        mode = "watch" if mode == "act" else "act"
        t.reload(hedging={"mode": mode})
        begun = time.time()
    spans.append((begun, time.time(), mode))


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
             "-q", "--analyze", "off",
             f"http://{server.address}/wait?ms=2"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    for load in loads:
        load.wait()
    return servers


def tail(us):
    """p99.9 and the slowest, in ms."""
    us.sort()
    return us[math.ceil(0.999 * len(us)) - 1] / 1e3, us[-1] / 1e3


def pair(o, directory, servers, seed):
    """Tails in watch mode, as gain predicts them for act mode, with the ends of
    their intervals, in act mode, and in every other turn of that."""
    os.makedirs(directory)
    t = Tailor(o.build, directory, configuration(
        directory, [{"name": n, "address": s.address, "health": "/wait?ms=2",
                     "health_interval": "250ms"}  # known within 2 s, not 6
                    for n, s in servers.items()],
        {"hedging": {"mode": "watch"}, "warmup": {"requests": 0},
         "access_log": {"path": f"{directory}/log"}}))
    t.wait_ready()
    try:
        for name in servers:
            t.wait_server(name, state="ready", source="hsperfdata")
        done, spans = threading.Event(), []
        turning = threading.Thread(
            target=turns, args=(t, servers, seed, done, spans))
        turning.start()
        subprocess.run(
            [f"{o.build}/tailor-load", "-r", str(o.rate), "-i", "1", "-d",
             f"{2 * o.seconds}s", "--seed", str(seed), "--no-spin", "-q",
             "--analyze", "off",
             f"http://127.0.0.1:{t.port}/wait?ms=2"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        done.set()
        turning.join()
        found = json.loads(subprocess.run(
            [f"{o.build}/tailorctl", "-a", t.admin, "-j", "gain"],
            capture_output=True, text=True, check=True).stdout)
    finally:
        t.stop()
    us = [[] for _ in spans]
    with open(f"{directory}/log", encoding="utf-8") as log:
        for line in map(json.loads, log):
            at = datetime.datetime.fromisoformat(line["ts"]).timestamp()
            for turn, (begin, end, _) in zip(us, spans):
                if begin <= at < end:
                    turn.append(line["t_total_us"])
    acting = us[1::2]
    rows = [found[k] for k in ("p99.9", "slowest")]
    return (tail(sum(us[::2], [])), [r["would_ns"] / MS for r in rows],
            [(r.get("low_ns", 0) / MS, r.get("high_ns", math.inf) / MS)
             for r in rows], tail(sum(acting, [])),
            [tail(sum(acting[k::2], [])) for k in (0, 1)])


def main():
    p = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    p.add_argument("build", nargs="?", default=str(ROOT / "build"))
    p.add_argument("--pairs", type=int, default=10)
    p.add_argument("--first", type=int, default=0, help="number of a pair")
    p.add_argument("--seconds", type=int, default=22)
    p.add_argument("--shared", action="store_true")
    p.add_argument("--rate", type=int, default=200)
    o = p.parse_args()
    right, alike, inside, ran = [0, 0], [0, 0], 0, 0
    print("        watching        predicted, 95 % interval"
          "                 acting        ms")
    print("pair   p99.9 slowest     p99.9         slowest       "
          " p99.9 slowest")
    with tempfile.TemporaryDirectory(prefix="tailor-") as base:
        servers = start(o, jvm.compile_server(base))
        for i in range(o.pairs):
            was, would, ends, did, halves = pair(
                o, f"{base}/{i}", servers, 100 + o.first + i)
            fits = [near(a, b) for a, b in zip(would, did)]
            holds = [a <= b <= c for (a, c), b in zip(ends, did)]
            ran += 1
            right = [a + b for a, b in zip(right, fits)]
            alike = [n + near(a, b) for n, a, b in zip(alike, *halves)]
            inside += sum(holds)
            print(f"{o.first + i + 1:4}  {was[0]:6.1f} {was[1]:7.1f}"
                  + "".join(f" {a:6.1f} ({b:4.1f}-{c:5.1f})"
                            for a, (b, c) in zip(would, ends))
                  + f" {did[0]:6.1f} {did[1]:7.1f}  "
                  + " ".join("ok" if f else "--" for f in fits)
                  + " " + " ".join("in" if f else "--" for f in holds),
                  flush=True)
        for server in servers.values():
            server.kill()
    print(f"within 15 % or 1 ms: p99.9 {right[0]}, slowest {right[1]} of "
          f"{ran}; {inside} of {2 * ran} in the interval")
    print(f"acting turns, odd and even: p99.9 {alike[0]}, slowest {alike[1]} "
          f"of {ran}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
