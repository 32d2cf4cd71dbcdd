#!/usr/bin/python3
"""Are causes ranked as they were injected, and is nothing named otherwise?

    tests/blame/rank.py --build build --json FILE [--rounds N] [--seconds S]
    tests/blame/rank.py --json FILE --report

In a round collections meet about 2 % of requests, a held lock 1 %, slow writes
to the disk 0.5 %, all of similar lengths; then nothing is injected.  The
injector knows when each was: its account of a request is the time that the
request overlaps with them, and its share of p99 is computed here, by the rule of
docs/blame.md, without blame/.  A round is good if the causes are in the same
order as the injector's, each share is within 10 % or 0.5 ms of its, and the
undisturbed run names no injected cause with 0.5 ms or more.
"""

import csv
import sys
import time

from injector import MS, ROUTE, main

RATES = {"gc": 0.02, "lock": 0.01, "disk": 0.005}
P = 0.99
PART, LEAST_MS = 0.1, 0.5


def without(spans, others):
    """What of some spans is in no other; both ascend."""
    for begin, end in spans:
        for b, e in others:
            if b < end and e > begin:
                if b > begin:
                    yield begin, b
                begin = e
        if begin < end:
            yield begin, end


def windows(service, offset):
    """When each kind was, wall clock ns; a collection as the JVM's log has it,
    and a lock as long as none stopped those who wanted it."""
    spans = {kind: sorted((b + offset, e + offset)
                          for k, b, e in service.done if k == kind)
             for kind in ("lock", "disk")}
    spans["gc"] = [(b + offset, e + offset)
                   for b, e, why in service.safepoints() if "Collect" in why]
    spans["lock"] = list(without(spans["lock"], spans["gc"]))
    return spans


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
            found[i]["disk"] += end - begin - overlap(begin, end, spans["gc"])
    return found


def shares(rows, parts):
    """Each cause's share of q(P), ms, and q(P)."""
    order = sorted(range(len(rows)), key=lambda i: rows[i][0], reverse=True)
    weight = sum(w for _, _, w in rows)
    h = (1 - P) / 4
    sums, mean, above, q = dict.fromkeys(RATES, 0), 0, 0, 0
    for i in order:
        total, _, w = rows[i]
        if above <= (1 - P) * weight:
            q = total
        inside = (min(above + w, (1 - P + h) * weight)
                  - max(above, (1 - P - h) * weight))
        above += w
        if inside > 0:
            mean += inside * total
            for c in RATES:
                sums[c] += inside * parts[i][c]
    return {c: sums[c] / mean * q / MS for c in RATES}, q / MS


def read(path):
    """[(total, end, weight)] of the route."""
    with open(path, encoding="utf-8") as file:
        return [(int(r["total_ns"]), int(r["end_ns"]), float(r["weight"]))
                for r in csv.DictReader(file) if r["route"] == ROUTE]


def run(rig, rates, seconds, seed):
    """Blame's lines by cause, and the injector's shares."""
    path = rig.run(rates, seconds, seed)
    rows = read(path)
    parts = injected(rows, windows(
        rig.service, time.time_ns() - time.monotonic_ns()))
    lines = {c["cause"]: c for c in rig.blame(path)["causes"]}
    truth, q = shares(rows, parts)
    return {"q_ms": q, "hit": {c: sum(w for (_, _, w), p in zip(rows, parts)
                                      if p[c] > MS) / sum(w for *_, w in rows)
                               for c in RATES},
            "truth": truth,
            "share": {c: lines.get(c, {}).get("share_ns", 0) / MS
                      for c in RATES},
            "named": {c: l["excess_ns"] / MS for c, l in lines.items()
                      if l["rank"] > 0}}


def round_of(rig, seconds, seed):
    return {"hazards": run(rig, RATES, seconds, seed),
            "calm": run(rig, {}, seconds, seed)}


def ordered(values):
    return sorted(RATES, key=values.get, reverse=True)


def report(rounds):
    """Print what was found; whether all of it is as it must be."""
    good = True
    for one in rounds:
        hazards, calm = one["hazards"], one["calm"]
        print(f"round {one['seed']}: p99 {hazards['q_ms']:.2f} ms, "
              f"undisturbed {calm['q_ms']:.2f}")
        for c in RATES:
            truth, share = hazards["truth"][c], hazards["share"][c]
            fits = abs(share - truth) <= max(PART * truth, LEAST_MS)
            good &= fits
            print(f"  {c:5} {100 * hazards['hit'][c]:4.1f} % of requests  "
                  f"injector {truth:6.2f} ms  share {share:6.2f} ms  "
                  f"{'' if fits else 'MISSED'}")
        right = ordered(hazards["truth"]) == ordered(hazards["share"])
        named = {c: round(x, 2) for c, x in calm["named"].items()
                 if x >= LEAST_MS}
        wrong = set(named) & set(RATES)
        good &= right and not wrong
        print(f"  order {'as injected' if right else 'WRONG'}; undisturbed, "
              f"0.5 ms or more: {named or 'nothing'}"
              f"{' WRONG' if wrong else ''}")
    return good


if __name__ == "__main__":
    sys.exit(main("Rank causes whose rates are known.", 2, 60, round_of,
                  report))
