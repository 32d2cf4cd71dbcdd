#!/usr/bin/python3
"""What watching the kernel costs the service behind Tailor.

    tests/bench/bench_kernel.py [--rounds N] [--json FILE] [BUILD]

The Lucene service behind Tailor, measured in turn with profiler.kernel off,
lite and full, and with it off while bpftrace, perf record and trace-cmd
record the same tracepoints of the same processes.  In each round every
set-up comes once, in an order of its own; what is shown are medians over the
rounds of the ratio to "off" in the same round.  CPU time is that of Tailor,
the servers, the client and the tool for each request: what else runs on the
machine hardly changes it, as it does the other figures.  A tool that is missing or
not permitted is named and left out.  Needs root; about 12 s for each set-up
and round.
"""

import argparse
import json
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
sys.path.insert(0, str(ROOT / "examples" / "demo"))

import web  # noqa: E402
from processes import Process, Trouble, end_all, wait_until  # noqa: E402
from load import Generator, write_targets  # noqa: E402
from service import KeptServer, Recipe  # noqa: E402

RATE = 400
REQUESTS = 2000
WRK_SECONDS = 4

TRACEPOINTS = (
    "sched:sched_waking", "sched:sched_wakeup", "sched:sched_switch",
    "irq:softirq_entry", "irq:softirq_exit", "tcp:tcp_probe",
    "net:net_dev_queue", "sock:sock_send_length", "sock:sock_recv_length",
    "exceptions:page_fault_user", "exceptions:page_fault_kernel")

# What each prints is about what an event of ours holds.
FIELDS = {
    "sched_waking": ("%d %d", "args->pid, args->target_cpu"),
    "sched_wakeup": ("%d %d", "args->pid, args->target_cpu"),
    "sched_switch": ("%d %d %d", "args->prev_pid, args->prev_state, "
                     "args->next_pid"),
    "softirq_entry": ("%d", "args->vec"),
    "softirq_exit": ("%d", "args->vec"),
    "tcp_probe": ("%d %d %d", "args->data_len, args->snd_nxt, "
                  "args->snd_una"),
    "net_dev_queue": ("%d", "args->len"),
    "sock_send_length": ("%d", "args->ret"),
    "sock_recv_length": ("%d", "args->ret"),
    "page_fault_user": ("%lx", "args->address"),
    "page_fault_kernel": ("%lx", "args->address"),
}
# Those that run in any process's context: not to be filtered by process.
ANY_CONTEXT = ("softirq_entry", "softirq_exit", "tcp_probe", "net_dev_queue")


def bpftrace(pids, directory):
    """The same events, each written out with its time and fields."""
    mine = " || ".join(f"pid == {p}" for p in pids)
    program = []
    for point in TRACEPOINTS:
        name = point.partition(":")[2]
        form, fields = FIELDS[name]
        where = "" if name in ANY_CONTEXT else f"/{mine}/ "
        program.append(f'tracepoint:{point} {where}{{ printf("%llu %d '
                       f'{name} {form}\\n", nsecs, tid, {fields}); }}')
    return ["bpftrace", "-o", f"{directory}/bpftrace.out", "-e",
            "\n".join(program)]


def perf(pids, directory):
    argv = ["perf", "record", "-q", "-o", f"{directory}/perf.data"]
    for point in TRACEPOINTS:
        argv += ["-e", point]
    return argv + ["-p", ",".join(map(str, pids))]


def trace_cmd(pids, directory):
    argv = ["trace-cmd", "record", "-o", f"{directory}/trace.dat"]
    for point in TRACEPOINTS:
        argv += ["-e", point]
    for pid in pids:
        argv += ["-P", str(pid)]
    return argv


TOOLS = {"bpftrace": bpftrace, "perf record": perf, "trace-cmd": trace_cmd}


def cpu_seconds(pids):
    """What processes, and children they waited for, have used so far."""
    ticks = 0
    for pid in pids:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
        ticks += sum(map(int, stat.rpartition(")")[2].split()[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


STATS = pathlib.Path("/proc/sys/kernel/bpf_stats_enabled")


def program_seconds():
    """What the kernel says our programs have run so far."""
    said = subprocess.run(["bpftool", "prog", "show", "-j"], check=True,
                          capture_output=True, text=True).stdout
    return sum(p.get("run_time_ns", 0) for p in json.loads(said)
               if p.get("name", "").startswith("on_")) / 1e9


class Tool:
    """A recorder beside Tailor; Trouble if it ends by itself."""

    def __init__(self, name, pids, directory):
        self.said = open(f"{directory}/tool.log", "w+", encoding="utf-8")
        self.child = subprocess.Popen(
            TOOLS[name](pids, directory), stdin=subprocess.DEVNULL,
            stdout=self.said, stderr=subprocess.STDOUT)
        # They do not say when they are ready: the longest takes about 2 s.
        try:
            self.child.wait(4.0)
        except subprocess.TimeoutExpired:
            return
        self.said.seek(0)
        text = " ".join(self.said.read().split())
        self.said.close()
        raise Trouble(text[-160:] or "ended at once")

    def stop(self):
        self.child.terminate()
        try:
            self.child.wait(30)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
        self.said.close()


class Bench:
    def __init__(self, build, directory):
        self.build = build
        self.directory = directory
        targets = directory / "targets.txt"
        write_targets(ROOT / "examples/lucene/queries.txt", targets)
        self.targets = targets
        self.recipe = Recipe(build)
        self.servers = []
        for name in ("a", "b"):
            self.servers.append(KeptServer(
                self.recipe, name, web.free_port(), str(directory), True,
                None))
        for server in self.servers:
            server.wait_ready()

    def stop(self):
        for server in self.servers:
            server.stop()

    def appliance(self, kernel, number):
        """A tailor in front of both; returns (Process, port, admin)."""
        port = web.free_port()
        admin = self.directory / f"admin{number}.sock"
        config = self.directory / f"tailor{number}.json"
        config.write_text(json.dumps({
            "listen": [f"127.0.0.1:{port}"], "admin": f"unix:{admin}",
            "servers": [{"name": n, "address": f"127.0.0.1:{s.port}"}
                        for n, s in zip("ab", self.servers)],
            "hedging": {"mode": "watch"},
            "proxy": {"trust": ["127.0.0.0/8"]},
            "profiler": {"kernel": kernel, "stream": "",
                         "channel_socket": ""},
            "slow": {"target": "1s", "store": ""},
        }))
        process = Process([f"{self.build}/tailor", "-c", str(config)],
                          str(self.directory / f"tailor{number}.log"))
        wait_until(lambda: web.get(str(admin), "/readyz")[0] == 200,
                   process, "tailor was ready")
        return process, port, admin

    def measure(self, setup, number):
        """{throughput, cpu_us, p99_ms, events, lost} of one set-up."""
        kernel = setup if setup in ("off", "lite", "full") else "off"
        process, port, admin = self.appliance(kernel, number)
        tool = None
        try:
            if setup in TOOLS:
                tool = Tool(setup, [process.pid] +
                            [s._process.pid for s in self.servers],
                            str(self.directory))
            pids = [os.getpid(), process.pid]
            pids += [s._process.pid for s in self.servers]
            pids += [tool.child.pid] if tool is not None else []
            used = -cpu_seconds(pids)
            found, requests = self.throughput(port)
            used += cpu_seconds(pids)
            found["cpu_us"] = used / requests * 1e6
            if kernel != "off":
                found["program_share"] = self.program_share(port, pids)
            generator = Generator(self.build, self.targets, RATE, 1)
            place = self.directory / f"load{number}"
            place.mkdir()
            run = generator.start(port, REQUESTS, 1, 0, str(place)).wait()
            found["p99_ms"] = run.summary()["client_p99_ms"]
            if tool is not None:
                tool.stop()
                tool = None
            text = web.get(str(admin), "/metrics")[1]
            for name, key in (("tailor_profiler_events_total", "events"),
                              ("tailor_profiler_lost_total", "lost")):
                found[key] = sum(float(v) for v in re.findall(
                    rf"^{name}(?:{{[^}}]*}})? (\S+)$", text, re.M))
            return found
        finally:
            if tool is not None:
                tool.stop()
            process.stop()

    def program_share(self, port, pids):
        """Part of the CPU time of each request that is our programs', by
        the kernel's own account, which itself costs some of it."""
        STATS.write_text("1")
        try:
            used, ran = -cpu_seconds(pids), -program_seconds()
            self.throughput(port)
            return (ran + program_seconds()) / (used + cpu_seconds(pids))
        finally:
            STATS.write_text("0")

    def throughput(self, port):
        """Of eight clients that never wait: ({throughput}, requests)."""
        script = self.directory / "wrk.lua"
        script.write_text(
            'local t, i = {}, 0\n'
            'function init()\n'  # earlier wrk has no Host to put into it
            f'  for l in io.lines("{self.targets}") do '
            't[#t + 1] = wrk.format("GET", l) end\n'
            'end\n'
            'function request() i = i % #t + 1 return t[i] end\n')
        done = subprocess.run(
            ["wrk", "-t1", "-c8", f"-d{WRK_SECONDS}", "-s", script,
             f"http://127.0.0.1:{port}/"], capture_output=True, text=True,
            check=True)
        if "Non-2xx" in done.stdout or "Socket errors" in done.stdout:
            raise RuntimeError(f"not all was answered well:\n{done.stdout}")
        rate = float(re.search(r"Requests/sec:\s*(\S+)", done.stdout)[1])
        number = int(re.search(r"(\d+) requests in", done.stdout)[1])
        return {"throughput": rate}, number


def say(text):
    print(text, file=sys.stderr, flush=True)


def ratio(row, key):
    """A median of ratios and their range, in nineteen columns."""
    low, high = row[f"{key}_ratio_range"]
    return f"{row[f'{key}_ratio']:7.3f} {low:.2f}-{high:.2f} "


def table(setups, rounds, troubles):
    """The figures, as a list of rows and as text."""
    rows = []
    for setup in setups:
        mine = [r[setup] for r in rounds]
        row = {"setup": setup}
        for key in ("throughput", "cpu_us", "p99_ms"):
            ratios = [m[key] / r["off"][key] for m, r in zip(mine, rounds)]
            row[key] = statistics.median(m[key] for m in mine)
            row[f"{key}_ratio"] = statistics.median(ratios)
            row[f"{key}_ratio_range"] = [min(ratios), max(ratios)]
        shares = [m["program_share"] for m in mine if "program_share" in m]
        if shares:
            row["program_share"] = statistics.median(shares)
            row["program_share_range"] = [min(shares), max(shares)]
        for key in ("events", "lost"):
            row[key] = sum(m[key] for m in mine)
        rows.append(row)
    print(f"\nLucene behind Tailor, {len(rounds)} rounds; medians, and those "
          "of the ratio to \"off\"\n"
          f"\n  {'':11}{'req/s':>7}{'ratio':>7} (range)    "
          f"{'CPU us':>7}{'ratio':>7} (range)    "
          f"{'p99':>6}{'ratio':>6}")
    for r in rows:
        print(f"  {r['setup']:11}{r['throughput']:7.0f}{ratio(r, 'throughput')}"
              f"{r['cpu_us']:8.0f}{ratio(r, 'cpu_us')}"
              f"{r['p99_ms']:7.2f}{r['p99_ms_ratio']:6.2f}")
    for r in rows:
        if r["events"] > 0:
            print(f"  {r['setup']}: {r['events']:.0f} events, "
                  f"{r['lost']:.0f} lost")
        if "program_share" in r:
            low, high = r["program_share_range"]
            print(f"  {r['setup']}: the programs ran for "
                  f"{r['program_share']:.1%} of the CPU time ({low:.1%} to "
                  f"{high:.1%}), by the kernel's own account")
    for name, why in troubles.items():
        print(f"  {name}: left out: {why}")
    return rows


def main():
    p = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    p.add_argument("--rounds", type=int, default=5, metavar="N")
    p.add_argument("--json", metavar="FILE")
    p.add_argument("build", nargs="?", type=pathlib.Path,
                   default=os.environ.get("TAILOR_BUILD") or ROOT / "build")
    o = p.parse_args()
    if os.geteuid() != 0:
        print("bench_kernel: BPF needs root; nothing measured")
        return 0
    if shutil.which("wrk") is None:
        print("bench_kernel: wrk is missing (apt-get install wrk); nothing "
              "measured")
        return 0
    for name in ("examples/lucene/SearchService.class", "lucene-index"):
        if not (o.build / name).exists():
            print(f"bench_kernel: {name} is missing (make lucene "
                  "lucene-index); nothing measured")
            return 0
    setups, troubles = ["off", "lite", "full"], {}
    for tool in TOOLS:
        if shutil.which(tool.split()[0]) is None:
            troubles[tool] = "not installed"
        else:
            setups.append(tool)
    rounds, number, order = [], 0, random.Random(1)
    with tempfile.TemporaryDirectory(prefix="tailor-bench-") as directory:
        bench = Bench(o.build.resolve(), pathlib.Path(directory))
        try:
            for i in range(-1, o.rounds):  # the first warms up
                found = {}
                for setup in order.sample(setups, len(setups)):
                    number += 1
                    begun = time.monotonic()
                    try:
                        found[setup] = bench.measure(setup, number)
                    except Trouble as trouble:
                        if setup not in TOOLS:
                            raise
                        troubles[setup] = str(trouble)
                        setups.remove(setup)
                        continue
                    say(f"round {i + 1} of {o.rounds}: {setup}, "
                        f"{time.monotonic() - begun:.0f} s")
                if i >= 0:
                    rounds.append(found)
        finally:
            bench.stop()
            end_all()
    rows = table(setups, rounds, troubles)
    if o.json:
        pathlib.Path(o.json).write_text(json.dumps(
            {"rows": rows, "left_out": troubles}, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
