"""Goal: while no request is in flight Tailor takes next to no CPU time, and
knows as much at the first request as if it had polled."""

import os
import subprocess
import time

import pytest

from rig.wait import wait_until


class Server:
    """collecting_server.c, found by its address."""

    def __init__(self, build, socket, name):
        self.name = name
        self.child = subprocess.Popen(
            [build / "e2e" / "collecting_server", socket, name],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.address = f"127.0.0.1:{int(self.child.stdout.readline())}"

    def command(self, line):
        self.child.stdin.write(f"{line}\n")
        self.child.stdin.flush()
        assert self.child.stdout.readline() == f"{line}\n"

    def close(self):
        self.child.stdin.close()
        self.child.stdout.close()
        assert self.child.wait(20) == 0


@pytest.fixture
def collecting(build, scratch, tailor):
    """Two such servers behind a tailor, with their channels open."""
    servers = [Server(build, scratch / "t0/channels.sock", n) for n in "ab"]
    t = tailor(*({"name": s.name, "address": s.address} for s in servers),
               profiler={"poll": "sleep"})
    for s in servers:
        t.wait_server(s.name, state="ready", source="agent")
    yield t, dict(zip("ab", servers))
    for s in servers:
        s.close()


def observer_ns(t):
    """CPU time of the observer thread."""
    for task in os.scandir(f"/proc/{t.pid}/task"):
        with open(f"{task.path}/comm", encoding="ascii") as comm:
            if comm.read() == "observer\n":
                with open(f"{task.path}/schedstat", encoding="ascii") as stat:
                    return int(stat.read().split()[0])
    raise AssertionError("no observer thread")


def rests(t):
    """Wait until the observer has long rests."""
    def long():
        before = t.metrics()
        time.sleep(0.1)
        after = t.metrics()
        return (after["tailor_profiler_resting"] == 1
                and after["tailor_profiler_rests_total"]
                == before["tailor_profiler_rests_total"])

    wait_until(long, "the observer rests")


@pytest.mark.long("measures CPU time")
def test_idle_costs_little(collecting):
    # Goal: a fraction of a percent of a CPU, with a sanitizer 1; sleeping
    # 200 us it would be 3 to 14.
    t, _ = collecting
    rests(t)
    before, begin = observer_ns(t), time.monotonic_ns()
    time.sleep(3)
    used = observer_ns(t) - before
    assert used < 0.02 * (time.monotonic_ns() - begin)
    assert t.metrics()["tailor_profiler_blind_seconds_total"] < 3


def turns_per_s(t):
    """Turns of each thread's loop in a second, but for those of reading them."""
    def read():
        metrics = t.metrics()
        return {name: metrics[f'tailor_thread_turns_total{{thread="{name}"}}']
                for name in ("proxy", "observer", "attach", "analysis")}

    before, begin = read(), time.monotonic()
    time.sleep(2)
    after = read()
    seconds = time.monotonic() - begin
    # A connection, a request, its response and the end.
    after["proxy"] -= 4
    return {name: (after[name] - before[name]) / seconds for name in after}


def test_few_wake_ups_while_idle(collecting):
    # Goal: a tick of the proxy a second, and hardly more turns of any thread,
    # though agents have to be polled; many as soon as a request waits.
    t, servers = collecting

    def few():
        # On a busy machine each second of the host's steals wakes the
        # observer, which then rests ten times, each time longer.
        turns = turns_per_s(t)
        return turns.pop("observer") < 16 and sum(turns.values()) < 6

    wait_until(few, lambda: f"it rests: {turns_per_s(t)}")
    servers[t.active()].command("hold")
    with t.client() as client:
        client.send(b"GET / HTTP/1.1\r\nHost: t\r\n\r\n")
        t.wait_metric_is("tailor_requests_inflight", 1)
        wait_until(lambda: not few(), "it ticks and polls")
    servers[t.active()].command("end")
    wait_until(few, lambda: f"it rests again: {turns_per_s(t)}")


@pytest.mark.parametrize("rounds", [
    3, pytest.param(20, marks=pytest.mark.long("counts how often"))])
def test_hazard_that_begins_while_idle(collecting, rounds):
    # Goal: the first request after it goes to the server that does not
    # collect, nearly always at once.  (A sweep of the observer at that very
    # moment may be past the news; then it is hedged.)
    t, servers = collecting
    for _ in range(rounds):
        active = servers[t.active()]
        rests(t)
        active.command("begin")
        assert t.get("/").body.decode() != active.name
        active.command("end")
        wait_until(lambda s=active: not t.server(s.name)["pauses"],
                   "it is over")
    metrics = t.metrics()
    hedges = sum(v for k, v in metrics.items()
                 if k.startswith("tailor_hedges_sent_total"))
    assert rounds < 20 or hedges <= rounds / 4
    assert metrics["tailor_pauses_dropped_total"] == 0
    assert metrics["tailor_profiler_wakes_total"] > 0


def test_attach_while_idle(collecting, build, scratch):
    # Goal: a channel that opens and closes while the observer rests is
    # followed at once.
    t, _ = collecting
    rests(t)
    before = t.metrics()["tailor_channels"]
    extra = Server(build, scratch / "t0/channels.sock", "c")
    t.wait_metric("tailor_channels", before + 1)
    extra.close()
    t.wait_metric_is("tailor_channels", before)
