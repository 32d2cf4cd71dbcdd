#!/usr/bin/python3
"""Requests against collections: steering, by signal, and what one would use
instead.

    make lucene lucene-index bench ONLY=steering
    tests/bench/bench_steering.py [--runs N] [--first I] [--setups LIST]
                                  [--chunks N] [--young MB] [--out DIR] [BUILD]

The search service, warmed up, at 400/s, in chunks of 1000 requests by GET and
by POST in turns; a young generation that fills in less than a second.  Set-ups:

  never        one server, no proxy, a JVM that never collects
  direct, zgc, shenandoah     the same with G1, with those collectors
  signal       Tailor and two servers, hedging alone
  steering     the same, with hedging.steer

Each run measures all of them, one after the other, in an order that changes
from run to run.  Two rows for each, by GET and POST:

  coll       collections in the JVMs' own logs, provoked and in all
  met        those in which a request was at the server, by the client's and the
             JVM's clocks: from its last byte sent to its response's first
  twice      second attempts
  CPU        of servers and proxy, 100 % is one CPU
  after      p99 of requests that came in the first 20 ms after a change of
             server, and of the others, by the client

coll, met, twice and CPU are of both methods together.  Below: medians of the
runs, with their ranges, and differences of the same run.
"""

import argparse
import bisect
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import types

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples" / "experiments"))

# pylint: disable=wrong-import-position
from experiment import Environment  # noqa: E402
from measure import nearest_rank, rank_interval  # noqa: E402
from setups import Running, cpu_seconds  # noqa: E402
from shared import (RATE, Generator, Pauses, Trouble,  # noqa: E402
                    adopt_orphans, end_all)

DIRECT = {"servers": 1, "front": "none"}
TAILOR = {"servers": 2, "front": "tailor", "agent": "jvmti"}
SETUPS = {"never": {**DIRECT, "collector": "epsilon"}, "direct": DIRECT,
          "zgc": {**DIRECT, "collector": "zgc"},
          "shenandoah": {**DIRECT, "collector": "shenandoah"},
          "signal": {**TAILOR, "tailor": {"hedging": {"steer": False}}},
          "steering": {**TAILOR, "tailor": {"hedging": {"steer": True}}}}
METHODS = ("GET", "POST")
LOAD_RATE, REQUESTS, HEAT = 400, 1000, 4000
AFTER_NS = 20_000_000
COUNTERS = ("tailor_steer", "tailor_hedges_sent_total",
            "tailor_swaps_by_reason_total", "tailor_rates")
FIGURES = {"p99": "p99", "p999": "p99.9", "max": "slowest"}


def servers_of(directory):
    """{request's id: the server that got it}; empty without Tailor."""
    path = directory / "access.log"
    if not path.exists():
        return {}
    with open(path, encoding="utf-8") as file:
        return {r.get("id"): r["upstream"] for r in map(json.loads, file)}


def requests_of(directory, server):
    """([(sched, sent, first byte, latency, server)], ns of CLOCK_MONOTONIC;
    failures) of one chunk."""
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
                          server.get(r["id"]) if server else "a"))
    return found, failed


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
    after, rest, changed, last = [], [], 0, requests[0][4]
    for sched, _, _, latency, server in requests:
        if server != last:
            changed, last = sched, server
        (after if sched - changed < AFTER_NS else rest).append(latency / 1e6)
    return sorted(after), sorted(rest)


def keep_causes(o, running, directory, chunks):
    """What Tailor says of the slowest requests."""
    admin = json.loads((directory / "tailor.json").read_text(
        encoding="utf-8"))["admin"]
    for name in ("blame", "slow"):
        with open(directory / f"{name}.txt", "w", encoding="utf-8") as file:
            subprocess.run([o.build / "tailorctl", "-a", admin, name],
                           stdout=file, stderr=subprocess.STDOUT, check=False)
    slowest = {}
    for _, chunk in chunks:
        with open(chunk / "requests.ndjson", encoding="utf-8") as file:
            slowest = max([slowest, *map(json.loads, file)],
                          key=lambda r: r.get("lat", 0))
    running.why(slowest["id"])


def load(o, environment, running, directory, seed):
    """Chunks of both methods in turns: [(method, directory)], and whether the
    generator was in time."""
    chunks, trusted = [], True
    for i in range(o.chunks):
        # GET POST POST GET: what drifts falls on both
        method = METHODS[(i + (i >> 1) + seed) % 2]
        chunk = directory / f"chunk-{i}"
        chunk.mkdir()
        generator = Generator(o.build, environment.targets[False], LOAD_RATE,
                              100 * seed + i, environment.place.generator)
        trusted &= generator.start(running.port, REQUESTS, 1, 0, str(chunk),
                                   method).wait().trusted
        chunks.append((method, chunk))
    return chunks, trusted


def row_of(requests, failed):
    """The figures of one method."""
    if not requests:
        raise Trouble(f"none of {failed} requests was answered")
    ms = sorted(r[3] / 1e6 for r in requests)
    swapped, rest = around_swaps(sorted(requests))
    return {"requests": len(ms), "failed": failed, "ms": ms,
            "p50": nearest_rank(ms, 50), "p99": nearest_rank(ms, 99),
            "p999": nearest_rank(ms, 99.9), "max": ms[-1],
            "after": len(swapped),
            "after_p99": nearest_rank(swapped, 99) if swapped else None,
            "rest_p99": nearest_rank(rest, 99)}


def run_one(o, environment, key, seed, directory):
    """{method: row} of one set-up."""
    setup = {**SETUPS[key], "young_mb": o.young}
    if setup["front"] == "tailor":
        setup["tailor"] = {**setup["tailor"], "access_log": {
            "path": str(directory / "access.log")}}
    running = Running(setup, environment, directory)
    try:
        generator = Generator(o.build, environment.targets[False], LOAD_RATE,
                              seed, environment.place.generator)
        # through Tailor: it cannot steer what it does not see
        generator.warm_up(running.port, HEAT, RATE)
        running.settle()
        before = running.metrics()
        pauses = {name: Pauses(directory, name) for name in "ab"}
        begun, cpu = time.monotonic(), cpu_seconds(running.pids())
        chunks, trusted = load(o, environment, running, directory, seed)
        cpu = 100 * (cpu_seconds(running.pids()) - cpu) \
            / (time.monotonic() - begun)
        after = running.metrics()
        if setup["front"] == "tailor":
            keep_causes(o, running, directory, chunks)
        pauses = {name: p.ends() for name, p in pauses.items()}
    finally:
        running.stop()
    server = servers_of(directory)
    found = {method: ([], 0) for method in METHODS}
    for method, chunk in chunks:
        requests, failed = requests_of(chunk, server)
        found[method] = (found[method][0] + requests,
                         found[method][1] + failed)
    every = sorted(r for requests, _ in found.values() for r in requests)
    moved = {k: after[k] - before.get(k, 0) for k in after
             if k.startswith(COUNTERS) and after[k] != before.get(k, 0)}
    both = {
        "setup": key, "seed": seed, "trusted": trusted, "cpu_pct": cpu,
        "collections": sum(map(len, pauses.values())),
        "pause_ms": [ms for p in pauses.values() for _, ms in p],
        "met": sum(met(every, p, name) for name, p in pauses.items()),
        "provoked": moved.get("tailor_steer_collections_provoked_total", 0),
        "twice": sum(v for k, v in moved.items()
                     if k.startswith("tailor_hedges_sent_total")),
        "metrics": moved}
    rows = {method: {**both, "method": method, **row_of(*of)}
            for method, of in found.items()}
    with open(directory / "rows.json", "w", encoding="utf-8") as file:
        json.dump(rows, file)
    return rows


def write(row):
    after = "      -      -" if row["after_p99"] is None else \
        f"{row['after_p99']:7.1f}{row['rest_p99']:7.1f}"
    pauses = sorted(row["pause_ms"]) or [0]
    print(f"{row['setup']:11}{row['method']:5}{row['seed']:3}"
          f"{row['provoked']:5.0f}{row['collections']:4}{row['met']:4}"
          f"{pauses[len(pauses) // 2]:6.1f}{row['twice']:6.0f}"
          f"{row['failed']:7}{row['cpu_pct']:5.0f}{row['p50']:6.2f}"
          f"{row['p99']:7.1f}{row['p999']:7.1f}{row['max']:7.1f}{after}"
          f"{'' if row['trusted'] else '  generator late'}", flush=True)


def spread(values):
    """Their median, least and most."""
    values = sorted(values)
    return f"{statistics.median(values):.1f} ({values[0]:.1f} to " \
        f"{values[-1]:.1f})"


def pooled(rows):
    """p99.9 of all runs' requests and its 95 % interval."""
    ms = sorted(ms for row in rows for ms in row["ms"])
    ranks = rank_interval(len(ms), 99.9)
    text = f"{nearest_rank(ms, 99.9):.1f}"
    return f"{text} ({ms[ranks[0] - 1]:.1f} to {ms[ranks[1] - 1]:.1f})" \
        if ranks else text


def summary(runs):
    """runs: [{set-up: {method: row}}], those that are whole."""
    keys = [key for key in SETUPS if runs and key in runs[0]]
    print("\nmedians and ranges of the runs, ms; p99.9 of all their requests "
          "with its 95 % interval")
    for key in keys:
        for method in METHODS:
            rows = [run[key][method] for run in runs]
            print(f"{key:11}{method:5}" + "".join(
                f" {words} {spread(row[name] for row in rows)};"
                for name, words in FIGURES.items())
                + f" of all {pooled(rows)}; CPU "
                + spread(row["cpu_pct"] for row in rows))
    print("\nless what the same run had, ms")
    pairs = [(key, "POST", key, "GET") for key in keys]
    pairs += [("steering", method, other, method) for method in METHODS
              for other in keys if other != "steering" and "steering" in keys]
    for key, method, other, than in pairs:
        print(f"{key} {method} - {other} {than}:" + "".join(
            f" {words} " + spread(run[key][method][name]
                                  - run[other][than][name] for run in runs)
            + ";" for name, words in FIGURES.items()))


def measure_all(o, environment, out):
    """The runs that are whole, when the time is over."""
    runs, keys = [], o.setups.split(",")
    began = last = time.monotonic()
    longest = 0.0
    for i in range(o.runs):
        run = {}
        turn = (o.first + i) % len(keys)
        for key in keys[turn:] + keys[:turn]:
            if o.seconds and last + longest > began + o.seconds:
                return runs
            directory = out / f"{key}-{o.first + i}"
            directory.mkdir(parents=True)
            try:
                run[key] = run_one(o, environment, key, o.first + i, directory)
            except Trouble as e:
                print(f"{key:11}     {o.first + i:3} {e}", flush=True)
            for row in run.get(key, {}).values():
                write(row)
            longest = max(longest, time.monotonic() - last)
            last = time.monotonic()
        if len(run) == len(keys):
            runs.append(run)
    return runs


def main():
    p = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    p.add_argument("build", nargs="?", type=pathlib.Path,
                   default=os.environ.get("TAILOR_BUILD", ROOT / "build"))
    p.add_argument("--runs", type=int, default=1, help="of each set-up")
    p.add_argument("--first", type=int, default=1, help="the first seed")
    p.add_argument("--setups", default=",".join(SETUPS))
    p.add_argument("--chunks", type=int, default=8, metavar="N")
    p.add_argument("--seconds", type=int, default=0, metavar="N",
                   help="begin no set-up that would last longer")
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
              f"{o.chunks} times {REQUESTS} at {LOAD_RATE}/s\n"
              "setup          seed coll of met pause twice failed  CPU   p50"
              "    p99  p99.9    max  after   rest")
        try:
            runs = measure_all(o, environment, out)
        finally:
            end_all()
        if runs:
            summary(runs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
