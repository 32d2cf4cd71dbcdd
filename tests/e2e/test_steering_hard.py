"""Goal: what steering cannot foresee fails no request, and sends no request
twice that may be sent once only: hedging and natural collections remain.

TAILOR_STEER_SECONDS makes each piece of traffic longer (make steering)."""

import functools
import os
import signal
import time

import pytest

from rig.crowd import Together
from rig.wait import wait_until
from support.launched import past
from test_jvm import find_agent, launched
from test_steering import PROVOKED, misses

pytestmark = pytest.mark.long(
    "real JVMs under traffic for seconds; when they collect is not ours")

PIECE_S = float(os.environ.get("TAILOR_STEER_SECONDS", "1"))
LONG_S = 120  # for what is slow on a busy machine
KB_PER_S = 60_000


class Traffic(Together):
    """A client that allocates kb_per_s, as GET and POST in turns, one that
    waits for long, one that counts by POST, and one with an event stream."""

    def __init__(self, t):
        self.kb_per_s, self.large, self.counted = KB_PER_S, False, 0
        self.statuses, self.errors = set(), []
        self._t = t
        super().__init__(functools.partial(self._run, one)
                         for one in (self._allocate, self._wait, self._count))

    def _run(self, one):
        try:
            with self._t.client() as client:
                turn = 0
                while not self.over.is_set():
                    self.statuses.add(one(client, turn).status)
                    turn += 1
        except Exception as error:  # pylint: disable=broad-except
            self.errors.append(f"{one.__name__}: {error!r}")

    def _allocate(self, client, turn):
        if self.large and turn % 4 == 0:
            return client.get("/large?kb=8192")
        begin = time.monotonic()
        client.request("POST" if turn % 2 else "GET",
                       f"/garbage?kb={max(16, self.kb_per_s // 100)}")
        response = client.response()
        # The rate is at most this one, however fast the machine is.
        self.over.wait(max(0, 0.01 - (time.monotonic() - begin)))
        return response

    def _wait(self, client, _):
        return client.get(f"/wait?ms={int(PIECE_S * 1000)}")

    def _count(self, client, _):
        client.request("POST", "/count", body=b"1")
        response = client.response()
        self.counted += response.status == 200
        self.over.wait(0.005)
        return response

    def check(self):
        """No request failed."""
        assert not self.errors and self.statuses == {200}, self.errors

    def until(self, predicate, what):
        wait_until(lambda: self.errors or predicate(), what, LONG_S)
        self.check()


def counted(servers):
    return sum(int(past(server, "/counted")) for server in servers)


def settled(t):
    wait_until(lambda: all(s["steer"]["missing"] == "" for s in
                           t.ask_json("/servers")["servers"]),
               "both can be steered", LONG_S)


@pytest.fixture
def pair(java_classes, tailor, scratch, build):
    """Two JVMs that Tailor starts, with its agent, and steers."""

    def start(*options, **more):
        if "san" in build.name and "-XX:+UseSerialGC" not in options:
            pytest.skip("Tailor is the same with each collector")
        agent = f"-agentpath:{find_agent(build)}=socket={scratch}/t0/"
        servers = [launched(java_classes, name,
                            [*options, agent + "channels.sock"])
                   for name in "ab"]
        t = tailor(*servers, hedging={"steer": True},
                   warmup={"requests": 0}, **more)
        for name in "ab":
            t.wait_server(name, state="ready", source="agent")
        settled(t)
        return t, servers

    return start


@pytest.mark.parametrize("collector", ["-XX:+UseSerialGC", "-XX:+UseG1GC"])
def test_ramp_burst_large_arrays_streams(pair, collector):
    t, servers = pair("-Xms400m", "-Xmx400m", "-Xmn150m", collector)
    events = t.client()
    events.request("GET", "/events?ms=100")
    events.response_head()
    with Traffic(t) as traffic:
        traffic.until(lambda: t.metrics()[PROVOKED] >= 1, "one is provoked")
        for times in (2, 4, 8):  # a ramp
            traffic.kb_per_s = times * KB_PER_S
            time.sleep(PIECE_S / 3)
        traffic.kb_per_s = KB_PER_S
        time.sleep(PIECE_S)
        traffic.kb_per_s = 10 * KB_PER_S  # a burst
        time.sleep(PIECE_S)
        traffic.kb_per_s, traffic.large = KB_PER_S, True
        time.sleep(PIECE_S)
        traffic.large = False
        before = t.metrics()[PROVOKED]
        traffic.until(lambda: t.metrics()[PROVOKED] > before,
                      "steering goes on")
    traffic.check()
    assert counted(servers) == traffic.counted
    assert events.line() is not None
    events.close()
    m = t.metrics()
    assert m["tailor_steer_collections_unmet_total"] >= m[PROVOKED] >= 2


def test_restart_of_either(pair):
    t, _ = pair("-Xms300m", "-Xmx300m", "-Xmn150m", "-XX:+UseSerialGC")
    with Traffic(t) as traffic:
        for name in "ab":
            before = t.metrics()[PROVOKED]
            restarts = t.server(name)["restarts"]
            assert t.ask(f"/restart?server={name}", "POST").status < 300
            wait_until(lambda: t.server(name)["restarts"] > restarts,
                       "it restarts", LONG_S)
            t.wait_server(name, state="ready", source="agent")
            settled(t)
            traffic.until(lambda: t.metrics()[PROVOKED] > before,
                          "steering goes on")
    traffic.check()


def test_a_restart_has_the_other_collect_first(pair):
    # Goal: the one that will serve alone is ordered to collect while the one
    # to be restarted stands in for it; it does not wait until it is full.
    t, _ = pair("-Xms300m", "-Xmx300m", "-Xmn150m", "-XX:+UseSerialGC")

    def half_full():
        name = t.active()
        return name if t.server(name)["steer"].get("used", 0) > 0.5 else None

    with Traffic(t) as traffic:
        traffic.until(lambda: t.metrics()[PROVOKED] >= 2, "two are provoked")
        stays = wait_until(half_full, "one is half full", LONG_S)
        traffic.kb_per_s = 0
        before = t.metrics()[PROVOKED]
        goes = "a" if stays == "b" else "b"
        assert t.ask(f"/restart?server={goes}", "POST").status < 300
        t.wait_log(f"server_draining server={goes}", LONG_S)
        assert t.metrics()[PROVOKED] > before
        assert t.active() == stays
        t.wait_log(f"server_restarted server={goes}", LONG_S)
    traffic.check()


def test_the_idle_server_is_stopped_in_its_collection(pair):
    # Goal: the active one serves on, and collects by itself if it must.
    t, _ = pair("-Xms300m", "-Xmx300m", "-Xmn100m", "-XX:+UseSerialGC")

    def turning():
        return next((s for s in t.ask_json("/servers")["servers"]
                     if s["steer"]["phase"] == "collecting"), None)

    with Traffic(t) as traffic:
        server = wait_until(turning, "one is collecting", LONG_S)
        os.kill(server["pid"], signal.SIGSTOP)
        try:
            key = f'tailor_pauses_total{{server="{t.active()}",kind="gc"}}'
            before = t.metrics()[key]
            traffic.until(lambda: t.metrics()[key] > before,
                          "the active one collects by itself")
        finally:
            os.kill(server["pid"], signal.SIGCONT)
        provoked = t.metrics()[PROVOKED]
        traffic.until(lambda: t.metrics()[PROVOKED] > provoked,
                      "steering goes on")
    traffic.check()
    assert misses(t.metrics()) >= 1
