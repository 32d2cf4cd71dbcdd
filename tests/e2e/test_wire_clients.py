"""Goal: clients behind a PROXY header, too many of one address, slow on
purpose, or merely slow."""

import json
import socket
import struct
import threading
import time

import pytest

from rig.message import Closed, response
from rig.ports import free_port
from rig.process import output
from rig.wait import PATIENCE_S, wait_until
from support.pair import entry
from test_streaming import Server

KERNEL_EVENTS = "off"


# --- the PROXY protocol -----------------------------------------------------

def v2(command, family, block):
    return (b"\r\n\r\n\0\r\nQUIT\n" + bytes([0x20 | command, family])
            + struct.pack("!H", len(block)) + block)


@pytest.fixture
def behind(upstream, tailor):
    """A tailor whose first listener awaits a PROXY header."""
    server = upstream("active").serve()

    def start(**proxy):
        address = f"127.0.0.1:{free_port()}"
        return server, tailor(
            server, listen=[f"{address} proxy_protocol"],
            proxy={"trusted_proxies": ["127.0.0.0/8"], **proxy})
    return start


HEADERS = [
    (b"PROXY TCP4 192.0.2.7 192.0.2.1 1234 80\r\n", "192.0.2.7"),
    (b"PROXY TCP6 2001:db8::7 ::1 1234 80\r\n", "2001:db8::7"),
    (b"PROXY UNKNOWN\r\n", "unknown"),
    (v2(1, 0x11, bytes([192, 0, 2, 8, 192, 0, 2, 1]) + b"\x10\0\0\x50"),
     "192.0.2.8"),
    (v2(0, 0, b""), "127.0.0.1"),
    (v2(1, 0, b""), "unknown"),
    (v2(1, 0x31, b"/front.sock".ljust(216, b"\0")), "unknown"),
]


def test_proxy_header_names_the_client(behind):
    # Goal: the header's address is the client's, however it trickles in.
    server, t = behind()
    for header, source in HEADERS:
        with t.client() as c:
            for byte in header:
                c.send(bytes([byte]))
            assert c.get().status == 200
            assert c.get().status == 200
        assert server.requests[-1].get("x-forwarded-for") == source, header


NO_HEADERS = [
    b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    b"PROXY TCP4 192.0.2.7 192.0.2.1 1234 99999\r\n",
    b"\r\n\r\n\0\r\nQUIT\n\x31\x11\0\0",
]


def test_proxy_header_must_be_there(behind):
    # Goal: on such a listener nothing else is guessed at.
    server, t = behind()
    for begin in NO_HEADERS:
        with t.client() as c:
            c.send(begin)
            c.expect_end()
    assert not server.requests
    assert t.metrics()[
        'tailor_connections_rejected_total{reason="proxy_header"}'
        ] == len(NO_HEADERS)


def test_proxy_header_of_whom_and_when(behind):
    # Goal: who is not trusted cannot say who he is; a connection that says
    # nothing does not stay.
    _, t = behind(trusted_proxies=["10.0.0.0/8"])
    with t.client() as c:
        c.expect_end()
    assert t.metrics()[
        'tailor_connections_rejected_total{reason="untrusted"}'] == 1
    t.reload(proxy={"trusted_proxies": ["127.0.0.0/8"], "header_timeout": "100ms"})
    with t.client() as c:
        c.send(b"PROXY ")
        c.expect_end()


UNNAMED = {"unknown": b"PROXY UNKNOWN\r\n", "unspecified": v2(1, 0, b""),
           "unix": v2(1, 0x31, b"\0" * 216)}


def test_an_unnamed_client_has_no_rights(behind):
    # Goal: a client that the front does not name has not the front's trust, nor
    # has one of another address; the front itself has it.
    server, t = behind()
    for header, status in ((v2(0, 0, b""), 404), (
            b"PROXY TCP4 192.0.2.7 192.0.2.1 1 2\r\n", 403)):
        with t.client() as c:
            c.send(header)
            assert c.get("/.talechain/timeline/x").status == status
    for what, header in UNNAMED.items():
        with t.client() as c:
            c.send(header + b"GET /.talechain/timeline/x HTTP/1.1\r\n"
                   b"Host: h\r\nX-Forwarded-For: 127.0.0.1\r\n\r\n")
            assert c.response().status == 403, what
            c.send(b"GET / HTTP/1.1\r\nHost: h\r\n"
                   b"X-Forwarded-For: 127.0.0.1\r\n\r\n")
            assert c.response().status == 200, what
        assert server.requests[-1].get("x-forwarded-for") == "unknown", what


# --- caps and slow clients --------------------------------------------------

def from_afar(t, address=b"192.0.2.9"):
    """A client of another machine: those of this one have no such limits."""
    client = t.client()
    client.send(b"PROXY TCP4 %s 192.0.2.1 1 2\r\n" % address)
    return client


def test_connections_of_one_address(behind):
    # Goal: one address cannot have them all, and gets them back; behind a proxy
    # addresses are counted apart.
    _, t = behind(connections_per_address_max=2)
    a, b = from_afar(t), from_afar(t)
    assert a.get().status == 200 and b.get().status == 200
    with pytest.raises((Closed, ConnectionResetError, BrokenPipeError)):
        from_afar(t).get()
    with from_afar(t, b"192.0.2.8") as other:
        assert other.get().status == 200
    b.close()
    t.wait_metric_is("tailor_connections_current", 1)
    with from_afar(t) as d:
        assert d.get().status == 200
    a.close()
    t.wait_metric_is("tailor_client_addresses", 0)
    assert t.metrics()[
        'tailor_connections_rejected_total{reason="per_address"}'] == 1


def test_half_open_requests_of_one_address(build, behind):
    # Goal: slow senders are capped; requests that come whole still pass.  Unless
    # it is said otherwise, that is for other machines' addresses and not for
    # this one's.
    _, t = behind(connections_per_address_max=16)
    here = [t.client() for _ in range(4)]
    for c in here:
        c.send(v2(0, 0, b"") + b"GET / HTTP/1.1\r\n")
    slow = [from_afar(t) for _ in range(2)]
    for c in slow:
        c.send(b"GET / HTTP/1.1\r\n")
    t.wait_metric_is("tailor_connections_half_open", 2)
    with from_afar(t) as c:
        assert c.get().status == 200  # whole at once
        c.send(b"GET / HT")
        assert c.response().status == 429
        c.expect_end()
    for c in here + slow:
        c.send(b"Host: a\r\n\r\n")
        assert c.response().status == 200
        c.close()
    t.wait_metric_is("tailor_connections_half_open", 0)
    assert json.loads(output(build / "tailor", "-T", "--listen", ":1",
                             "--active", ":2"))["proxy"][
        "connections_per_address_max"] == 8192


def test_heads_without_their_bodies_are_half_open(behind):
    # Goal: a head that came whole, and nothing of its body, counts too.
    _, t = behind(connections_per_address_max=16)

    def half_open(count):
        t.wait_metric_is("tailor_connections_half_open", count)

    for expect in (b"", b"Expect: 100-continue\r\n"):
        head = (b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n"
                + expect + b"\r\n")
        slow = [from_afar(t) for _ in range(2)]
        for c in slow:
            c.send(head)
        half_open(2)
        with from_afar(t) as c:
            c.send(head)
            assert c.response().status == 429, expect  # and no 100 before
            c.expect_end()
        with from_afar(t) as c:
            c.send(head + b"ok")  # whole at once
            assert c.response().status == 200, expect
        for c in slow:
            c.send(b"ok")
        half_open(0)
        for c in slow:
            c.close()


def test_a_body_that_trickles(one):
    # Goal: a byte now and then does not keep a connection.  (For none at all
    # it is closed for another reason.)
    t = one(proxy={"client_timeout": "3s"})
    done = threading.Event()
    with t.client() as c:
        c.send(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n"
               b"\r\n")

        def trickle():
            try:
                while not done.wait(0.02):
                    c.send(b"x")
            except OSError:
                pass
        thread = threading.Thread(target=trickle)
        thread.start()
        try:
            assert c.response().status == 408
        finally:
            done.set()
            thread.join()
    assert t.metrics()[
        'tailor_client_timeouts_total{phase="body_rate"}'] == 1


def test_a_client_is_not_late_while_it_is_not_read(tailor):
    # Goal: a server that does not take an upload is not the client's fault:
    # the body's timeout rests as long as we do not read.
    body, go = b"x" * 20_000_000, threading.Event()

    def play(sock, _, stream):
        assert go.wait(PATIENCE_S)
        stream.exactly(len(body))
        sock.sendall(response(201))

    server = Server(play)
    t = tailor(entry(server), proxy={"client_timeout": "3s"},
               hedging={"body_max": 0})
    with t.client() as c:
        sender = threading.Thread(target=c.send, args=(
            b"PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n"
            % len(body) + body,))
        sender.start()
        t.wait_metric("tailor_request_bytes_total", 1)
        seen, since = -1, time.monotonic()

        def still():
            nonlocal seen, since
            now = t.metrics()["tailor_request_bytes_total"]
            if now != seen:
                seen, since = now, time.monotonic()
            return time.monotonic() - since > 4
        wait_until(still, "nothing moves for longer than client_timeout")
        go.set()
        sender.join()
        assert c.response().status == 201
    server.close()


@pytest.mark.long("a server that is late for a second is cut")
def test_a_long_answer_may_take_longer_than_the_deadline(pair):
    # Goal: request_timeout does not cut what flows; a short one is sent when
    # it is whole.
    t = pair(proxy={"request_timeout": "1s"})
    never = threading.Event()
    with t.client() as c:
        for length, at_once in (1000000, True), (1000, False):
            c.request()
            r = pair.a.expect()
            r.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % length)
            if at_once:
                assert c.response_head().status == 200
            begun, sent = time.monotonic(), 0
            while time.monotonic() - begun < 2.5:  # more than twice the limit
                r.send(b".")
                sent += 1
                if at_once:
                    assert c.exactly(1) == b"."
                never.wait(0.02)
            r.send(b"x" * (length - sent))
            if at_once:
                c.exactly(length - sent)
            else:
                assert len(c.response().body) == length


def test_an_answer_that_stands_still_is_cut(pair):
    # Goal: request_timeout cuts what stands still: a short one is a 504, a
    # long one that has begun ends.
    t = pair(proxy={"request_timeout": "3s"})
    with t.client() as c:
        c.request()
        r = pair.a.expect()
        r.send(b"HTTP/1.1 200 OK\r\nContent-Length: 40\r\n\r\n.")
        assert c.response().status == 504
        c.request()
        r = pair.a.expect()
        r.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n.")
        assert c.response_head().status == 200
        assert c.exactly(1) == b"."
        c.expect_end()
    t.wait_metric("tailor_response_truncated_total", 1)


def test_pipelined_requests_are_answered_in_order(one):
    # Goal: many at once, one at a time to the server and on one connection,
    # answers in order.
    one.server.serve(lambda r: response(200, r.target.encode()))
    t = one()
    with t.client() as c:
        c.send(b"".join(b"GET /%d HTTP/1.1\r\nHost: h\r\n\r\n" % i
                        for i in range(200)))
        for i in range(200):
            assert c.response().body == b"/%d" % i
    assert len(one.server.connections) <= 3  # those of two probes, and ours


def test_who_does_not_read_cannot_ask_for_ever(one):
    # Goal: answers of our own wait for the client too; memory stays.
    t = one()
    ask = b"GET /.talechain/timeline/x HTTP/1.1\r\nHost: h\r\n\r\n"
    with t.client() as c:
        c.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        c.socket.settimeout(0.5)
        with pytest.raises(TimeoutError):
            for _ in range(10000):
                c.send(ask * 100)
        assert t.metrics()["tailor_memory_blocks"] < 16
        c.socket.settimeout(20)


# --- what begins a request, and what ends it -----------------------------------

def test_a_stray_crlf_begins_no_request(one):
    # Goal: old clients send CRLF behind a body: no 408 follows, and the
    # next request is answered.
    t = one(proxy={"header_timeout": "100ms"})
    one.server.serve()
    with t.client() as c:
        c.request("POST", body=b"12345")
        c.send(b"\r\n")
        assert c.response().body == b"active"
        assert c.silent_for(0.5)
        assert c.get().body == b"active"
        c.send(b"\r")
        assert c.silent_for(0.5)
        c.send(b"\nGET / HTTP/1.1\r\nHost: a\r\n\r\n")
        assert c.response().body == b"active"
    m = t.metrics()
    assert m['tailor_client_timeouts_total{phase="head"}'] == 0
    assert m['tailor_local_replies_total{code="408"}'] == 0


def test_a_body_that_begins_late(one):
    # Goal: the head's time limit is over with the head.
    t = one(proxy={"header_timeout": "200ms", "client_timeout": "600s"})
    one.server.serve()
    with t.client() as c:
        c.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n")
        assert c.silent_for(0.5)
        c.send(b"12345")
        assert c.response().body == b"active"


ENDS = [b"", b"\r\n", b"GET / HT", b"POST / HTTP/1.1\r\nHost: a\r\n"
        b"Content-Length: 5\r\n\r\nabc"]


def test_what_is_not_whole_when_the_client_has_ended(one):
    # Goal: the response, then the end: a FIN behind a request is no abort (RFC
    # 9112, 9.6), and nothing waits for what cannot come.
    t = one(proxy={"header_timeout": "30s", "client_timeout": "30s"})
    for rest in ENDS:
        with t.client() as c:
            c.request("POST", body=b"12345")
            c.send(rest)
            c.shutdown()
            r = one.server.expect()
            r.wait_body()
            r.reply(200, b"active")
            assert c.response().body == b"active", rest
            c.expect_end()
        m = t.metrics()
        assert m["tailor_connections_current"] == 0, rest
        assert m['tailor_client_timeouts_total{phase="head"}'] == 0, rest
        assert m['tailor_client_timeouts_total{phase="body"}'] == 0, rest


def test_a_body_behind_a_reply_that_its_client_was_slow_to_read(one):
    # Goal: who did not read, and so was not read, is read again.
    t = one(proxy={"client_timeout": "60s"})
    one.server.serve()
    post = (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 60000\r\n\r\n"
            + b"x" * 60000)
    with t.client() as c:
        c.get(fields=[("X-Request-Id", "slow")])
        ask = (b"GET /.talechain/timeline/slow?format=html HTTP/1.1\r\n"
               b"Host: a\r\n\r\n")
        sender = threading.Thread(target=c.send, args=((ask + post) * 100,),
                                  daemon=True)
        sender.start()
        seen = [-1, 0]

        def stands_still():
            time.sleep(0.2)
            seen.append(len(one.server.requests))
            return seen[-1] == seen[-3]

        wait_until(stands_still, "nothing is read any more")
        assert seen[-1] < 100
        for _ in range(100):
            assert c.response().status == 200
            assert c.response("POST").body == b"active"
        sender.join()
