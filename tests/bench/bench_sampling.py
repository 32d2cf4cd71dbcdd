#!/usr/bin/python3
"""What the kernel's events cost a service that responds as fast as it can.

    tests/bench/bench_sampling.py [--rounds N] [--seconds S] [--connections N]
        [--targets NAME,...] [--also NAME=BUILD] [--events N]

A static nginx (two workers) behind Tailor, a closed loop of wrk.  In each round
each target once, in random order, after some seconds in which saved credit is
used up.  Shown are requests/s, and the CPU time of Tailor and nginx together for
a request, in which that of the kernel's programs is: medians over rounds, and of
ratios to "off" in the same round, with the interval that has the true median at
95 % (of six rounds and more; less than six: the least and the most).

Targets: off (no kernel events), lite (the default), sums, bare (lite without
stacks), full (never sampled, if asked for); and those of each build that --also
names, as NAME.lite.  --events: profiler.kernel_events; few make long pauses.
sampled: the part of the time in which events were recorded.
programs: their CPU time for a request, as the kernel accounts it while
kernel.bpf_stats_enabled is 1 (which costs something itself).  Prints figures,
judges nothing.  Needs root, wrk and nginx-light.
"""

import argparse
import json
import math
import os
import pathlib
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
sys.path.insert(0, str(ROOT / "tests/bench"))

import bench_proxy  # noqa: E402
from rig import other_proxies  # noqa: E402
from rig.ports import free_port  # noqa: E402
from rig.process import Process  # noqa: E402
from rig.tailor import Tailor  # noqa: E402
from rig.wait import wait_until  # noqa: E402

WARM_S = 2
WORKERS = 2
NGINX = """
    access_log off; keepalive_requests 100000000; keepalive_timeout 1h;
    server {{ listen 127.0.0.1:{port} backlog=4096;
             location / {{ root {root}; }} }}"""


def cpu_ns(*pids):
    """Of all threads of these processes."""
    return sum(int((task / "schedstat").read_text().split()[0])
               for pid in pids
               for task in pathlib.Path(f"/proc/{pid}/task").iterdir())


def children(pid):
    out = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)],
                         check=False, capture_output=True, text=True).stdout
    return [int(child) for child in out.split()]


def programs():
    """CPU time of each BPF program so far, ns, by number; 0 where that is not
    accounted."""
    if not shutil.which("bpftool"):
        return {}
    out = subprocess.run(["bpftool", "prog", "show", "-j"], check=False,
                         capture_output=True, text=True).stdout
    return {p["id"]: p.get("run_time_ns", 0) for p in json.loads(out or "[]")}


def wrk(port, connections, seconds):
    """How many requests were made."""
    out = subprocess.run(
        ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s",
         f"http://127.0.0.1:{port}/page"], capture_output=True, text=True,
        check=True).stdout
    if "Non-2xx" in out:
        sys.exit(out)
    return int(re.search(r"(\d+) requests in", out).group(1))


class Bench:
    def __init__(self, options, directory):
        self.options = options
        self.directory = pathlib.Path(directory)
        root = self.directory / "www"
        root.mkdir()
        root.chmod(0o755)
        self.directory.chmod(0o755)
        (root / "page").write_bytes(b"x" * 600)
        self.port = free_port()
        self.origin = Process(
            other_proxies.nginx(
                self.directory, NGINX.format(port=self.port, root=root), 4096,
                f"worker_processes {WORKERS}; worker_rlimit_nofile 8192;",
                "crit"),
            stdout=subprocess.DEVNULL)
        wait_until(lambda: len(children(self.origin.pid)) == WORKERS,
                   lambda: f"nginx is at work: {self.origin.log}")
        self.servers = children(self.origin.pid)
        self.builds = {"": bench_proxy.BUILD, **options.also}

    def one(self, target):
        build, _, of = target.rpartition(".")
        at = self.directory / f"t{time.monotonic_ns()}"
        at.mkdir()
        config = {
            "listen": [f"127.0.0.1:{free_port()}"],
            "admin": f"unix:{at}/admin.sock",
            "servers": [{"name": "one", "jvm": "none",
                         "address": f"127.0.0.1:{self.port}"}],
            "profiler": {"kernel": "lite" if of == "bare" else of,
                         "kernel_events": self.options.events,
                         "stacks": of != "bare", "channel_socket": "",
                         "stream": ""},
            "slow": {"store": ""}, "log": {"level": "error"},
        }
        others = programs()
        tailor = Tailor(self.builds[build].resolve(), str(at), config)
        try:
            tailor.wait_ready()
            port, options = tailor.port, self.options
            wrk(port, options.connections, WARM_S)
            dark = tailor.metrics().get(
                "tailor_kernel_unsampled_seconds_total", 0)
            before = cpu_ns(tailor.pid, *self.servers)
            ran = programs()
            begin = time.monotonic()
            requests = wrk(port, options.connections, options.seconds)
            took = time.monotonic() - begin
            used = cpu_ns(tailor.pid, *self.servers) - before
            ran = sum(ns - ran.get(number, 0)
                      for number, ns in programs().items()
                      if number not in others)
            dark = tailor.metrics().get(
                "tailor_kernel_unsampled_seconds_total", 0) - dark
        finally:
            tailor.stop()
        return {"rate": requests / took, "us": used / 1e3 / requests,
                "programs": ran / 1e3 / requests,
                "sampled": max(0, 1 - dark / took)}

    def run(self):
        targets = ["off", *self.options.targets]
        targets += [f"{name}.lite" for name in self.options.also]
        found = {target: [] for target in targets}
        for number in range(self.options.rounds):
            for target in random.sample(targets, len(targets)):
                found[target].append(self.one(target))
                print(json.dumps({"round": number, "target": target,
                                  **found[target][-1]}), file=sys.stderr,
                      flush=True)
        return found


def interval(values):
    """Bounds of the median at 95 %: of so many values, each as likely above as
    below it."""
    values, n = sorted(values), len(values)
    beyond, k = 0, 0
    while beyond + math.comb(n, k) / 2 ** n <= 0.025:
        beyond += math.comb(n, k) / 2 ** n
        k += 1
    return values[max(k - 1, 0)], values[-max(k, 1)]


def show(found):
    def ratios(target, key):
        return [one[key] / off[key]
                for one, off in zip(found[target], found["off"])]

    print("target         requests/s  to off              us/request"
          "  to off              programs us  sampled")
    for target, rounds in found.items():
        print(f"{target:14}", end="")
        for key, digits in (("rate", 0), ("us", 1)):
            median = statistics.median(one[key] for one in rounds)
            to = ratios(target, key)
            low, high = interval(to)
            print(f" {median:9.{digits}f}  {statistics.median(to):.3f} "
                  f"({low:.3f}-{high:.3f})  ", end="")
        sampled = statistics.median(one["sampled"] for one in rounds)
        programs = statistics.median(one["programs"] for one in rounds)
        print(f"{programs:11.2f} {sampled:8.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--targets", default="lite,bare")
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--events", type=int, default=50000)
    parser.add_argument("--also", action="append", default=[],
                        type=bench_proxy.pairs, metavar="NAME=BUILD")
    options = parser.parse_args()
    options.also = dict(options.also)
    options.targets = options.targets.split(",")
    if os.geteuid() != 0 or not shutil.which("wrk") or \
            other_proxies.find("nginx") is None:
        print("bench_sampling: left out, it needs root, wrk and nginx")
        return
    with tempfile.TemporaryDirectory(prefix="tailor-bench-") as directory:
        bench = Bench(options, directory)
        try:
            show(bench.run())
        finally:
            bench.origin.terminate()


if __name__ == "__main__":
    main()
