#!/usr/bin/python3
"""What examining slow requests costs, and how soon a question is answered.

    tests/bench/bench_slow.py [--rounds N] [--seconds S] [--also NAME=BUILD]

A service that takes 25 ms, all of its requests slow (slow.target = 20ms), with
the kernel's events where that is allowed.  "steady": 137 requests/s; "overload":
wrk keeps 200 connections busy.  Meanwhile one request after the other has its
tale asked for as it finishes.  Shown are, medians over rounds: the CPU time of
the analysis thread, as a part of a CPU and for each
tale; the slow requests it left out; the answers, refusals and times of the
questions.  In each round each build once, in random order; builds that --also
names are measured in the same rounds.  Prints figures, judges nothing.
"""

import argparse
import itertools
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

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
sys.path.insert(0, str(ROOT / "tests/bench"))

import bench_proxy  # noqa: E402
from rig.client import Client  # noqa: E402
from rig.message import response  # noqa: E402
from rig.origin import Origin  # noqa: E402
from rig.tailor import Tailor, configuration  # noqa: E402

RATE = 137
TAKES_S = 0.025


def slow_response(_):
    time.sleep(TAKES_S)
    return response(200, b"x" * 500)


def nice_of(task):
    return int((task / "stat").read_text().rpartition(")")[2].split()[16])


def analysis_s(tailor):
    """CPU time of the analysis thread; of a build that does not report it, of
    the thread whose priority is not the process's."""
    metrics = tailor.metrics()
    if "tailor_analysis_cpu_seconds_total" in metrics:
        return metrics["tailor_analysis_cpu_seconds_total"]
    tasks = pathlib.Path(f"/proc/{tailor.pid}/task")
    own = nice_of(tasks / str(tailor.pid))
    return sum(int((task / "schedstat").read_text().split()[0])
               for task in tasks.iterdir() if nice_of(task) != own) / 1e9


def asker(address, admin):
    """Has one request after the other explained until standard input ends.  A
    process of its own: the service's threads would delay its clock."""
    end = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), end.set()),
                     daemon=True).start()
    found = {"took": [], "refused": 0, "failed": 0}
    host, _, port = address.rpartition(":")
    for number in itertools.count():
        if end.wait(0.1):
            break
        name = f"asked-{number}"
        with Client((host, int(port)), patience_s=60) as client:
            client.get("/asked", fields=[("X-Request-Id", name)])
        begin = time.monotonic()
        with Client(admin, patience_s=60) as client:
            client.request("GET", f"/timeline/{name}",
                           fields=[("Connection", "close")])
            status = client.response("GET").status
        if status == 200:
            found["took"].append(time.monotonic() - begin)
        else:
            found["refused" if status == 429 else "failed"] += 1
    print(json.dumps(found))


def load(kind, tailor, build, seconds):
    url = f"http://127.0.0.1:{tailor.port}/load"
    if kind == "steady":
        argv = [build / "tailor-load", "-r", RATE, "-n", RATE * seconds, "-i",
                1, "--warmup", 0, "-c", 32, "--stamps", "user", url]
    else:
        argv = ["wrk", "-t1", "-c200", f"-d{seconds}s", "--timeout", "30",
                url]
    subprocess.run([str(a) for a in argv], stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, check=False)


def one(kind, build, options):
    directory = tempfile.mkdtemp(prefix="tailor-bench-")
    server = Origin("a").serve(slow_response)
    tailor = Tailor(build.resolve(), directory, configuration(
        directory, [server], {
            "warmup": {"requests": 0}, "talechain": {"allow": ["127.0.0.1"]},
            "profiler": {"poll": None, "cpu": None, "stream": ""},
            "proxy": None,
            "slow": {"target": "20ms", "store": f"{directory}/tales"}}))
    try:
        tailor.wait_ready()
        child = subprocess.Popen(
            [sys.executable, __file__, "--asker",
             f"{tailor.address[0]}:{tailor.port}", tailor.admin],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        before, begin = analysis_s(tailor), time.monotonic()
        load(kind, tailor, bench_proxy.BUILD, options.seconds)
        took = time.monotonic() - begin
        used = analysis_s(tailor) - before
        asked = json.loads(child.communicate("")[0])
        metrics = tailor.metrics()
    finally:
        tailor.stop()
        server.stop()
        shutil.rmtree(directory, ignore_errors=True)
    made = metrics["tailor_tales_told_total"]
    times = sorted(asked["took"]) or [float("nan")]
    return {"cpu": used / took, "tales": made,
            "us": used * 1e6 / max(made, 1),
            "left": metrics.get("tailor_slow_left_out_total", 0)
            + metrics["tailor_slow_unexamined_total"],
            "asked": len(asked["took"]), "refused": asked["refused"],
            "failed": asked["failed"], "p50_ms": 1e3 * times[len(times) // 2],
            "p99_ms": 1e3 * times[int(len(times) * 0.99)],
            "max_ms": 1e3 * times[-1]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--also", action="append", default=[],
                        type=bench_proxy.pairs, metavar="NAME=BUILD")
    parser.add_argument("--asker", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.asker:
        asker(*options.asker)
        return
    builds = {"this": bench_proxy.BUILD, **dict(options.also)}
    found = {}
    for kind in ("steady", "overload"):
        if kind == "overload" and not shutil.which("wrk"):
            continue
        for _ in range(options.rounds):
            for name in random.sample(list(builds), len(builds)):
                got = one(kind, builds[name], options)
                found.setdefault((kind, name), []).append(got)
                print(json.dumps({"kind": kind, "build": name, **got}),
                      file=sys.stderr, flush=True)
    print("load      build     CPU    tales  us each  left out   asked "
          "refused   p50 ms   p99 ms   max ms")
    for (kind, name), rounds in found.items():
        m = {key: statistics.median(r[key] for r in rounds)
             for key in rounds[0]}
        print(f"{kind:9} {name:7} {100 * m['cpu']:5.1f}% {m['tales']:7.0f} "
              f"{m['us']:8.0f} {m['left']:9.0f} {m['asked']:7.0f} "
              f"{m['refused']:7.0f} {m['p50_ms']:8.1f} {m['p99_ms']:8.1f} "
              f"{m['max_ms']:8.1f}")


if __name__ == "__main__":
    main()
