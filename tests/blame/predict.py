#!/usr/bin/python3
"""Predict, then do: is p99 what "tailorctl blame --without" said?

    tests/blame/predict.py --build build --json FILE [--rounds N] [--seconds S]
    tests/blame/predict.py --json FILE --report

A round is three runs: with collections and a lock that is held, with each of
them alone; requests and what is injected have the same schedule in all three.
From the first run p99 without collections, and without the lock, is predicted;
the other two measure it.  There the queue behind a hazard is gone, too, so that
prediction counts; the one without this is beside it.  A prediction holds if it
is within 15 % or 1 ms of what was measured, and nine of ten must hold.
"""

import random
import sys

from injector import MS, main

RATES = {"gc": 0.03, "lock": 0.03}
PART, LEAST_MS = 0.15, 1.0
HELD = 0.9


def without(rig, path, cause):
    """p99 without a cause, alone and with the queue behind it, ms."""
    route = rig.blame(path, "--without", cause)
    p99, = (p for p in route["percentiles"] if p["percentile"] == 99)
    return {"was": p99["was_ns"] / MS, "alone": p99["without_ns"] / MS,
            "queue": p99["without_queue_ns"] / MS}


def round_of(rig, seconds, seed):
    """Three runs in random order; what was predicted and measured, ms."""
    mixes = [("gc", "lock"), ("gc",), ("lock",)]
    random.Random(seed).shuffle(mixes)
    paths = {kinds: rig.run({k: RATES[k] for k in kinds}, seconds, seed)
             for kinds in mixes}
    found = {}
    for cause, left in (("gc", ("lock",)), ("lock", ("gc",))):
        route = rig.blame(paths[left])
        found[cause] = {
            **without(rig, paths["gc", "lock"], cause),
            "measured": route["q_ns"] / MS,
            "interval": [x / MS for x in route["q_interval_ns"]]}
    return found


def right(predicted, measured):
    return abs(predicted - measured) <= max(PART * measured, LEAST_MS)


def report(rounds):
    """The table; whether nine of ten hold."""
    held = {"alone": 0, "queue": 0}
    print(f"{'without':8} {'p99 with both':>13} {'alone':>10} "
          f"{'and queue':>10} {'measured':>9}  ms")
    for one in rounds:
        for cause in RATES:
            p = one[cause]
            good = {k: right(p[k], p["measured"]) for k in held}
            held = {k: held[k] + good[k] for k in held}
            print(f"{cause:8} {p['was']:13.2f} {p['alone']:10.2f} "
                  f"{p['queue']:10.2f} {p['measured']:9.2f}  "
                  f"{'' if good['queue'] else 'MISSED'}")
    pairs = len(rounds) * len(RATES)
    print(f"{held['queue']} of {pairs} within 15 % or 1 ms; if the queue "
          f"behind it stayed {held['alone']}")
    return held["queue"] >= HELD * pairs


if __name__ == "__main__":
    sys.exit(main("Predict p99 without a hazard, then measure it.", 5, 30,
                  round_of, report))
