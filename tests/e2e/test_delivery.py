"""Goal: a response that its client got late, after Tailor had given it to the
kernel, is listed and has its cause; one that is only acknowledged late is not.
"""

import time

import pytest

from rig.lossy import dropping
from rig.message import response
from rig.wait import wait_until

LARGE = b"x" * 500_000  # more than a window, less than a socket's buffer
LATE = "tailor_responses_late_total"


@pytest.fixture(name="start")
def starter(upstream, tailor):
    def start(keep_slowest):
        server = upstream("a").serve(
            lambda r: response(200, LARGE if r.target == "/large" else b"a"))
        # Without the kernel's events: those show more of a client on this
        # machine.
        return tailor(server, profiler={"kernel": "off"}, slow={
            "target": "100ms", "keep_slowest": keep_slowest})
    return start


@pytest.fixture(name="t")
def only_slow(start):
    return start(keep_slowest=0)


def listed(t):
    return {one["id"]: one for one in t.ask_json("/slow?n=100")["slow"]}


def listed_as(t, name, cause):
    """That slow request; it may first be listed without its late response."""
    wait_until(lambda: listed(t).get(name, {}).get("cause") == cause,
               lambda: f"listed as {cause}: {listed(t).get(name)}")
    return listed(t)[name]


def test_lost(t):
    # Goal: sent again by the kernel, some 200 ms later.
    with t.client() as c:
        name = c.get().get("x-request-id")
        with dropping(c.socket) as dropped:
            c.request()
            wait_until(dropped, "the response was lost")
        lost = c.response().get("x-request-id")
        one = listed_as(t, lost, "client_network")
        assert one["total_ns"] > 100e6
        told = t.timeline(lost)
        assert told["request"]["resent"] >= 1
        assert told["request"]["acknowledged"] > told["request"]["finished"]
        assert "the client had not yet acknowledged the response, of which " \
            "the kernel sent" in told["verdict"]["text"]
        # What comes after it on the connection is not late.
        again = c.get().get("x-request-id")
    with t.client() as c:
        assert c.get().status == 200
    m = t.metrics()
    assert m[LATE + '{why="resent"}'] == 1 and m[LATE + '{why="window"}'] == 0
    assert set(listed(t)) == {lost} and again != lost


def test_lost_after_it_was_explained(start):
    # Goal: a timeline that was made before its response was late is made anew.
    t = start(keep_slowest=1)
    with t.client() as c:
        with dropping(c.socket) as dropped:
            c.request()
            wait_until(dropped, "the response was lost")
            wait_until(lambda: t.metrics()["tailor_timelines_told_total"],
                       "it is one of the slowest")
        lost = c.response().get("x-request-id")
        wait_until(lambda: lost in listed(t)
                   and listed(t)[lost]["cause"] == "client_network",
                   "it is known to be late")
    told, one = t.timeline(lost), listed(t)[lost]
    assert told["verdict"]["code"] == "client_network"
    assert told["request"]["resent"] >= 1
    assert one["total_ns"] == told["total"] > 100e6
    assert one["reason"] == "target"


def test_client_that_does_not_read(t):
    # Goal: the client's window was full, although Tailor was done.
    with t.client() as c:
        c.request(target="/large")
        wait_until(lambda: t.metrics()[
            'tailor_requests_total{code_class="2xx"}'] == 1,
                   "the kernel has it all")
        time.sleep(0.2)  # longer than the target
        name = c.response().get("x-request-id")
        listed_as(t, name, "tcp_window")
        assert "the response waited for the receiver to read" \
            in t.timeline(name)["verdict"]["text"]
