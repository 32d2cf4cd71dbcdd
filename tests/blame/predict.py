#!/usr/bin/python3
"""Predict, then do: is p99 what "tailorctl blame --without" said?

    tests/blame/predict.py --build build --json FILE [--rounds N] [--seconds S]
    tests/blame/predict.py --json FILE --report

The search service of examples/lucene (HazardousSearch.java) behind one tailor,
under an open load.  A round is three runs: with collections and a lock that is
held, with each of them alone; what is injected has the same schedule in all
three.  From the first run p99 without collections, and without the lock, is
predicted; the other two measure it.  Each round is appended to the file, so
that more can follow another time.  --report judges all rounds of a file: a
prediction holds if it is within 15 % or 1 ms of what was measured, and nine of
ten must hold.
"""

import argparse
import csv
import io
import json
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from rig.process import Process  # noqa: E402
from rig.safepoints import Safepoints  # noqa: E402
from rig.tailor import Tailor, configuration  # noqa: E402

MS = 1_000_000
ROUTE = "GET /search"
EVERY_S = {"gc": 1.0, "lock": 1.5}  # mean time between two
LOCK_MS = 25
RATE = 150
PART, LEAST_MS = 0.15, 1.0
HELD = 0.9


class Service(Process, Safepoints):
    """The search service, which takes orders."""

    def __init__(self, build):
        jars = [*pathlib.Path("/usr/share/java").glob("lucene-core-[0-9]*"),
                *pathlib.Path("/usr/share/java").glob("lucene-a*-common-[0-9]*"),
                *pathlib.Path("/usr/share/java").glob("lucene-*parser-[0-9]*")]
        path = [build / "blame", build / "examples" / "lucene", *jars]
        super().__init__(
            ["java", "-Xms256m", "-Xmx256m", "-XX:+UseSerialGC",
             "-Dsun.net.httpserver.nodelay=true", self.SAFEPOINT_LOG, "-cp",
             ":".join(map(str, path)), "HazardousSearch", "--index",
             build / "lucene-index", "--listen", "127.0.0.1:0",
             # few results are kept: collections take as long as at first
             "--workers", 8, "--sessions", 50, "--history", 1],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        line = self.wait_log("listening on")
        self.address = "127.0.0.1:" + line.rpartition(":")[2]
        self.done = []  # (what, begin, end), CLOCK_MONOTONIC
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.stdout:
            what, begin, end = line.split()
            self.done.append((what, int(begin), int(end)))

    def order(self, text):
        self.stdin.write(text + "\n")
        self.stdin.flush()


class Rig:
    """Service, tailor and load."""

    def __init__(self, build):
        self.build = build
        self.directory = tempfile.mkdtemp(prefix="tailor-")
        self.service = Service(build)
        self.tailor = Tailor(build, self.directory, configuration(
            self.directory, [{"name": "a", "address": self.service.address}], {
                "warmup": {"requests": 0}, "hedging": {"mode": "watch"},
                "slow": {"target": "5ms"},
                "analysis": {"cpu": 0.5, "accounts": 50}}))
        self.tailor.wait_ready()
        self.targets = f"{self.directory}/targets"
        words = (ROOT / "examples/lucene/queries.txt").read_text().split("\n")
        pathlib.Path(self.targets).write_text("".join(
            f"/search?q={urllib.parse.quote_plus(w)}\n" for w in words if w))

    def stop(self):
        self.tailor.terminate()
        self.service.kill()
        shutil.rmtree(self.directory, ignore_errors=True)

    def load(self, seconds, seed, log="/dev/null"):
        """An open loop: a line for each request goes to a file."""
        subprocess.run(
            [str(self.build / "tailor-load"), "--rate", str(RATE), "-d",
             f"{seconds}s", "-i", "1", "--urls", self.targets, "--seed",
             str(seed), "--warmup", "0", "--cpu", "none", "--analyze", "off",
             "--stamps", "user", "--quiet", "--ndjson", log, "--priority",
             f"http://127.0.0.1:{self.tailor.port}/"],
            stderr=subprocess.DEVNULL, check=False)  # 4: the machine is busy

    def settle(self):
        """Until a second adds no accounts; the last have their weights."""
        before = None
        while before != (now := self.tailor.ask("/accounts").body.count(b"\n")):
            before = now
            time.sleep(1.2)

    def accounts(self, begin_s, path):
        """Those of requests that ended since begin_s, as a file."""
        head, *rows = csv.reader(io.StringIO(
            self.tailor.ask("/accounts").body.decode()))
        end = head.index("end_ns")
        with open(path, "w", encoding="utf-8", newline="") as file:
            write = csv.writer(file, lineterminator="\n")
            write.writerow(head)
            write.writerows(r for r in rows if int(r[end]) > begin_s * 1e9)
        return path

    def blame(self, path, *options):
        found = subprocess.run(
            [str(self.build / "tailorctl"), "-j", "blame", "--file", path,
             "-R", ROUTE, *options],
            stdout=subprocess.PIPE, text=True, check=True)
        return json.loads(found.stdout)["routes"][0]

    def without(self, path, cause):
        """p99 as it was, without a cause, and without the queue behind it."""
        route = self.blame(path, "--without", cause)
        p99, = (p for p in route["percentiles"] if p["percentile"] == 99)
        return p99


def schedule(what, seconds, seed):
    """Instants, s after the beginning: random, none in another's wake."""
    dice, at = random.Random(f"{what} {seed}"), 0
    while True:
        at += EVERY_S[what] * dice.uniform(0.5, 1.5)
        if at > seconds - 0.3:
            return
        yield at


def inject(rig, kinds, seconds, seed, over):
    """Order hazards as they are due; of the load's beginning, now."""
    begin = time.monotonic()
    due = sorted((at, what) for what in kinds
                 for at in schedule(what, seconds, seed))
    for at, what in due:
        if over.wait(max(0, begin + at - time.monotonic())):
            return
        rig.service.order("gc" if what == "gc" else f"lock {LOCK_MS}")


def run(rig, kinds, seconds, seed, log="/dev/null"):
    """One run: the path of its accounts."""
    over = threading.Event()
    begin_s = time.time()
    helper = threading.Thread(target=inject,
                              args=(rig, kinds, seconds, seed, over))
    helper.start()
    rig.load(seconds, seed, log)
    over.set()
    helper.join()
    rig.settle()
    name = f"{rig.directory}/{'-'.join(kinds)}.csv"
    return rig.accounts(begin_s, name)


def round_of(rig, seconds, seed):
    """Three runs in random order; what was predicted and measured, ms."""
    mixes = [("gc", "lock"), ("gc",), ("lock",)]
    random.Random(seed).shuffle(mixes)
    paths, measured = {}, {}
    for kinds in mixes:
        paths[kinds] = run(rig, kinds, seconds, seed)
        measured[kinds] = rig.blame(paths[kinds])
    found = {"seed": seed, "seconds": seconds}
    for cause, left in (("gc", ("lock",)), ("lock", ("gc",))):
        p99 = rig.without(paths["gc", "lock"], cause)
        found[cause] = {
            "was": p99["was_ns"] / MS,
            "alone": p99["without_ns"] / MS,
            "queue": p99["without_queue_ns"] / MS,
            "measured": measured[left]["q_ns"] / MS,
            "interval": [x / MS for x in measured[left]["q_interval_ns"]]}
    return found


def right(predicted, measured):
    return abs(predicted - measured) <= max(PART * measured, LEAST_MS)


def report(path):
    """The table; whether nine of ten hold."""
    pairs = held = queue_held = 0
    print(f"{'without':8} {'p99 with both':>13} {'predicted':>10} "
          f"{'and queue':>10} {'measured':>9}  ms")
    for line in path.read_text().splitlines():
        one = json.loads(line)
        for cause in ("gc", "lock"):
            p = one[cause]
            good = right(p["alone"], p["measured"])
            queue_good = right(p["queue"], p["measured"])
            pairs += 1
            held += good
            queue_held += queue_good
            print(f"{cause:8} {p['was']:13.2f} {p['alone']:10.2f} "
                  f"{p['queue']:10.2f} {p['measured']:9.2f}  "
                  f"{'' if good else 'MISSED'}")
    print(f"{held} of {pairs} within 15 % or 1 ms; with the queue behind it "
          f"{queue_held}")
    return held >= HELD * pairs


def main():
    parser = argparse.ArgumentParser(
        description="Predict p99 without a hazard, then measure it.")
    parser.add_argument("--build", type=pathlib.Path,
                        default=ROOT / "build")
    parser.add_argument("--json", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--report", action="store_true")
    options = parser.parse_args()
    if not options.report:
        done = (len(options.json.read_text().splitlines())
                if options.json.exists() else 0)
        rig = Rig(options.build.resolve())
        try:
            run(rig, (), 8, 0)  # the JVM compiles
            for k in range(done, done + options.rounds):
                found = round_of(rig, options.seconds, k + 1)
                with open(options.json, "a", encoding="utf-8") as file:
                    file.write(json.dumps(found) + "\n")
        finally:
            rig.stop()
    return 0 if report(options.json) else 1


if __name__ == "__main__":
    sys.exit(main())
