#!/usr/bin/python3
"""What `tailorctl blame` and `gain` predict beside what is measured.

    tests/bench/bench_turns.py [--pairs N] [--seconds S] [--first I] [--rate R]
                               [--only blame|gain] [BUILD]

JVM servers that hold 150 MB collect whole heaps, on command, at random times,
under Poisson load.  In each pair something is on and off by turns of some 3.6 s,
so that both meet the same machine and the same load.

blame: the collections.  From the accounts of the turns with them: p99 without
gc.  Measured: p99 of the
turns without, by the access log.  One server; its Tailor runs all pairs.

gain: acting.  Tailor watches in the odd turns and acts in the others; the mode
changes between pauses, by a reload.  From watching: p99.9 with Tailor acting.
Each of two servers has a CPU of its own, as if Tailor had launched it.

in: the measured value is in the prediction's own interval.  ok: the prediction
is within 15 % or 1 ms of it.  alike: so are the measured turns, odd against
even, to each other; no prediction can be nearer than that.  certain: the report
prints a figure.  20 pairs of 12 s of each: nine minutes, twice.
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
TURN_S = 3
SETTLE_S = 0.3  # what one turn leaves to the next
TARGET = "/wait?ms=2"


def load(o, address, seconds, seed, target=TARGET, rate=None):
    return subprocess.Popen(
        [f"{o.build}/tailor-load", "-r", str(rate or o.rate), "-i", "1", "-d",
         f"{seconds}s", "--seed", str(seed), "--no-spin", "-q", "--analyze",
         "off", f"http://{address}{target}"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def pin(server, cpu):
    """All threads of a server to one CPU."""
    for task in os.listdir(f"/proc/{server.pid}/task"):
        os.sched_setaffinity(int(task), {cpu})


def start(o, classes, names):
    """Servers that are filled and warm: one that stood by is compiled when it
    gets requests."""
    servers = {n: jvm.Jvm(classes, JAVA) for n in names}
    loads = []
    for cpu, server in enumerate(servers.values()):
        assert server.get("/fill?mb=150").status == 200
        if len(servers) > 1:
            pin(server, cpu)
        loads.append(load(o, server.address, 12, 1, rate=500))
    for one in loads:
        one.wait()
    return servers


def tailor(o, directory, servers, **more):
    os.makedirs(directory)
    t = Tailor(o.build, directory, configuration(
        directory, [{"name": n, "address": s.address, "health": TARGET,
                     "health_interval": "250ms"}  # known within 2 s, not 6
                    for n, s in servers.items()],
        {"warmup": {"requests": 0},
         "access_log": {"path": f"{directory}/log"}, **more}))
    t.wait_ready()
    for name in servers:
        t.wait_server(name, state="ready", source="hsperfdata")
    return t


def turns(spans, done, seed, names, act, switch):
    """Take turns until done: act now and then in those whose name is first,
    in all if switch changes what is tried.  spans: begin, end and name."""
    dice = random.Random(seed)
    turn, begun = 0, time.time()
    while not done.wait(dice.uniform(0.3, 0.9)):
        if switch is not None or turn == 0:
            act()
        if time.time() - begun < TURN_S or done.wait(0.2):
            continue
        spans.append((begun, time.time(), names[turn]))
        turn = 1 - turn
        if switch is not None:
            switch(names[turn])
        begun = time.time()
    spans.append((begun, time.time(), names[turn]))


def taking_turns(target, seconds):
    """Run target(spans, done) for so long; returns the spans."""
    spans, done = [], threading.Event()
    thread = threading.Thread(target=target, args=(spans, done))
    thread.start()
    time.sleep(seconds)
    done.set()
    thread.join()
    return spans


def logged(directory):
    """When requests ended and what they took, in ms, in order."""
    with open(f"{directory}/log", encoding="utf-8") as log:
        return sorted((datetime.datetime.fromisoformat(line["ts"]).timestamp(),
                       line["t_total_us"] / 1e3)
                      for line in map(json.loads, log))


def within(log, span):
    return [ms for at, ms in log if span[0] + SETTLE_S <= at < span[1]]


def tail(ms, p):
    """A percentile, nearest rank."""
    ms = sorted(ms)
    return ms[math.ceil(p * len(ms)) - 1] if ms else math.nan


def near(value, measured):
    return abs(value - measured) <= max(0.15 * measured, 1)


# --- blame --------------------------------------------------------------------

def accounts_of(t, spans, path):
    """Write the accounts of these spans, without the time between them."""
    head, *lines = t.ask("/accounts").body.decode().splitlines()
    end = head.split(",").index("end_ns")
    rows = []
    for line in lines:
        fields = line.split(",")
        at, base = int(fields[end]) / 1e9, 0
        for begin, until, _ in spans:
            if begin + SETTLE_S <= at < until:
                fields[end] = str(round((base + at - begin) * 1e9))
                rows.append(",".join(fields))
            base += until - begin
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join([head, *rows]) + "\n")


def blamed(o, path):
    """p99, what it is without gc as the report says it, its interval, and
    whether it says so."""
    run = subprocess.run(
        [f"{o.build}/tailorctl", "-j", "blame", "--file", path],
        capture_output=True, text=True, check=True)
    route = json.loads(run.stdout)["routes"][0]
    gc = next(c for c in route["causes"] if c["cause"] == "gc")
    low, high = gc["without_interval_ns"]
    value = gc["without_ns"]
    return (route["q_ns"] / MS, value / MS, (low / MS, high / MS),
            high - low <= route["q_ns"] - value)


def blame(o, base, servers):
    """A row for each pair: p99 with, predicted, its interval, certain, measured,
    and in every other turn of that."""
    directory = f"{base}/blame"
    t = tailor(o, directory, servers)
    server, = servers.values()
    try:
        seconds = 2 * o.seconds * o.pairs
        client = load(o, f"127.0.0.1:{t.port}", 30 + seconds, o.first)
        time.sleep(25)  # until Tailor knows where the tail begins
        spans = taking_turns(
            lambda spans, done: turns(spans, done, o.first, ("on", "off"),
                                      server.collect, None), seconds)
        client.kill()
        client.wait()
        time.sleep(1)  # the log is written meanwhile
        log = logged(directory)
        per_pair = max(2, len(spans) // o.pairs // 2 * 2)
        for i in range(o.pairs):
            mine = spans[i * per_pair:(i + 1) * per_pair]
            accounts_of(t, mine[::2], f"{base}/accounts.csv")
            was, would, ends, certain = blamed(o, f"{base}/accounts.csv")
            off = [within(log, s) for s in mine[1::2]]
            yield (was, would, ends, certain, tail(sum(off, []), 0.99),
                   [tail(sum(off[k::2], []), 0.99) for k in (0, 1)])
    finally:
        t.stop()


# --- gain ---------------------------------------------------------------------

def gain(o, base, servers):
    for i in range(o.pairs):
        directory = f"{base}/{i}"
        t = tailor(o, directory, servers, hedging={"mode": "watch"})
        try:
            client = load(
                o, f"127.0.0.1:{t.port}", 2 * o.seconds + 1, o.first + i)
            spans = taking_turns(
                lambda spans, done, t=t, i=i: turns(
                    spans, done, o.first + i, ("watch", "act"),
                    lambda: servers[t.active()].collect(),
                    lambda mode: t.reload(hedging={"mode": mode})),
                2 * o.seconds)
            client.wait()
            found = json.loads(subprocess.run(
                [f"{o.build}/tailorctl", "-a", t.admin, "-j", "gain"],
                capture_output=True, text=True, check=True).stdout)["p99.9"]
        finally:
            t.stop()
        log = logged(directory)
        acting = [within(log, s) for s in spans if s[2] == "act"]
        watching = [within(log, s) for s in spans if s[2] == "watch"]
        yield (tail(sum(watching, []), 0.999), found["would_ns"] / MS,
               (found["low_ns"] / MS, found.get("high_ns", math.inf) / MS),
               found["certain"], tail(sum(acting, []), 0.999),
               [tail(sum(acting[k::2], []), 0.999) for k in (0, 1)])


def show(rows):
    """Print rows as they come, and how many held."""
    ran, held, right, alike, sure = 0, 0, 0, 0, 0
    print("pair     with  predicted, 95 % interval       measured   ms")
    for was, would, (low, high), certain, measured, halves in rows:
        ran += 1
        inside, ok = low <= measured <= high, near(would, measured)
        held += inside
        right += ok
        alike += near(*halves)
        sure += certain
        print(f"{ran:4}  {was:7.1f}  {would:7.1f} ({low:6.1f} to {high:6.1f})"
              f"  {measured:7.1f}  {'in' if inside else '--'} "
              f"{'ok' if ok else '--'} {'certain' if certain else ''}", flush=True)
    print(f"of {ran}: {held} in the interval, {right} within 15 % or 1 ms "
          f"(turns alike: {alike}), {sure} certain", flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    p.add_argument("build", nargs="?", default=os.environ.get(
        "TAILOR_BUILD", str(ROOT / "build")))
    p.add_argument("--only", choices=("blame", "gain"))
    p.add_argument("--pairs", type=int, default=20)
    p.add_argument("--first", type=int, default=1, help="seed of the first")
    p.add_argument("--seconds", type=int, default=12, help="of each, in a pair")
    p.add_argument("--rate", type=int, default=200)
    o = p.parse_args()
    for what, names, rows in (("blame", "a", blame), ("gain", "ab", gain)):
        if o.only not in (None, what):
            continue
        print(f"{what}: {o.pairs} pairs of {o.seconds} s each, {o.rate}/s; "
              f"load of the machine {os.getloadavg()[0]:.1f}")
        with tempfile.TemporaryDirectory(prefix="tailor-") as base:
            servers = start(o, jvm.compile_server(base), names)
            try:
                show(rows(o, base, servers))
            finally:
                for server in servers.values():
                    server.kill()
    return 0


if __name__ == "__main__":
    sys.exit(main())
