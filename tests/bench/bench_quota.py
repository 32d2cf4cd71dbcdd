#!/usr/bin/python3
"""Latency where the servers' CPU quotas are used up now and then.

    tests/bench/bench_quota.py [--rounds N] [--only WORDS] [BUILD]

Two servers behind Tailor get the same Poisson load: without a quota; the active
one, and each, in a cgroup with a quota a little above its mean use, Tailor only
watching and Tailor acting on quotas.  Prints percentiles, what the kernel's
cpu.stat says of the stalls, how many of them were hazards, and how many were
waited out.  Needs root and make hazards-programs.
"""

import argparse
import os
import pathlib
import shutil
import statistics
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "examples" / "demo")]

import web  # noqa: E402
from appliance import Appliance  # noqa: E402
from load import Generator  # noqa: E402
from processes import Trouble, adopt_orphans, end_all  # noqa: E402

RATE, WORK_US, QUOTA_US, PERIOD_US = 200, 1000, 24000, 100000
REQUESTS, ITERATIONS = 1000, 6
# title, servers with a quota, mode
SETUPS = (("no quota", "", "act"),
          ("one, watching", "a", "watch"), ("one, acting", "a", "act"),
          ("both, watching", "ab", "watch"), ("both, acting", "ab", "act"))


class Group:
    """A cgroup with a CPU quota, of version 1 or 2."""

    def __init__(self, name, quota_us):
        old = pathlib.Path("/sys/fs/cgroup/cpu/tasks").exists()
        self.path = pathlib.Path("/sys/fs/cgroup/cpu" if old
                                 else "/sys/fs/cgroup", name)
        self.path.mkdir()
        if quota_us and old:
            self._write("cpu.cfs_period_us", PERIOD_US)
            self._write("cpu.cfs_quota_us", quota_us)
        elif quota_us:
            self._write("cpu.max", f"{quota_us} {PERIOD_US}")

    def _write(self, name, value):
        (self.path / name).write_text(f"{value}\n", encoding="ascii")

    def stalls(self):
        """(how many, their sum in ms)"""
        text = (self.path / "cpu.stat").read_text(encoding="ascii")
        stat = dict(line.split() for line in text.splitlines())
        ms = int(stat["throttled_time"]) / 1e6 if "throttled_time" in stat \
            else int(stat["throttled_usec"]) / 1e3
        return int(stat["nr_throttled"]), ms

    def remove(self):
        self.path.rmdir()


class Recipe:
    """The server of tests/hazards, put into a cgroup as it starts."""

    signals = "none"
    health = "/"

    def __init__(self, build, channels, groups):
        self.build = build
        self.channels = channels
        self.groups = groups

    def command(self, name, port, _directory):
        cpus = sorted(os.sched_getaffinity(0))
        cpu = cpus[0] if name == "a" else cpus[-1]
        return ["/bin/sh", "-c",
                f"echo $$ > {self.groups[name].path}/cgroup.procs && "
                f"exec {self.build}/hazards/server {port} {cpu}"]


def measure(build, directory, quota, mode):
    groups = {name: Group(f"tailor-quota-{name}-{os.getpid()}",
                          QUOTA_US if name in quota else 0) for name in "ab"}
    targets = directory / "targets.txt"
    targets.write_text(f"/compute?us={WORK_US}\n", encoding="ascii")
    generator = Generator(build, targets, RATE, 1)
    appliance = None
    try:
        appliance = Appliance(
            Recipe(build, directory / "channels.sock", groups),
            str(directory), [web.free_port() for _ in range(3)], mode,
            {"a": "", "b": ""},
            {"warmup": {"target": "/compute?us=100", "requests": 20},
             "hedging": {"triggers": ["exit", "quota"]}})
        found = generator.start(appliance.port, REQUESTS, ITERATIONS, 100,
                                directory).wait().summary()
        metrics = appliance.metrics()
        found["stalls"], found["stalls_ms"] = [
            sum(x) for x in zip(*(g.stalls() for g in groups.values()))]
    finally:
        if appliance is not None:
            appliance.stop()
        end_all()
        for group in groups.values():
            group.remove()
    for column, name in (("hazards", "tailor_hazards_total"),
                         ("waited", "tailor_pauses_waited_out_total")):
        found[column] = sum(v for k, v in metrics.items()
                            if 'kind="quota"' in k and k.startswith(name))
    return found


def run(build, title, quota, mode):
    directory = pathlib.Path(tempfile.mkdtemp(prefix="tailor-quota-"))
    try:
        s = measure(build.resolve(), directory, quota, mode)
    finally:
        shutil.rmtree(directory)
    print(f"{title:18}{s['client_p50_ms']:8.1f}{s['client_p99_ms']:8.1f}"
          f"{s['client_p999_ms']:8.1f}{s['client_max_ms']:8.1f}"
          f"{s['errors']:8}{s['stalls']:8}{s['stalls_ms']:8.0f}"
          f"{s['hazards']:8.0f}{s['waited']:8.0f}", flush=True)
    return s["client_p999_ms"]


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("build", nargs="?", type=pathlib.Path,
                   default=ROOT / "build")
    p.add_argument("--rounds", type=int, default=1)
    p.add_argument("--only", default="", help="set-ups whose titles have it; "
                   "no quota always")
    o = p.parse_args()
    if os.geteuid() != 0 or not (o.build / "hazards" / "server").exists():
        print("bench_quota: needs root and make hazards-programs; nothing "
              "measured")
        return 0
    adopt_orphans()
    setups = [s for s in SETUPS if not s[1] or o.only in s[0]]
    p999_ms = {title: [] for title, _, _ in setups}
    print(f"{'ms':18}{'p50':>8}{'p99':>8}{'p99.9':>8}{'max':>8}{'errors':>8}"
          f"{'stalls':>8}{'ms':>8}{'hazards':>8}{'waited':>8}", flush=True)
    for _ in range(o.rounds):
        for title, quota, mode in setups:
            try:
                p999_ms[title].append(run(o.build, title, quota, mode))
            except Trouble as e:
                print(f"bench_quota: {e}")
                return 1
    for title, values in p999_ms.items():
        print(f"{title:18} p99.9, median: {statistics.median(values):.1f} ms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
