#!/usr/bin/python3
"""What the observer takes at rest and at work, and how soon it sees a hazard.

    tests/bench/bench_rest.py [--rounds N] [--seconds S] [--collections N]
        [--also NAME=BUILD]

The CPU time of the observer thread, as a part of one CPU: "idle", without any
request; "400/s", with 400 requests/s of a service that takes 1 ms; each without
and with the kernel's events, and with these of a service that has an agent, whose
state is polled, and of a JVM with a page (without collections).  And the time
from a collection's begin to the hedge being written
(tailor_hedge_send_delay_quantile_seconds), with one request in flight, after a
rest, by an agent and, from the JVM's page, for a JVM.  Medians over rounds, and of ratios to this build in the
same round; the collections of all rounds are one sample by round.  In each round
each build once, in random order.  Prints figures, judges nothing.
"""

import argparse
import json
import os
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
from e2e.support import jvm as jvms  # noqa: E402
from rig.message import response  # noqa: E402
from rig.origin import Origin  # noqa: E402
from rig.tailor import Tailor, configuration  # noqa: E402
from rig.wait import wait_until  # noqa: E402

QUANTILE = 'tailor_hedge_send_delay_quantile_seconds{quantile="%s"}'


def observer_ns(pid):
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        if (task / "comm").read_text() == "observer\n":
            return int((task / "schedstat").read_text().split()[0])
    return 0


def start(build, directory, servers, kernel):
    return Tailor(build.resolve(), directory, configuration(
        directory, servers, {
            "warmup": {"requests": 0}, "proxy": None,
            "hedging": {"budget_ratio": 1},
            "profiler": {"poll": None, "cpu": None, "kernel": kernel,
                         "stream": ""}})).wait_ready()


def used(tailor, seconds, during=None):
    """The observer's part of a CPU."""
    before, begin = observer_ns(tailor.pid), time.monotonic_ns()
    if during is None:
        time.sleep(seconds)
    else:
        during()
    return (observer_ns(tailor.pid) - before) / (time.monotonic_ns() - begin)


def work(_):
    time.sleep(0.001)
    return response(200, b"x" * 500)


def at_work(build, kernel, kind, options):
    """Idle, and with 400 requests a second."""
    directory = tempfile.mkdtemp(prefix="tailor-bench-")
    server = Java(directory, "a") if kind == "jvm" \
        else Origin("a").serve(work)
    # A channel of a process below the server's is the server's.
    child = Collecting(f"{directory}/channels.sock", "a") \
        if kind == "agent" else None
    tailor = start(build, directory, [
        {"name": "a", "address": server.address} if kind == "jvm"
        else server], kernel)

    def load():
        subprocess.run(
            [str(bench_proxy.BUILD / "tailor-load"), "-r", "400", "-n",
             str(400 * options.seconds), "-i", "1", "--warmup", "0", "-c",
             "16", "--stamps", "user", f"http://127.0.0.1:{tailor.port}/"
             + ("wait?ms=1" if kind == "jvm" else "")],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    try:
        if kind != "origin":
            tailor.wait_server("a", source=SOURCE[kind])
        time.sleep(1)
        return {"idle": used(tailor, options.seconds),
                "400/s": used(tailor, 0, load)}
    finally:
        tailor.stop()
        if child:
            child.close()
        server.stop()
        shutil.rmtree(directory, ignore_errors=True)


class Collecting:
    """tests/e2e/collecting_server.c"""

    def __init__(self, socket, name):
        self.name = name
        self.child = subprocess.Popen(
            [bench_proxy.BUILD / "e2e/collecting_server", socket, name],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.address = f"127.0.0.1:{int(self.child.stdout.readline())}"

    def command(self, line):
        self.child.stdin.write(f"{line}\n")
        self.child.stdin.flush()
        self.child.stdout.readline()

    def close(self):
        self.child.stdin.close()
        self.child.wait(20)


class Java(jvms.Jvm):
    """tests/e2e/support/Server.java; a collection of it takes a while."""

    def __init__(self, directory, name):
        self.name = name
        if not (pathlib.Path(directory) / "Server.class").exists():
            jvms.compile_server(directory)
        super().__init__(directory, ["-Xmx256m", "-XX:+UseSerialGC"])
        self.get("/fill?mb=40")

    def command(self, line):
        if line == "begin":
            self.collect()

    def close(self):
        self.kill()

    stop = close


SOURCE = {"agent": "agent", "jvm": "hsperfdata"}


def collect(tailor, servers):
    """A collection while one request is in flight, after a rest."""
    time.sleep(0.05)
    active = servers[tailor.active()]
    active.command("hold")

    def ask():
        with tailor.client() as client:
            client.get("/wait?ms=100")
    client = threading.Thread(target=ask)
    client.start()
    wait_until(lambda: tailor.metrics()["tailor_requests_inflight"] > 0,
               "it is in flight")
    time.sleep(0.005)
    active.command("begin")
    client.join()
    active.command("end")
    wait_until(lambda: not tailor.server(active.name)["hazards"],
               "it is over")


def to_hedge(build, kind, options):
    directory = tempfile.mkdtemp(prefix="tailor-bench-")
    servers = [Java(directory, n) if kind == "jvm" else
               Collecting(f"{directory}/channels.sock", n) for n in "ab"]
    tailor = start(build, directory, [
        {"name": s.name, "address": s.address} for s in servers], "off")
    try:
        for s in servers:
            tailor.wait_server(s.name, state="ready", source=SOURCE[kind])
        for _ in range(options.collections):
            collect(tailor, {s.name: s for s in servers})
        metrics = tailor.metrics()
        return {f"{kind} p{float(q) * 100:g} ms": 1e3 * metrics[QUANTILE % q]
                for q in ("0.5", "0.9", "0.99")}
    finally:
        tailor.stop()
        for s in servers:
            s.close()
        shutil.rmtree(directory, ignore_errors=True)


def one(build, options):
    found = {}
    kinds = [k for k in ("agent", "jvm") if k != "jvm" or not jvms.missing()]
    for kernel, kind in (("off", "origin"), ("lite", "origin"),
                         *(("lite", k) for k in kinds)):
        if kernel == "lite" and os.geteuid() != 0:
            continue
        if options.only and kind not in options.only.split(","):
            continue
        for name, part in at_work(build, kernel, kind, options).items():
            found[f"{name} {kernel if kind == 'origin' else kind} %"] = \
                100 * part
    for kind in kinds if options.collections else ():
        if not options.only or kind in options.only.split(","):
            found |= to_hedge(build, kind, options)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=8)
    parser.add_argument("--collections", type=int, default=60)
    parser.add_argument("--only", metavar="origin,agent,jvm")
    parser.add_argument("--also", action="append", default=[],
                        type=bench_proxy.pairs, metavar="NAME=BUILD")
    options = parser.parse_args()
    builds = {"this": bench_proxy.BUILD, **dict(options.also)}
    found = {name: [] for name in builds}
    for _ in range(options.rounds):
        for name in random.sample(list(builds), len(builds)):
            found[name].append(one(builds[name], options))
            print(json.dumps({"build": name, **found[name][-1]}),
                  file=sys.stderr, flush=True)
    for key in found["this"][0]:
        print(f"{key:12}", end="")
        for name, rounds in found.items():
            values = sorted(r[key] for r in rounds)
            print(f"  {name} {statistics.median(values):8.3f} "
                  f"({values[0]:.3f}-{values[-1]:.3f})", end="")
            if name != "this":
                ratio = statistics.median(
                    t[key] / r[key] if r[key] else float("nan")
                    for t, r in zip(found["this"], rounds))
                print(f"  this/{name} {ratio:.2f}", end="")
        print()


if __name__ == "__main__":
    main()
