#!/usr/bin/python3
"""What analyzing costs the requests: p99 with 50 analyses a second, and
without, in turns, and their ratio.

    TAILOR_BUILD=build tests/bench/bench_analysis.py [PAIRS [SECONDS]]

One connection asks one request after the other, at a steady pace.  In every
second block of time another client has 50 tales a second rendered as HTML, over
the admin socket.  Blocks come in pairs, in random order, so that a drift of
the machine falls on both.  Prints figures and judges nothing; not a part of
make check.
"""

import os
import pathlib
import random
import statistics
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from rig.message import response  # noqa: E402
from rig.origin import Origin  # noqa: E402
from rig.tailor import Tailor, configuration  # noqa: E402

ANALYSES_PER_S = 50
PACE_S = 0.002
KEPT = 50


class Asker:
    """Has tales rendered at a steady rate while it is on."""

    def __init__(self, tailor, ids):
        self.tailor, self.ids = tailor, ids
        self.on = threading.Event()
        self.end = False
        self.answered = 0
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        due = time.monotonic()
        while not self.end:
            self.on.wait()
            now = time.monotonic()
            due = max(due + 1 / ANALYSES_PER_S, now - 1)
            time.sleep(max(0, due - now))
            if self.end or not self.on.is_set():
                continue
            answer = self.tailor.ask(
                f"/timeline/{random.choice(self.ids)}?format=html")
            assert answer.status == 200
            self.answered += 1

    def stop(self):
        self.end = True
        self.on.set()
        self.thread.join()


def block(client, seconds):
    """Latencies of paced requests, from the moment each was due."""
    latencies = []
    begin = due = time.monotonic()
    while due < begin + seconds:
        now = time.monotonic()
        if due > now:
            time.sleep(due - now)
        assert client.get("/bench").status == 200
        latencies.append(time.monotonic() - due)
        due += PACE_S
    return latencies


def quantile(values, q):
    return sorted(values)[min(int(q * len(values)), len(values) - 1)]


def main():
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 3
    build = pathlib.Path(os.environ.get("TAILOR_BUILD", ROOT / "build"))
    directory = tempfile.mkdtemp(prefix="tailor-bench-")
    server = Origin("a").serve(lambda request: response(200, b"x" * 500))
    tailor = Tailor(build.resolve(), directory, configuration(
        directory, [server], {
            "warmup": {"requests": 0},
            "talechain": {"allow": ["127.0.0.1"]},  # names its requests
            # As by default: the observer has a CPU where there is one.
            "profiler": {"poll": None, "cpu": None, "stream": ""},
            "proxy": None,
            "slow": {"target": "100s", "keep_slowest": 0,
                     "store": f"{directory}/tales"}}))
    try:
        tailor.wait_ready()
        ids = []
        with tailor.client() as client:
            for i in range(KEPT):
                ids.append(f"b-{i}")
                client.get("/kept", fields=[("X-Request-Id", ids[-1])])
        for name in ids:
            assert tailor.ask(f"/pin?id={name}", "POST").status == 200
        asker = Asker(tailor, ids)
        ratios, with_it, without = [], [], []
        with tailor.client() as client:
            for _ in range(pairs):
                p99 = {}
                for busy in random.sample([True, False], 2):
                    (asker.on.set if busy else asker.on.clear)()
                    taken = block(client, seconds)
                    p99[busy] = quantile(taken, 0.99)
                    (with_it if busy else without).extend(taken)
                ratios.append(p99[True] / p99[False])
        asker.stop()
    finally:
        tailor.stop()
        server.stop()
    for name, taken in (("without", without), ("with", with_it)):
        print(f"{name:8} {len(taken):7} requests"
              f"  p50 {quantile(taken, .5) * 1e3:7.3f} ms"
              f"  p99 {quantile(taken, .99) * 1e3:7.3f} ms")
    rate = asker.answered / (pairs * seconds)
    print(f"{rate:.0f} analyses a second; p99 with / without: median "
          f"{statistics.median(ratios):.2f}, "
          f"{min(ratios):.2f} .. {max(ratios):.2f} over {pairs} pairs")


if __name__ == "__main__":
    main()
