#!/usr/bin/python3
"""Steering in nine kinds of trouble, by turns with hedging alone.

    make bench ONLY=trouble
    tests/bench/bench_trouble.py [--rounds N] [--seconds S] [--only KINDS]
                                 [--first I] [--json FILE] [--out DIR] [BUILD]

Two JVMs (tests/e2e/support/Server.java) that Tailor launches with its agent, on
two CPUs each on one, which Tailor and the client share with them.  200 GETs/s
and 200 POSTs/s, each a Poisson process, allocate 80 MB/s together, and 8
requests/s keep 1 MB each, so that a collection has something to copy.  Latency
is from the scheduled instant.

In each round each kind of trouble has a pair of its own, and a piece of traffic
with hedging.steer on and one with it off, in an order that changes from round
to round.  Before each piece both servers forget what they kept, collect and
are warmed up.

  failed   requests without a response of status 200, and event streams that
           ended early; of what makes the trouble, too
  twice    second attempts
  coll     collections in the JVMs' own logs

Latencies are those of the GETs and POSTs that allocate, not of what makes the
trouble: medians of the rounds, with the least and the most.  on-off is the
difference of the two pieces of one round.  --out keeps each piece's requests,
Tailor's log and how it explains the slowest request.  Prints figures, judges
nothing.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import typing

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "e2e"),
                str(ROOT / "examples" / "demo")]

# pylint: disable=wrong-import-position
from heating import Pauses  # noqa: E402
from load import NOT_TRUSTED, quantile  # noqa: E402
from processes import adopt_orphans, end_all  # noqa: E402
from rig.client import Client  # noqa: E402
from rig.ports import free_port  # noqa: E402
from rig.process import Process  # noqa: E402
from rig.tailor import Tailor, configuration  # noqa: E402
from rig.wait import Late, wait_until  # noqa: E402
from support import jvm as jvms  # noqa: E402

METHODS = ("GET", "POST")
MODES = ("on", "off")
RATE = 200  # of each method
KB = 200    # that a request allocates
KEEP = ("GET", 8, "/fill?mb=1")
SETTLE_S = 2
HEAT_S = {False: 2, True: 5}  # whether the JVM was just started
TROUBLE_S = 2                 # from the begin of a piece
STOPPED_S = 2
LONG_S = 60
# Otherwise a body waits for the delayed ACK of its head, now and then.
JAVA = ("-XX:+AlwaysPreTouch", "-Dsun.net.httpserver.nodelay=true", "-Xmn120m")
G1 = ("-XX:+UseG1GC", "-Xms600m", "-Xmx600m")
PARALLEL = ("-XX:+UseParallelGC", "-Xms470m", "-Xmx470m")  # 350 MB are old
# name: (title, digits after the point, columns)
FIGURES = {"p50": ("p50", 2, 20), "p99": ("p99", 1, 16),
           "p999": ("p99.9", 1, 16), "slowest": ("slowest", 1, 16)}
TWICE = "tailor_hedges_sent_total"
COUNTERS = (TWICE, "tailor_steer", "tailor_swaps", "tailor_swap_refused",
            "tailor_request_failures", "tailor_requests_moved",
            "tailor_hazards_total")


def restart(active):
    """A restart of the active server, or of the standby."""
    def trouble(t, _):
        name = next(s["name"] for s in t.ask_json("/servers")["servers"]
                    if s["active"] == active)
        before = t.server(name)["restarts"]
        assert t.ask(f"/restart?server={name}", "POST").status < 300
        wait_until(lambda: t.server(name)["restarts"] > before,
                   f"{name} restarts", LONG_S)
    return trouble


def idle_server(t, steer):
    """The server that stands by; if it is steered, while it collects."""
    return next((s for s in t.ask_json("/servers")["servers"]
                 if not s["active"] and (
                     not steer or s["steer"]["phase"] == "collecting")), None)


def stop_idle(t, steer):
    """SIGSTOP of the standby; if it is steered, in its collection."""
    deadline = time.monotonic() + LONG_S
    while time.monotonic() < deadline:
        idle = idle_server(t, steer)
        if idle is None:
            time.sleep(0.004)
            continue
        os.kill(idle["pid"], signal.SIGSTOP)
        try:
            time.sleep(0.1)
            now = idle_server(t, steer)
            # Else the collection was over before the signal came.
            if now and now["pid"] == idle["pid"]:
                time.sleep(STOPPED_S)
                return
        finally:
            os.kill(idle["pid"], signal.SIGCONT)
    raise Late("the standby was not stopped in its collection")


@dataclasses.dataclass
class Kind:
    """A kind of trouble.

    kb       what a request allocates, by the part of the piece that is over
    more     (method, rate, target) of other requests
    stream   an event stream is open
    happens  what is done to the servers, called with Tailor and whether it
             steers, TROUBLE_S from the begin
    """

    title: str
    kb: typing.Callable = lambda _: KB
    more: tuple = ()
    stream: bool = False
    happens: typing.Callable = None
    java: tuple = G1
    fill_mb: int = 0


KINDS = {
    "ramp": Kind("ramp of allocation, 20 to 320 MB/s",
                 kb=lambda part: 50 + 750 * part),
    "burst": Kind("burst of ten times the allocation rate, a quarter long",
                  kb=lambda part: 10 * KB if 0.4 <= part < 0.65 else KB),
    "large": Kind("arrays of 8 MB, ten a second",
                  more=(("GET", 5, "/large?kb=8192"),
                        ("POST", 5, "/large?kb=8192"))),
    "long": Kind("requests of 1.5 s, four a second",  # 16 threads have room
                 more=(("GET", 2, "/wait?ms=1500"),
                       ("POST", 2, "/wait?ms=1500"))),
    "stream": Kind("an event stream", stream=True),
    "old": Kind("a full old generation (Parallel)", java=PARALLEL,
                fill_mb=255),
    "active": Kind("restart of the active server", happens=restart(True)),
    "standby": Kind("restart of the standby", happens=restart(False)),
    "stop": Kind("SIGSTOP of the standby, when steered in its collection",
                 happens=stop_idle),
}


class Collections(Pauses):
    """Young and full ones in the logs; not G1's other pauses."""

    LINE = re.compile(r"(?:\[(\d+)ns\].*)?\] GC\(\d+\) "
                      r"Pause (?:Young|Full).* ([\d.]+)ms$")


class Events(threading.Thread):
    """A client with an event stream."""

    def __init__(self, t):
        super().__init__(daemon=True)
        self._client, self._over, self._cut = t.client(), False, False
        self._client.request("GET", "/events?ms=100")
        assert self._client.response_head().status == 200
        self.start()

    def run(self):
        try:
            while self._client.socket.recv(65536):
                pass
        except OSError:
            pass
        self._cut = not self._over

    def end(self):
        """Close it; whether it had ended before, or was silent for long."""
        self._over = self.is_alive()
        try:
            self._client.socket.shutdown(2)
        except OSError:
            pass
        self.join()
        self._client.close()
        return self._cut


class Load(Process):
    """tailor-load, with one target for each of its requests; path: where it
    writes what became of them, and reads them beside."""

    def __init__(self, build, port, seed, rate, targets, method, path):
        self._path = path
        with open(f"{path}.urls", "w", encoding="utf-8") as urls:
            urls.write("".join(f"{target}\n" for target in targets))
        super().__init__(
            [f"{build}/tailor-load", "-r", rate, "-n", len(targets), "-i", "1",
             "--warmup", "0", "-c", "16", "-X", method, "--urls", urls.name,
             "--seed", seed, "--no-spin", "--cpu", "none", "--priority",
             "--stamps", "user", "-q", "--analyze", "off",
             "--ndjson", path, f"http://127.0.0.1:{port}/"],
            stdout=subprocess.DEVNULL)

    def end(self):
        """Whether it was in time."""
        status = self.wait(LONG_S)
        if status not in (0, NOT_TRUSTED):
            raise Late(f"tailor-load failed:\n{self.log}")
        return status == 0

    def responses(self):
        """([(latency in ms, id)] of good ones, how many were not good)."""
        with open(self._path, encoding="utf-8") as file:
            found = [json.loads(line) for line in file]
        good = [(r["lat"] / 1e6, r.get("id")) for r in found
                if "lat" in r and r.get("st") == 200]
        return good, len(found) - len(good)


class Pair:
    """Two servers that a tailor launches."""

    def __init__(self, o, kind, directory, classes):
        self.build, self.kind, self.directory = o.build, kind, directory
        self._new, self._loads = True, []
        agent = f"-agentpath:{o.build}/libtailor-jvm.so=socket={directory}"
        self.ports = {name: free_port() for name in "ab"}
        self.t = Tailor(o.build, str(directory), configuration(
            str(directory), [
                {"name": name, "address": f"127.0.0.1:{port}",
                 "launch": {"command": jvms.arguments(classes, port, [
                     *JAVA, *kind.java, agent + "/channels.sock",
                     f"-Xlog:gc:file={directory}/{name}-gc-%p.log"
                     ":timenanos,tags"])}}
                for name, port in self.ports.items()],
            {"hedging": {"steer": False},
             "proxy": {"trust": ["127.0.0.1/32"]},  # ids of tailor-load
             "warmup": {"target": f"/garbage?kb={KB}"}}))

    def stop(self):
        """End what loads it, and Tailor, which ends its servers."""
        for load in self._loads:
            load.kill()
        (self.directory / "tailor.log").write_text(self.t.log,
                                                   encoding="utf-8")
        try:
            self.t.terminate()
        finally:
            self.t.kill()

    def settled(self, steer):
        """Wait until both serve, and are steered if they are to be."""
        def is_settled():
            return all(s["state"] == "ready" and s["source"] == "agent"
                       and not s["hazards"]
                       and (not steer
                            or s.get("steer", {}).get("missing") == "")
                       for s in self.t.ask_json("/servers")["servers"])
        wait_until(is_settled, "both servers are ready", LONG_S)

    def mode(self, steer):
        self.t.config["hedging"]["steer"] = steer
        with open(f"{self.directory}/tailor.json", "w",
                  encoding="utf-8") as file:
            json.dump(self.t.config, file)
        assert self.t.ask("/reload", "POST").status == 200

    def reset(self, steer, seed):
        """Both servers, and Tailor, as before the first piece."""
        self.mode(False)
        self.settled(False)
        for port in self.ports.values():
            with Client(("127.0.0.1", port), patience_s=LONG_S) as client:
                for target in ("/forget", "/gc",
                               f"/fill?mb={self.kind.fill_mb}", "/gc"):
                    assert client.get(target).status == 200
        heat = [f"/garbage?kb={KB}"] * (HEAT_S[self._new] * 2 * RATE)
        self._loads = [
            Load(self.build, port, seed, 2 * RATE, heat, method,
                 f"{self.directory}/heat-{port}-{method}.ndjson")
            for port in self.ports.values() for method in METHODS]
        for load in self._loads:
            load.end()
        self._new = False
        self.mode(steer)
        self.settled(steer)
        for load in self.traffic(SETTLE_S, seed, lambda _: KB):
            load.end()

    def traffic(self, seconds, seed, kb, more=(), out=None):
        """Running loads: one by each method, and others."""
        count = RATE * seconds
        main = [(method, RATE, [f"/garbage?kb={kb(i / count):.0f}"
                                for i in range(count)])
                for method in METHODS]
        others = [(method, rate, [target] * (rate * seconds))
                  for method, rate, target in (KEEP, *more)]
        out = out or self.directory
        self._loads = [
            Load(self.build, self.t.port, 10 * seed + i, rate, targets,
                 method, f"{out}/requests-{i}.ndjson")
            for i, (method, rate, targets) in enumerate(main + others)]
        return self._loads

    def why(self, request, out):
        """How Tailor explains a request."""
        with open(f"{out}/why.txt", "w", encoding="utf-8") as file:
            subprocess.run([f"{self.build}/tailorctl", "-a", self.t.admin,
                            "why", request], stdout=file,
                           stderr=subprocess.STDOUT, check=False)

    def piece(self, mode, seconds, seed, out):
        """The figures of a piece of traffic."""
        kind, steer = self.kind, mode == "on"
        self.reset(steer, seed)
        out.mkdir()
        before, logs = self.t.metrics(), Collections(self.directory)
        events = Events(self.t) if kind.stream else None
        loads = self.traffic(seconds, seed, kind.kb, kind.more, out)
        if kind.happens:
            time.sleep(TROUBLE_S)
            kind.happens(self.t, steer)
        in_time = all([load.end() for load in loads])
        cut = events.end() if events else False
        pauses, after = logs.since(), self.t.metrics()
        found = [load.responses() for load in loads]
        moved = {k: v - before.get(k, 0) for k, v in after.items()
                 if k.startswith(COUNTERS) and v != before.get(k, 0)}
        row = {"seed": seed, "steer": mode, "in_time": in_time,
               "requests": sum(len(good) + bad for good, bad in found),
               "failed": sum(bad for _, bad in found) + cut,
               "twice": sum(v for k, v in moved.items()
                            if k.startswith(TWICE)),
               "collections": len(pauses), "pause_ms": sorted(pauses),
               "counters": moved}
        for method, (good, bad) in zip(METHODS, found):
            ms = sorted(latency for latency, _ in good)
            if not ms:
                raise Late(f"none of {bad} {method}s was responded to")
            row[method] = {"p50": quantile(ms, 0.5), "p99": quantile(ms, 0.99),
                           "p999": quantile(ms, 0.999), "slowest": ms[-1]}
        slowest = max(found[0][0] + found[1][0])
        self.why(slowest[1], out)
        return row


def measure(o, name, seed, classes, directory):
    """{mode: row} of one kind in one round."""
    directory.mkdir(parents=True)
    pair = Pair(o, KINDS[name], directory, classes)
    try:
        pair.t.wait_serving()
        # on off, off on, ...: and kinds begin with another one each
        turn = (seed + list(KINDS).index(name)) % 2
        return {mode: pair.piece(mode, o.seconds, seed, directory / mode)
                for mode in (MODES[turn], MODES[1 - turn])}
    finally:
        pair.stop()


def cell(values, digits, columns):
    """A median with its range, in a column."""
    texts = [f"{v:.{0 if abs(v) >= 10 else digits}f}"
             for v in (values["median"], values["least"], values["most"])]
    return f"{texts[0]} ({texts[1]},{texts[2]})".ljust(columns - 1) + " "


def spread(values):
    """{median, least, most}."""
    return {"median": statistics.median(values), "least": min(values),
            "most": max(values)}


def summarize(rounds):
    """{mode or on-off: its counts, and {method: {figure: spread}}}."""
    found = {}
    for mode in MODES:
        rows = [r[mode] for r in rounds]
        found[mode] = {k: sum(row[k] for row in rows) for k in
                       ("requests", "failed", "twice", "collections")}
        found[mode]["longest_ms"] = max(
            (ms for row in rows for ms in row["pause_ms"]), default=0)
        found[mode]["late"] = sum(not row["in_time"] for row in rows)
        for method in METHODS:
            found[mode][method] = {
                f: spread([row[method][f] for row in rows]) for f in FIGURES}
    found["on-off"] = {method: {
        f: spread([r["on"][method][f] - r["off"][method][f] for r in rounds])
        for f in FIGURES} for method in METHODS}
    return found


def write(title, rounds, found):
    print(f"\n{title}; rounds: {rounds}")
    for mode in MODES:
        of = found[mode]
        print(f"  {mode:3} {of['requests']} requests, {of['failed']} failed, "
              f"{of['twice']:.0f} twice, {of['collections']} coll (longest "
              f"{of['longest_ms']:.0f} ms)"
              + (f"; late {of['late']}" if of["late"] else ""))
    for method in METHODS:
        for mode, of in found.items():
            print(f"{method:5}{mode:7}" + "".join(
                cell(of[method][f], *shape) for f, (_, *shape)
                in FIGURES.items()).rstrip(), flush=True)


def parsed():
    p = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    p.add_argument("build", nargs="?", type=pathlib.Path,
                   default=os.environ.get("TAILOR_BUILD") or ROOT / "build")
    p.add_argument("--rounds", type=int, default=5, metavar="N")
    p.add_argument("--first", type=int, default=1, metavar="I",
                   help="number of the first round, and its seed")
    p.add_argument("--seconds", type=int, default=9, metavar="S",
                   help="of a piece of traffic")
    p.add_argument("--only", default=",".join(KINDS), metavar="KINDS",
                   help=", ".join(KINDS))
    p.add_argument("--json", metavar="FILE")
    p.add_argument("--out", type=pathlib.Path, metavar="DIR")
    o = p.parse_args()
    o.build, o.only = o.build.resolve(), o.only.split(",")
    for name in set(o.only) - set(KINDS):
        p.error(f"no kind {name}: {', '.join(KINDS)}")
    return o


def run(o, base):
    """{kind: [{mode: row}]}, and why pieces were left out."""
    classes = jvms.compile_server(base)
    out = (o.out or pathlib.Path(base) / "out").resolve()
    rounds, left_out = {name: [] for name in o.only}, []
    for seed in range(o.first, o.first + o.rounds):
        for name in o.only:
            begun, words = time.monotonic(), ""
            try:
                rounds[name].append(measure(o, name, seed, classes,
                                            out / f"{name}-{seed}"))
            except (AssertionError, OSError) as error:  # Late, too
                words = f": left out: {error}"
                left_out.append(f"{name} {seed}{words}")
            print(f"round {seed - o.first + 1} of {o.rounds}: {name}, "
                  f"{time.monotonic() - begun:.0f} s{words}", file=sys.stderr,
                  flush=True)
    return rounds, left_out


def main():
    o = parsed()
    if jvms.missing():
        print(f"bench_trouble: {jvms.missing()}; nothing measured")
        return 0
    if not (o.build / "libtailor-jvm.so").exists():
        print("bench_trouble: no libtailor-jvm.so (make agent); nothing "
              "measured")
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    adopt_orphans()
    try:
        with tempfile.TemporaryDirectory(prefix="tailor-") as base:
            rounds, left_out = run(o, base)
    finally:
        end_all()
    print(f"{RATE} GETs/s and {RATE} POSTs/s for {o.seconds} s, ms: medians "
          "of the rounds (least,most)\n" + " " * 12 + "".join(
              title.ljust(columns) for title, _, columns
              in FIGURES.values()).rstrip())
    found = {name: summarize(of) for name, of in rounds.items() if of}
    for name, of in found.items():
        write(f"{name}: {KINDS[name].title}", len(rounds[name]), of)
    for words in left_out:
        print(words.partition("\n")[0][:80])
    if o.json:
        pathlib.Path(o.json).write_text(json.dumps(
            {"rate": RATE, "seconds": o.seconds, "kinds": found,
             "rounds": rounds, "left_out": left_out}, indent=2),
            encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
