#!/usr/bin/python3
"""What a compile costs a search service that runs on the same CPUs.

    tests/bench/bench_borrow_service.py [--rounds N] [--seconds S] [--rate R]
                                        [BUILD]

Lucene behind a Tailor that watches, Poisson arrivals. Beside it, as many
compilers as there are CPUs, started anew for each file: none, at normal priority,
nice 19, under SCHED_IDLE, or under `tailor borrow`; in turns of random order, S
seconds each, every one in a session of its own, as in another terminal.

p99 is of all rounds, with the 95 % interval of its ratio to that of the service
alone (rounds with replacement). more: the difference of the means; of it, which
causes have more in the requests' accounts. Six rounds of 15 s: nine minutes.
"""

import argparse
import math
import os
import pathlib
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "e2e")]

from rig.tailor import Tailor, configuration  # noqa: E402
from support import lucene  # noqa: E402
from bench_turns import logged, tail  # noqa: E402

SETTLE_S = 1
FILE = "http/fields.c"


def ways(build):
    return {"alone": None, "normal": [], "nice 19": ["nice", "-n", "19"],
            "SCHED_IDLE": ["chrt", "-i", "0"],
            "borrowed": [f"{build}/tailor", "borrow", "-q"]}


def compilers(how, path):
    """Compile again and again, a byte in the file each time."""
    one = (f"cd {ROOT}; while :; do cc -O2 -D_GNU_SOURCE -I. -c -o /dev/null "
           f"{FILE} && printf . >>{path}; done")
    all_of_them = f"for i in $(seq {os.cpu_count()}); do ({one}) & done; wait"
    return subprocess.Popen([*how, "sh", "-c", all_of_them],
                            start_new_session=True, stderr=subprocess.DEVNULL)


def turn(how, seconds, path):
    """Its begin, end and the compiles."""
    open(path, "w", encoding="utf-8").close()
    p = None if how is None else compilers(how, path)
    time.sleep(SETTLE_S)
    begun, before = time.time(), os.path.getsize(path)
    time.sleep(seconds)
    span = begun, time.time(), os.path.getsize(path) - before
    if p is not None:
        os.killpg(p.pid, signal.SIGKILL)
        subprocess.run(["pkill", "-KILL", "-s", str(p.pid)], check=False)
        p.wait()
    time.sleep(SETTLE_S)
    return span


def accounted(t):
    """Of each account: its end, weight and ms by cause."""
    head, *lines = t.ask("/accounts").body.decode().splitlines()
    names = head.split(",")
    causes = names[names.index("kernel") + 1:]
    for fields in (dict(zip(names, line.split(","))) for line in lines):
        yield (int(fields["end_ns"]) / 1e9, float(fields["weight"]),
               {c: int(fields[c]) / 1e6 for c in causes})


def by_cause(accounts, rows):
    """The mean of each cause in these spans, ms."""
    mine = [(w, of) for at, w, of in accounts
            if any(b <= at < e for b, e, _ in rows)]
    total = sum(w for w, _ in mine) or math.nan
    return {c: sum(w * of[c] for w, of in mine) / total for c in mine[0][1]}


def p99(ms):
    return tail(ms, 0.99)


def ratio_interval(mine, alone):
    dice, ratios = random.Random(1), []
    for _ in range(400):
        some = [dice.randrange(len(mine)) for _ in mine]
        ratios.append(p99(sum((mine[i] for i in some), []))
                      / p99(sum((alone[i] for i in some), [])))
    ratios.sort()
    return ratios[10], ratios[-11]


def report(spans, log, accounts, seconds):
    ms = {way: [[took for at, took in log if b <= at < e] for b, e, _ in rows]
          for way, rows in spans.items()}
    alone = statistics.mean(sum(ms["alone"], []))
    before = by_cause(accounts, spans["alone"])
    print("beside      compiles/h    p50    p99   to alone (95 %)     mean  "
          "more   of which, by the accounts")
    for way, rows in spans.items():
        mine = sum(ms[way], [])
        now = by_cause(accounts, rows)
        most = sorted(now, key=lambda c: before[c] - now[c])[:6]
        low, high = ratio_interval(ms[way], ms["alone"])
        done = sum(n for *_, n in rows) * 3600 / (seconds * len(rows))
        print(f"{way:11} {done:10.0f} {statistics.median(mine):6.2f} "
              f"{p99(mine):6.1f}   {p99(mine) / p99(sum(ms['alone'], [])):5.2f} "
              f"({low:.2f} to {high:.2f})  {statistics.mean(mine):6.2f} "
              f"{statistics.mean(mine) - alone:+6.2f}  "
              + " ".join(f"{c} {now[c] - before[c]:+.2f}" for c in most),
              flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    p.add_argument("build", nargs="?", type=pathlib.Path, default=os.environ.get(
        "TAILOR_BUILD", ROOT / "build"))
    p.add_argument("--rounds", type=int, default=6)
    p.add_argument("--seconds", type=int, default=15)
    p.add_argument("--rate", type=int, default=100)
    o = p.parse_args()
    o.build = pathlib.Path(o.build)
    spans = {way: [] for way in ways(o.build)}
    dice = random.Random(1)
    with tempfile.TemporaryDirectory(prefix="tailor-") as base:
        service = lucene.Service(lucene.made(o.build))
        t = Tailor(o.build, base, configuration(
            base, [{"name": "a", "address": service.address}],
            {"warmup": {"requests": 0}, "hedging": {"mode": "watch"},
             "access_log": {"path": f"{base}/log"}}))
        t.wait_ready()
        queries = (ROOT / "examples/lucene/queries.txt").read_text().splitlines()
        urls = pathlib.Path(base, "urls")
        urls.write_text("".join(
            f"/search?q={urllib.parse.quote(q)}&n=10\n" for q in queries))
        load = subprocess.Popen(
            [f"{o.build}/tailor-load", "-r", str(o.rate), "-i", "1", "-d", "2h",
             "--seed", "1", "--no-spin", "-q", "--analyze", "off", "--urls", urls,
             f"http://127.0.0.1:{t.port}"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            time.sleep(20)  # the JVM compiles
            for _ in range(o.rounds):
                order = list(spans)
                dice.shuffle(order)
                for way in order:
                    spans[way].append(turn(
                        ways(o.build)[way], o.seconds, f"{base}/compiled"))
            time.sleep(2)  # the log is written meanwhile
            report(spans, logged(base), list(accounted(t)), o.seconds)
        finally:
            load.kill()
            load.wait()
            t.stop()
            service.kill()
    return 0


if __name__ == "__main__":
    sys.exit(main())
