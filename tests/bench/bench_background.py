#!/usr/bin/python3
"""What a server loses to Tailor's threads in the background.

    tests/bench/bench_background.py [--pairs N] [--seconds S] [--rate R]
        [--who] [--real-time] [--also NAME=BUILD]

A server in Python, four processes, computes for 8 ms a request.  Tailor, with
--real-time under SCHED_RR, makes a tale and an account of each request.  Shown
are, of the server by the kernel's own accounts, the time that it waited for a
CPU and how often it lost one, each for a request; with --who (by perf, which
costs something itself) how often the analysis thread was what ran next; the
analysis thread's part of a CPU, the accounts made, and the service's latency.
In each pair each build once, in random order.  Prints figures, judges nothing.
"""

import argparse
import json
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

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
sys.path.insert(0, str(ROOT / "tests/bench"))

import bench_proxy  # noqa: E402
from rig.ports import free_port  # noqa: E402
from rig.tailor import Tailor, configuration  # noqa: E402

SERVER = """
import http.server, os, sys, time
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        until = time.thread_time_ns() + 8_000_000
        while time.thread_time_ns() < until:
            pass
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")
    def log_message(self, *_):
        pass
server = http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
for _ in range(3):
    if os.fork() == 0:
        break
os.write(1, b"%d\\n" % os.getpid())
server.serve_forever()
"""


def tasks(pid):
    return pathlib.Path(f"/proc/{pid}/task").iterdir()


def waited(pids):
    """Time in ns that these waited for a CPU, and CPUs they lost."""
    delay = lost = 0
    for task in (task for pid in pids for task in tasks(pid)):
        delay += int((task / "schedstat").read_text().split()[1])
        lost += int(re.search(r"^nonvoluntary_ctxt_switches:\s+(\d+)",
                              (task / "status").read_text(), re.M)[1])
    return delay, lost


def analysis_ns(pid):
    """The CPU time of the thread that has its process's name."""
    return sum(int((task / "schedstat").read_text().split()[0])
               for task in tasks(pid)
               if int(task.name) != pid
               and (task / "comm").read_text() == "tailor\n")


def lost_to_analysis(path, server, tailor):
    """How often a process of the server could run on and the analysis
    thread ran instead, and how often any other one."""
    threads = {str(pid) for pid in server}
    analysis = {task.name for task in tasks(tailor)
                if int(task.name) != tailor
                and (task / "comm").read_text() == "tailor\n"}
    text = subprocess.run(["perf", "script", "-i", path, "-F", "trace"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True, check=True).stdout
    found = re.findall(r"prev_pid=(\d+) .*prev_state=R\+? ==> .*"
                       r"next_pid=(\d+)", text)
    return sum(a in threads and b in analysis for a, b in found), \
        sum(a in threads for a, _ in found)


def block(build, options):
    directory = tempfile.mkdtemp(prefix="tailor-bench-")
    port = free_port()
    server = subprocess.Popen([sys.executable, "-c", SERVER, str(port)],
                              stdout=subprocess.PIPE, text=True)
    pids = [int(server.stdout.readline()) for _ in range(4)]
    if options.real_time:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(20))
    tailor = Tailor(build.resolve(), directory, configuration(
        directory, [{"name": "a", "address": f"127.0.0.1:{port}",
                     "jvm": "none"}],
        {"warmup": {"requests": 0}, "proxy": None,
         "profiler": {"poll": None, "cpu": None, "kernel": "lite"},
         "slow": {"target": "1ms"},
         "analysis": {"cpu": 1, "accounts": 1000}}))
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    try:
        tailor.wait_ready()
        requests = int(options.rate * options.seconds)
        before, used = waited(pids), analysis_ns(tailor.pid)
        who = subprocess.Popen(
            ["perf", "record", "-q", "-a", "-e", "sched:sched_switch", "-o",
             f"{directory}/perf"]) if options.who else None
        report = json.loads(subprocess.run(
            [str(bench_proxy.BUILD / "tailor-load"), "-r", str(options.rate),
             "-n", str(requests), "-i", "1", "--warmup", "0", "-c", "4",
             "--stamps", "user", "--no-spin", "--cpu", "none", "--json", "-",
             f"http://127.0.0.1:{tailor.port}/"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            check=False).stdout)["iterations"][0]["latency"]
        after, spent = waited(pids), analysis_ns(tailor.pid) - used
        found = {
            "us waited": (after[0] - before[0]) / requests / 1e3,
            "CPUs lost": (after[1] - before[1]) / requests,
            "analysis %": 100 * spent / options.seconds / 1e9,
        }
        if who:
            who.terminate()
            who.wait()
            mine, all_ = lost_to_analysis(f"{directory}/perf", pids,
                                          tailor.pid)
            found |= {"lost to analysis": mine / requests,
                      "lost to any": all_ / requests}
        return found | {"p50 ms": report["p50_ns"] / 1e6,
                        "p99 ms": report["p99_ns"] / 1e6,
                        "accounts": tailor.ask("/accounts").body.count(10) - 1}
    finally:
        tailor.terminate()
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        server.wait()
        shutil.rmtree(directory, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--rate", type=int, default=110)
    parser.add_argument("--who", action="store_true")
    parser.add_argument("--real-time", action="store_true")
    parser.add_argument("--also", action="append", default=[],
                        type=bench_proxy.pairs, metavar="NAME=BUILD")
    options = parser.parse_args()
    builds = {"this": bench_proxy.BUILD, **dict(options.also)}
    found = {name: [] for name in builds}
    for _ in range(options.pairs):
        for name in random.sample(list(builds), len(builds)):
            found[name].append(block(builds[name], options))
            print(json.dumps({"build": name, **found[name][-1]}),
                  file=sys.stderr, flush=True)
    for key in found["this"][0]:
        print(f"{key:17}", end="")
        for name, blocks in found.items():
            values = sorted(b[key] for b in blocks)
            print(f"  {name} {statistics.median(values):9.3f} "
                  f"({values[0]:.3f}-{values[-1]:.3f})", end="")
            if name != "this":
                ratio = statistics.median(
                    t[key] / b[key] if b[key] else float("nan")
                    for t, b in zip(found["this"], blocks))
                print(f"  this/{name} {ratio:.2f}", end="")
        print()


if __name__ == "__main__":
    main()
