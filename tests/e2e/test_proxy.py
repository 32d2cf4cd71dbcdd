"""Goal: Tailor forwards HTTP/1.1 faithfully, strictly and without loss."""

import contextlib
import json
import re

import pytest

from rig.client import Client
from rig.message import Closed, response
from support.pair import entry

KERNEL_EVENTS = "off"

KILO = b"0123456789abcdef" * 64


@pytest.fixture
def one(upstream, tailor):
    """One scripted server and a tailor in front of it."""
    server = upstream("active")
    return server, tailor(server)


def test_forwards_with_its_own_fields(one):
    # Goal: the server sees who asks, the client sees which request it was; a
    # client's id survives untouched, a hostile one never passes.
    server, t = one
    server.serve()
    with t.client() as c:
        answer = c.get("/a?b=c", fields=[("X-Own", "1"), ("Via", "1.0 x")])
        good = c.get("/", fields=[("X-Request-Id", "abc-1.2_Z")])
        bad = c.get("/", fields=[("X-Request-Id", "a b\"c")])
    assert good.get("x-request-id") == "abc-1.2_Z"
    assert re.fullmatch(r"[0-9a-f]{16}", bad.get("x-request-id"))
    request = server.requests[0]
    assert answer.status == 200 and answer.body == b"active"
    assert request.target == "/a?b=c" and request.get("x-own") == "1"
    assert request.get("host") == "test"
    assert request.get("x-forwarded-for") == "127.0.0.1"
    # nginx does not compress for requests with Via.
    assert request.all("via") == ["1.0 x"]
    assert re.fullmatch(r"[0-9a-f]{16}", request.get("tailor-request"))
    assert request.get("tailor-attempt") == "1"
    assert request.get("x-request-id") == answer.get("x-request-id")
    assert re.search(r"tailor;dur=\d+\.\d+, upstream;dur=\d+\.\d+",
                     answer.get("server-timing"))


def test_a_host_for_requests_without(upstream, tailor, scratch):
    # Goal: an old client that names no host reaches each server with that
    # server's name, and once only; localhost on a Unix socket.
    a, b = upstream("a"), upstream("b", f"{scratch}/b.sock")
    t = tailor(a, b)
    with t.client() as c:
        c.send(b"GET / HTTP/1.0\r\n\r\n")
        first = a.expect()
        t.hazard("a", "begin")
        second = b.expect()
        second.reply(200, b"ok")
        assert c.response().body == b"ok"
        first.reply()
    assert first.all("host") == [a.address]
    assert second.all("host") == ["localhost"]


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

# What is asked, what the server says, and the response to the client: status,
# body, fields.
ANSWERS = {
    "204": (b"GET / HTTP/1.1\r\nHost: h\r\n\r\n",
            b"HTTP/1.1 204 X\r\nETag: a\r\n\r\n", 204, b"", {}),
    "304": (b"GET / HTTP/1.1\r\nHost: h\r\n\r\n",
            b"HTTP/1.1 304 X\r\nETag: a\r\n\r\n", 304, b"", {}),
    "HEAD has the length of what GET would bring": (
        b"HEAD / HTTP/1.1\r\nHost: h\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n", 200, b"",
        {"content-length": "99"}),
    "small chunks are kept, and get a length": (
        b"GET / HTTP/1.1\r\nHost: h\r\n\r\n",
        CHUNKED + b"5\r\nhello\r\n6;x=y\r\n world\r\n0\r\n\r\n", 200,
        b"hello world", {"content-length": "11", "transfer-encoding": None}),
    "a client of HTTP/1.0 sees no chunks, but the end": (
        b"GET / HTTP/1.0\r\n\r\n",
        CHUNKED + (b"400\r\n" + KILO + b"\r\n") * 70 + b"0\r\n\r\n", 200,
        KILO * 70, {"transfer-encoding": None}),
    "a client that wants to leave is let go": (
        b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
        response(200, b"bye"), 200, b"bye", {"connection": "close"}),
}


def test_answers(one):
    # Goal: each response as its request and its client can take it; the next
    # one on that connection is not disturbed, if there is one.
    server, t = one
    for what, (asked, said, status, body, fields) in ANSWERS.items():
        server.serve(lambda r, said=said: said if r.target == "/"
                     else response(200, b"next"))
        with t.client() as c:
            c.send(asked)
            answer = c.response(asked.split()[0].decode())
            assert (answer.status, answer.body) == (status, body), what
            for name, value in fields.items():
                assert answer.get(name) == value, what
            if b"HTTP/1.0" in asked or b"close" in asked:
                c.expect_end()
            else:
                assert c.get("/next").body == b"next", what
        assert server.requests[-1].get("connection") is None, what


def test_expect_continue_is_answered_here(one):
    # Goal: the client gets 100; the server never sees Expect.
    server, t = one
    server.serve()
    with t.client() as c:
        c.send(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n"
               b"Expect: 100-continue\r\n\r\n")
        assert c.response(interim=True).status == 100
        c.send(b"hi")
        assert c.response().status == 200
        # A JDK's client waits for it without a body, too.
        c.send(b"GET / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n\r\n")
        assert c.response(interim=True).status == 100
        assert c.response().status == 200
    assert [r.get("expect") for r in server.requests] == [None, None]


def test_a_services_own_request_id(one):
    # Goal: it reaches the client; where there is none, the request's does.
    server, t = one
    with t.client() as c:
        for own in (b"X-Request-Id: theirs\r\n", b""):
            c.request()
            request = server.expect()
            request.send(b"HTTP/1.1 200 OK\r\n" + own
                         + b"Content-Length: 0\r\n\r\n")
            assert c.response().get("x-request-id") == (
                "theirs" if own else request.get("x-request-id"))


def test_too_large_a_body(upstream, tailor):
    # Goal: 413 at once for a known length, in mid-stream for chunks.
    server = upstream("active").serve()
    t = tailor(server, proxy={"body_max": 1000})
    for request in (b"Content-Length: 1001\r\n\r\n",
                    b"Transfer-Encoding: chunked\r\n\r\n3e9\r\n"
                    + b"a" * 1001 + b"\r\n0\r\n\r\n"):
        with t.client() as c:
            c.send(b"POST / HTTP/1.1\r\nHost: a\r\n" + request)
            assert c.response().status == 413
    assert not server.requests


def test_slow_head_and_deadline(upstream, tailor):
    # Goal: 408 for a head that never ends, 504 for a response that never
    # comes; neither waits for the other's limit.  Who has sent nothing of a
    # first request is closed sooner than who waits before the next one.
    server = upstream("active")
    t = tailor(server, proxy={"header_timeout": "200ms",
                              "request_timeout": "300ms",
                              "idle_timeout": "600s"})
    with t.client() as silent:
        silent.expect_end()
    with t.client() as c:
        c.send(b"GET / HTT")
        assert c.response().status == 408
        c.expect_end()
    with t.client() as c:
        c.request()
        assert c.response().status == 504


def test_timeline_of_a_request(one):
    # Goal: a finished request's tale, as text and JSON, by the client's id, and
    # with what the client says of it; no server hears of that.
    server, t = one
    server.serve()
    with t.client() as c:
        c.get("/explained", fields=[("X-Request-Id", "tale-1")])
        text = c.get("/.talechain/timeline/tale-1")
        assert text.status == 200 and b"/explained" in text.body
        assert b"proxy_receive" in text.body
        tale = json.loads(c.get("/.talechain/timeline/tale-1?format=json")
                          .body)
        assert tale["schema"] == "tailor.timeline/1"
        assert tale["request"]["target"] == "/explained"
        for body, status in ((b'{"id":"tale-1","client":{"sched_ns":1}}', 200),
                             (b"{nonsense", 400)):
            c.request("POST", "/.talechain/analyze", body=body)
            assert c.response().status == status
        assert c.get("/.talechain/other").status == 404
    assert len(server.requests) == 1


def test_connection_limit(upstream, tailor):
    # Goal: over the limit a client is closed and counted, not queued, if all
    # others have a request; those that have none, or only a part of one, make
    # room, the longest idle first.
    server = upstream("active")
    t = tailor(server, proxy={"connections_max": 3, "header_timeout": "600s"})
    silent, part, a, b = (t.client() for _ in range(4))
    silent.expect_end()
    part.send(b"GET / HTTP/1.1\r\n")
    t.wait_metric("tailor_connections_half_open", 1)
    a.request()
    held = [server.expect()]
    c = t.client()
    for client in (b, c):
        client.request()
        held.append(server.expect())
    part.expect_end()
    assert t.metrics()["tailor_connections_shed_total"] == 2
    d = t.client()
    with pytest.raises((Closed, ConnectionResetError, BrokenPipeError)):
        d.get()
    assert t.metrics()[
        'tailor_connections_rejected_total{reason="limit"}'] == 1
    for client, one in zip((a, b, c), held):
        one.reply()
        assert client.response().status == 200
    d = t.client()
    d.request()
    server.expect().reply()
    assert d.response().status == 200
    a.expect_end()
    for client in (silent, part, a, b, c, d):
        client.close()


def test_silent_clients_leave_metrics_alone(upstream, tailor, free_port):
    # Goal: connections that send nothing close neither /metrics nor the admin
    # socket to those that ask.
    port = free_port()
    t = tailor(upstream("active"), metrics={"listen": f"127.0.0.1:{port}"})
    for address in (("127.0.0.1", port), t.admin):
        with contextlib.ExitStack() as silent:
            for _ in range(100):
                silent.enter_context(Client(address))
            for target in ("/metrics", "/healthz", "/readyz"):
                with Client(address) as c:
                    assert c.get(target).status == 200


def test_queue_when_the_server_is_full(upstream, tailor):
    # Goal: over a server's limit requests wait their turn, in order; one that
    # waits too long gets 503.
    server = upstream("active")
    t = tailor(entry(server, connections_max=1))
    with t.client() as a, t.client() as b:
        a.request("GET", "/a")
        first = server.expect()
        b.request("GET", "/b")
        t.wait_metric("tailor_requests_queued", 1)
        server.expect_nothing()
        first.reply(200, b"a")
        assert a.response().body == b"a"
        server.expect().reply(200, b"b")
        assert b.response().body == b"b"
        m = t.metrics()
        assert m["tailor_queue_duration_seconds_count"] == 1
        assert m["tailor_queue_duration_seconds_sum"] > 0
        t.reload(proxy={"queue_timeout": "100ms"})
        a.request("GET", "/a")
        first = server.expect()
        b.request("GET", "/b")
        assert b.response().status == 503
        first.reply()
        assert a.response().status == 200
