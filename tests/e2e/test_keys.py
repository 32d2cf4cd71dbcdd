"""Goal: keys of the configuration that no other test turns do what the manual
says of them."""

import resource
import struct

import pytest

from rig.message import response
from rig.ports import free_port
from rig.wait import wait_until
from support.launched import child_of

KERNEL_EVENTS = "off"


def test_idle_timeouts(one):
    # Goal: a kept connection is given up before its server does it; with
    # time it is used again.  A client that says nothing more is closed, without
    # a word.
    t = one(proxy={"upstream_idle_timeout": "30ms",
                   "idle_timeout": "3s"})  # between connecting and asking
    with t.client() as c:
        c.request()
        r = one.server.expect()
        r.reply(200, b"")
        assert c.response().status == 200
        r.connection.wait_end()
        c.request()
        again = one.server.expect()
        again.reply(200, b"")
        assert c.response().status == 200
        assert again.connection is not r.connection
        c.expect_end()


@pytest.fixture
def later(faults, tmp_path):
    """later(s) makes it so much later for the tailors started from now on."""
    clock = tmp_path / "clock"
    clock.write_bytes(bytes(8))
    faults(clock=clock)
    ahead = 0

    def jump(seconds):
        nonlocal ahead
        ahead += seconds
        with open(clock, "r+b") as file:
            file.write(struct.pack("=q", int(ahead * 1e9)))
    return jump


TOO_LARGE = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9999999\r\n\r\n"
NO_HEAD = b"POST / HTTP/1.1\r\nHost: a b\r\n\r\n"
TOO_LONG = b"POST / HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 20000


@pytest.mark.parametrize("begin, status", [
    (TOO_LARGE, 413), (NO_HEAD, 400), (TOO_LONG, 431)], ids=[413, 400, 431])
def test_lingering(later, one, begin, status):
    # Goal: after a refusal what still comes is read and dropped as long as
    # something comes, so that the response is not lost to a reset: for 30 s,
    # or until nothing has come for 5 s.
    linger = 'tailor_client_timeouts_total{phase="linger"}'
    t = one(proxy={"body_max": 10})

    def now_open():
        # What was sent before is read when this is answered.
        return t.metrics()["tailor_connections_current"]

    def stays_open():
        later(2)
        if now_open():
            c.send(b"x" * 1000)
        return now_open()

    with t.client() as c:
        c.send(begin)
        assert c.response().status == status
        assert all(stays_open() for _ in range(5))
        while stays_open():
            pass
        assert t.metrics()[linger] == 1
    with t.client() as c:
        c.send(begin)
        assert c.response().status == status
        c.send(b"x" * 1000)
        assert now_open() == 1
        later(6)
        wait_until(lambda: now_open() == 0, "5 s are over")
    assert t.metrics()[linger] == 1
    assert not one.server.requests


@pytest.mark.long("sends 1 GiB within 30 s")
def test_lingering_bytes(one):
    # Goal: at most 1 GiB is read and dropped.
    t = one(proxy={"body_max": 10})
    sent = 0
    with t.client() as c:
        c.send(TOO_LARGE)
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            while True:
                c.send(b"x" * 2**20)
                sent += 2**20
    assert 2**30 - 2**20 <= sent < 2**30 + 2**26
    assert t.metrics()['tailor_client_timeouts_total{phase="linger"}'] == 1


def test_connect_timeout(upstream, tailor):
    # Goal: a server that does not take connections costs connect_timeout,
    # and then the other one is asked; it is not taken for gone.
    a, b = upstream("a", backlog=1), upstream("b").serve()
    t = tailor(a, b, proxy={"connect_timeout": "3s"})
    a.fill_backlog()
    with t.client() as c, t.client() as d:
        d.request()  # has the connection that was probed with
        t.wait_metric("tailor_requests_inflight", 1)
        assert c.get().body == b"b"
    m = t.metrics()
    assert m['tailor_server_errors_total{server="a",type="timeout"}'] >= 1
    assert m['tailor_server_connect_retries_total{server="a"}'] >= 2
    assert m['tailor_server_ready{server="a"}'] == 1


def test_warm_up_target(upstream, tailor):
    # Goal: before there is any history a server is warmed up, and becomes
    # ready, by warmup.target.
    a, b = upstream("a").serve(), upstream("b")
    seen = []
    b.stop()
    t = tailor(a, b, ready="one", warmup={
        "requests": 4, "max": "30s", "target": "/warm?x=1"})
    b.serve(lambda r: seen.append((r.method, r.target,
                                   r.get("tailor-warmup")))
            or response(200, b""))
    b.listen()
    t.wait_server("b", state="ready")
    assert len(seen) >= 4 and set(seen) == {("GET", "/warm?x=1", "1")}
    with t.client() as c:
        assert c.get("/plain").status == 200


def test_no_core_dump(tailor):
    # Goal: a crash leaves no requests in a file; a launched server keeps the
    # limit that it would have had.
    before = resource.getrlimit(resource.RLIMIT_CORE)
    if before[1] != resource.RLIM_INFINITY and before[1] < 4096:
        pytest.skip("the hard limit on core dumps is too low to see a change")
    resource.setrlimit(resource.RLIMIT_CORE, (4096, before[1]))
    try:
        server = {"name": "a", "address": f"127.0.0.1:{free_port()}",
                  "launch": {"command": ["/bin/sleep", "600"]}}
        t = tailor(server, ready=False)
        wanted = tailor(server | {"launch": {}}, ready=False,
                        process={"core_dumps": True})
    finally:
        resource.setrlimit(resource.RLIMIT_CORE, before)

    def limit(pid):
        return resource.prlimit(int(pid), resource.RLIMIT_CORE)[0]

    assert limit(t.pid) == 0
    if limit(wanted.pid) == 0:
        pytest.skip("a sanitizer allows no core dumps either")
    assert limit(wanted.pid) == limit(child_of(t).name) == 4096


def test_requests_in_flight(pair, ctl):
    # Goal: what is in flight is listed, oldest first, with where it is; no
    # field of a request is.
    t = pair()
    with t.client() as c, t.client() as d, t.client() as e:
        c.request("GET", "/first", fields=[("x-request-id", "one"),
                                           ("Cookie", "s=secret")])
        held = pair.a.expect()
        t.hazard("a", "begin")
        pair.b.expect()
        d.request("GET", "/second", fields=[("x-request-id", "two")])
        pair.b.expect()
        e.send(b"POST /third HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n")
        wait_until(lambda: t.ask_json("/requests")["inflight"] == 3,
                   "three in flight")
        answer = t.ask("/requests").body.decode()
        assert "secret" not in answer
        tree = t.ask_json("/requests")
        assert tree["schema"] == "tailor.requests/1" and tree["queued"] == 0
        rows = [(r["target"], r["state"], r["servers"])
                for r in tree["requests"]]
        assert rows == [("/first", "running", ["a", "b"]),
                        ("/second", "running", ["b"]),
                        ("/third", "reading", [])]
        assert tree["requests"][0]["id"] == "one"
        ages = [r["age_ns"] for r in tree["requests"]]
        assert ages == sorted(ages, reverse=True) and ages[-1] > 0
        assert len(t.ask_json("/requests?n=1")["requests"]) == 1
        shown = ctl("-a", t.admin, "requests").out.splitlines()
        assert shown[0] == "3 in flight, 0 of them wait for a server"
        assert shown[2].split()[0] == "one" and shown[2].endswith("GET /first")
        assert len(shown) == 2 + 3
        held.reply(200, b"")
        assert c.response().status == 200
        c.close()
    t.hazard("a", "end")


def test_configuration_in_effect(one):
    # Goal: GET /config is what a reload has made of it.
    one.server.serve()
    t = one(slow={"target": "7ms"})
    assert t.ask_json("/config")["slow"]["target"] == "7ms"
    assert t.ask_json("/config")["servers"][0]["name"] == "active"
    answer = t.ask("/config", "POST")
    assert answer.status == 405 and answer.get("allow") == "GET, HEAD"
