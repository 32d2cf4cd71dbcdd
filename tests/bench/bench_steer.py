#!/usr/bin/python3
"""How many collections requests meet with two JVMs that are steered.

    tests/bench/bench_steer.py [--rounds N] [--seconds S] [--rate R] [--kb N]
                               [--collector G1] [--heap MB] [--mode steer]
                               [--collect auto] [--burst] [--newest]
                               [--plan FILE] [BUILD]

Independent rounds: each has JVMs of its own, warm, that keep 100 MB, and of the
latest requests a quarter of what they have allocated, for some seconds: there
are survivors, the old generation fills with garbage, and G1 marks and has mixed
collections.  Half of the requests are GET, half POST; --burst adds ten times as
many for two seconds of each ten.  met: collections with requests in flight, of
all.  --mode signal: without steering; a plan's runs are made in both modes.
"""

import argparse
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "e2e")]

from rig.tailor import Tailor, configuration  # noqa: E402
from rig.wait import wait_until  # noqa: E402
from support import jvm  # noqa: E402

LIVE_MB = 100


def load(o, port, method, seconds, rate):
    return subprocess.Popen(
        [f"{o.build}/tailor-load", "-r", str(rate), "-i", "1", "-d",
         f"{seconds}s", "--no-spin", "-q", "--analyze", "off", "--method", method,
         f"http://127.0.0.1:{port}/keep?kb={o.kb}"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def loads(o, port, seconds, rate):
    for one in [load(o, port, method, seconds, rate / 2)
                for method in ("GET", "POST")]:
        one.wait()


def start(o, classes):
    """Two servers, filled and warm."""
    options = [f"-Xms{o.heap}m", f"-Xmx{o.heap}m", f"-XX:+Use{o.collector}GC",
               "-Dsun.net.httpserver.nodelay=true"]
    java = jvm.java_of(max(jvm.jdks(), key=int)) if o.newest else None
    servers = {n: jvm.Jvm(classes, options, java=java) for n in "ab"}
    for server in servers.values():
        assert server.get(f"/fill?mb={LIVE_MB}").status == 200
        loads(o, server.port, 5, o.rate)
    return servers


def tail(us):
    us.sort()
    return us[math.ceil(0.999 * len(us)) - 1] / 1e3 if us else math.nan


def round_of(o, directory, servers):
    os.makedirs(directory)
    t = Tailor(o.build, directory, configuration(
        directory, [{"name": n, "address": s.address,
                     **({"collect": o.collect} if o.mode == "steer" else {})}
                    for n, s in servers.items()],
        {"hedging": {"steer": o.mode == "steer"}, "warmup": {"requests": 0},
         "access_log": {"path": f"{directory}/log"}}))
    t.wait_ready()
    try:
        for name in servers:
            if o.mode == "steer":
                wait_until(lambda name=name:
                           t.server(name)["steer"]["missing"] == "",
                           "both can be steered")
        before = t.metrics()
        bursts = []
        main_loads = [load(o, t.port, m, o.seconds, o.rate / 2)
                      for m in ("GET", "POST")]
        end = time.monotonic() + o.seconds
        while o.burst and time.monotonic() + 10 < end:
            time.sleep(8)
            bursts = [load(o, t.port, m, 2, 5 * o.rate)
                      for m in ("GET", "POST")]
        for one in main_loads + bursts:
            one.wait()
        after = t.metrics()
    finally:
        t.stop()
    us = {"GET": [], "POST": []}
    with open(f"{directory}/log", encoding="utf-8") as log:
        for line in map(json.loads, log):
            if line["method"] in us:
                us[line["method"]].append(line["t_total_us"])
    changed = {k: v - before.get(k, 0) for k, v in after.items()}
    with open(f"{directory}/tailor.log", "w", encoding="utf-8") as file:
        file.write(t.log)
    return changed, {m: (tail(u), max(u, default=0) / 1e3)
                     for m, u in us.items()}


def print_round(number, m, tails):
    misses = {k.split('"')[1]: int(v) for k, v in m.items()
              if k.startswith("tailor_steer_misses_total") and v}
    met = sum(misses.values())
    unmet = int(m.get("tailor_steer_collections_unmet_total", 0))
    pauses = int(sum(v for k, v in m.items() if k.startswith(
        "tailor_pauses_total") and 'kind="gc"' in k))
    swaps = int(m.get('tailor_swaps_by_reason_total{reason="steer"}', 0))
    print(f"{number:5} {met:4} {met + unmet:5} {pauses:6} {swaps:5} "
          f"{int(m.get('tailor_steer_shares_total', 0)):5}   "
          + "  ".join(f"{p:6.1f} {worst:6.1f}" for p, worst in tails.values())
          + f"   {misses or ''}", flush=True)
    return met, met + unmet


def run(o, directory, classes):
    """All rounds of one setting."""
    sums = [0, 0]
    print(f"{o.collector}{', newest JDK' if o.newest else ''}, {o.heap} MB, "
          f"{o.rate} requests/s of {o.kb} KB{', bursts' if o.burst else ''}, "
          f"{o.mode}\n"
          "                                          GET, ms        POST, ms\n"
          "round  met    of pauses swaps shared   p99.9  worst   p99.9  worst")
    for i in range(o.rounds):
        servers = start(o, classes)
        try:
            counts = print_round(
                i + 1, *round_of(o, f"{directory}/{i}", servers))
        finally:
            for server in servers.values():
                server.kill()
        sums = [a + b for a, b in zip(sums, counts)]
    print(f"met {sums[0]} of {sums[1]}", flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    p.add_argument("build", nargs="?", default=str(ROOT / "build"))
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--seconds", type=int, default=60)
    p.add_argument("--rate", type=int, default=400)
    p.add_argument("--kb", type=int, default=200)
    p.add_argument("--heap", type=int, default=512)
    p.add_argument("--collector", default="G1")
    p.add_argument("--collect", default="auto")
    p.add_argument("--mode", default="steer", choices=("steer", "signal"))
    p.add_argument("--burst", action="store_true")
    p.add_argument("--newest", action="store_true", help="the newest JDK")
    p.add_argument("--plan", help="a file of runs: tests/bench/steer_plan.json")
    o = p.parse_args()
    runs = [o]
    if o.plan:
        with open(o.plan, encoding="utf-8") as file:
            runs = [argparse.Namespace(**{**vars(o), **row, "mode": mode})
                    for row in json.load(file)
                    for mode in ("signal", "steer")]
    with tempfile.TemporaryDirectory(prefix="tailor-") as base:
        classes = jvm.compile_server(base)
        for i, one in enumerate(runs):
            run(one, f"{base}/{i}", classes)
    return 0


if __name__ == "__main__":
    sys.exit(main())
