#!/usr/bin/python3
"""Collections that requests meet, with steering and by signal.

    make lucene lucene-index bench ONLY=steering
    tests/bench/bench_steering.py [--runs N] [--first I] [--setups LIST]
                                  [--young MB] [--out DIR] [BUILD]

The search service, warmed up, at 400/s for 40 s a run; a young generation that
fills in less than a second, so that more than 50 collections fall into a run.
Set-ups: get (steering), once (the same; requests that must not be sent twice
stand for POST), signal and signal-once (hedging alone).  A row for each run:

  coll       collections in the JVMs' own logs, provoked and in all
  met        those in which a request was at the server, by the client's and the
             JVM's clocks: from its last byte sent to its response's first
  twice      second attempts
  after      p99 of requests that came in the first 20 ms after a change of
             server, and of the others, by the client
"""

import argparse
import bisect
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import types

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples" / "experiments"))

# pylint: disable=wrong-import-position
from experiment import Environment  # noqa: E402
from measure import nearest_rank  # noqa: E402
from setups import Running  # noqa: E402
from shared import (RATE, Generator, Pauses, adopt_orphans,  # noqa: E402
                    end_all)

SETUPS = {"get": (True, ()), "once": (True, ("X-Tailor-Hedge: off",)),
          "signal": (False, ()),
          "signal-once": (False, ("X-Tailor-Hedge: off",))}
LOAD_RATE, REQUESTS, ITERATIONS, HEAT = 400, 1000, 16, 4000
AFTER_NS = 20_000_000
COUNTERS = ("tailor_steer", "tailor_hedges_sent_total",
            "tailor_swaps_by_reason_total", "tailor_rates")


def requests_of(directory):
    """[(sched, sent, first byte, latency, server)], ns of CLOCK_MONOTONIC."""
    server = {}
    with open(directory / "access.log", encoding="utf-8") as file:
        for line in file:
            r = json.loads(line)
            server[r.get("id")] = r["upstream"]
    with open(directory / "run.json", encoding="utf-8") as file:
        epoch = int(json.load(file)["clock"]["epoch_ns"])
    found, failed = [], 0
    with open(directory / "requests.ndjson", encoding="utf-8") as file:
        for line in file:
            r = json.loads(line)
            if "lat" not in r or r.get("st") != 200:
                failed += 1
                continue
            found.append((epoch + r["sched"], epoch + r["send1"],
                          epoch + r["first"], r["lat"],
                          server.get(r["id"])))
    return sorted(found), failed


def met(requests, pauses, server):
    """How many of a server's pauses [(end ns, ms)] had a request."""
    ours = [r for r in requests if r[4] == server]
    begins = [r[1] for r in ours]
    # those sent longer ago than the slowest took are over
    longest = max((r[2] - r[1] for r in ours), default=0)
    count = 0
    for end, ms in pauses:
        begin = end - ms * 1e6
        low = bisect.bisect_left(begins, begin - longest)
        high = bisect.bisect_left(begins, end)
        count += any(r[2] > begin for r in ours[low:high])
    return count


def around_swaps(requests):
    """Latencies of requests right after a change of server, and of others."""
    after, rest, changed, last = [], [], 0, None
    for sched, _, _, latency, server in requests:
        if server != last:
            changed, last = sched, server
        (after if sched - changed < AFTER_NS else rest).append(latency / 1e6)
    return sorted(after), sorted(rest)


def keep_causes(o, running, directory):
    """What Tailor says of the slowest requests."""
    admin = json.loads((directory / "tailor.json").read_text(
        encoding="utf-8"))["admin"]
    for name in ("blame", "slow"):
        with open(directory / f"{name}.txt", "w", encoding="utf-8") as file:
            subprocess.run([o.build / "tailorctl", "-a", admin, name],
                           stdout=file, stderr=subprocess.STDOUT, check=False)
    with open(directory / "requests.ndjson", encoding="utf-8") as file:
        slowest = max(map(json.loads, file), key=lambda r: r.get("lat", 0))
    running.why(slowest["id"])


def run_one(o, environment, key, seed, directory):
    steer, fields = SETUPS[key]
    running = Running(
        {"servers": 2, "front": "tailor", "agent": "jvmti",
         "young_mb": o.young, "tailor": {
             "hedging": {"steer": steer},
             "access_log": {"path": str(directory / "access.log")}}},
        environment, directory)
    try:
        generator = Generator(o.build, environment.targets[False], LOAD_RATE,
                              seed, environment.place.generator, fields)
        # through Tailor: it cannot steer what it does not see
        generator.warm_up(running.port, HEAT, RATE)
        running.settle()
        before = running.metrics()
        pauses = {name: Pauses(directory, name) for name in "ab"}
        run = generator.start(running.port, REQUESTS, ITERATIONS, 100,
                              str(directory))
        trusted = run.wait().trusted
        after = running.metrics()
        keep_causes(o, running, directory)
        pauses = {name: p.ends() for name, p in pauses.items()}
    finally:
        running.stop()
    requests, failed = requests_of(directory)
    ms = sorted(r[3] / 1e6 for r in requests)
    swapped, rest = around_swaps(requests)
    moved = {k: after[k] - before.get(k, 0) for k in after
             if k.startswith(COUNTERS) and after[k] != before.get(k, 0)}
    row = {
        "setup": key, "seed": seed, "requests": len(requests),
        "failed": failed, "trusted": trusted,
        "collections": sum(map(len, pauses.values())),
        "pause_ms": [ms for p in pauses.values() for _, ms in p],
        "met": sum(met(requests, p, name) for name, p in pauses.items()),
        "provoked": moved.get("tailor_steer_collections_provoked_total", 0),
        "twice": sum(v for k, v in moved.items()
                     if k.startswith("tailor_hedges_sent_total")),
        "p50": nearest_rank(ms, 50), "p99": nearest_rank(ms, 99),
        "p999": nearest_rank(ms, 99.9), "max": ms[-1],
        "after": len(swapped),
        "after_p50": nearest_rank(swapped, 50) if swapped else None,
        "after_p99": nearest_rank(swapped, 99) if swapped else None,
        "rest_p50": nearest_rank(rest, 50),
        "rest_p99": nearest_rank(rest, 99), "metrics": moved}
    with open(directory / "row.json", "w", encoding="utf-8") as file:
        json.dump(row, file)
    return row


def write(row):
    after = "      -      -" if row["after_p99"] is None else \
        f"{row['after_p99']:7.1f}{row['rest_p99']:7.1f}"
    pauses = sorted(row["pause_ms"]) or [0]
    print(f"{row['setup']:12}{row['seed']:4}"
          f"{row['provoked']:6.0f}{row['collections']:5}{row['met']:5}"
          f"{pauses[len(pauses) // 2]:7.1f}{row['twice']:6.0f}"
          f"{row['failed']:7}{row['p50']:7.2f}{row['p99']:7.1f}"
          f"{row['p999']:7.1f}{row['max']:7.1f}{after}"
          f"{'' if row['trusted'] else '  generator late'}", flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    p.add_argument("build", nargs="?", type=pathlib.Path,
                   default=os.environ.get("TAILOR_BUILD", ROOT / "build"))
    p.add_argument("--runs", type=int, default=1, help="of each set-up")
    p.add_argument("--first", type=int, default=1, help="the first seed")
    p.add_argument("--setups", default="get,once")
    p.add_argument("--young", type=int, default=96, metavar="MB")
    p.add_argument("--out", type=pathlib.Path)
    o = p.parse_args()
    o.build = o.build.resolve()
    if not (o.build / "lucene-index").is_dir():
        print("no search service: make lucene lucene-index")
        return 0
    adopt_orphans()
    with tempfile.TemporaryDirectory(prefix="tailor-") as base:
        out = (o.out or pathlib.Path(base) / "runs").resolve()
        environment = Environment(
            types.SimpleNamespace(build=o.build, stub=False, size="short"),
            pathlib.Path(base))
        print(f"heated with {HEAT} requests at {RATE}/s, then "
              f"{REQUESTS * ITERATIONS} at {LOAD_RATE}/s\n"
              "setup       seed  coll of  met  pause twice failed    p50    "
              "p99  p99.9    max  after   rest")
        try:
            for i in range(o.runs):
                for key in o.setups.split(","):
                    seed = o.first + i
                    directory = out / f"{key}-{seed}"
                    directory.mkdir(parents=True)
                    write(run_one(o, environment, key, seed, directory))
        finally:
            end_all()
    return 0


if __name__ == "__main__":
    sys.exit(main())
