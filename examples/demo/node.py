#!/usr/bin/python3
"""Two Node servers and V8's collections, without Tailor and with it.

The same seeded load goes straight to one server and then through Tailor to two.
Tailor sees the collections by probes in node itself, so it must run as root (or
with CAP_BPF and CAP_PERFMON); nothing is needed in the servers.
"""

import argparse
import os
import pathlib
import shutil
import signal
import sys
import tempfile
import time

import report
import web
from appliance import Appliance
from load import Generator
from processes import Process, Trouble, adopt_orphans, end_all, wait_until

ROOT = pathlib.Path(__file__).resolve().parents[2]
SERVICE = ROOT / "examples" / "demo" / "catalogue.js"
WARM_UP = 3000
WARM_UP_RATE = 150
SYLLABLES = ("ba", "ke", "li", "mo", "nu", "ra", "se", "ti", "vo", "wa")


class NodeRecipe:
    """How to start the service; nothing of Tailor is in it."""

    signals = "auto"
    health = "/health"

    def __init__(self, build, channels):
        self.build = build
        self.channels = channels

    def command(self, _name, port, _directory):
        return [shutil.which("node"), str(SERVICE), "--port", str(port)]


def options():
    env = os.environ.get
    p = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    p.add_argument("--rate", type=float, default=float(env("RATE") or 100),
                   metavar="N", help="requests per second [100]")
    p.add_argument("--iterations", type=int, metavar="N",
                   default=int(env("ITERATIONS") or 6),
                   help="of 1000 requests, in each set-up [6]")
    p.add_argument("--build", type=pathlib.Path, metavar="DIR",
                   default=ROOT / (env("BUILD") or "build"))
    p.add_argument("--out", type=pathlib.Path, metavar="DIR",
                   help="raw results [build/demo/node-<time>]")
    o = p.parse_args()
    o.build = o.build.resolve()
    o.out = (o.out or o.build / "demo" / time.strftime("node-%Y%m%d-%H%M%S")) \
        .resolve()
    return o


def write_targets(path):
    """1000 queries of three words, always the same."""
    def word(n):
        return (SYLLABLES[n % 10] + SYLLABLES[n // 10 % 10]
                + SYLLABLES[n // 100 % 10] + SYLLABLES[n // 1000 % 10])
    with open(path, "w", encoding="utf-8") as file:
        for i in range(1000):
            words = (word(i * 7919 % 1200), word(i * 104729 % 2000), word(3 * i))
            file.write(f"/search?q={'+'.join(words)}\n")


def cpus():
    """Where the servers run: one at the first, one at the last."""
    return sorted(os.sched_getaffinity(0))


def measure(o, generator, port, directory):
    result = generator.start(port, 1000, o.iterations, 100, directory).wait()
    return {**result.summary(), "iterations": result.iterations,
            "trusted": result.trusted}, result


def direct(o, generator, recipe, directory):
    port = web.free_port()
    server = Process(recipe.command("a", port, directory),
                     directory / "a.log", {cpus()[0]})
    try:
        wait_until(lambda: web.get(port, "/health", timeout=2.0)[0] == 200,
                   server, "the service answered")
        generator.warm_up(port, WARM_UP, WARM_UP_RATE)
        found, _ = measure(o, generator, port, directory)
    finally:
        server.stop()
    return {"key": "a", "title": "direct", **found}


def check_seen(appliance):
    """Trouble unless the collections of both servers are seen."""
    for server in appliance.state():
        if server["source"] != "probes":
            raise Trouble("the collections of Node are not seen, for Tailor "
                          "may not use probes: run this as root, or see "
                          f"runtime_off in {appliance.directory}/tailor.log")


def acting(o, generator, recipe, directory):
    ports = [web.free_port() for _ in range(3)]
    appliance = Appliance(recipe, str(directory), ports, "act",
                          {"a": str(cpus()[0]), "b": str(cpus()[-1])},
                          {"warmup": {"target": "/search?q=bababa",
                                      "requests": 100}})
    try:
        check_seen(appliance)
        # Not at once, so that they do not collect at the same moments.
        for i, port in enumerate(appliance.servers.values()):
            generator.warm_up(port, WARM_UP + i * WARM_UP // 4, WARM_UP_RATE)
        appliance.wait_calm()
        before = appliance.metrics()
        found, result = measure(o, generator, appliance.port, directory)
        appliance.check_alive()
        after = appliance.metrics()
        appliance.timeline(result.worst["id"])
    finally:
        appliance.stop()
    grown = {name: value - before.get(name, 0)
             for name, value in after.items()}
    hedges = sum(value for name, value in grown.items()
                 if name.startswith("tailor_hedges_sent_total"))
    seen = sum(value for name, value in grown.items()
               if name.startswith("tailor_hazards_total")
               and 'kind="gc"' in name)
    return {"key": "d", "title": "Tailor, acting", **found,
            "hedges": int(hedges), "collections": int(seen),
            "extra_pct": 100 * hedges / result.requests}


def print_report(o, setups):
    print(f"\n{o.iterations} x 1000 searches at {o.rate:g}/s, Poisson; "
          f"{os.cpu_count()} CPUs\n\n{report.table(setups)}")
    ratio = report.ratio(setups, "a", "d", "client_max_ms")
    print(f"\nworst latency: direct / acting = {ratio:.1f};  "
          f"collections seen while acting: {setups[-1]['collections']}")
    for s in setups:
        if not s["trusted"]:
            print(f"set-up {s['key']}: the load generator was disturbed "
                  "itself")
    print(f"\nslowest request of each iteration\n{report.chart(setups)}")
    print(f"raw results: {o.out}")


def run(o, sockets):
    if shutil.which("node") is None:
        raise Trouble("no node in $PATH: apt-get install nodejs")
    for name in ("tailor", "tailor-load"):
        if not (o.build / name).exists():
            raise Trouble(f"{o.build / name} is missing: make")
    o.out.mkdir(parents=True)
    targets = o.out / "targets.txt"
    write_targets(targets)
    generator = Generator(o.build, targets, o.rate, 1)
    recipe = NodeRecipe(o.build, sockets / "channels.sock")
    setups = []
    for key, step in (("a", direct), ("d", acting)):
        directory = o.out / key
        directory.mkdir()
        print(f"{key}: {step.__name__}", file=sys.stderr, flush=True)
        setups.append(step(o, generator, recipe, directory))
    print_report(o, setups)


def main():
    o = options()
    adopt_orphans()
    sockets = tempfile.mkdtemp(prefix="tailor-demo-")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        run(o, pathlib.Path(sockets))
    except Trouble as e:
        print(f"demo: {e}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("demo: interrupted", file=sys.stderr)
        return 130
    finally:
        end_all()
        shutil.rmtree(sockets, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
