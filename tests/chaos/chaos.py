#!/usr/bin/python3
"""Two real servers that fail in every way there is, clients that know what
each response must be, and a running Tailor in between.

    tests/chaos/chaos.py --build build [--minutes 30 | --seconds 15]
                         [--seed N] [--visitors 48] [--lies] [--timers]

content.py says what each response is, origin.py is the server, faults.py its
bad responses, client.py and manners.py the clients, director.py what goes
wrong and when, judge.py what is allowed then.  The seed is printed: it repeats
what is drawn, though not the machine's timing.

--timers looks for requests that are forgotten: hedges by the clock, servers
that spoil and delay responses but never stop, and a deadline far longer than
any of these delays.  Then no response may be 504.

--lies checks the checker: the servers send one byte wrong, one response twice,
one in place of another, and each must be found.
Exit status 0 if nothing was wrong.
"""

import os
import pathlib
import re
import sys
import textwrap
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import content  # noqa: E402
import faults  # noqa: E402
from client import Book  # noqa: E402
from director import LANES, Director, Trouble  # noqa: E402
from judge import CONNECT_S, Judge, Ledger  # noqa: E402
from manners import Guest  # noqa: E402
from rig import suite  # noqa: E402
from rig.ports import free_port  # noqa: E402
from rig.process import MemoryGauge  # noqa: E402
from rig.tailor import Tailor, configuration  # noqa: E402
from rig.wait import Late, steady, wait_until  # noqa: E402

# Long, because the machine may be busy with other things; see Lateness.
DEADLINE_S = 10
LATE_S = 0.5
# With --timers: longer than the longest delay of faults.py, several times.
TIMERS_DEADLINE_S = 4
WARM_SHARE = 0.2  # of the time, before memory must have stopped growing
GROWTH_MAX_KIB = 8192
COME_AND_GO = ":[pidfd]"
COME_AND_GO_MAX = 32


def options():
    p = suite.parser(__doc__)
    p.add_argument("--minutes", type=float, default=0)
    p.add_argument("--seconds", type=float, default=15)
    p.add_argument("--visitors", type=int, default=48)
    p.add_argument("--lies", action="store_true", help="check the checker")
    p.add_argument("--timers", action="store_true",
                   help="hedges by the clock; no request may be late")
    p.add_argument("--no-memory", action="store_true",
                   help="do not judge memory: a sanitizer's grows")
    return p.parse_args()


CONFIG = {
    "hedging": {"mode": "act", "repeatable": content.ALLOW, "body_max": "64k"},
    "warmup": {"requests": 20, "max": "1s"},
    "proxy": {"stop_timeout": "5s",
              "request_timeout": f"{DEADLINE_S}s",
              "connect_timeout": f"{CONNECT_S}s",
              "queue_timeout": "3s", "upstream_idle_timeout": "2s"},
    "log": {"level": "notice"},
    "slow": {"keep_slowest": 0},
}
# With --timers nearly every request is hedged by the clock, and few wait.
TIMERS = {
    "hedging": {"timer_ratio": 1, "timer_delay": "2ms", "budget_ratio": 1},
    "proxy": {"request_timeout": f"{TIMERS_DEADLINE_S}s"},
}


def server(name, directory, seed):
    """An origin under Tailor's care."""
    port = free_port()
    return {"name": name, "address": f"127.0.0.1:{port}", "jvm": "none",
            "connections_max": 64,
            "launch": {"command": ["/usr/bin/python3", "-I", "-S",
                                   str(HERE / "origin.py"), name, str(port),
                                   directory, str(seed)],
                       "environment": {"PYTHONDONTWRITEBYTECODE": "1"},
                       "cpus": ""}}


class Lateness(threading.Thread):
    """Notes when this machine did not run what should have run: no program
    is to blame for that, so it counts as a trouble of both servers."""

    def __init__(self, director, stop):
        super().__init__(daemon=True)
        self.director, self.stop, self.seen = director, stop, []

    def run(self):
        before = time.monotonic()
        while not self.stop.wait(0.05):
            now = time.monotonic()
            if now - before > LATE_S:
                self.seen.append(now - before)
                for server in "ab":
                    self.director.troubles.append(
                        Trouble(server, "down", before, now + LATE_S))
            before = now


def descriptors(pid):
    """How many of each sort a process has open, but for those that come and
    go by themselves: handles of the servers' threads, tales on disk.  These
    are few."""
    count = {}
    folder = f"/proc/{pid}/fd"
    for fd in os.listdir(folder):
        try:
            sort = re.sub(r"\d+", "N", os.readlink(f"{folder}/{fd}"))
        except FileNotFoundError:
            continue
        count[sort] = count.get(sort, 0) + 1
    few = [n for sort, n in count.items() if sort.endswith(COME_AND_GO)]
    assert sum(few) <= COME_AND_GO_MAX, count
    return {sort: n for sort, n in count.items()
            if not sort.endswith(COME_AND_GO)}


class Run:
    """One run, from start to verdict."""

    def __init__(self, given, directory, seconds, lie=None):
        self.given, self.directory = given, directory
        self.seconds, self.lie = seconds, lie
        self.stop = threading.Event()
        self.book = Book(suite.say if lie is None else lambda _: None)
        self.kib, self.director, self.ledger = [], None, None
        self.metrics, self.fds, self.lateness = {}, ({}, {}), None

    def guests(self, tailor):
        addresses = [tailor.address,
                     tailor.config["listen"][1].removeprefix("unix:"),
                     ("127.0.0.1",
                      int(tailor.config["listen"][2].rpartition(":")[2]))]
        return [Guest(i, self.given.seed, addresses, self.book, self.stop)
                for i in range(self.given.visitors if not self.lie else 4)]

    def rest(self, tailor, before):
        """Nothing is under way, and no descriptor more than at first."""
        try:
            tailor.wait_settled()
            wait_until(lambda: descriptors(tailor.pid) == before,
                       "descriptors are what they were", 15)
        except Late as late:
            self.book.violation(f"{late}: {before} became "
                                f"{descriptors(tailor.pid)}")
        self.fds = (before, descriptors(tailor.pid))

    def serve(self, tailor):
        """All of the chaos, with a tailor that is up."""
        for name in "ab":
            tailor.wait_server(name, state="ready")
        tailor.wait_settled()
        wait_until(lambda: sum(
            v for k, v in tailor.metrics().items()
            if k.startswith("tailor_server_connections")) == 0, "rest")
        before = steady(lambda: descriptors(tailor.pid))
        gauge = MemoryGauge(tailor, 0.5)
        guests = self.guests(tailor)
        lanes = dict(LANES)
        if self.given.timers:
            del lanes["servers"]
        self.director = Director(tailor, self.directory, self.given.seed,
                                 self.book, self.stop, lanes)
        self.lateness = Lateness(self.director, self.stop)
        self.lateness.start()
        for guest in guests:
            guest.start()
        if self.lie is None:
            self.director.start()
            self.watch(tailor)
        else:
            for name in "ab":
                self.director.mode(name, self.lie, 60, share=0.2)
            self.stop.wait(self.seconds)
        self.stop.set()
        self.kib = gauge.stop()[1:]
        if self.lie is None:
            self.director.join()
        for guest in guests:
            guest.join(60)
            if guest.is_alive():
                self.book.violation(f"visitor {guest.number} hangs")
        if self.lie is None:
            self.rest(tailor, before)
        self.metrics = tailor.metrics()

    def watch(self, tailor):
        """Until time is over, or tailor is."""
        until = time.monotonic() + self.seconds
        due = time.monotonic() + 60
        while time.monotonic() < until and not self.stop.wait(0.5):
            if not tailor.running():
                self.book.violation(f"tailor ended:\n{tailor.log[-4000:]}")
                return
            if time.monotonic() > due:
                due += 60
                suite.say(f"# {until - time.monotonic():.0f} s to go, "
                          f"{sum(self.book.count.values())} outcomes, "
                          f"{len(self.book.violations)} violations")

    def run(self):
        at, more = self.directory, {}
        if self.given.keep:
            more["access_log"] = {"path": f"{at}/access.log"}
        tailor = Tailor(self.given.build, at, configuration(
            at, [server(name, at, self.given.seed) for name in "ab"], CONFIG,
            TIMERS if self.given.timers else {}, more,
            {"listen": [f"127.0.0.1:{free_port()}", f"unix:{at}/front.sock",
                        f"127.0.0.1:{free_port()}"]}))
        try:
            tailor.wait_ready()
            self.serve(tailor)
            tailor.stop()
        except (AssertionError, OSError) as error:
            self.book.violation(f"{type(error).__name__}: {error}")
        finally:
            self.stop.set()
            if tailor.running():
                tailor.kill()
            with open(f"{self.directory}/tailor.log", "w",
                      encoding="utf-8") as file:
                file.write(tailor.log)
        self.ledger = Ledger(f"{self.directory}/ledger")
        judge = Judge(self.ledger, self.director.troubles,
                      None if self.given.timers else DEADLINE_S)
        for text in judge.violations(self.book.odd):
            self.book.violation(text)
        if self.lie is None and not self.given.no_memory:
            self.memory()
        return self

    def memory(self):
        """Flat from the end of the warm-up on."""
        if len(self.kib) < 10:
            return
        warm = self.kib[:max(1, int(len(self.kib) * WARM_SHARE))]
        late = self.kib[-max(1, len(self.kib) // 20):]
        most = GROWTH_MAX_KIB if self.seconds > 120 else 4 * GROWTH_MAX_KIB
        if max(late) > max(warm) + most:
            self.book.violation(f"memory grew from {max(warm)} to "
                                f"{max(late)} KiB")


METRICS = (
    "tailor_swaps_total", "tailor_hedges_sent_total",
    "tailor_hedges_won_total", "tailor_hedges_refused_total",
    "tailor_losers_total", "tailor_stale_connections_total",
    "tailor_response_truncated_total", "tailor_local_replies_total",
    "tailor_server_restarts_total", "tailor_config_reload_total",
    "tailor_parse_errors_total", "tailor_client_aborts_total",
)


def table(run):
    """What was done and what came of it."""
    count, lines = run.book.count, []
    sorts = sorted({sort for sort, _ in count if sort != "connections"})
    kinds = sorted({kind for sort, kind in count if sort != "connections"})
    lines.append(f"{'request':16}" + "".join(f"{k:>12}" for k in kinds))
    for sort in sorts + ["all"]:
        cells = [sum(n for (s, k), n in count.items()
                     if k == kind and sort in (s, "all")) for kind in kinds]
        lines.append(f"{sort:16}" + "".join(f"{c:12}" for c in cells))
    for title, values in (
            ("connections", {k: n for (s, k), n in count.items()
                             if s == "connections"}),
            ("injected", run.director.counts),
            ("responses spoilt", run.ledger.kinds),
            ("metrics", {name: int(value) for name in METRICS
                         if (value := sum(
                             v for k, v in run.metrics.items()
                             if k.split("{")[0] == name))})):
        lines += ["", f"{title}:"]
        lines += textwrap.wrap(
            ", ".join(f"{k} {v}" for k, v in sorted(values.items())), 76,
            initial_indent="    ", subsequent_indent="    ")
    if run.kib:
        fifth = max(1, len(run.kib) // 5)
        lines += ["", "memory, KiB, greatest of each fifth of the time: "
                  + " ".join(str(max(run.kib[i:i + fifth]))
                             for i in range(0, fifth * 5, fifth)
                             if run.kib[i:i + fifth])]
    late = run.lateness.seen if run.lateness else []
    lines.append(f"the machine was late {len(late)} times, "
                 f"{sum(late):.1f} s altogether")
    lines.append("descriptors before and after: "
                 f"{[sum(fds.values()) for fds in run.fds]}")
    lines += ["", f"{len(run.book.violations)} violations"]
    return lines


def perform(given, seconds, lie=None):
    with suite.workplace(given, "chaos") as directory:
        pathlib.Path(directory, "ledger").unlink(missing_ok=True)
        return Run(given, directory, seconds, lie).run()


def main():
    given = options()
    seconds = given.minutes * 60 or given.seconds
    suite.say(f"# seed {given.seed}")
    results = suite.Results(given.tap)
    if given.lies:  # each must be found
        for lie in faults.LIES:
            found = perform(given, seconds, lie).book.violations
            results.add(f"finds {lie}", () if found else ["nothing was found"])
        return results.end()
    run = perform(given, seconds)
    bad = run.book.violations
    results.add(f"{seconds:g} s of chaos",
                [f"seed {given.seed}", *bad] if bad else ())
    return results.end(table(run))


if __name__ == "__main__":
    sys.exit(main())
