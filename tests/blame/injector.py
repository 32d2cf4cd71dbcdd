"""The search service of examples/lucene with hazards at known rates, behind one
tailor, under an open load; and the rounds of an experiment with it."""

import argparse
import csv
import io
import json
import pathlib
import random
import shutil
import statistics
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
RATE = 150       # requests/s
DOCUMENTS = 7    # that a search reads, on average
WARM_S = 25      # the JVM compiles, and its collections become longer
WARM_MS = 20     # of a collection, about, until its length is known
WARM = {"gc": 0.03, "lock": 0.03}
PART = 0.8       # so p99 is within the times of all kinds
WAIT_S = 10


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
             # little is kept: all requests read documents, and collections
             # take as long as at first; and there is no queue of its own,
             # which its events would have to show
             "--workers", 32, "--answers", 0, "--sessions", 50, "--history", 1],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        line = self.wait_log("listening on")
        self.address = "127.0.0.1:" + line.rpartition(":")[2]
        self.done = []  # (what, begin, end), CLOCK_MONOTONIC
        self._more = threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.stdout:
            what, begin, end = line.split()
            with self._more:
                self.done.append((what, int(begin), int(end)))
                self._more.notify_all()

    def order(self, text):
        self.stdin.write(text + "\n")
        self.stdin.flush()

    def wait_done(self, what, count=1):
        """Those that were done since done was cleared, once there are so
        many."""
        def found():
            return [d for d in self.done if d[0] == what]
        with self._more:
            assert self._more.wait_for(lambda: len(found()) >= count, WAIT_S)
            return found()


class Rig:
    """Service, tailor and load.

    length_ms   of a collection; a lock is held PART of it, a slow write takes
                up to that
    """

    def __init__(self, build):
        self.build = build
        self.directory = tempfile.mkdtemp(prefix="tailor-")
        self.service = Service(build)
        self.tailor = Tailor(build, self.directory, configuration(
            self.directory, [{"name": "a", "address": self.service.address}], {
                "warmup": {"requests": 0}, "hedging": {"mode": "watch"},
                "slow": {"target": "5ms"},
                "analysis": {"cpu": 0.5, "accounts": 25}}))
        self.tailor.wait_ready()
        self.targets = f"{self.directory}/targets"
        words = (ROOT / "examples/lucene/queries.txt").read_text().split("\n")
        pathlib.Path(self.targets).write_text("".join(
            f"/search?q={urllib.parse.quote_plus(w)}\n" for w in words if w))
        self.length_ms = WARM_MS
        self.run(WARM, WARM_S, 0)
        found = [(end - begin) / MS
                 for what, begin, end in self.service.done if what == "gc"]
        self.length_ms = statistics.median(found[len(found) // 2:])

    def stop(self):
        self.tailor.terminate()
        self.service.kill()
        shutil.rmtree(self.directory, ignore_errors=True)

    def load(self, seconds, seed):
        """An open loop."""
        subprocess.run(
            [str(self.build / "tailor-load"), "--rate", str(RATE), "-d",
             f"{seconds}s", "-i", "1", "--urls", self.targets, "--seed",
             str(seed), "--warmup", "0", "--cpu", "none", "--analyze", "off",
             "--stamps", "user", "--quiet", "--priority",
             f"http://127.0.0.1:{self.tailor.port}/"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            check=False)  # 4: the machine is busy

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

    def run(self, rates, seconds, seed):
        """Inject hazards while there is load: the path of the accounts.

        rates   of each kind, the share of requests that meet it
        """
        over = threading.Event()
        begin_s = time.time()
        self.service.done.clear()
        helper = threading.Thread(target=self._inject,
                                  args=(rates, seconds, seed, over))
        helper.start()
        self.load(seconds, seed)
        over.set()
        helper.join()
        self.settle()
        name = f"{self.directory}/{'-'.join(rates) or 'none'}.csv"
        return self.accounts(begin_s, name)

    def _schedule(self, what, rate, seconds, seed):
        """Instants, s after the first request."""
        dice, at = random.Random(f"{what} {seed}"), 0
        length_s = self.length_ms / 1000 * (PART if what == "lock" else 1)
        while True:
            at += length_s / rate * dice.uniform(0.5, 1.5)
            if at > seconds - 0.3:
                return
            yield at

    def _inject(self, rates, seconds, seed, over):
        """Order hazards as they are due: with the same seed, requests and
        hazards meet in the same way."""
        rates = dict(rates)
        one_in = round(DOCUMENTS / rates.pop("disk")) if "disk" in rates else 0
        self.service.order("begin")
        _, begin, _ = self.service.wait_done("begin")[0]
        part_ms = round(PART * self.length_ms)
        self.service.order(f"disk {one_in} {part_ms}")
        due = sorted((at, what) for what, rate in rates.items()
                     for at in self._schedule(what, rate, seconds, seed))
        for at, what in due:
            if over.wait(max(0, begin / 1e9 + at - time.monotonic())):
                break
            self.service.order("gc" if what == "gc" else f"lock {part_ms}")
        over.wait()
        self.service.order("disk 0 0")


def main(description, rounds, seconds, round_of, report):
    """Rounds, each appended to a file as it is found, so that more can follow
    another time; then the report on all of them: 0 if it is as it must be."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--json", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--seconds", type=int, default=seconds)
    parser.add_argument("--report", action="store_true",
                        help="run nothing, report what the file has")
    options = parser.parse_args()

    def lines():
        return (options.json.read_text().splitlines()
                if options.json.exists() else [])
    if not options.report:
        seed = len(lines())
        rig = Rig(options.build.resolve())
        try:
            for seed in range(seed + 1, seed + 1 + options.rounds):
                found = {"seed": seed, "seconds": options.seconds,
                         "length_ms": rig.length_ms,
                         **round_of(rig, options.seconds, seed)}
                with open(options.json, "a", encoding="utf-8") as file:
                    file.write(json.dumps(found) + "\n")
        finally:
            rig.stop()
    return 0 if report([json.loads(line) for line in lines()]) else 1
