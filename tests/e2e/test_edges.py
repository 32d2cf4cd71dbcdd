"""Goal: the edges of hedging, each a bug that some other proxy once had, in
the order of the list in docs/http.md; each order of events is made by the
test and not by luck.
"""

import ctypes
import os
import pathlib
import random
import resource
import socket
import subprocess
import threading

import pytest

from support.client import Client
from support.message import Malformed, response
from support.wait import wait_until

HERE = pathlib.Path(__file__).parent
DRAINED = 'tailor_losers_total{result="drained"}'


@pytest.fixture
def pair(upstream, tailor):
    """Two scripted servers; start(**sections) puts a tailor before them."""
    a, b = upstream("a"), upstream("b")

    def start(**sections):
        t = tailor(a, b, **sections)
        t.wait_server("a", state="ready")
        t.wait_server("b", state="ready")
        return t

    start.a, start.b = a, b
    return start


def hazard(t, server, state, kind="gc"):
    answer = t.ask(f"/hazard?server={server}&kind={kind}&state={state}",
                   "POST")
    assert answer.status == 200, answer.body


def hedged(t, pair, c, target="/"):
    """One request in flight at both servers."""
    c.request("GET", target)
    first = pair.a.expect()
    hazard(t, "a", "begin")
    return first, pair.b.expect()


def settled(t):
    """Nothing is under way or left over."""
    def nothing():
        m = t.metrics()
        return (m["tailor_requests_inflight"] == 0
                and m["tailor_requests_queued"] == 0
                and m["tailor_connections_half_open"] == 0
                and all(v == 0 for k, v in m.items()
                        if k.startswith(("tailor_server_connections_busy",
                                         "tailor_draining_connections"))))
    wait_until(nothing, "nothing is under way")


# 1 ---------------------------------------------------------------------------

def test_01_late_loser_after_commit(pair):
    # Goal: bytes of a loser that comes while the winner is forwarded reach
    # nobody.
    t = pair()
    with t.client() as c:
        first, second = hedged(t, pair, c)
        second.send(b"HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n"
                    + b"b" * 100_000)
        assert c.response_head().get("content-length") == "200000"
        assert c.exactly(100_000) == b"b" * 100_000
        first.reply(200, b"a" * 5000)
        t.wait_metric(DRAINED, 1)
        second.send(b"b" * 100_000)
        assert c.exactly(100_000) == b"b" * 100_000
        c.request("GET", "/next")
        pair.b.expect().reply(200, b"next")
        assert c.response().body == b"next"


# 2, 3 ------------------------------------------------------------------------

@pytest.mark.parametrize("bad_one", ["first", "second"])
def test_02_a_5xx_that_is_first_does_not_win(pair, bad_one):
    # Goal: whichever attempt fails, the good answer is sent.
    t = pair()
    with t.client() as c:
        first, second = hedged(t, pair, c)
        bad, good = ((first, second) if bad_one == "first"
                     else (second, first))
        bad.reply(503, b"not now")
        t.wait_metric("tailor_server_connections_idle"
                      '{server="%s"}' % bad.connection.upstream.name, 1)
        good.reply(200, b"good")
        assert c.response().body == b"good"
    settled(t)


@pytest.mark.parametrize("one, other, sent", [
    (500, 500, "first"),   # alike: the first attempt's
    (503, 500, "second"),  # an error of its own tells more
    (500, 503, "first"),
    (502, 503, "second"),
])
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_03_both_5xx(pair, one, other, sent, order):
    # Goal: the answer that tells most is sent, whole, in either order.
    t = pair()
    with t.client() as c:
        attempts = hedged(t, pair, c)
        bodies = (b"first", b"second")
        for i in order:
            attempts[i].reply((one, other)[i], bodies[i])
            if i == order[0]:
                t.wait_metric("tailor_server_connections_idle{server=\"%s\"}"
                              % "ab"[i], 1)
        answer = c.response()
        assert answer.status == (one if sent == "first" else other)
        assert answer.body == sent.encode()
    settled(t)


# 4 ---------------------------------------------------------------------------

def test_04_a_refused_hedge_does_not_hang_its_request(pair):
    # Goal: the budget is spent, then the only attempt fails: the other
    # server is tried all the same, and what may not be is told 502.
    t = pair(hedging={"budget_burst": 1, "budget_ratio": 0})
    with t.client() as c, t.client() as d:
        first, second = hedged(t, pair, c)  # takes the only token
        second.reply(200, b"b")
        assert c.response().body == b"b"
        first.reply()
        t.wait_metric(DRAINED, 1)
        hazard(t, "a", "end")
        assert t.ask("/switch", "POST").status == 200
        c.request("GET", "/again")
        first = pair.a.expect()
        d.request("POST", "/once", body=b"x")
        unsafe = pair.a.expect()
        hazard(t, "a", "begin")
        t.wait_metric('tailor_hedges_refused_total{reason="budget"}', 1)
        first.reset()  # a kept connection: once more there,
        pair.a.expect().reset()
        pair.b.expect().reply(200, b"retried")
        assert c.response().body == b"retried"
        unsafe.reset()
        assert d.response().status == 502
    settled(t)


# 5 ---------------------------------------------------------------------------

class Deaf:
    """A server to which connecting takes for ever once fill() was called."""

    name = "a"

    def __init__(self):
        self._listener = socket.socket()
        self._listener.bind(("127.0.0.1", 0))
        self._listener.listen(0)
        self.address = "127.0.0.1:%d" % self._listener.getsockname()[1]
        self._others = []

    def accept(self):
        self._listener.settimeout(20)
        return self._listener.accept()[0]

    def fill(self):
        """Take all places of the queue of connections."""
        for _ in range(4):
            sock = socket.socket()
            sock.setblocking(False)
            sock.connect_ex(self._listener.getsockname())
            self._others.append(sock)

    def close(self):
        for sock in [*self._others, self._listener]:
            sock.close()


def test_05_commit_while_the_other_is_connecting(upstream, tailor):
    # Goal: an attempt without a connection yet can lose like any other, for
    # free.
    a, b = Deaf(), upstream("b")
    t = tailor(a, b, ready=False, proxy={"connect_timeout": "20s"})
    a.accept().close()  # the probe's connection is not kept
    t.wait_server("a", state="ready")
    t.wait_server("b", state="ready")
    wait_until(lambda: t.metrics()[
        'tailor_server_connections_idle{server="a"}'] == 0, "it is closed")
    a.fill()
    with t.client() as c:
        c.request()
        t.wait_server("a", inflight=1)
        hazard(t, "a", "begin")
        b.expect().reply(200, b"b")
        assert c.response().body == b"b"
        c.request()
        b.expect().reply(200, b"again")
        assert c.response().body == b"again"
    m = t.metrics()
    assert m["tailor_hedges_won_total"] == 1
    assert m[DRAINED] == 0
    settled(t)
    a.close()


# 6 ---------------------------------------------------------------------------

def test_06_a_held_error_and_then_the_client_leaves(pair):
    # Goal: an answer kept back, another awaited, nobody there any more.
    t = pair()
    c = t.client()
    first, second = hedged(t, pair, c)
    second.reply(500, b"held")
    t.wait_metric('tailor_server_connections_idle{server="b"}', 1)
    c.reset()
    t.wait_metric('tailor_requests_total{code_class="aborted"}', 1)
    first.reply(200, b"late")
    t.wait_metric(DRAINED, 1)
    settled(t)
    with t.client() as d:
        d.request()
        pair.b.expect().reply(200, b"on")
        assert d.response().body == b"on"


# 7 ---------------------------------------------------------------------------

def test_07_the_next_request_does_not_wait_for_a_loser(pair):
    # Goal: a client's connection is free as soon as it has its answer.
    t = pair()
    with t.client() as c:
        first, second = hedged(t, pair, c)
        second.reply(200, b"one")
        assert c.response().body == b"one"
        for i in range(5):
            c.request("GET", f"/{i}")
            pair.b.expect().reply(200, b"%d" % i)
            assert c.response().body == b"%d" % i
        assert t.metrics()[DRAINED] == 0  # still silent
        first.reply()
        t.wait_metric(DRAINED, 1)


# 8 ---------------------------------------------------------------------------

@pytest.mark.parametrize("late", [
    response(200, b"x", [("Connection", "close")]),
    response(200, b"x") + b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nstolen",
    b"HTTP/1.1 200 OK\r\n\r\nwithout an end",
    response(200, b"x" * 2_000_000),
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nBAD",
], ids=["close", "extra", "endless", "large", "malformed"])
def test_08_losers_whose_connection_cannot_be_kept(pair, late):
    # Goal: their connection ends, at a limit at the latest, and no byte of
    # theirs becomes an answer.
    t = pair(hedging={"drain_timeout": "200ms"})
    with t.client() as c:
        first, second = hedged(t, pair, c)
        second.reply(200, b"b")
        assert c.response().body == b"b"
        first.send(late)
        first.connection.wait_end()
        hazard(t, "a", "end")
        assert t.ask("/switch", "POST").status == 200
        c.request("GET", "/after")
        again = pair.a.expect()
        assert again.connection is not first.connection
        again.reply(200, b"clean")
        assert c.response().body == b"clean"
    settled(t)


# 9, 10 -----------------------------------------------------------------------

def test_09_hazards_faster_than_the_loop(pair):
    # Goal: begin, end, begin before the proxy has had a turn: what counts is
    # the last, and one request is sent again at most once.
    t = pair()
    with t.client() as c, Client(t.admin) as admin:
        c.request()
        first = pair.a.expect()
        t.signal(19)  # SIGSTOP: all of it waits for the same turn
        for state in ("begin", "end", "begin", "end", "begin"):
            admin.request("POST", f"/hazard?server=a&kind=gc&state={state}",
                          host="localhost")
        t.signal(18)
        for _ in range(5):
            assert admin.response("POST").status == 200
        second = pair.b.expect()
        pair.b.expect_nothing()
        second.reply(200, b"b")
        assert c.response().body == b"b"
        first.reply()
        t.wait_metric(DRAINED, 1)
        c.request()
        pair.b.expect().reply(200, b"new")
        assert c.response().body == b"new"
    m = t.metrics()
    assert m['tailor_hazards_total{server="a",kind="gc"}'] == 3
    assert m["tailor_swaps_total"] == 1


def test_10_hazard_on_both(pair):
    # Goal: with nowhere to go requests wait where they are, and move with
    # the first event that lets them.
    t = pair()
    with t.client() as c, t.client() as d:
        c.request("GET", "/old")
        first = pair.a.expect()
        hazard(t, "b", "begin")
        hazard(t, "a", "begin")
        d.request("GET", "/new")  # goes to the active one and waits there
        second = pair.a.expect()
        assert not pair.b.requests
        hazard(t, "b", "end")
        for _ in range(2):
            r = pair.b.expect()
            r.reply(200, r.target.encode())
        assert c.response().body == b"/old"
        assert d.response().body == b"/new"
        first.reply()
        second.reply()
        t.wait_metric(DRAINED, 2)
    settled(t)


# 11, 12 ----------------------------------------------------------------------

def test_11_swap_during_an_upload(pair):
    # Goal: a body on its way to one server goes on there; one that is still
    # being kept goes to the new active server, whole.
    t = pair(hedging={"body_max": 1000, "allow": ["POST ^/"]})
    with t.client() as big, t.client() as small:
        big.send(b"POST /big HTTP/1.1\r\nHost: h\r\nContent-Length: 4000\r\n"
                 b"\r\n" + b"x" * 2000)
        pair.a.expect_head()
        small.send(b"POST /small HTTP/1.1\r\nHost: h\r\nContent-Length: 10"
                   b"\r\n\r\n12345")
        wait_until(lambda: t.metrics()["tailor_request_bytes_total"] == 2005,
                   "both bodies are half there")
        hazard(t, "a", "begin")
        big.send(b"x" * 2000)
        small.send(b"67890")
        r = pair.b.expect()
        assert r.target == "/small" and r.message.body == b"1234567890"
        r.reply(200, b"small")
        assert small.response().body == b"small"
        r = pair.a.expect()
        assert r.message.body == b"x" * 4000
        r.reply(200, b"big")
        assert big.response().body == b"big"
    assert [r.target for r in pair.b.requests] == ["/small"]
    settled(t)


def test_12_pause_between_head_and_body(pair):
    # Goal: a head alone decides nothing while it is held back.
    t = pair(hedging={"commit_delay": "1s"})
    with t.client() as c:
        c.request()
        first = pair.a.expect()
        first.send(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nFrom: a\r\n\r\na")
        wait_until(lambda: t.metrics()[
            "tailor_requests_inflight"] == 1, "it is in flight")
        hazard(t, "a", "begin")
        pair.b.expect().send(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n"
                             b"From: b\r\n\r\nbbbb")
        answer = c.response()
        assert answer.get("from") == "b" and answer.body == b"bbbb"
        first.send(b"aaa")
        t.wait_metric(DRAINED, 1)


# 13 --------------------------------------------------------------------------

@pytest.mark.parametrize("framing", [
    b"Transfer-Encoding: chunked\r\n\r\n14\r\n" + b"x" * 20 + b"\r\n",
    b"Content-Length: 40\r\n\r\n" + b"x" * 20,
    b"\r\n" + b"x" * 20,  # ends with its connection; but not by a reset
])
def test_13_an_answer_cut_short_after_commit(pair, framing):
    # Goal: what is not whole never looks whole, and no bytes of another
    # attempt are put behind it (W4).
    t = pair(hedging={"commit_delay": 0})
    with t.client() as c:
        c.request()
        first = pair.a.expect()
        first.send(b"HTTP/1.1 200 OK\r\n" + framing)
        head = c.response_head()
        if head.get("transfer-encoding"):
            assert c._stream.line() == b"14"
        assert c.exactly(20) == b"x" * 20
        first.reset()
        with pytest.raises((Malformed, ConnectionResetError)):
            if head.get("transfer-encoding"):
                assert c.exactly(2) == b"\r\n"
                c._stream._chunks(head)
            else:
                c.exactly(20)
    t.wait_metric("tailor_response_truncated_total", 1)
    assert not pair.b.requests
    settled(t)


# 14 --------------------------------------------------------------------------

def leave_before_anything(t, pair, c):
    c.send(b"")


def leave_in_the_head(t, pair, c):
    c.send(b"GET / HTTP/1.1\r\nHo")
    wait_until(lambda: t.metrics()["tailor_connections_half_open"] == 1,
               "half a head is there")


def leave_in_a_kept_body(t, pair, c):
    c.send(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nhalf")
    wait_until(lambda: t.metrics()["tailor_request_bytes_total"] == 4,
               "half a body is there")


def leave_in_a_streamed_body(t, pair, c):
    c.send(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 900000\r\n\r\n"
           + b"x" * 200_000)
    pair.a.expect_head()


def leave_while_waiting(t, pair, c):
    c.request()
    pair.a.expect()


def leave_while_hedged(t, pair, c):
    hedged(t, pair, c)


def leave_in_the_answer(t, pair, c):
    c.request()
    pair.a.expect().send(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")
    c.response_head()
    assert c.exactly(4) == b"half"


def leave_in_a_full_answer(t, pair, c):
    c.request()
    r = pair.a.expect()
    threading.Thread(target=r.send, daemon=True, args=(
        b"HTTP/1.1 200 OK\r\nContent-Length: 90000000\r\n\r\n"
        + b"x" * 90_000_000,)).start()
    c.response_head()
    seen = []

    def still():
        seen.append(t.metrics()["tailor_response_bytes_total"])
        return len(seen) > 10 and seen[-1] == seen[-10]
    wait_until(still, "the client's window is full")


@pytest.mark.parametrize("how", ["close", "reset"])
@pytest.mark.parametrize("phase", [
    leave_before_anything, leave_in_the_head, leave_in_a_kept_body,
    leave_in_a_streamed_body, leave_while_waiting, leave_while_hedged,
    leave_in_the_answer, leave_in_a_full_answer])
def test_14_client_abort_at_every_phase(pair, phase, how):
    # Goal: nothing is left behind, whenever and however a client leaves; a
    # FIN after a whole request is no abort, so then the answer is given.
    t = pair(hedging={"commit_delay": 0, "drain_timeout": "100ms"})
    c = t.client()
    phase(t, pair, c)
    getattr(c, how)()
    for server in (pair.a, pair.b):
        for r in server.requests:
            if phase is not leave_in_a_full_answer:
                r.send(response(200, b"late"))
    settled(t)
    wait_until(lambda: t.metrics()["tailor_connections_current"] == 0,
               "its connection is gone")
    for server in (pair.a, pair.b):
        server.errors.clear()  # of bodies that never became whole
        server.serve()
    with t.client() as d:
        assert d.get().status == 200


# 15, 16 ----------------------------------------------------------------------

@pytest.mark.parametrize("how", ["close", "reset"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_15_stale_keep_alive(upstream, tailor, method, how):
    # Goal: a connection that the server gave up just as we used it: GET is
    # sent again on a new one, POST, which may have been done, is a 502.
    server = upstream("active")
    t = tailor(server)
    with t.client() as c:
        c.request()
        server.expect().reply()
        c.response()
        c.request(method, "/x", body=b"once" if method == "POST" else b"")
        getattr(server.expect(), how)()
        if method == "GET":
            r = server.expect()
            assert r.get("tailor-attempt") == "1"  # not an attempt of its own
            r.reply(200, b"again")
            assert c.response().body == b"again"
        else:
            assert c.response().status == 502
    assert t.metrics()["tailor_stale_resends_total"] == (method == "GET")
    assert [r.target for r in server.requests].count("/x") == \
        (2 if method == "GET" else 1)


def test_16_304_with_a_length_from_a_loser(pair):
    # Goal: a 304 may tell a length and has no body: the loser's connection
    # is clean, and its next answer is the next request's.
    t = pair()
    with t.client() as c:
        first, second = hedged(t, pair, c)
        second.reply(200, b"b")
        assert c.response().body == b"b"
        first.send(b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5000\r\n"
                   b"ETag: x\r\n\r\n")
        t.wait_metric(DRAINED, 1)
        hazard(t, "a", "end")
        assert t.ask("/switch", "POST").status == 200
        c.request("GET", "/next")
        again = pair.a.expect()
        assert again.connection is first.connection
        again.reply(200, b"its own")
        assert c.response().body == b"its own"


# 17 --------------------------------------------------------------------------

def test_17_restart_during_warm_up(pair, tailor):
    # Goal: a server that dies again while it warms up gets no client's
    # request, and is ready after a warm-up that was whole.
    pair.a.serve()
    pair.b.serve()
    t = tailor(pair.a, pair.b, warmup={
        "requests": 3, "concurrency": 1, "rate": 1000, "max": "60s",
        "p95_factor": 1000})
    t.wait_server("a", state="ready")
    with t.client() as c:
        for i in range(5):
            assert c.get(f"/{i}").status == 200
        t.wait_server("b", state="ready")
        pair.b.script()
        hazard(t, "b", "begin", "exit")
        t.wait_server("b", state="warming")
        held = pair.b.expect()
        assert held.get("tailor-warmup") == "1"
        pair.b.stop()
        hazard(t, "b", "begin", "exit")
        assert c.get("/meanwhile").body == b"a"
        pair.b.listen()
        warm = []
        pair.b.serve(lambda r: warm.append(r.get("tailor-warmup"))
                     or response(200, b"b"))
        t.wait_server("b", state="ready")
        assert len(warm) >= 3 and set(warm) == {"1"}
        hazard(t, "a", "begin")
        assert c.get("/after").body == b"b"
    settled(t)


# 18 --------------------------------------------------------------------------

class Frozen:
    """One thread of another process, stopped with ptrace."""

    SEIZE, INTERRUPT, DETACH = 0x4206, 0x4207, 17

    def __init__(self, pid, name):
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long,
                                      ctypes.c_void_p, ctypes.c_void_p]
        for tid in os.listdir(f"/proc/{pid}/task"):
            comm = f"/proc/{pid}/task/{tid}/comm"
            if name in pathlib.Path(comm).read_text(encoding="ascii"):
                self.tid = int(tid)

    def __enter__(self):
        if self._libc.ptrace(self.SEIZE, self.tid, None, None) < 0:
            pytest.skip("ptrace is not allowed here")
        self._libc.ptrace(self.INTERRUPT, self.tid, None, None)
        os.waitpid(self.tid, 0x40000000)  # __WALL
        return self

    def __exit__(self, *_):
        self._libc.ptrace(self.DETACH, self.tid, None, None)


def test_18_the_observer_stalls(pair):
    # Goal: without its observer Tailor is a plain proxy that can still be
    # told of hazards, and recovers.
    t = pair()
    with t.client() as c, Frozen(t.pid, "observer"):
        for i in range(20):
            c.request("GET", f"/{i}")
            pair.a.expect().reply(200, b"a")
            assert c.response().body == b"a"
        first, second = hedged(t, pair, c)
        second.reply(200, b"b")
        assert c.response().body == b"b"
        first.reply()
        t.wait_metric(DRAINED, 1)
    with t.client() as c:
        c.request()
        pair.b.expect().reply(200, b"b")
        assert c.response().body == b"b"


# 19, 20 ----------------------------------------------------------------------

def test_19_one_byte_at_a_time_both_ways(pair):
    # Goal: every place at which a message can be cut, chunks included.
    t = pair(hedging={"commit_delay": 0})
    request = (b"POST /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n"
               b"\r\n3;a=b\r\nabc\r\n2\r\nde\r\n0\r\nT: v\r\n\r\n")
    answer = (b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
              b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
              b"3\r\n123\r\n2;e\r\n45\r\n0\r\nT: v\r\n\r\n")
    with t.client() as c:
        for _ in range(2):
            for byte in request:
                c.send(bytes([byte]))
            r = pair.a.expect()
            assert r.message.body == b"abcde"
            for byte in answer:
                r.send(bytes([byte]))
            assert c.response(interim=True).status == 103
            assert c.response().body == b"12345"


@pytest.fixture
def faults(build, tmp_path, monkeypatch):
    """A library that makes system calls and malloc fail in a tailor."""
    if "san" in build.name:
        pytest.skip("a sanitizer does not let its calls be replaced")
    library = tmp_path / "faults.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", library,
                    HERE / "support" / "faults.c", "-ldl"], check=True)

    def inject(**names):
        monkeypatch.setenv("LD_PRELOAD", str(library))
        for name, value in names.items():
            monkeypatch.setenv("FAULT_" + name.upper(), str(value))
    return inject


def test_20_descriptors_run_out(pair):
    # Goal: out of descriptors those who are in are served, the others wait
    # and are not lost.
    pair.a.serve()
    t = pair()
    with t.client() as inside:
        assert inside.get().body == b"a"
        was = resource.prlimit(t.pid, resource.RLIMIT_NOFILE)
        used = len(os.listdir(f"/proc/{t.pid}/fd"))
        resource.prlimit(t.pid, resource.RLIMIT_NOFILE, (used, was[1]))
        outside = t.client()
        outside.request()
        t.wait_log("accept_failed")
        assert inside.get().body == b"a"
        resource.prlimit(t.pid, resource.RLIMIT_NOFILE, was)
        assert outside.response().body == b"a"
        outside.close()
    assert t.metrics()[
        'tailor_connections_rejected_total{reason="descriptors"}'] >= 1


def test_20_no_descriptor_for_a_server(pair):
    # Goal: a connection to a server that cannot be made is a 502 or the
    # other server's idle connection, and no end of anything else.
    t = pair()
    with t.client() as c, t.client() as d:
        c.request()
        first = pair.a.expect()
        d.request("GET", "/warm")  # so that d's connection is accepted
        pair.a.expect().reply()
        d.response()
        d.request()  # takes the only idle connection
        second = pair.a.expect()
        with t.client() as e:
            e.send(b"GET /e HTTP/1.1\r\n")
            wait_until(lambda: t.metrics()[
                "tailor_connections_half_open"] == 1, "e is accepted")
            was = resource.prlimit(t.pid, resource.RLIMIT_NOFILE)
            resource.prlimit(t.pid, resource.RLIMIT_NOFILE, (3, was[1]))
            e.send(b"Host: h\r\n\r\n")
            # b's connection of the probe is idle and needs no descriptor
            pair.b.expect().reply(200, b"b")
            assert e.response().body == b"b"
            resource.prlimit(t.pid, resource.RLIMIT_NOFILE, was)
        first.reply(200, b"one")
        second.reply(200, b"two")
        assert c.response().body == b"one"
        assert d.response().body == b"two"


def test_20_eagain_storm(pair, faults):
    # Goal: each second call that could read or write cannot, and writes take
    # little: everything arrives all the same, whole and in order.
    faults(again=2, short=7)
    pair.a.serve(lambda r: response(200, r.wait_body() * 3))
    t = pair()
    with t.client() as c:
        for size in (1, 10, 1000, 20_000):
            body = os.urandom(size)
            c.request("POST", "/", body=body)
            assert c.response().body == body * 3


def test_20_no_memory(pair, faults):
    # Goal: where there is no memory a request fails, alone, and later ones
    # do not.
    faults(malloc=16384)
    pair.a.serve()
    t = pair()
    with t.client() as before:
        assert before.get().body == b"a"
        t.signal(12)  # SIGUSR2: from now on malloc of a block fails
        t.wait_log("^malloc fails$")
        clients = [t.client() for _ in range(8)]
        for c in clients:
            c.send(b"GET / HTTP/1.1\r\nHost: h\r\n")  # each holds a block
        t.wait_metric('tailor_connections_rejected_total{reason="memory"}', 1)
        t.signal(12)
        t.wait_log("^malloc works$")
        for c in clients:
            c.close()
        assert before.get().body == b"a"
        with t.client() as after:
            assert after.get().body == b"a"
    settled(t)


# 21 --------------------------------------------------------------------------

def test_21_chaos_with_a_checker(pair):
    # Goal: servers pause, die and come back in a random but repeatable
    # order, while clients pipeline; each gets exactly one answer to each
    # request, its own, whole, in order.
    t = pair(hedging={"swap_rate_max": 1000, "budget_burst": 100_000},
             proxy={"queue_timeout": "20s"})
    running = {"a": threading.Event(), "b": threading.Event()}
    done = threading.Event()
    failures, answered = [], [0] * 4

    def answer(request):
        running[request.connection.upstream.name].wait(20)
        return response(200, request.target.encode() * 50)

    def ask(number):
        count = 0
        try:
            while not done.is_set():
                with t.client() as c:
                    batch = [f"/{number}/{count + i}" for i in range(5)]
                    count += 5
                    for target in batch:
                        c.request("GET", target)
                    for target in batch:
                        r = c.response()
                        if r.status in (502, 503):
                            break  # both were down: allowed, and ends it
                        if r.body != target.encode() * 50:
                            failures.append((target, r.body[:60]))
                        answered[number] += 1
        except Exception as error:  # pylint: disable=broad-except
            failures.append(repr(error))

    for server in (pair.a, pair.b):
        running[server.name].set()
        server.serve(answer)
    threads = [threading.Thread(target=ask, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    dice = random.Random(21)
    try:
        for _ in range(60):
            name = dice.choice("ab")
            server = pair.a if name == "a" else pair.b
            goal = [n + 5 for n in answered]
            if dice.random() < 0.3:
                server.stop()
                hazard(t, name, "begin", "exit")
                server.listen()
                t.wait_server(name, state="ready")
            else:
                running[name].clear()
                hazard(t, name, "begin")
                wait_until(lambda: all(n >= g for n, g in zip(answered, goal))
                           or failures, "all go on during a pause")
                running[name].set()
                hazard(t, name, "end")
    finally:
        done.set()
        for event in running.values():
            event.set()
        for thread in threads:
            thread.join()
    assert not failures, failures[:5]
    settled(t)


# 22 --------------------------------------------------------------------------

H = b"Host: a\r\n"
CORPUS = [
    (b"GET / HTTP/1.1\r\n" + H + b"\r\n", 200),
    (b"\r\nGET / HTTP/1.1\r\n" + H + b"\r\n", 200),
    (b"POST / HTTP/1.1\r\n" + H + b"Transfer-Encoding: chunked\r\n"
     b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    (b"POST / HTTP/1.1\r\n" + H
     + b"Transfer-Encoding: identity, chunked\r\n\r\n0\r\n\r\n", 501),
    (b"POST / HTTP/1.1\r\n" + H + b"Transfer-Encoding:\r\n chunked\r\n\r\n"
     b"0\r\n\r\n", 400),
    (b"POST / HTTP/1.0\r\n" + H + b"Transfer-Encoding: chunked\r\n\r\n"
     b"0\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\n" + H + b"X: a\r\n b\r\n\r\n", 400),
    (b"GET / HTTP/1.1\n" + H + b"\r\n", 400),
    (b"POST / HTTP/1.1\r\n" + H + b"Transfer-Encoding: chunked\r\n\r\n"
     b"5 \r\nhello\r\n0\r\n\r\n", 400),
    (b"POST / HTTP/1.1\r\n" + H + b"Transfer-Encoding: chunked\r\n\r\n"
     b"5 garbage\r\nhello\r\n0\r\n\r\n", 400),
    (b"POST / HTTP/1.1\r\n" + H + b"Transfer-Encoding: chunked\r\n\r\n"
     b"5;a\nX\r\nhello\r\n0\r\n\r\n", 400),
    (b"POST / HTTP/1.1\r\n" + H + b"Transfer-Encoding: chunked\r\n\r\n"
     b"5;" + b"a" * 300 + b"\r\nhello\r\n0\r\n\r\n", 400),
    (b"POST / HTTP/1.1\r\n" + H + b"Transfer-Encoding: chunked\r\n\r\n"
     + b"0" * 17 + b"5\r\nhello\r\n0\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nHost: a@b/c\r\n\r\n", 400),
    (b"GET /\r\n\r\n", 400),
    (b"GET / HTTP/2.0\r\n" + H + b"\r\n", 505),
    (b"GET / HTTP/9.9\r\n" + H + b"\r\n", 505),
    (b"GET  / HTTP/1.1\r\n" + H + b"\r\n", 400),
    (b"\r\n\r\nGET / HTTP/1.1\r\n" + H + b"\r\n", 400),
    (b"GET /#frag HTTP/1.1\r\n" + H + b"\r\n", 400),
    (b"GET http://b/ HTTP/1.1\r\n" + H + b"\r\n", 200),
    (b"GET * HTTP/1.1\r\n" + H + b"\r\n", 400),
    (b"CONNECT a:1 HTTP/1.1\r\n" + H + b"\r\n", 405),
    (b"TRACE / HTTP/1.1\r\n" + H + b"\r\n", 405),
    (b"GET / HTTP/1.1\r\n" + H + b"Upgrade: h2c\r\nHTTP2-Settings: x\r\n"
     b"Connection: Upgrade, HTTP2-Settings\r\n\r\n", 200),
    (b"POST / HTTP/1.1\r\n" + H + b"Expect: junk\r\n\r\n", 417),
    (b"FOO / HTTP/1.1\r\n" + H + b"\r\n", 501),
    (b"GET / HTTP/1.1\r\n" + H + b"X: a\r\n" * 101 + b"\r\n", 431),
    (b"GET / HTTP/1.1\r\n" + H + b"Content-Length: 1\r\n"
     b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\n" + H + b"A: b\0c\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\n" + H + b"A : b\r\n\r\n", 400),
]


def test_22_the_table_of_cases_on_the_wire(pair):
    # Goal: what tests/unit/proxy/http_corpus proves of the gate holds of the
    # whole proxy: the same status whole and byte by byte, and nothing refused
    # reaches a server.
    pair.a.serve()
    t = pair()
    seen = 0
    for text, status in CORPUS:
        for pieces in ([text], [bytes([b]) for b in text]):
            with t.client() as c:
                try:
                    for piece in pieces:
                        c.send(piece)
                except (BrokenPipeError, ConnectionResetError):
                    pass  # refused before its end, and closed
                answer = c.response()
                assert answer.status == status, text
                seen += status == 200
                if status != 200:
                    assert answer.get("connection") == "close"
    assert len(pair.a.requests) == seen
    assert all(r.get("upgrade") is None for r in pair.a.requests)
