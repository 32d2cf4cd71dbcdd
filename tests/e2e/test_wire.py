"""Goal: the wire beyond plain forwarding: what comes beside a response, who a
request is from, and hedging without a signal."""

import pathlib
import re
import threading
import time

import pytest

from rig.client import Client
from rig.message import Malformed, response
from rig.wait import wait_until
from rig.ports import free_port
from support.pair import hedged
from test_streaming import Server

KERNEL_EVENTS = "off"
STRANGERS = {"allow": ["10.9.8.0/24"]}  # talechain.allow: no client here
BLOCK = 17408  # what one read brings at first; see proxy/net/buffer.h
EARLY = b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n"


# --- bodies -----------------------------------------------------------------

def test_bodies_of_all_sizes(one):
    # Goal: what is read several blocks at a time arrives whole, in order and
    # unframed, at sizes where blocks begin and end, and one response after
    # the other.
    t = one()
    pattern = bytes(range(251)) * 1400

    def answer(request):
        _, framing, size = request.target.split("/")
        body = pattern[:int(size)]
        if framing == "length":
            return response(200, body)
        if framing == "close":
            request.send(b"HTTP/1.0 200 OK\r\n\r\n" + body)
            request.close()
            return b""
        chunks = [body[i:i + 9973] for i in range(0, len(body), 9973)]
        return (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                + b"".join(b"%x\r\n%b\r\n" % (len(c), c) for c in chunks)
                + b"0\r\n\r\n")

    one.server.serve(answer)
    for framing in ("length", "chunked", "close"):
        with t.client() as c:
            for size in (0, 1, BLOCK - 100, BLOCK, 2 * BLOCK, 4 * BLOCK - 7,
                         5 * BLOCK, 65536, 6 * BLOCK + 1, 300_000):
                c.request("GET", f"/{framing}/{size}")
                assert c.response().body == pattern[:size], (framing, size)


def test_bytes_behind_a_long_body_are_nobodys(one):
    # Goal: what a server sends behind a body read in several blocks is not
    # the next response, and ends that connection; also if it begins a block, or
    # is still in the kernel when the next request is waiting.
    t = one()
    for end in (*range(BLOCK - 2, BLOCK + 3), 3 * BLOCK, 3 * BLOCK - 5,
                200_000):
        body = b"a" * (end - len(response(200, b"a" * end)) + end)
        before = len(one.server.connections)
        extra = t.metrics()['tailor_server_extra_bytes_total{server="active"}']
        one.server.serve(lambda request, body=body: (
            response(200, body) + response(200, b"forged" * 1000)))
        with t.client() as c:
            for count in 2, 1:
                for _ in range(count):
                    c.request()
                for _ in range(count):
                    assert c.response().body == body, end
        assert t.metrics()['tailor_server_extra_bytes_total'
                           '{server="active"}'] > extra, end
        assert len(one.server.connections) >= before + 2, end


def test_who_speaks_before_the_request_is_not_believed(one):
    # Goal: a kept connection on which bytes, or its end, come in the same
    # turn as the next request, which is not written yet: not its response.  It
    # goes out on a new one, even if it may not be sent twice.
    t = one()
    forged = response(200, b"forged")
    for stray in (forged, b""):
        with t.client() as c:
            c.request()
            first = one.server.expect()
            first.reply(200, b"first")
            assert c.response().body == b"first", stray
            t.pause()
            c.request("POST", "/two", body=b"once")
            if stray:
                first.send(stray)
            else:
                first.close()
            t.resume()
            again = one.server.expect()
            assert again.connection is not first.connection, stray
            assert again.wait_body() == b"once", stray
            again.reply(200, b"clean")
            assert c.response("POST").body == b"clean", stray
        m = t.metrics()
        assert m['tailor_server_extra_bytes_total{server="active"}'] == \
            len(forged), stray


@pytest.mark.long("measures how long a response waited")
def test_a_server_with_nagle_is_not_kept_waiting(one):
    # Goal: a response in two segments does not wait for a delayed
    # acknowledgement (40 ms): the first is acknowledged when it is read.
    t = one()
    took = []
    with t.client() as c:
        for _ in range(30):
            c.request()
            r = one.server.expect()
            r.connection.nagle()
            begin = time.monotonic()
            r.send(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n")
            r.send(b"body")
            assert c.response().body == b"body"
            took.append(time.monotonic() - begin)
    assert sorted(took)[15] < 0.02, took


# --- interim responses ------------------------------------------------------

def test_early_hints_are_passed_on(one):
    # Goal: 103 reaches the client before the response, 100 does not, and
    # neither is the response.
    t = one()
    with t.client() as c:
        c.request()
        r = one.server.expect()
        r.send(b"HTTP/1.1 100 Continue\r\n\r\n" + EARLY)
        hint = c.response(interim=True)
        assert hint.status == 103
        assert hint.get("link") == "</a.css>; rel=preload"
        r.reply(200, b"final")
        answer = c.response(interim=True)
        assert answer.status == 200 and answer.body == b"final"
        c.request()
        one.server.expect().reply(200, b"next")
        assert c.response(interim=True).body == b"next"
    assert t.metrics()[
        'tailor_interim_responses_total{result="forwarded"}'] == 1


def test_interim_responses_that_are_not_passed_on(one):
    # Goal: HTTP/1.0 has no 1xx (RFC 9110, 15.2); of others a few are passed on,
    # more dropped, and endlessly many are a 502.
    t = one()
    with t.client() as c:
        c.send(b"GET / HTTP/1.0\r\n\r\n")
        one.server.expect().send(EARLY + response(200, b"old"))
        assert c.response(interim=True).body == b"old"
    assert t.metrics()[
        'tailor_interim_responses_total{result="dropped"}'] == 1
    with t.client() as c:
        c.request()
        r = one.server.expect()
        r.send(EARLY * 100)
        answers = [c.response(interim=True) for _ in range(9)]
        assert [a.status for a in answers] == [103] * 8 + [502]
        r.connection.wait_end()


def test_hints_come_from_one_attempt_only(pair):
    # Goal: a hedge does not repeat what the first attempt has hinted, and
    # a hint decides nothing (W5).
    t = pair()
    with t.client() as c:
        c.request()
        first = pair.a.expect()
        first.send(EARLY)
        assert c.response(interim=True).status == 103
        t.hazard("a", "begin")
        second = pair.b.expect()
        second.send(EARLY + response(200, b"from b"))
        answer = c.response(interim=True)
        assert answer.status == 200 and answer.body == b"from b"
        first.send(EARLY + response(200, b"late"))
        t.wait_metric('tailor_losers_total{result="drained"}', 1)


# --- early answers ----------------------------------------------------------

def test_answer_before_the_body_is_read(tailor):
    # Goal: a server that refuses an upload is heard at once; its connection
    # is not used again, the client's is.
    unread = []

    def play(sock, request, _):
        if request.method == "PUT":
            unread.append(sock)  # stays open, and is read no more
            sock.sendall(response(413, b"too much"))
        else:
            sock.sendall(response(200, b"hello"))

    server = Server(play)
    t = tailor({"name": "active", "address": server.address})
    body = b"x" * (16 << 20)
    with t.client() as c:
        c.send(b"PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n"
               % len(body) + body)
        answer = c.response()
        assert answer.status == 413 and answer.body == b"too much"
        assert c.get().body == b"hello"
    assert len(unread) == 1
    server.close()


# --- trailers ---------------------------------------------------------------

WITH_TRAILERS = (
    b"5\r\nhello\r\n0\r\nX-Sum:  1 \r\nContent-Length: 3\r\nHost: b\r\n"
    b"Set-Cookie: a\r\nAuthorization: x\r\nTailor-Pushback: 1\r\n"
    b"X-Forwarded-For: 1\r\nETag: w\r\n\r\n")


def test_trailers_for_who_asks(one):
    # Goal: harmless trailer fields reach a client that says it takes them,
    # whether its response was kept or streamed, whole or byte by byte.
    t = one(proxy={"pass_fields": "trailers"})
    text = (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
            + WITH_TRAILERS)
    with t.client() as c:
        for pieces in [text], [text], *2 * [[bytes([b]) for b in text]]:
            c.request(fields=[("TE", "gzip;q=0.1, trailers"),
                              ("Connection", "TE")])
            r = one.server.expect()
            assert r.get("te") == "trailers" and r.get("connection") == "TE"
            for piece in pieces:
                r.send(piece)
            assert c.response_head().get("transfer-encoding") == "chunked"
            body = b""
            while (size := int(c.line(), 16)) > 0:
                body += c.exactly(size)
                assert c.line() == b""
            assert body == b"hello"
            assert c.line() == b"X-Sum: 1"
            assert c.line() == b"ETag: w"
            assert c.line() == b""


def test_trailers_for_no_other_request(one, tailor):
    # Goal: without the key, or for a client that has not asked, they are
    # dropped and the server is not asked for any.
    asks = [("TE", "trailers"), ("Connection", "TE")]
    for t, *wishes in (
            (one(), asks),
            (tailor(one.server, proxy={"pass_fields": ["trailers"]}), [],
             [("TE", "gzip"), ("Connection", "TE")])):
        for fields in wishes:
            with t.client() as c:
                c.request(fields=fields)
                r = one.server.expect()
                assert r.get("te") is None and r.get("connection") is None
                r.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                       + WITH_TRAILERS)
                assert c.response().body == b"hello", fields
                c.request()
                one.server.expect().reply(200, b"next")
                assert c.response().body == b"next", fields


# --- who it is from ---------------------------------------------------------

def test_a_strangers_names_are_not_believed(pair):
    # Goal: request id, opt-out (E7) and forwarding fields only from whom we
    # know; a stranger does not see how long things took.
    t = pair(talechain=STRANGERS)
    with t.client() as c:
        c.request(fields=[("X-Request-Id", "mine"),
                          ("X-Tailor-Hedge", "off"),
                          ("X-Forwarded-For", "1.2.3.4"),
                          ("Forwarded", "for=1.2.3.4")])
        pair.a.expect()
        t.hazard("a", "begin")
        pair.b.expect().reply(200, b"b")
        answer = c.response()
    assert answer.body == b"b"
    assert re.fullmatch(r"[0-9a-f]{16}", answer.get("x-request-id"))
    assert answer.get("server-timing") is None
    for r in pair.a.requests + pair.b.requests:
        assert r.get("x-forwarded-for") == "127.0.0.1"
        assert r.get("forwarded") is None


def test_trusted_peers_are_believed(one):
    # Goal: their X-Forwarded-For is extended, the rest kept, Forwarded and Via
    # added, the latter after others and with the client's version.
    one.server.serve()
    t = one(talechain=STRANGERS, proxy={"trusted_proxies": ["127.0.0.0/8"],
                                        "add_fields": ["forwarded", "via"]})
    answer = t.get(fields=[("X-Request-Id", "theirs"), ("Via", "1.0 x"),
                           ("X-Forwarded-For", "1.2.3.4"),
                           ("X-Forwarded-Proto", "https"),
                           ("Forwarded", "for=1.2.3.4;proto=https")])
    r = one.server.requests[0]
    assert answer.get("x-request-id") == "theirs"
    assert r.get("x-forwarded-for") == "1.2.3.4, 127.0.0.1"
    assert r.get("x-forwarded-proto") == "https"
    assert r.all("via") == ["1.0 x", "1.1 tailor"]
    assert r.all("forwarded") == [
        "for=1.2.3.4;proto=https",
        'for=127.0.0.1;host="test";proto=http']


def test_trace_context_passes_unchanged(pair):
    # Goal: no span of ours is exported, so no id of ours may be a parent:
    # the very same bytes for each attempt, and nothing where there was none.
    t = pair()
    fields = [("traceparent", "00-0af7651916cd43dd8448eb211c80319c-"
               "b7ad6b7169203331-01"), ("tracestate", "a=1,b=2")]
    with t.client() as c:
        c.request(fields=fields)
        first = pair.a.expect()
        t.hazard("a", "begin")
        second = pair.b.expect()
        for name, value in fields:
            assert first.all(name) == second.all(name) == [value]
        second.reply()
        assert c.response().status == 200
        first.reply()
        c.request(fields=[("traceparent", "of a later version")])
        r = pair.b.expect()
        assert r.all("traceparent") == ["of a later version"]
        r.reply()
        c.response()
        c.request()
        r = pair.b.expect()
        assert r.get("traceparent") is None and r.get("tracestate") is None
        r.reply()
        c.response()


# --- hedging without a signal, and pushback -----------------------------------

def test_a_late_answer_is_hedged_by_the_clock(pair):
    # Goal: T6: no hazard, only lateness; each response once, within a budget.
    t = pair(hedging={"timer_ratio": 0.01, "timer_delay": "50ms"})
    with t.client() as c:
        c.request()
        first = pair.a.expect()
        second = pair.b.expect()
        assert second.get("tailor-hedge") == "timer"
        second.reply(200, b"b")
        assert c.response().body == b"b"
        first.reply()
        t.wait_metric('tailor_losers_total{result="drained"}', 1)
        # No swap: lateness of one request says nothing of the next.
        assert t.active() == "a"
        c.request("POST", body=b"x")
        r = pair.a.expect()
        t.wait_metric('tailor_hedges_refused_total{reason="method"}', 1)
        r.reply()
        assert c.response().status == 200
    m = t.metrics()
    assert m['tailor_hedges_sent_total{trigger="timer",server="b"}'] == 1
    assert not [r for r in pair.b.requests if r.method == "POST"]


@pytest.mark.long("the head must come before a clock of 50 ms")
def test_an_answer_in_time_is_not_hedged(pair):
    # Goal: a head stops the clock, however long the body takes.
    t = pair(hedging={"timer_ratio": 1, "timer_delay": "50ms"})
    with t.client() as c:
        c.request()
        r = pair.a.expect()
        r.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n")
        assert c.silent_for(1)  # the clock has long rung
        r.send(b"x")
        assert c.response().body == b"x"
    assert not pair.b.requests


def test_a_percentile_says_what_is_late(pair):
    # Goal: without a configured delay the server's own responses set it.
    t = pair(hedging={"timer_ratio": 1, "timer_delay": "p50"})
    with t.client() as c:
        c.request()  # nothing known yet: never late
        first = pair.a.expect()
        first.reply()
        c.response()
        c.request()
        first = pair.a.expect()
        pair.b.expect().reply(200, b"b")
        assert c.response().body == b"b"
        first.reply()


def test_pushback_stops_hedges(pair):
    # Goal: a server that asks for quiet gets no second attempts, but new
    # requests (B5).
    t = pair()
    with t.client() as c:
        first, second = hedged(t, pair, c)
        second.reply(200, b"b", [("Tailor-Pushback", "60000")])
        answer = c.response()
        assert answer.get("tailor-pushback") is None
        first.reply()
        t.hazard("a", "end")
        t.wait_metric('tailor_losers_total{result="drained"}', 1)
        t.wait_metric("tailor_pushbacks_total", 1)
        assert t.ask("/switch", "POST").status == 200  # back to a
        c.request()
        first = pair.a.expect()
        t.hazard("a", "begin")
        t.wait_metric('tailor_hedges_refused_total{reason="pushback"}', 1)
        first.reply(200, b"a")
        assert c.response().body == b"a"
        c.request()
        pair.b.expect().reply(200, b"new")
        assert c.response().body == b"new"


# --- what tests/chaos found -------------------------------------------------

def good_or_bad(request):
    return response(200) if request.target == "/" else b"no\r\n\r\n"


def test_an_old_client_is_kept_after_an_error(one):
    # Goal: a 1.0 client that asked to be kept sees that in our responses too.
    t = one()
    one.server.serve(good_or_bad)
    with t.client() as c:
        for target, status in (("/bad", 502), ("/", 200)):
            c.send(f"GET {target} HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"
                   .encode())
            answer = c.response()
            assert (answer.status, answer.get("connection")) == (
                status, "keep-alive")


def test_an_old_client_sees_that_an_answer_is_cut(one):
    # Goal: where only the connection's end ends a response, one that is cut
    # ends with a reset.
    t = one()
    with t.client() as c:
        c.send(b"GET / HTTP/1.0\r\n\r\n")
        r = one.server.expect()
        r.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
               b"5\r\nhello\r\n")
        c.response_head()
        assert c.exactly(5) == b"hello"
        r.reset()
        with pytest.raises(ConnectionResetError):
            c.exactly(1)
    t.wait_metric("tailor_response_truncated_total", 1)


@pytest.fixture
def impatient(one, scratch):
    """A tailor with short timeouts and a large response; its Unix socket."""
    path = f"{scratch}/front.sock"
    one.server.serve(lambda r: response(200, b"x" * 600_000))
    return one(listen=[f"127.0.0.1:{free_port()}", f"unix:{path}"],
               proxy={"request_timeout": "400ms", "client_timeout": "400ms"}
               ), path


@pytest.mark.long("a client that is late for 400 ms is cut")
def test_a_slow_reader_is_not_cut(impatient):
    # Goal: who reads slowly is served, although a full socket cannot be
    # written to for longer than both timeouts.
    _, path = impatient
    never = threading.Event()
    with Client(path) as c:
        c.request()
        assert c.response_head().get("content-length") == "600000"
        for _ in range(60):
            assert c.exactly(10_000) == b"x" * 10_000
            never.wait(0.04)


def test_who_reads_nothing_is_cut(impatient):
    # Goal: the same timeout ends what does not flow at all.  A listener's socket
    # goes with its tailor.
    t, path = impatient
    with Client(path) as c:
        c.request()
        t.wait_metric('tailor_client_timeouts_total{phase="write"}', 1)
        c.response_head()
        with pytest.raises(Malformed):
            c.exactly(600_000)
    t.stop()
    assert not pathlib.Path(path).exists()


# --- what is not allowed -------------------------------------------------------

METHODS = [
    ("TRACE / HTTP/1.1", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"),
    ("CONNECT a:1 HTTP/1.1", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"),
    ("POST /.talechain/timeline/a HTTP/1.1", "GET, HEAD"),
    ("GET /.talechain/pin?id=a HTTP/1.1", "POST"),
    ("GET /.talechain/analyze HTTP/1.1", "POST"),
]


def test_405_says_what_is_allowed(one):
    # Goal: a 405 names the methods that there are (RFC 9110 15.5.6).
    t = one()
    for line, allowed in METHODS:
        with t.client() as c:
            c.send(f"{line}\r\nHost: a\r\n\r\n".encode())
            answer = c.response()
            assert (answer.status, answer.get("allow")) == (405, allowed), line


def test_head_of_a_timeline_has_no_body(one):
    # Goal: what follows on the connection is the next response.
    t = one()
    one.server.serve()
    with t.client() as c:
        for target in ("timeline/nobody", "pin?id=nobody", "other"):
            c.request("HEAD", f"/.talechain/{target}")
            assert c.response("HEAD").status in (404, 405)
            assert c.get("/next").body == b"active"


# --- probes --------------------------------------------------------------------

def test_a_probe_leaves_no_connection_behind(one):
    # Goal: a server that is about to end does not wait for a connection on
    # which nothing will ever come.
    one()
    probe = wait_until(lambda: one.server.connections, "a probe")[0]
    probe.wait_end()
    assert probe.received == b""
