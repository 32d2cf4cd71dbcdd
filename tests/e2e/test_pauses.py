"""Goal: around a pause no request fails that nginx or HAProxy at their
defaults would have answered, and none is done more often than it may be.
"""

import pathlib
import signal
import socket
import subprocess
import sys
import time

import pytest

from rig.client import Client
from rig.message import response
from rig.process import Process
from rig.wait import PATIENCE_S
from support.pair import Workers, entry
from support.wire import STREAM

UNRESPONSIVE = 'tailor_pauses_total{server="a",kind="unresponsive"}'


@pytest.fixture
def small_server():
    """Starts servers with a small backlog; gives (process, address)."""
    made = []

    def start(backlog):
        program = pathlib.Path(__file__).parent / "support/server.py"
        process = Process([sys.executable, program, "0", backlog, "echo"],
                          stdout=subprocess.PIPE)
        made.append(process)
        return process, f"127.0.0.1:{int(process.stdout.readline())}"

    yield start
    for process in made:
        process.kill()


# --- waiting ------------------------------------------------------------------

def test_a_stopped_server_with_a_small_backlog(small_server, tailor):
    # Goal: more requests than its backlog takes wait for it to go on, for
    # longer than the kernel waits before it sends a SYN again.
    process, address = small_server(5)
    t = tailor({"name": "a", "address": address})
    clients = [t.client() for _ in range(40)]
    t.hazard("a", "begin")
    process.signal(signal.SIGSTOP)
    for i, c in enumerate(clients):
        if i % 2:
            c.request("POST", "/", body=b"%d" % i)
        else:
            c.request("GET", f"/{i}")
    t.wait_metric("tailor_requests_inflight", len(clients))
    time.sleep(1.5)  # longer than the kernel waits
    process.signal(signal.SIGCONT)
    t.hazard("a", "end")
    for i, c in enumerate(clients):
        r = c.response()
        assert r.status == 200
        assert r.body == (b"%d" if i % 2 else b"/%d") % i
        c.close()
    m = t.metrics()
    assert m['tailor_server_connect_retries_total{server="a"}'] > 0
    assert m['tailor_server_ready{server="a"}'] == 1


def test_both_servers_pause_for_longer_than_a_second(upstream, tailor):
    # Goal: what finds no slot waits too.
    servers = [upstream(name) for name in "ab"]
    t = tailor(*(entry(s, connections_max=2) for s in servers))
    t.hazard("b", "begin")
    t.hazard("a", "begin")
    clients = [t.client() for _ in range(6)]
    for c in clients:
        c.request()
    t.wait_metric("tailor_requests_queued", 4)
    time.sleep(1.3)  # longer than a second
    assert t.metrics()["tailor_requests_inflight"] == 6
    for one in servers:
        one.serve()
    for _ in range(2):
        servers[0].expect().reply(200, b"a")
    t.hazard("a", "end")
    for c in clients:
        assert c.response().status == 200
        c.close()
    t.wait_settled()


def test_a_full_backlog_of_a_unix_socket(tailor, scratch):
    # Goal: EAGAIN is a full backlog, not a refusal.
    path = str(scratch / "a.sock")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(0)
        t = tailor({"name": "a", "address": f"unix:{path}"}, ready=False)
        listener.settimeout(PATIENCE_S)
        listener.accept()[0].close()  # the probe's
        t.wait_server("a", state="ready")
        t.wait_metric_is('tailor_server_connections_idle{server="a"}', 0)
        others = []
        for _ in range(4):
            others.append(socket.socket(socket.AF_UNIX))
            others[-1].setblocking(False)
            others[-1].connect_ex(path)
        with t.client() as c:
            c.request("POST", "/", body=b"x")
            t.wait_metric(
                'tailor_server_connect_retries_total{server="a"}', 3)
            for one in others:
                one.close()
            while True:
                sock = listener.accept()[0]
                sock.settimeout(PATIENCE_S)
                if sock.recv(65536).startswith(b"POST /"):
                    break
            sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na")
            assert c.response().body == b"a"
            sock.close()
        assert t.metrics()['tailor_server_ready{server="a"}'] == 1


def test_no_server_is_up_for_a_while(upstream, tailor):
    # Goal: a request waits for the restart of the only server, as HAProxy
    # would have it do, and not for ever.
    a = upstream("a")
    t = tailor(a, proxy={"server_wait": "5s"})
    a.stop()
    t.hazard("a", "begin", "exit")
    with t.client() as c, t.client() as d:
        c.request("POST", "/", body=b"x")
        t.wait_metric("tailor_requests_queued", 1)
        a.listen()
        t.hazard("a", "end", "exit")
        a.expect().reply(200, b"back")
        assert c.response().body == b"back"
        a.stop()
        t.hazard("a", "begin", "exit")
        d.request()
        r = d.response()
        assert r.status == 503 and b"no_server" in r.body
        assert r.get("retry-after") == "1"
        t.wait_log("warning no_server")
        assert t.ask("/readyz").status == 503
    t.wait_settled()


# --- how often ----------------------------------------------------------------

@pytest.mark.parametrize("method, writes", [("GET", 2), ("POST", 1)])
def test_writes_in_all(pair, method, writes):
    # Goal: stale connections and failover together write a request twice at
    # most, and once if it may not be repeated.
    def handler(request):
        if request.target == "/x":
            request.reset()
            return b""
        return response(200, b"ok")

    pair.a.serve(handler)
    pair.b.serve(handler)
    t = pair()
    with t.client() as c, t.client() as d:
        c.get("/warm")
        assert t.ask("/switch", "POST").status == 200
        c.get("/warm")
        assert t.ask("/switch", "POST").status == 200
        d.request(method, "/x", body=b"1" if method == "POST" else b"")
        assert d.response().status == 502
    seen = [r for s in (pair.a, pair.b) for r in s.requests
            if r.target == "/x"]
    assert len(seen) == writes
    t.wait_settled()


def test_a_write_is_left_for_the_first_server(pair):
    # Goal: a kept connection was lost, and the other server is not reached:
    # the first server, which lives, gets the second write.
    def handler(request):
        if len(pair.a.requests) > 2:
            return response(200, b"again")
        if request.target == "/x":
            pair.b.refuse()
            request.reset()
            return b""
        return response(200, b"ok")

    pair.a.serve(handler)
    pair.b.serve(lambda _: response(200, b"b", [("Connection", "close")]))
    t = pair()
    with t.client() as c:
        c.get("/warm")
        c.request("GET", "/x")
        assert c.response().body == b"again"
    assert [r.target for r in pair.a.requests][1:] == ["/x", "/x"]
    pair.b.listen()
    t.wait_server("b", state="ready")


def test_bytes_on_an_idle_connection_are_no_response(pair):
    # Goal: what b sent before the hedge was written is not the hedge's
    # response.  Tailor is stopped while both arrive, so that it sees the
    # hazard first.
    t = pair()
    with t.client() as c:
        assert t.ask("/switch", "POST").status == 200
        c.request("GET", "/warm")
        warm = pair.b.expect()
        warm.reply(200, b"b")
        c.response()
        assert t.ask("/switch", "POST").status == 200
        c.request("GET", "/x")
        held = pair.a.expect()
        with Client(t.admin) as operator:
            t.signal(signal.SIGSTOP)
            warm.send(response(200, b"not for you"))
            operator.request("POST", "/pause?server=a&kind=gc&state=begin",
                             fields=[("Connection", "close")])
            t.signal(signal.SIGCONT)
            assert operator.response().status == 200
        pair.b.expect().reply(200, b"for you")
        assert c.response().body == b"for you"
        held.reply()
    t.wait_settled()


# --- slots --------------------------------------------------------------------

def test_event_streams_hold_no_slot(upstream, tailor):
    # Goal: with more streams open than slots, others are served at once.
    a = upstream("a")
    t = tailor(entry(a, connections_max=2))
    streams, begun = [t.client() for _ in range(6)], []
    for c in streams:
        c.request("GET", "/events")
        begun.append(a.expect())
        begun[-1].send(STREAM)
        assert c.response_head().status == 200
    t.wait_metric('tailor_server_streams{server="a"}', 6)
    with t.client() as c:
        c.request("GET", "/")
        a.expect().reply(200, b"a")
        assert c.response().body == b"a"
    for c, request in zip(streams, begun):
        c.close()
        request.close()
    t.wait_metric_is('tailor_server_streams{server="a"}', 0)


def test_requests_older_than_a_second_give_their_slots_back(upstream, tailor):
    # Goal: two that wait for something else than the server do not keep a
    # third one out.
    a = upstream("a")
    t = tailor(entry(a, connections_max=2))
    with t.client() as c, t.client() as d, t.client() as e:
        c.request("GET", "/poll/1")
        d.request("GET", "/poll/2")
        polls = [a.expect(), a.expect()]
        e.request("POST", "/", body=b"x")
        a.expect().reply(200, b"third")
        assert e.response().body == b"third"
        # One slot was enough, if one of the two was not a second old then.
        assert t.metrics()["tailor_slots_returned_total"] >= 1
        for poll in polls:
            poll.reply(200, b"late")
        assert c.response().body == d.response().body == b"late"
    t.wait_settled()


def test_overflow_to_the_backup(upstream, tailor):
    # Goal: where slots are not given back, a backup with room takes what
    # has waited for a second.
    a, b = upstream("a"), upstream("b")
    t = tailor(entry(a, connections_max=2, streams_max=0),
               entry(b, connections_max=4))
    with t.client() as c, t.client() as d, t.client() as e:
        c.request()
        d.request()
        busy = [a.expect(), a.expect()]
        e.request("POST", "/", body=b"x")
        b.expect().reply(200, b"b")
        assert e.response().body == b"b"
        assert t.metrics()["tailor_queue_overflows_total"] == 1
        for one in busy:
            one.reply(200, b"a")
        assert c.response().body == d.response().body == b"a"
    t.wait_settled()


def checked_pair(tailor, a, b, health="/health"):
    """A tailor before a, which is active, and b, both with a health target."""
    t = tailor(*(entry(s, health=health, health_interval=0) for s in (a, b)))
    if t.metrics()['tailor_server_active{server="a"}'] == 0:
        assert t.ask("/switch", "POST").status == 200
    return t


# --- servers that do not respond -------------------------------------------------

def known(t, count=110):
    """Enough responses that the server's silences mean something."""
    with t.client() as c:
        for _ in range(count):
            assert c.get("/known").status == 200


def answers_but(*hung):
    """A handler that leaves some targets to the test."""
    def handler(request):
        return None if request.target in hung else response(
            200, request.connection.origin.name.encode())
    return handler


@pytest.mark.parametrize("health", ["", "/health"])
def test_a_hung_server_is_left(upstream, tailor, health):
    # Goal: several requests wait and not a byte comes, nor the response to
    # a probe where there is one: swap, and send again what may be.
    a, b = upstream("a").serve(answers_but("/x")), upstream("b").serve()
    t = checked_pair(tailor, a, b, health)
    known(t)
    a.script()  # hangs
    clients = [t.client() for _ in range(3)]
    for c in clients:
        c.request("GET", "/x")
    for c in clients:
        assert c.response().body == b"b"
    m = t.metrics()
    assert m[UNRESPONSIVE] == 1
    assert m['tailor_server_active{server="b"}'] == 1
    assert m['tailor_swaps_by_reason_total{reason="unresponsive"}'] == 1
    a.expect().reply(200, b"a")
    t.wait_log("server_responds")
    for c in clients:
        c.close()


@pytest.mark.long("a probe must be answered within half a second")
def test_a_server_that_answers_a_probe_is_not_left(upstream, tailor):
    # Goal: three requests that wait for something are no hung server.
    a, b = upstream("a").serve(answers_but("/x")), upstream("b").serve()
    t = checked_pair(tailor, a, b)
    known(t)
    clients = [t.client() for _ in range(3)]
    for c in clients:
        c.request("GET", "/x")
    t.wait_metric('tailor_server_probes_total{server="a"}', 1)
    assert t.metrics()[UNRESPONSIVE] == 0
    for c in clients:
        a.expect().reply(200, b"a")
    for c in clients:
        assert c.response().body == b"a"
        c.close()


@pytest.mark.parametrize("used", [True, False])
def test_a_backup_that_is_gone(pair, used):
    # Goal: its end is noticed although no request goes there and no process
    # is known: by the end of an idle connection, or by looking.
    pair.a.serve()
    pair.b.serve()
    t = pair(servers=[entry(s, jvm="none") for s in (pair.a, pair.b)])
    if used:
        with t.client() as c:
            for _ in range(2):
                assert t.ask("/switch", "POST").status == 200
                c.get("/")
    pair.b.stop()
    t.wait_server("b", state="connecting")
    pair.b.listen()
    t.wait_server("b", state="ready")


def test_a_failing_backup_is_asked(upstream, tailor):
    # Goal: an idle backup whose hedges failed is asked whether it is well
    # again, and is a backup again within seconds.
    a, b = upstream("a"), upstream("b")
    a.serve(answers_but("/x"))
    b.serve(answers_but("/x"))
    t = checked_pair(tailor, a, b)
    clients = [t.client() for _ in range(6)]
    for c in clients:
        c.request("GET", "/x")
    first = [a.expect() for _ in clients]
    t.hazard("a", "begin")
    for _ in clients:
        b.expect().reset()
    t.wait_server("b", state="failing")
    for one in first:
        one.reply(200, b"a")
    for c in clients:
        assert c.response().status == 200
        c.close()
    t.hazard("a", "end")
    t.wait_server("b", active=False)
    t.wait_server("b", state="ready")
    t.wait_settled()


def test_connections_are_kept_for_a_swap(upstream, tailor):
    # Goal: the backup has as many connections as there were requests in
    # flight, each used once.
    a, b = upstream("a").serve(answers_but("/x")), upstream("b").serve()
    t = checked_pair(tailor, a, b)
    clients = [t.client() for _ in range(8)]
    for c in clients:
        c.request("GET", "/x")
    first = [a.expect() for _ in clients]
    t.wait_metric('tailor_server_connections_idle{server="b"}', 8)
    before = t.metrics()['tailor_server_connects_total{server="b"}']
    t.hazard("a", "begin")
    for c in clients:
        assert c.response().body == b"b"
        c.close()
    assert t.metrics()[
        'tailor_server_connects_total{server="b"}'] == before
    for one in first:
        one.reply(200, b"a")
    t.wait_settled()


def test_the_deadline_of_a_request_that_was_sent_whole(upstream, tailor):
    # Goal: that its bytes were sent is no progress: 504 at the deadline, and
    # not one deadline later, when that of a request after it is over.
    a = upstream("a")
    t = tailor(a, proxy={"request_timeout": "2s"})
    with t.client() as c, t.client() as later:
        begin = time.monotonic()
        c.request("POST", "/", body=b"x" * 1000)
        a.expect()
        time.sleep(0.1)
        later.request()
        assert later.response().status == 504
        assert time.monotonic() - begin > 1.9
        assert not c.silent_for(1)
        assert c.response().status == 504


def test_a_server_with_one_worker(upstream, tailor):
    # Goal: a server that serves one connection at a time is not kept from the
    # next one by an idle one.
    t = tailor(upstream("a").serve(Workers(1, lambda _: response(200))))
    clients = [t.client() for _ in range(5)]
    for c in clients:
        c.request("POST", "/", body=b"x")
    for c in clients:
        assert c.response().status == 200
        c.close()
    assert t.metrics()['tailor_server_idle_given_up_total{server="a"}'] >= 1
