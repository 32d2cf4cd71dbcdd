#!/usr/bin/python3
"""More events than Tailor can take: each is taken, or counted as lost.

    tests/bench/bench_storm.py [BUILD]

A server behind Tailor makes system calls on every CPU for one second, and
Tailor is to record each of them.  Calls made, by the server's count,
stand beside the events taken, lost, abandoned and refused, by Tailor's; they
must cover the calls.  The request that did it must be reported as one whose
events were lost.  Needs root.  Exit status 1 if a call is unaccounted for.
"""

import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "hazards")]

from rig.wait import wait_until  # noqa: E402
from stage import CServer, Stage  # noqa: E402

SECONDS = 1
COUNTS = {"taken": "tailor_profiler_events_total",
          "lost": "tailor_profiler_lost_total",
          "left half-written": "tailor_profiler_abandoned_total",
          "not written by the kernel": "tailor_kernel_missed_total"}


def counts(stage):
    """The counters, once they have stopped."""
    seen = []

    def still():
        values = stage.tailor.metrics()
        seen.append([sum(v for k, v in values.items()
                         if k.partition("{")[0] == name)
                     for name in COUNTS.values()])
        return len(seen) > 1 and sum(seen[-1]) - sum(seen[-2]) < 1000

    wait_until(still, "the counters have stopped")
    return dict(zip(COUNTS, seen[-1]))


def main():
    build = sys.argv[1] if len(sys.argv) > 1 else os.environ.get(
        "TAILOR_BUILD", str(ROOT / "build"))
    if os.geteuid() != 0:
        print("bench_storm: BPF needs root; nothing measured")
        return 0
    if not os.path.exists(f"{build}/hazards/server"):
        print("bench_storm: hazards/server is missing (make "
              "hazards-programs); nothing measured")
        return 0
    stage = Stage(build, profiler={"kernel": "all"})
    try:
        stage.start(CServer(build))
        before = counts(stage)
        response = stage.client.get(f"/storm?us={SECONDS * 1_000_000}")
        made = [int(line) for line in response.body.split()]
        growth = {k: v - before[k] for k, v in counts(stage).items()}
        tale = stage.tale(response.get("x-request-id"))
    finally:
        stage.stop()
    print(f"\nSystem calls recorded for {SECONDS} s, millions")
    for cpu, calls in enumerate(made):
        print(f"  made on CPU {cpu:<24}{calls / 1e6:8.3f}")
    for name, number in growth.items():
        print(f"  {name:36}{number / 1e6:8.3f}")
    missing = sum(made) - sum(growth.values())
    print(f"  {'unaccounted for':36}{max(0, missing) / 1e6:8.3f}")
    loss = tale["loss"]["events"]
    print(f"  in the request's timeline, as lost  {loss / 1e6:8.3f}")
    print(f"  its verdict: {tale['verdict']['text']}")
    return 1 if missing > 0 or (growth["lost"] > 0 and loss == 0) else 0


if __name__ == "__main__":
    sys.exit(main())
