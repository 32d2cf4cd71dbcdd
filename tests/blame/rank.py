#!/usr/bin/python3
"""Are causes ranked as they were injected, and is nothing named otherwise?

    tests/blame/rank.py --build build --json FILE [--rounds N] [--seconds S]
    tests/blame/rank.py --json FILE --report

The rig of predict.py.  In a round collections meet about 2 % of requests, a
held lock 1 %, slow writes to the disk 0.5 %; then nothing is injected.  The
injector knows when each was: its account of a request is the time that the
request overlaps with them, and its share of p99 is computed here, by the rule of
docs/blame.md, without blame/.  A round is good if the causes are in the same
order as the injector's, each share is within 10 % or 0.5 ms of its, and the
undisturbed run names no injected cause with 0.5 ms or more.
"""

import argparse
import csv
import json
import pathlib
import sys
import time

import predict
from predict import MS, ROOT, Rig

KINDS = ("gc", "lock", "disk")
EVERY_S = {"gc": 1.1, "lock": 2.5}  # of some 22 and 25 ms
DISK_ONE_IN, DISK_MS = 2000, 25     # of documents; a search reads ten
P = 0.99
PART, LEAST_MS = 0.1, 0.5


def windows(service, what, offset):
    """When it was, wall clock ns; a collection as the JVM's log has it."""
    found = ([(b, e) for b, e, why in service.safepoints()
              if why == "SerialFullCollect" or "Collect" in why]
             if what == "gc" else
             [(b, e) for kind, b, e in service.done if kind == what])
    return sorted((b + offset, e + offset) for b, e in found)


def overlap(begin, end, spans):
    return sum(max(0, min(end, e) - max(begin, b)) for b, e in spans)


def injected(rows, spans):
    """Of each request, what the injector says, ns.  A write is of the request
    that it lies within; of several, of the shortest."""
    found = []
    for total, end, _ in rows:
        found.append({c: overlap(end - total, end, spans[c])
                      for c in ("gc", "lock")} | {"disk": 0})
    for begin, end in spans["disk"]:
        around = [i for i, (total, last, _) in enumerate(rows)
                  if last - total <= begin and end <= last + MS]
        if around:
            i = min(around, key=lambda i: rows[i][0])
            found[i]["disk"] += end - begin
    return found


def shares(rows, parts):
    """Each cause's share of q(P), ms, and q(P)."""
    order = sorted(range(len(rows)), key=lambda i: rows[i][0], reverse=True)
    weight = sum(w for _, _, w in rows)
    h = (1 - P) / 4
    sums, mean, above, q = dict.fromkeys(KINDS, 0), 0, 0, 0
    for i in order:
        total, _, w = rows[i]
        if above <= (1 - P) * weight:
            q = total
        inside = (min(above + w, (1 - P + h) * weight)
                  - max(above, (1 - P - h) * weight))
        above += w
        if inside > 0:
            mean += inside * total
            for c in KINDS:
                sums[c] += inside * parts[i][c]
    return {c: sums[c] / mean * q / MS for c in KINDS}, q / MS


def read(path):
    """[(total, end, weight)] of the route."""
    with open(path, encoding="utf-8") as file:
        return [(int(r["total_ns"]), int(r["end_ns"]), float(r["weight"]))
                for r in csv.DictReader(file) if r["route"] == predict.ROUTE]


def run(rig, hazards, seconds, seed):
    """Blame's lines by cause, and the injector's shares."""
    rig.service.done.clear()
    rig.service.order(f"disk {DISK_ONE_IN} {DISK_MS}" if hazards
                      else "disk 0 0")
    path = predict.run(rig, ("gc", "lock") if hazards else (), seconds, seed)
    rig.service.order("disk 0 0")
    offset = time.time_ns() - time.monotonic_ns()
    rows = read(path)
    parts = injected(rows, {c: windows(rig.service, c, offset)
                            for c in KINDS})
    lines = {c["cause"]: c for c in rig.blame(path)["causes"]}
    truth, q = shares(rows, parts)
    return {"q_ms": q, "hit": {c: sum(w for (_, _, w), p in zip(rows, parts)
                                      if p[c] > MS) / sum(w for *_, w in rows)
                               for c in KINDS},
            "truth": truth,
            "share": {c: lines.get(c, {}).get("share_ns", 0) / MS
                      for c in KINDS},
            "named": {c: l["excess_ns"] / MS for c, l in lines.items()
                      if l["rank"] > 0}}


def ordered(values):
    return sorted(KINDS, key=values.get, reverse=True)


def report(path):
    """Print what was found; whether all of it is as it must be."""
    good = True
    for line in path.read_text().splitlines():
        one = json.loads(line)
        hazards, calm = one["hazards"], one["calm"]
        print(f"round {one['seed']}: p99 {hazards['q_ms']:.2f} ms, "
              f"undisturbed {calm['q_ms']:.2f}")
        for c in KINDS:
            truth, share = hazards["truth"][c], hazards["share"][c]
            fits = abs(share - truth) <= max(PART * truth, LEAST_MS)
            good &= fits
            print(f"  {c:5} {100 * hazards['hit'][c]:4.1f} % of requests  "
                  f"injector {truth:6.2f} ms  share {share:6.2f} ms  "
                  f"{'' if fits else 'MISSED'}")
        right = ordered(hazards["truth"]) == ordered(hazards["share"])
        named = {c: round(x, 2) for c, x in calm["named"].items()
                 if x >= LEAST_MS}
        wrong = set(named) & set(KINDS)
        good &= right and not wrong
        print(f"  order {'as injected' if right else 'WRONG'}; undisturbed, "
              f"0.5 ms or more: {named or 'nothing'}"
              f"{' WRONG' if wrong else ''}")
    return good


def main():
    parser = argparse.ArgumentParser(
        description="Rank causes whose rates are known.")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--json", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--report", action="store_true")
    options = parser.parse_args()
    if not options.report:
        done = (len(options.json.read_text().splitlines())
                if options.json.exists() else 0)
        predict.EVERY_S = EVERY_S
        rig = Rig(options.build.resolve())
        try:
            predict.run(rig, (), 8, 0)  # the JVM compiles
            for seed in range(done + 1, done + options.rounds + 1):
                found = {"seed": seed,
                         "hazards": run(rig, True, options.seconds, seed),
                         "calm": run(rig, False, options.seconds, seed)}
                with open(options.json, "a", encoding="utf-8") as file:
                    file.write(json.dumps(found) + "\n")
        finally:
            rig.stop()
    return 0 if report(options.json) else 1


if __name__ == "__main__":
    sys.exit(main())
