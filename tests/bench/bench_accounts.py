#!/usr/bin/python3
"""What accounts of one request in a hundred take, beyond kernel events.

    TAILOR_BUILD=build tests/bench/bench_accounts.py [PAIRS [SECONDS [US]]]

wrk keeps eight connections to a tailor busy, before fast_origin, or before a
server that computes for so many us a request.  Blocks of time
come in pairs, in random order: without accounts, and with those of 1 % of the
requests; a reload is between.  Shown are the medians of requests/s and of
Tailor's CPU time for a request, and the median of their ratios in a pair with
its sign test's 95 % interval; then what perf and bpftrace write of the same
scheduler events in one block each, where they may.  Prints figures and judges
nothing; not a part of make check.
"""

import json
import math
import os
import pathlib
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from rig.ports import free_port  # noqa: E402
from rig.process import Process  # noqa: E402
from rig.tailor import Tailor, configuration  # noqa: E402

EVENTS = ("sched:sched_switch", "sched:sched_wakeup")


def wrk(tailor, seconds):
    """Requests/s."""
    found = subprocess.run(
        ["wrk", "-t1", "-c8", f"-d{seconds}s",
         f"http://127.0.0.1:{tailor.port}{tailor.target}"],
        stdout=subprocess.PIPE, text=True, check=True).stdout
    return float(re.search(r"Requests/sec: +([\d.]+)", found)[1])


def want(tailor, accounts):
    path = os.path.join(tailor.directory, "tailor.json")
    tailor.config["analysis"]["accounts"] = accounts
    with open(path, "w", encoding="utf-8") as file:
        json.dump(tailor.config, file)
    tailor.signal(signal.SIGHUP)
    time.sleep(0.3)


def block(tailor, accounts, seconds):
    """Requests/s, and us of Tailor's CPU time for one."""
    want(tailor, accounts)
    before = tailor.cpu_s()
    rate = wrk(tailor, seconds)
    return rate, (tailor.cpu_s() - before) / (rate * seconds) * 1e6


def interval(values):
    """Order statistics that hold the median in at least 95 % of cases."""
    values, n, k = sorted(values), len(values), 0
    while sum(math.comb(n, i) for i in range(k + 1)) / 2 ** n <= 0.025:
        k += 1
    return values[max(0, k - 1)], values[n - max(1, k)]


def others(tailor, seconds):
    """Bytes/s of what else can record a scheduler's events; None: it cannot."""
    path = os.path.join(tailor.directory, "others")
    program = "; ".join(
        f'tracepoint:{e} {{ printf("%lld %s %d\\n", nsecs, probe, tid); }}'
        for e in EVENTS)
    for name, argv in (
            ("perf", ["perf", "record", "-q", "-a", "-e", ",".join(EVENTS),
                      "-o", path]),
            ("bpftrace", ["bpftrace", "-q", "-o", path, "-e",
                          program.replace("; t", " t")])):
        if shutil.which(name) is None:
            yield name, None
            continue
        child = subprocess.Popen(argv, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
        time.sleep(2)
        before = os.path.getsize(path) if os.path.exists(path) else 0
        wrk(tailor, seconds)
        child.send_signal(signal.SIGINT)
        child.wait()
        after = os.path.getsize(path) if os.path.exists(path) else 0
        yield name, (after - before) / seconds if after else None


def service(build, directory, us):
    """A server, its port, and what to ask it for."""
    if us > 0:
        port = free_port()
        server = Process([build / "hazards" / "server", port, 1],
                         stdout=subprocess.DEVNULL)
        server.wait_log("listening")
        return server, port, f"/compute?us={us}"
    server = Process([build / "bench" / "fast_origin", f"{directory}/served"],
                     stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    return server, int(server.stdout.readline()), "/1000"


def main(pairs=20, seconds=4, us=0):
    build = pathlib.Path(os.environ.get("TAILOR_BUILD", ROOT / "build"))
    directory = tempfile.mkdtemp(prefix="tailor-bench-")
    origin, port, target = service(build, directory, us)
    tailor = Tailor(build.resolve(), directory, configuration(
        directory, [{"name": "a", "address": f"127.0.0.1:{port}",
                     "jvm": "none"}],
        {"warmup": {"requests": 0}, "slow": {"target": "1s"},
         "analysis": {"cpu": 1, "accounts": 0}}))
    tailor.target = target
    try:
        tailor.wait_ready()
        rate, _ = block(tailor, 0, 3)
        accounts = round(rate / 100)
        off, on = [], []
        for _ in range(pairs):
            for found, n in random.sample([(off, 0), (on, accounts)], 2):
                found.append(block(tailor, n, seconds))
        text = tailor.ask("/accounts").body
        print(f"{pairs} pairs of {seconds} s; {accounts} accounts/s wanted, "
              f"{text.count(10) - 1} held")
        for i, what in enumerate(("requests/s", "us of CPU a request")):
            ratios = [b[i] / a[i] for a, b in zip(off, on)]
            low, high = interval(ratios)
            print(f"{what}: {statistics.median(x[i] for x in off):.1f} "
                  f"without, {statistics.median(x[i] for x in on):.1f} with; "
                  f"{100 * (statistics.median(ratios) - 1):+.2f} % "
                  f"({100 * (low - 1):+.2f} to {100 * (high - 1):+.2f})")
        print(f"accounts as CSV: {len(text) / max(1, text.count(10)):.0f} "
              f"bytes each, {len(text) / max(1, text.count(10)) * accounts:.0f}"
              " bytes/s")
        for name, each in others(tailor, seconds):
            print(f"{name}: " + ("cannot record here" if each is None
                                 else f"{each:.0f} bytes/s"))
    finally:
        tailor.terminate()
        origin.kill()
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main(*(int(a) for a in sys.argv[1:]))
