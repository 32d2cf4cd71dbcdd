#!/usr/bin/python3
"""What a proxied request costs, beside HAProxy and nginx.

    tests/bench/bench_proxy.py [--rounds N] [--rows SIZExCONNECTIONS,...]
        [--targets NAME,...] [--also NAME=BUILD] [--paced RATE,...]
        [--json FILE]

In each round and row each proxy is started once, in random order, alone, on
a CPU of its own; origin and load are on another where there is one.  Under a
closed loop (wrk) its CPU time and the origin's answers are read twice, well
after the start: their quotient is the cost of a request.  Then tailor-load
sends at a fixed rate, to it and to the origin directly: the difference of
percentiles is what it adds.  Shown are medians over rounds; ratios are to what
HAProxy or nginx took in the same round, whichever was cheaper in all of them:
the less of two in each round is less than either, as it picks the luckier.

Targets: haproxy (one thread, http-reuse always), nginx (one worker, kept
upstream connections), off (Tailor whose observer looks ten times a second
and reads no kernel events), on (the observer as by default, without kernel
events) and kernel (with them, the default, which needs root; it is measured for
some seconds, after those in which saved credit of sampling is used up).  Of
Tailor is shown what its proxy thread takes, and under "+" the whole process;
last its other threads, us.  HAProxy and nginx are configured to do nothing but
forward: no logs, no fields added.
--also measures another build's proxy in the same run (name.off, name.on, ...).
--paced measures the CPU time of a request at these rates instead of in a closed
loop: most of it is then waking up.

Prints figures, judges nothing.  Needs wrk, haproxy and nginx-light; which of
the two proxies is missing is left out.
"""

import argparse
import json
import mmap
import os
import pathlib
import random
import shutil
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from rig import other_proxies  # noqa: E402
from rig.ports import free_port  # noqa: E402
from rig.process import Process  # noqa: E402
from rig.wait import Late, wait_until  # noqa: E402

BUILD = pathlib.Path(os.environ.get("TAILOR_BUILD", ROOT / "build"))
SIZES = {"0.1k": 102, "1k": 1024, "16k": 16384, "256k": 262144}
CONNECTIONS = (1, 32, 1000)
PEERS = ("haproxy", "nginx")
TAILORS = ("off", "on", "kernel")
SETTLED = 300  # answers to all, and three to each connection
ANSWERS_MIN = 50  # in a measurement, or it takes longer
PATIENCE_S = 20
SAMPLED_WARM_S = 2  # until events are sampled as they will be
SAMPLED_S = 3.5  # some pauses, and what is between them

HAPROXY = """global
    nbthread 1
    maxconn 4096
defaults
    mode http
    timeout connect 5s
    timeout client 60s
    timeout server 60s
    http-reuse always
frontend f
    bind 127.0.0.1:{port}
    default_backend b
backend b
    server s 127.0.0.1:{origin} pool-max-conn 4096
"""
NGINX = """
    access_log off; keepalive_requests 100000000; keepalive_timeout 1h;
    upstream o {{ server 127.0.0.1:{origin}; keepalive 1024;
                 keepalive_requests 100000000; }}
    server {{ listen 127.0.0.1:{port} backlog=4096;
             location / {{ proxy_pass http://o; proxy_http_version 1.1;
                          proxy_max_temp_file_size 0;
                          proxy_set_header Connection ""; }} }}"""


def pinned(argv, where, **more):
    return subprocess.Popen(
        [str(a) for a in argv], stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: os.sched_setaffinity(0, where),
        **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, **more})


class Place:
    """Which CPUs there are: the proxy's, and the others'."""

    def __init__(self):
        self.all = os.sched_getaffinity(0)
        self.proxy = {min(self.all)}
        self.load = self.all - self.proxy or self.all


class Origin:
    """The server behind; it counts what it has answered."""

    def __init__(self, directory, place):
        file = directory / "answers"
        self.child = pinned([BUILD / "bench/fast_origin", file], place.load,
                            stdin=subprocess.PIPE)
        self.port = int(self.child.stdout.readline())
        with open(file, "r+b") as opened:
            self.page = mmap.mmap(opened.fileno(), 8)

    def answers(self):
        return struct.unpack_from("=Q", self.page)[0]

    def move(self, cpus):
        os.sched_setaffinity(self.child.pid, cpus)

    def close(self):
        self.child.stdin.close()
        self.child.wait(10)


def config_of_tailor(kind, port, origin, directory, place):
    profiler = {"channel_socket": "", "stream": str(directory / "stream"),
                "cpu": min(place.load)}
    if kind == "off":
        profiler["poll"] = "sleep:100ms"
    if kind != "kernel":
        profiler["kernel"] = "off"
    return {
        "listen": [f"127.0.0.1:{port}"], "admin": "",
        "servers": [{"name": "one", "address": f"127.0.0.1:{origin}",
                     "jvm": "none", "connections_max": 1024}],
        "proxy": {"cpu": min(place.proxy)}, "profiler": profiler,
        "slow": {"store": ""}, "log": {"level": "error"},
    }


class Proxy(Process):
    """One running proxy of a kind: haproxy, nginx, or [build.]off|on|kernel.
    """

    def __init__(self, kind, bench):
        self.port = free_port()
        build, _, of = kind.rpartition(".")
        directory, place = bench.directory, bench.place
        known = {"port": self.port, "origin": bench.origin.port}
        if of == "haproxy":
            argv = other_proxies.haproxy(directory, HAPROXY.format(**known))
        elif of == "nginx":
            argv = other_proxies.nginx(
                directory, NGINX.format(**known), 4096,
                "master_process off; worker_rlimit_nofile 8192;", "crit")
        else:
            path = directory / "tailor.json"
            path.write_text(json.dumps(config_of_tailor(
                of, self.port, bench.origin.port, directory, place)))
            argv = [bench.builds[build] / "tailor", "-c", path]
        # Tailor places its threads itself.
        where = place.proxy if of in PEERS else place.all
        self.sampled = of == "kernel"
        super().__init__(argv, stdout=subprocess.DEVNULL,
                         preexec_fn=lambda: os.sched_setaffinity(0, where))
        wait_until(self._answers, lambda: f"the proxy responds: {self.log}")

    def _answers(self):
        if not self.running():
            sys.exit(f"{self.argv[0]}: {self.log}")
        try:
            with socket.create_connection(("127.0.0.1", self.port)) as s:
                s.sendall(b"GET /1 HTTP/1.1\r\nHost: x\r\n"
                          b"Connection: close\r\n\r\n")
                return b" 200 " in s.recv(64)
        except OSError:
            return False

    def cpu_ns(self):
        """CPU time of each thread, by its name; the first one's is ""."""
        took = {}
        for task in pathlib.Path(f"/proc/{self.pid}/task").iterdir():
            name = "" if task.name == str(self.pid) \
                else (task / "comm").read_text().strip()
            took[name] = took.get(name, 0) + int(
                (task / "schedstat").read_text().split()[0])
        return took

    def stop(self):
        self.signal(signal.SIGTERM)
        try:
            self.wait(1)
        except Late:
            self.kill()


class Bench:
    """All that is measured, by row, target and round."""

    def __init__(self, options, directory):
        self.options = options
        self.directory = pathlib.Path(directory)
        self.place = Place()
        self.origin = Origin(self.directory, self.place)
        self.builds = {"": BUILD, **options.also}

    def _url(self, port, row):
        return f"http://127.0.0.1:{port}/{SIZES[row[0]]}"

    def closed(self, proxy, row):
        """CPU us per request, of the proxy's thread and of its process."""
        wrk = pinned(["wrk", "-t1", f"-c{row[1]}", "-d60s", "--timeout", 10,
                      "-H", "User-Agent: bench", "-H", "Accept: */*",
                      "-H", "Accept-Encoding: gzip, deflate",
                      self._url(proxy.port, row)], self.place.load)
        begin = self.origin.answers()
        wait_until(lambda: self.origin.answers() - begin
                   > max(SETTLED, 3 * row[1]), f"wrk {row} is at work")
        seconds = self.options.seconds
        if proxy.sampled:
            time.sleep(SAMPLED_WARM_S)
            seconds = max(seconds, SAMPLED_S)
        before, answers = proxy.cpu_ns(), self.origin.answers()
        begin, took, requests = time.monotonic(), 0, 0
        while requests < ANSWERS_MIN and took < PATIENCE_S:
            time.sleep(seconds)
            after, requests = proxy.cpu_ns(), self.origin.answers() - answers
            took = time.monotonic() - begin
        wrk.send_signal(signal.SIGINT)
        out = wrk.communicate(timeout=20)[0]
        if requests == 0 or "Non-2xx" in out:
            sys.exit(f"wrk {row}: {requests} requests\n{out}")
        us = {name: (ns - before.get(name, 0)) / 1e3 / requests
              for name, ns in after.items()}
        return {"us": us[""], "all_us": sum(us.values()), "threads_us": us,
                "rate": requests / took}

    def paced(self, proxy, row, rate):
        """CPU us per request at a fixed rate, as closed()."""
        self.origin.move(self.place.all)  # as in open()
        run = pinned(
            [BUILD / "tailor-load", "-r", rate, "-d", "60s", "-i", 1,
             "--warmup", 0, "-c", row[1], "--cpu", max(self.place.load),
             "--stamps", "user", self._url(proxy.port, row)], self.place.all)
        begin = self.origin.answers()
        wait_until(lambda: self.origin.answers() - begin > rate,
                   f"{rate}/s for a second")
        before, answers = proxy.cpu_ns(), self.origin.answers()
        time.sleep(max(self.options.seconds, 2))
        after, requests = proxy.cpu_ns(), self.origin.answers() - answers
        run.kill()
        run.communicate()
        self.origin.move(self.place.load)
        us = {name: (ns - before.get(name, 0)) / 1e3 / requests
              for name, ns in after.items()}
        return {"us": us[""], "all_us": sum(us.values()), "threads_us": us,
                "rate": rate}

    def open(self, port, row):
        """p50 and p99 at the fixed rate, us."""
        # The load's CPU is busy waiting for the next request's time.
        self.origin.move(self.place.all)
        run = pinned(
            [BUILD / "tailor-load", "-r", self.options.rate, "-n",
             self.options.requests, "-i", 1, "--warmup", 100, "-c", row[1],
             "--cpu", max(self.place.load), "--stamps", "user", "--json", "-",
             self._url(port, row)], self.place.all)
        out, err = run.communicate(timeout=60)
        self.origin.move(self.place.load)
        if run.returncode not in (0, 4):
            sys.exit(f"tailor-load: {err}")
        latency = json.loads(out)["iterations"][0]["latency"]
        return {"p50": latency["p50_ns"] / 1e3,
                "p99": latency["p99_ns"] / 1e3}

    def _one(self, target, row):
        if target == "direct":
            return self.open(self.origin.port, row)
        proxy = Proxy(target, self)
        try:
            if len(row) > 2:
                return self.paced(proxy, row, row[2])
            found = self.closed(proxy, row)
            if not self.options.no_open:
                found |= self.open(proxy.port, row)
        finally:
            proxy.stop()
        return found

    def row(self, row):
        """{target: [what was found, by round]}"""
        targets = list(self.options.targets)
        if not self.options.no_open:
            targets.append("direct")
        found = {target: [] for target in targets}
        for _ in range(self.options.rounds):
            random.shuffle(targets)
            for target in targets:
                found[target].append(self._one(target, row))
        return found


def median(values):
    return statistics.median(values)


def ratio(found, target, key):
    """The median over rounds of the ratio to the row's cheaper peer."""
    peers = [found[name] for name in PEERS if name in found]
    if not peers:
        return float("nan")
    cheaper = min(peers, key=lambda p: median(one["us"] for one in p))
    return median(one[key] / peer["us"]
                  for one, peer in zip(found[target], cheaper))


def summary(found):
    """What is shown of a row, by target."""
    shown = {}
    for target, rounds in found.items():
        if target == "direct":
            continue
        one = shown[target] = {
            "us": median(r["us"] for r in rounds),
            "ratio": ratio(found, target, "us"),
            "all_us": median(r["all_us"] for r in rounds),
            "all_ratio": ratio(found, target, "all_us"),
            "rate": median(r["rate"] for r in rounds),
            "threads_us": {
                name: median(r["threads_us"].get(name, 0) for r in rounds)
                for name in sorted({n for r in rounds
                                    for n in r["threads_us"] if n})}}
        one["per_cpu_s"] = 1e6 / one["us"]
        for key in ("p50", "p99") if "direct" in found else ():
            one[f"added_{key}_us"] = median(
                r[key] - d[key] for r, d in zip(rounds, found["direct"]))
    return shown


def show(row, shown):
    for target, one in shown.items():
        added = "".join(f"{one[key]:9.0f}" for key in
                        ("added_p50_us", "added_p99_us") if key in one)
        whole = f"{one['all_us']:8.2f}{one['all_ratio']:6.2f}" \
            if target not in PEERS else " " * 14
        print(f"{row[0]:>5}{row[1]:6}  {target:14}{one['us']:8.2f}"
              f"{one['ratio']:6.2f}{one['per_cpu_s']:9.0f}{whole}"
              f"{one['rate']:9.0f}{added}"
              + "".join(f"  {name} {us:.2f}" for name, us in
                        one["threads_us"].items() if us >= 0.1), flush=True)


def pairs(text):
    name, _, build = text.partition("=")
    return name, pathlib.Path(build)


def rows_of(text):
    everything = [(s, c) for s in SIZES for c in CONNECTIONS]
    if not text:
        return everything
    wanted = [(one.partition("x")[0], int(one.partition("x")[2]))
              for one in text.split(",")]
    for size, _ in wanted:
        if size not in SIZES:
            sys.exit(f"{size} is none of {' '.join(SIZES)}")
    return wanted


def options_read():
    p = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--rows", default="", metavar="SIZExCONNECTIONS,...",
                   help="such as 1k x 32, without spaces [all twelve]")
    p.add_argument("--targets", default="")
    p.add_argument("--also", type=pairs, action="append", default=[],
                   metavar="NAME=BUILD")
    p.add_argument("--seconds", type=float, default=0.5,
                   help="of closed loop in each measurement [0.5]")
    p.add_argument("--paced", default="", metavar="RATE,...")
    p.add_argument("--rate", type=int, default=1000)
    p.add_argument("--requests", type=int, default=300)
    p.add_argument("--no-open", action="store_true",
                   help="leave the open loops out")
    p.add_argument("--json", metavar="FILE")
    options = p.parse_args()
    options.also = dict(options.also)
    tailors = [name for name in TAILORS
               if name != "kernel" or os.geteuid() == 0]
    options.targets = options.targets.split(",") if options.targets else [
        *(name for name in PEERS if shutil.which(name)), *tailors,
        *(f"{name}.off" for name in options.also)]
    options.rows = rows_of(options.rows)
    if options.paced:
        options.no_open = True
        options.rows = [(*row, int(rate)) for row in options.rows
                        for rate in options.paced.split(",")]
    return options


def main():
    options = options_read()
    if not shutil.which("wrk"):
        print("bench_proxy: left out, there is no wrk")
        return
    out = []
    with tempfile.TemporaryDirectory(prefix="tailor-bench-") as directory:
        bench = Bench(options, directory)
        print(f"{options.rounds} rounds of {options.seconds} s closed loop"
              + ("" if options.no_open else f", then {options.requests} "
                 f"requests at {options.rate}/s") + "\n"
              f"{'size':>5}{'conn':>6}  {'':14}{'CPU':>8}{'':6}{'per':>9}"
              f"{'+':>8}{'':6}{'closed':>9}{'added':>9}{'added':>9}\n"
              f"{'':13}{'':14}{'us':>6}{'ratio':>6}{'CPU-s':>9}"
              f"{'us':>8}{'ratio':>6}{'req/s':>9}{'p50 us':>9}{'p99 us':>9}")
        try:
            for row in options.rows:
                found = bench.row(row)
                shown = summary(found)
                show(row, shown)
                out.append({"size": SIZES[row[0]], "connections": row[1],
                            "targets": shown, "rounds": found})
        finally:
            bench.origin.close()
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(out, indent=1))


if __name__ == "__main__":
    main()
