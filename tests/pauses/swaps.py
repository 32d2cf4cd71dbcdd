#!/usr/bin/python3
"""A burst at a swap: many requests in flight at one of two JDK servers when it
stops, and all of them go to the other one.

    tests/pauses/swaps.py --build build [--inflight 64,200,1000] [--swaps 20]

For each number, twenty times with a standby that has served before (kept), so
that connections to it may be open, and twenty times with one that has just been
started (new): so many requests reach the active server's
handlers and wait there; it is stopped (SIGSTOP) and Tailor notified of a
collection; it stays stopped until every request is answered, at most
PAUSE_S.  So what is answered before it goes on was answered by the standby:
no judgement depends on how fast this machine is.  The backlog is the JDK's
default, 50.  Tailor's limits are set so that all of them may be hedged; all
else is at its defaults, but that nothing is warmed up.

Required: each request answered by the standby, none failed, no server lost,
one swap each, none refused, and no hedge refused by a breaker.
"""

import asyncio
import itertools
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from client import Clients  # noqa: E402
from proxies import JudgedTailor  # noqa: E402
from rig import suite  # noqa: E402
from rig.process import end_all  # noqa: E402
from rig.wait import Late, wait_until  # noqa: E402
from scenes import Plan  # noqa: E402
from servers import Server, compile_java, missing, prepare  # noqa: E402

PAUSE_S = 8
RAMP = 32     # below any backlog
HANDLER_MS = 40
REACH_S = 60  # until all have reached the handlers
NOTICE_S = 2
CALM_S = 30   # until both servers are ready for the next swap
HEDGES = "hedges"


def options():
    p = suite.parser(__doc__)
    p.add_argument("--inflight", default="64,200,1000")
    p.add_argument("--swaps", type=int, default=20)
    return p.parse_args()


class Pair:
    """Two servers and Tailor, which may hedge so many at once."""

    def __init__(self, given, directory, inflight):
        self.servers = {name: Server(
            "jdk", name, f"{directory}/{name}", 0,
            classes=f"{directory}/classes", threads=inflight + 32)
            for name in "ab"}
        for server in self.servers.values():
            server.launch()
        for server in self.servers.values():
            server.wait_listening()
        room = inflight + inflight // 4 + 16
        self.tailor = JudgedTailor(
            given.build, f"{directory}/tailor", self.servers.values(),
            {"connections_max": max(64, room)}, hedging={"budget_ratio": 1},
            warmup={"requests": 0})
        self.tailor.wait_ready()

    def close(self):
        self.tailor.kill()
        for server in self.servers.values():
            server.close()

    def state(self):
        return self.tailor.ask_json("/servers")

    def counts(self):
        """How often it hedged, and what must not be."""
        metrics = self.tailor.metrics()

        def total(start):
            return int(sum(value for key, value in metrics.items()
                           if key.startswith(start)))
        return {HEDGES: total("tailor_hedges_sent_total"),
                "swaps refused": total("tailor_swap_refused_total"),
                "hedges refused by the breaker": total(
                    'tailor_hedges_refused_total{reason="breaker"'),
                "servers declared lost":
                    self.tailor.log.count(" server_lost ")}

    def calm(self):
        """Both are ready, without hazards and losers."""
        def reached():
            return all(s["state"] == "ready" and not s["hazards"]
                       and not s["draining"] and not s["inflight"]
                       for s in self.state()["servers"])
        wait_until(reached, lambda: f"both servers ready: {self.state()}",
                   CALM_S)

    def renew_standby(self):
        """Start it again, with all connections to it gone.  That Tailor
        sees this is not the subject: it is given NOTICE_S to."""
        server = self.servers["b" if self.tailor.active() == "a" else "a"]
        server.kill()
        try:
            wait_until(lambda: self.tailor.server(server.name)["state"]
                       != "ready", "it is seen to be gone", NOTICE_S)
        except Late:
            pass
        server.launch()
        server.wait_listening()


async def reach(plans, clients, server):
    """Send them, few at a time, since their burst is not the subject here;
    all are in the server's handlers, or over, on return."""
    tasks = []
    for at in range(0, len(plans), RAMP):
        tasks += [asyncio.create_task(clients.perform(plan))
                  for plan in plans[at:at + RAMP]]

        def there():
            return int(server.ask("held")) + sum(
                task.done() for task in tasks) >= len(tasks)
        await asyncio.to_thread(wait_until, there, lambda: "all in handlers: "
                                f"{server.ask('held')} of {len(tasks)}",
                                REACH_S)
    return tasks


async def one_swap(pair, clients, inflight, number):
    """All in flight at the active server, which stops.  What was wrong, and
    how long the slowest took, ms."""
    active = pair.tailor.active()
    stopped = pair.servers[active]
    stopped.command("hold")
    stopped.ask("held")  # now it does
    plans = [Plan(0, f"{inflight}-{number}-{i}", "jdk", delay_ms=HANDLER_MS)
             for i in range(inflight)]
    try:
        tasks = await reach(plans, clients, stopped)
    except Late as late:
        stopped.command("release")
        return [str(late)], 0
    begun = time.monotonic()
    stopped.pause()
    await asyncio.to_thread(pair.tailor.hazard, active, "begin")
    await asyncio.wait(tasks, timeout=PAUSE_S)
    ended = time.monotonic()
    swapped = pair.tailor.active() != active
    stopped.command("release")
    stopped.resume()
    await asyncio.to_thread(pair.tailor.hazard, active, "end")
    outs = await asyncio.gather(*tasks)
    wrong = {} if swapped else {"no swap": []}
    for out in outs:
        if not out.ok:
            wrong.setdefault(f"{out.kind} {out.text}", []).append(out)
        elif not begun <= out.over <= ended:
            wrong.setdefault(f"answered by {out.server} before or after the "
                             "pause", []).append(out)
    return ([f"{len(some)} of {len(outs)}: {what}"
             for what, some in wrong.items()],
            max(out.over - begun for out in outs) * 1000)


async def swaps(given, directory, inflight, how):
    """All swaps with one number in flight: faults, hedges, the longest."""
    faults, hedges, worst_ms = [], 0, 0
    pair = await asyncio.to_thread(Pair, given, directory, inflight)
    clients = Clients(pair.tailor.listen)
    try:
        for number in range(1, given.swaps + 1):
            found, took_ms = [], 0
            try:
                if how == "new":
                    await asyncio.to_thread(pair.renew_standby)
                await asyncio.to_thread(pair.calm)
            except Late as late:
                found.append(str(late))
            before = pair.counts()
            more, took_ms = await one_swap(pair, clients, inflight, number)
            grown = {name: count - before[name]
                     for name, count in pair.counts().items()}
            hedges += grown.pop(HEDGES)
            worst_ms = max(worst_ms, took_ms)
            found += more + [f"{count} {name}" for name, count in grown.items()
                             if count]
            faults += [f"swap {number}: {text}" for text in found]
    finally:
        clients.close()
        pair.close()
    return faults, hedges, worst_ms


def main():
    given = options()
    results = suite.Results(given.tap)
    lacking = missing(("java", "javac"))
    if lacking:
        results.add("bursts at swaps", skip=f"no {' and no '.join(lacking)} "
                    "(openjdk-17-jdk-headless)")
        return results.end()
    prepare()
    lines = [f"{'in flight':>9}{'standby':>8}{'hedged':>8}{'worst ms':>9}"]
    with suite.workplace(given, "swaps") as directory:
        compile_java(f"{directory}/classes")
        try:
            for inflight, how in itertools.product(
                    map(int, given.inflight.split(",")), ("kept", "new")):
                faults, hedges, worst_ms = asyncio.run(
                    swaps(given, directory, inflight, how))
                results.add(f"{inflight} in flight, standby {how}, "
                            f"{given.swaps} swaps", faults)
                lines.append(f"{inflight:9}{how:>8}{hedges:8}{worst_ms:9.0f}")
        finally:
            end_all()
    return results.end(lines)


if __name__ == "__main__":
    sys.exit(main())
