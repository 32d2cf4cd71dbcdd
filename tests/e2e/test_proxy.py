"""Goal: Tailor forwards HTTP/1.1 faithfully, strictly and without loss."""

import json
import os
import re

import pytest

from rig.client import Client
from rig.message import Closed, Malformed, response
from rig.wait import wait_until

KERNEL_EVENTS = "off"

KILO = b"0123456789abcdef" * 64


@pytest.fixture
def one(upstream, tailor):
    """One scripted server and a tailor in front of it."""
    server = upstream("active")
    return server, tailor(server)


def test_forwards_with_its_own_fields(one):
    # Goal: the server sees who asks, the client sees which request it was.
    server, t = one
    server.serve()
    with t.client() as c:
        answer = c.get("/a?b=c", fields=[("X-Own", "1"), ("Via", "1.0 x")])
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


def test_via_if_wanted(upstream, tailor):
    # Goal: proxy.add_fields with via adds ours after others, with the client's version.
    server = upstream("active").serve()
    t = tailor(server, proxy={"add_fields": ["via"]})
    with t.client() as c:
        c.get("/", fields=[("Via", "1.0 x")])
    assert server.requests[0].all("via") == ["1.0 x", "1.1 tailor"]


def test_a_host_for_requests_without(upstream, tailor, scratch):
    # Goal: an old client that names no host reaches each server with that
    # server's name, and once only; localhost on a Unix socket.
    a, b = upstream("a"), upstream("b", f"{scratch}/b.sock")
    t = tailor(a, b)
    t.wait_server("b", state="ready")
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


def test_keeps_a_valid_request_id_and_replaces_a_bad_one(one):
    # Goal: a client's id survives untouched, hostile ones never pass.
    server, t = one
    server.serve()
    with t.client() as c:
        good = c.get("/", fields=[("X-Request-Id", "abc-1.2_Z")])
        bad = c.get("/", fields=[("X-Request-Id", "a b\"c")])
    assert good.get("x-request-id") == "abc-1.2_Z"
    assert re.fullmatch(r"[0-9a-f]{16}", bad.get("x-request-id"))


def test_keeps_both_connections(one):
    # Goal: many requests, one connection on each side.
    server, t = one
    server.serve()
    with t.client() as c:
        for _ in range(20):
            assert c.get().status == 200
    assert {r.connection.number for r in server.requests} <= {0, 1}
    assert len(server.connections) <= 2  # the probe's and ours, or one


@pytest.mark.parametrize("status", [204, 304])
def test_bodiless_answers(one, status):
    # Goal: a response without a body does not swallow the next one.
    server, t = one
    server.serve(lambda r: b"HTTP/1.1 %d X\r\nETag: a\r\n\r\n" % status
                 if r.target == "/none" else response(200, b"next"))
    with t.client() as c:
        assert c.get("/none").status == status
        assert c.get("/next").body == b"next"


def test_head_keeps_the_length_and_sends_no_body(one):
    # Goal: HEAD has the length of what GET would bring.
    server, t = one
    server.serve(lambda r: b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n"
                 if r.method == "HEAD" else response(200, b"x"))
    with t.client() as c:
        c.request("HEAD")
        answer = c.response("HEAD")
        assert answer.get("content-length") == "99"
        assert c.get().body == b"x"


def test_chunked_answer_that_is_whole_gets_a_length(one):
    # Goal: a small chunked response is buffered and gets a length.
    server, t = one
    server.serve(lambda r: b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked"
                 b"\r\n\r\n5\r\nhello\r\n6;x=y\r\n world\r\n0\r\n\r\n")
    with t.client() as c:
        answer = c.get()
    assert answer.body == b"hello world"
    assert answer.get("content-length") == "11"
    assert answer.get("transfer-encoding") is None


def test_streams_a_large_chunked_answer(one):
    # Goal: beyond the commit limit a response flows before it is whole.
    server, t = one
    with t.client() as c:
        c.request()
        r = server.expect()
        r.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(100):
            r.send(b"400\r\n" + KILO + b"\r\n")
        head = c.response_head()  # arrives though the end is not written
        assert head.get("transfer-encoding") == "chunked"
        r.send(b"3\r\nend\r\n0\r\n\r\n")
        assert c.response_body(head) == KILO * 100 + b"end"


def test_old_client_gets_a_close_delimited_stream(one):
    # Goal: an HTTP/1.0 client never sees chunks.
    server, t = one
    with t.client() as c:
        c.send(b"GET / HTTP/1.0\r\n\r\n")
        r = server.expect()
        r.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(70):
            r.send(b"400\r\n" + KILO + b"\r\n")
        r.send(b"0\r\n\r\n")
        answer = c.response()
    assert answer.get("transfer-encoding") is None
    assert answer.body == KILO * 70


@pytest.mark.parametrize("size", [0, 1, 1000, 65536])
def test_buffers_small_uploads(one, size):
    # Goal: a chunked upload reaches the server whole, with its length.
    server, t = one
    server.serve(lambda r: response(200, str(len(r.wait_body())).encode()))
    body = os.urandom(size)
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(body[i:i + 999]),
                                        body[i:i + 999])
                      for i in range(0, size, 999))
    with t.client() as c:
        c.send(b"POST /up HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked"
               b"\r\n\r\n" + chunks + b"0\r\n\r\n")
        assert c.response().body == str(size).encode()
    assert server.requests[0].get("content-length") == str(size)
    assert server.requests[0].message.body == body


def test_large_uploads(one):
    # Goal: an upload over the limit is sent on when it is whole, not before.
    server, t = one
    part = os.urandom(100_000)
    with t.client() as c:
        c.send(b"PUT /up HTTP/1.1\r\nHost: h\r\nContent-Length: 300000\r\n"
               b"\r\n" + part)
        server.expect_nothing()
        c.send(part + part)
        r = server.expect()
        r.reply(201, b"made")
        assert c.response().status == 201
        assert r.wait_body() == part * 3
        r = c.request("GET", "/after")
        server.expect().reply(200, b"after")
        assert c.response().body == b"after"


def test_large_chunked_uploads(one):
    # Goal: the same without a length, which is known by then.
    server, t = one
    part = os.urandom(50_000)
    with t.client() as c:
        c.send(b"PUT /up HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked"
               b"\r\n\r\n")
        for _ in range(6):
            c.send(b"%x\r\n" % len(part) + part + b"\r\n")
        c.send(b"0\r\n\r\n")
        r = server.expect()
        assert r.wait_body() == part * 6
        r.reply()
        assert c.response().status == 200
    assert r.get("transfer-encoding") is None
    assert r.get("content-length") == str(6 * len(part))


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
    assert server.requests[0].get("expect") is None


def test_interim_answers_of_the_server_are_not_the_answer(one):
    # Goal: 100 and 103 from a server are skipped.
    server, t = one
    server.serve(lambda r: b"HTTP/1.1 100 Continue\r\n\r\n"
                 b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
                 + response(200, b"real"))
    with t.client() as c:
        assert c.get().body == b"real"


def test_pipelined_requests_are_answered_in_order(one):
    # Goal: fifty requests in one write, fifty answers in order.
    server, t = one
    server.serve(lambda r: response(200, r.target.encode()))
    with t.client() as c:
        c.send(b"".join(b"GET /%d HTTP/1.1\r\nHost: h\r\n\r\n" % i
                        for i in range(50)))
        for i in range(50):
            assert c.response().body == b"/%d" % i


def test_one_byte_at_a_time(one):
    # Goal: how bytes are cut into segments does not matter.
    server, t = one
    with t.client() as c:
        for byte in (b"POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n"
                     b"\r\nabc"):
            c.send(bytes([byte]))
        r = server.expect()
        assert r.message.body == b"abc"
        for byte in response(200, b"slow", [("A", "b")]):
            r.send(bytes([byte]))
        answer = c.response()
        assert answer.body == b"slow" and answer.get("a") == "b"


@pytest.mark.parametrize("bad, status", [
    (b"GET / HTTP/1.1\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
    (b"GET / HTTP/1.1\nHost: a\n\n", 400),
    (b"GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505),
    (b"CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n", 405),
    (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n"
     b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
     b"5 \r\nhello\r\n0\r\n\r\n", 400),
    (b"GET /" + b"a" * 17000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", 414),
    (b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"a" * 17000 + b"\r\n\r\n", 431),
    (b"POST / HTTP/1.1\r\nHost: a\r\nExpect: x\r\n\r\n", 417),
])
def test_bad_requests_are_refused_and_closed(one, bad, status):
    # Goal: doubtful framing is answered, the connection ended, and the
    # server sees nothing of it, nor of what was smuggled behind.
    server, t = one
    server.serve()
    with t.client() as c:
        c.send(bad + b"GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n")
        answer = c.response()
        assert answer.status == status
        assert answer.get("connection") == "close"
        c.expect_end()
    assert not server.requests
    with t.client() as c:
        assert c.get().status == 200


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


@pytest.mark.parametrize("bad", [
    b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    b"HTTP/1.1 200 OK\rContent-Length: 2\r\n\r\nab",
    b"HTTP/1.1 099 OK\r\nContent-Length: 0\r\n\r\n",
    b"garbage\r\n\r\n",
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
])
def test_bad_answers_become_502(one, bad):
    # Goal: a server's malformed response never reaches the client.
    server, t = one
    with t.client() as c:
        c.request("POST", "/")
        r = server.expect()
        r.send(bad)
        assert c.response().status == 502
        r.connection.wait_end()


def test_an_answer_cut_short_cuts_the_client(one):
    # Goal: after the first byte is out, a loss is shown by closing.
    server, t = one
    with t.client() as c:
        c.request()
        r = server.expect()
        r.send(b"HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n"
               + KILO * 100)
        head = c.response_head()
        assert head.status == 200
        r.reset()
        with pytest.raises((Malformed, ConnectionResetError)):
            c.exactly(200000)
    t.wait_metric("tailor_response_truncated_total", 1)


def test_a_client_that_does_not_read_stops_the_server(one):
    # Goal: a gigantic response to a stuck client does not fill memory.
    server, t = one
    sent = []

    def flood(request):
        request.send(b"HTTP/1.1 200 OK\r\nContent-Length: 200000000\r\n\r\n")
        for i in range(200):
            request.send(KILO * 1000)
            sent.append(i)
        return b""

    server.serve(flood)
    with t.client() as c:
        c.request()
        c.response_head()
        server.expect_head()
        blocks = []

        def steady():
            blocks.append((len(sent), t.metrics()["tailor_memory_blocks"]))
            return len(blocks) > 20 and blocks[-1] == blocks[-20]

        wait_until(steady, "the flood stands still")
        assert blocks[-1][0] < 150 and blocks[-1][1] < 64
        rest = c.exactly(200000000)
        assert len(rest) == 200000000
    assert t.metrics()["tailor_memory_blocks"] < 64


def test_a_stuck_server_stops_the_upload(one):
    # Goal: the same the other way round.
    server, t = one
    body = KILO * 1000
    with t.client() as c:
        c.send(b"PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n"
               % (len(body) * 20))
        for _ in range(20):
            c.send(body)
        r = server.expect()
        assert len(r.wait_body()) == len(body) * 20
        r.reply()
        assert c.response().status == 200
    assert t.metrics()["tailor_memory_blocks"] < 100


def test_a_client_that_leaves_does_not_break_the_server(one):
    # Goal: the abandoned response is read to its end, the connection kept.
    server, t = one
    c = t.client()
    c.request("GET", "/leaving")
    r = server.expect()
    c.reset()
    t.wait_metric('tailor_requests_total{code_class="aborted"}', 1)
    r.reply(200, b"unread")
    t.wait_metric('tailor_losers_total{result="drained"}', 1)
    with t.client() as c:
        c.request("GET", "/next")
        again = server.expect()
        assert again.connection is r.connection
        again.reply(200, b"next")
        assert c.response().body == b"next"


def test_a_half_closed_client_gets_its_answer(one):
    # Goal: FIN after the request is not an abort (RFC 9112, 9.6).
    server, t = one
    with t.client() as c:
        c.request()
        c.shutdown()
        server.expect().reply(200, b"still")
        assert c.response().body == b"still"
        c.expect_end()


def stale(server, t):
    """Leave one kept connection, on which the server will say nothing."""
    with t.client() as c:
        c.request("GET", "/first")
        server.expect().reply()
        assert c.response().status == 200


def test_stale_connection_get_is_sent_again(one):
    # Goal: a keep-alive race costs a safe request nothing.
    server, t = one
    stale(server, t)
    with t.client() as c:
        c.request("GET", "/x")
        server.expect().close()
        server.expect().reply(200, b"second")
        assert c.response().body == b"second"
    assert t.metrics()["tailor_stale_connections_total"] == 1


def test_stale_connection_post_is_not_sent_again(one):
    # Goal: what may have been done is not done twice.
    server, t = one
    stale(server, t)
    with t.client() as c:
        c.request("POST", "/x", body=b"once")
        server.expect().close()
        assert c.response().status == 502
    assert [r.target for r in server.requests].count("/x") == 1


def test_slow_head_and_deadline(upstream, tailor):
    # Goal: 408 for a head that never ends, 504 for a response that never
    # comes; neither waits for the other's limit.
    server = upstream("active")
    t = tailor(server, proxy={"header_timeout": "200ms",
                              "request_timeout": "300ms"})
    with t.client() as c:
        c.send(b"GET / HTT")
        assert c.response().status == 408
        c.expect_end()
    with t.client() as c:
        c.request()
        assert c.response().status == 504


def test_no_server(upstream, tailor):
    # Goal: 503 with Retry-After, and service as soon as there is a server.
    server = upstream("active")
    server.stop()
    t = tailor(server, ready=False, proxy={"server_wait": "300ms"})
    with t.client() as c:
        answer = c.get()
        assert answer.status == 503 and answer.get("retry-after") == "1"
        assert t.ask("/readyz").status == 503
        server.listen()
        server.serve()
        t.wait_ready()
        assert c.get().status == 200


def test_unix_sockets_on_both_sides(upstream, tailor, scratch):
    # Goal: a listener on a Unix socket works like one on a port.
    server = upstream("active").serve()
    path = f"{scratch}/front.sock"
    t = tailor(server, listen=["127.0.0.1:0", f"unix:{path}"])
    with Client(path) as c:
        assert c.get().body == b"active"
    t.stop()
    assert not os.path.exists(path)


def test_connection_close_is_honoured(one):
    # Goal: a client that wants to leave is let go.
    server, t = one
    server.serve()
    with t.client() as c:
        answer = c.get(fields=[("Connection", "close")])
        assert answer.get("connection") == "close"
        c.expect_end()
    assert server.requests[0].get("connection") is None


def test_timeline_of_a_request(one):
    # Goal: a finished request's tale, as text and JSON, by the client's id.
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
        c.request("POST", "/.talechain/pin?id=tale-1")
        assert json.loads(c.response().body) == {"pinned": True}
        c.request("POST", "/.talechain/analyze",
                  body=b'{"id":"tale-1","client":{"sched_ns":1}}')
        assert c.response().status == 200
        assert c.get("/.talechain/timeline/nobody").status == 404
        assert c.get("/.talechain/timeline/tale-1?format=gif").status == 406
        assert c.get("/.talechain/other").status == 404
        c.request("GET", "/.talechain/pin?id=tale-1")
        assert c.response().status == 405
        c.request("POST", "/.talechain/analyze", body=b"{nonsense")
        assert c.response().status == 400
    assert t.ask("/timeline/tale-1").status == 200
    assert t.ask("/timeline/nobody").status == 404
    assert t.ask("/timeline/tale-1?format=gif").status == 406
    assert len(server.requests) == 1


def test_expired_and_unknown_are_distinguished(upstream, tailor):
    # Goal: 410 for what was known once, 404 for what never was.
    server = upstream("active").serve()
    t = tailor(server, slow={"target": "60s", "history": 16,
                             "store_bytes": "64k"})
    with t.client() as c:
        c.get(fields=[("X-Request-Id", "old-one")])
        for _ in range(20):
            c.get()
        assert c.get("/.talechain/timeline/old-one").status == 410
        assert c.get("/.talechain/timeline/never").status == 404


def test_talechain_is_denied_to_strangers(upstream, tailor):
    # Goal: who is not in talechain.allow gets 403 and no request's data.
    server = upstream("active").serve()
    t = tailor(server, talechain={"allow": ["10.9.8.0/24"]})
    with t.client() as c:
        c.get(fields=[("X-Request-Id", "secret")])
        assert c.get("/.talechain/timeline/secret").status == 403
        assert c.get("/").status == 200


def test_admin_is_not_for_browsers(one):
    # Goal: no page can use its reader to reach the admin socket.
    _, t = one
    assert t.ask("/servers").status == 200
    assert t.ask("/servers", fields=[("Origin", "http://x")]).status == 403
    assert t.ask("/switch").status == 405
    assert t.ask("/nothing").status == 404


def test_connection_limit(upstream, tailor):
    # Goal: over the limit a client is closed and counted, not queued.
    server = upstream("active").serve()
    t = tailor(server, proxy={"connections_max": 2})
    a, b = t.client(), t.client()
    assert a.get().status == 200 and b.get().status == 200
    c = t.client()
    with pytest.raises((Closed, ConnectionResetError, BrokenPipeError)):
        c.get()
    assert t.metrics()[
        'tailor_connections_rejected_total{reason="limit"}'] == 1
    for client in (a, b, c):
        client.close()


def test_queue_when_the_server_is_full(upstream, tailor):
    # Goal: over a server's limit requests wait their turn, in order.
    server = upstream("active")
    t = tailor({"name": "active", "address": server.address,
                "connections_max": 1})
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


def test_queue_timeout(upstream, tailor):
    # Goal: a request that waits too long for a server gets 503.
    server = upstream("active")
    t = tailor({"name": "active", "address": server.address,
                "connections_max": 1}, proxy={"queue_timeout": "100ms"})
    with t.client() as a, t.client() as b:
        a.request("GET", "/a")
        first = server.expect()
        b.request("GET", "/b")
        assert b.response().status == 503
        first.reply()
        assert a.response().status == 200
