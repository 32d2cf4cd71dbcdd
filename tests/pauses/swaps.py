#!/usr/bin/python3
"""A burst at a swap: many requests in flight at one of two JDK servers when it
stops, and all of them go to the other one.

    tests/pauses/swaps.py --build build [--inflight 64,200,1000] [--swaps 20]
                          [--standby kept,new] [--backlog 0] [--tap]

For each number, twenty times with a standby that has served before, so that
connections to it may be open, and twenty times with one that has just been
started: so many requests reach the active server's
handlers and wait there; it is stopped (SIGSTOP) and Tailor notified of a
collection; it stays stopped until every request is answered, at most
PAUSE_S.  So what is answered before it goes on was answered by the standby:
no judgement depends on how fast this machine is.  The backlog is the JDK's
default, 50.  Tailor's limits are set so that all of them may be hedged; all
else is at its defaults, but that nothing is warmed up.

Required: each request answered by the standby, none failed, no server lost,
one swap each, none refused, and no hedge refused by a breaker.
"""

import argparse
import asyncio
import itertools
import pathlib
import re
import shutil
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from client import Clients  # noqa: E402
from proxies import JudgedTailor  # noqa: E402
from rig.process import end_all  # noqa: E402
from rig.wait import Late, wait_until  # noqa: E402
from scenes import Plan  # noqa: E402
from servers import Server, compile_java, missing, prepare  # noqa: E402

PAUSE_S = 8
SLOW_S = 1    # counted, not judged: a connection was tried again by then
RAMP = 32     # below any backlog
HANDLER_MS = 40
REACH_S = 60  # until all have reached the handlers
NOTICE_S = 2
CALM_S = 30   # until both servers are ready for the next swap
LOST = re.compile(r" server_lost ")


def options():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--build", default=str(HERE.parents[1] / "build"))
    p.add_argument("--inflight", default="64,200,1000")
    p.add_argument("--swaps", type=int, default=20)
    p.add_argument("--standby", default="kept,new",
                   help="kept: has served before; new: just started")
    p.add_argument("--backlog", type=int, default=0,
                   help="of the servers; 0 is the JDK's default, 50")
    p.add_argument("--tap", action="store_true", help="results as TAP")
    p.add_argument("--keep", metavar="DIRECTORY", help="work here, and leave "
                   "all files")
    return p.parse_args()


def limits(inflight):
    """What Tailor must be allowed, so that it may hedge them all: of each
    server, and sections."""
    room = inflight + inflight // 4 + 16
    return {"more": {"connections_max": max(64, room)},
            "hedging": {"budget_ratio": 1},
            "warmup": {"requests": 0}}


class Row:
    """What came of all swaps with one number in flight."""

    def __init__(self, inflight, how):
        self.inflight, self.how = inflight, how
        self.swaps = self.hedged = self.standby = 0
        self.failed = self.late = self.lost = self.refused = 0
        self.slow, self.worst_ms, self.faults = 0, [], []

    def fault(self, text, swap=0):
        """swap: its number, 0 for all together."""
        where = f"swap {swap}: " if swap else ""
        self.faults.append(where + text)


class Pair:
    """Two servers and Tailor, and what is asked of them."""

    def __init__(self, given, directory, inflight):
        self.servers = {name: Server(
            "jdk", name, f"{directory}/{name}", given.backlog,
            classes=f"{directory}/classes", threads=inflight + 32)
            for name in "ab"}
        for server in self.servers.values():
            server.launch()
        for server in self.servers.values():
            server.wait_listening()
        self.tailor = JudgedTailor(given.build, f"{directory}/tailor",
                                   self.servers.values(), **limits(inflight))
        self.tailor.wait_ready()

    def close(self):
        self.tailor.kill()
        for server in self.servers.values():
            server.close()

    def state(self):
        return self.tailor.ask_json("/servers")

    def refused(self):
        return (self.metric("tailor_swap_refused_total")
                + self.metric('tailor_hedges_refused_total{reason="breaker"'))

    def count_lost(self):
        return len(LOST.findall(self.tailor.log))

    def calm(self):
        """Both are ready, without hazards and losers."""
        def reached():
            state = self.state()
            return all(s["state"] == "ready" and not s["hazards"]
                       and not s["draining"] and not s["inflight"]
                       for s in state["servers"])
        wait_until(reached, lambda: f"both servers ready: {self.state()}",
                   CALM_S)

    async def renew_standby(self):
        """Start it again, with all connections to it gone.  That Tailor
        sees this is not the subject: it is given NOTICE_S to."""
        active = self.state()["active"]
        server = self.servers["b" if active == "a" else "a"]
        server.kill()
        try:
            await asyncio.to_thread(
                wait_until, lambda: any(s["name"] == server.name
                                        and s["state"] != "ready"
                                        for s in self.state()["servers"]),
                f"{server.name} is seen to be gone", NOTICE_S)
        except Late:
            pass
        server.launch()
        await asyncio.to_thread(server.wait_listening)

    def metric(self, start):
        return int(sum(value for key, value in self.tailor.metrics().items()
                       if key.startswith(start)))


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


async def one_swap(pair, row, clients, number):
    """All in flight at the active server, which stops."""
    active = pair.state()["active"]
    standby = "b" if active == "a" else "a"
    stopped, other = pair.servers[active], pair.servers[standby]
    stopped.command("hold")
    stopped.ask("held")  # now it does
    plans = [Plan(0, f"{row.inflight}-{number}-{i}", "jdk",
                  delay_ms=HANDLER_MS) for i in range(row.inflight)]
    try:
        tasks = await reach(plans, clients, stopped)
    except Late as late:
        row.fault(str(late), number)
        stopped.command("release")
        return
    begun = time.monotonic()
    stopped.pause()
    await asyncio.to_thread(pair.tailor.hazard, active, "begin")
    await asyncio.wait(tasks, timeout=PAUSE_S)
    ended = time.monotonic()
    row.swaps += pair.state()["active"] == standby
    stopped.command("release")
    stopped.resume()
    await asyncio.to_thread(pair.tailor.hazard, active, "end")
    outs = await asyncio.gather(*tasks)
    judge(row, number, outs, other.name, (begun, ended))


def judge(row, number, outs, standby, pause):
    begun, ended = pause
    worst, wrong = 0, {}
    for out in outs:
        if not out.ok:
            row.failed += 1
            wrong.setdefault(f"{out.kind} {out.text}", []).append(out)
        elif out.over > ended:
            row.late += 1
            wrong.setdefault(f"answered by {out.server} after the pause",
                             []).append(out)
        elif out.over < begun:
            wrong.setdefault(f"answered by {out.server} before the pause",
                             []).append(out)
        else:
            row.standby += 1
            row.slow += out.over > begun + SLOW_S
        worst = max(worst, (out.over - begun) * 1000)
    for what, some in wrong.items():
        row.fault(f"{len(some)} of {len(outs)}: {what}, after "
                  f"{max((o.over - begun) * 1000 for o in some):.0f} ms",
                  number)
    row.worst_ms.append(worst)


async def swaps(given, directory, inflight, how):
    """All swaps with one number in flight."""
    row = Row(inflight, how)
    pair = await asyncio.to_thread(Pair, given, directory, inflight)
    clients = Clients(pair.tailor.listen)
    try:
        for number in range(1, given.swaps + 1):
            try:
                if how == "new":
                    await pair.renew_standby()
                await asyncio.to_thread(pair.calm)
            except Late as late:
                row.fault(str(late), number)
            before = pair.metric("tailor_hedges_sent_total")
            lost = pair.count_lost()
            refused = pair.refused()
            await one_swap(pair, row, clients, number)
            row.hedged += pair.metric("tailor_hedges_sent_total") - before
            row.refused += pair.refused() - refused
            row.lost += pair.count_lost() - lost
        if row.lost:
            row.fault(f"{row.lost} times a server was declared lost")
        if row.refused:
            row.fault(f"{row.refused} times a swap was refused, or a hedge "
                      "by the breaker")
        if row.swaps != given.swaps:
            row.fault(f"{row.swaps} swaps in place of {given.swaps}")
    finally:
        clients.close()
        if given.keep:
            pathlib.Path(directory, f"tailor-{inflight}-{how}.log").write_text(
                pair.tailor.log, encoding="utf-8")
        pair.close()
    return row


def table(rows):
    lines = [f"{'in flight':>9}{'standby':>8}{'swaps':>6}{'hedged':>7}"
             f"{'by it':>7}{'>1 s':>6}{'late':>6}{'failed':>7}{'lost':>5}"
             f"{'refused':>8}{'worst ms':>9}"]
    for row in rows:
        lines.append(
            f"{row.inflight:9}{row.how:>8}{row.swaps:6}{row.hedged:7}"
            f"{row.standby:7}{row.slow:6}{row.late:6}{row.failed:7}"
            f"{row.lost:5}{row.refused:8}"
            f"{max(row.worst_ms, default=0):9.0f}")
    return lines + ["by it: answered by the standby; late: by either, after "
                    "the pause"]


def main():
    given = options()
    lacking = missing(("java", "javac"))
    if lacking:
        print(f"no {' and no '.join(lacking)} (openjdk-17-jdk-headless)\n"
              "ok 1 - bursts at swaps # SKIP\n1..1")
        return 0
    prepare()
    directory = given.keep or tempfile.mkdtemp(prefix="swaps-")
    rows = []
    try:
        compile_java(f"{directory}/classes")
        for inflight, how in itertools.product(
                map(int, given.inflight.split(",")),
                given.standby.split(",")):
            rows.append(asyncio.run(
                swaps(given, directory, inflight, how)))
            row = rows[-1]
            for text in row.faults[:12]:
                print(f"# {inflight} in flight, standby {how}, {text}",
                      flush=True)
            if given.tap:
                print(f"{'not ok' if row.faults else 'ok'} {len(rows)} - "
                      f"{inflight} in flight, standby {how}, "
                      f"{given.swaps} swaps", flush=True)
    finally:
        end_all()
        if not given.keep:
            shutil.rmtree(directory, ignore_errors=True)
    if given.tap:
        print(f"1..{len(rows)}")
    print("\n".join(("# " if given.tap else "") + x for x in table(rows)))
    return 1 if any(row.faults for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
