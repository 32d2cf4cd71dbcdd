"""Goal: WebSocket passes where it may, both ways, to both ends, and is no way
around the gate."""

import threading

import pytest

from rig.message import Closed, response
from rig.wait import PATIENCE_S, wait_until
from support.wire import AGREED

KERNEL_EVENTS = "off"
ASK = (b"GET /chat HTTP/1.1\r\nHost: h\r\nConnection: keep-alive, Upgrade\r\n"
       b"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
       b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")


@pytest.fixture
def tunnels(pair):
    """Two scripted servers, and a tailor that lets WebSocket pass."""
    def start(**proxy):
        return pair(proxy={"websocket": True, **proxy})

    start.a, start.b = pair.a, pair.b
    return start


def agree_and(talk, answer=AGREED):
    """A handler that agrees to the upgrade and then talks raw."""
    def handler(request):
        request.send(answer)
        talk(request.connection)
        raise Closed
    return handler


def echo(connection):
    while True:
        data = connection._recv()
        if not data:
            connection.close()
            return
        connection.send(data)


def test_bytes_go_both_ways(tunnels):
    # Goal: from 101 on everything passes as it is, in both directions, and
    # the client's end reaches the server.
    tunnels.a.serve(agree_and(echo))
    t = tunnels()
    with t.client() as c:
        c.send(ASK)
        answer = c.response(interim=True)
        assert answer.status == 101
        assert answer.get("upgrade") == "websocket"
        assert answer.get("connection") == "upgrade"
        assert answer.get("sec-websocket-accept")
        for data in (b"hello", bytes(range(256)) * 300,
                     b"GET / HTTP/1.1\r\n\r\n", b"\0"):
            c.send(data)
            assert c.exactly(len(data)) == data
        assert t.metrics()["tailor_tunnels_current"] == 1
        c.shutdown()
        c.expect_end()
    r = tunnels.a.requests[0]
    assert r.get("upgrade") == "websocket" and r.get("connection") == "upgrade"
    assert r.get("sec-websocket-key") == "dGhlIHNhbXBsZSBub25jZQ=="
    t.wait_metric_is("tailor_tunnels_current", 0)
    m = t.metrics()
    assert m["tailor_tunnels_total"] == 1
    assert not [k for k, v in m.items()
                if k.startswith("tailor_slow_requests_total") and v > 0]


def test_bytes_sent_with_the_request_and_the_answer(tunnels):
    # Goal: nothing is lost or read as HTTP around the moment of the change.
    got = []

    def talk(connection):
        connection.send(b"first words")
        got.append(connection._stream.exactly(5))
        connection.close()

    tunnels.a.serve(agree_and(talk))
    t = tunnels()
    with t.client() as c:
        c.send(ASK + b"early")
        assert c.response(interim=True).status == 101
        assert c.exactly(11) == b"first words"
        c.expect_end()
    assert got == [b"early"]


def test_a_client_that_ends_before_the_agreement(tunnels):
    # Goal: what it sent before its end reaches the server, then the end does.
    go, got = threading.Event(), []

    def talk(connection):
        got.append(connection._stream.to_end())
        connection.close()

    def late(request):
        assert go.wait(PATIENCE_S)
        return agree_and(talk)(request)

    tunnels.a.serve(late)
    t = tunnels()
    with t.client() as c:
        c.send(ASK + b"early")
        tunnels.a.expect_head()
        c.shutdown()
        t.metrics()  # Tailor reads the end before it responds to this
        go.set()
        assert c.response(interim=True).status == 101
        c.expect_end()
    assert got == [b"early"]


def test_large_amounts_and_a_stuck_reader(tunnels):
    # Goal: back-pressure holds in a tunnel too.
    tunnels.a.serve(agree_and(echo))
    t = tunnels()
    data = bytes(range(251)) * 40_000
    with t.client() as c:
        c.send(ASK)
        assert c.response(interim=True).status == 101
        sender = threading.Thread(target=c.send, args=(data,))
        sender.start()  # and what comes back is not read
        seen = []

        def still():
            seen.append(t.metrics()["tailor_request_bytes_total"])
            return len(seen) > 20 and seen[-1] == seen[-20]
        wait_until(still, "it stands still")
        assert t.metrics()["tailor_memory_blocks"] < 80
        assert c.exactly(len(data)) == data
        sender.join()


def test_a_tunnel_is_never_hedged(tunnels):
    # Goal: E3: neither while the response is awaited nor afterwards.
    t = tunnels()
    go = threading.Event()

    def talk(connection):
        connection.send(b"hi")
        assert go.wait(PATIENCE_S)
        connection.close()

    def late(request):
        assert go.wait(PATIENCE_S)
        go.clear()
        return agree_and(talk)(request)

    tunnels.a.serve(late)
    with t.client() as c:
        c.send(ASK)
        tunnels.a.expect_head()
        t.hazard("a", "begin")
        t.wait_metric('tailor_hedges_refused_total{reason="upgrade"}', 1)
        go.set()
        assert c.response(interim=True).status == 101
        assert c.exactly(2) == b"hi"
        t.hazard("a", "end")
        t.ask("/switch", "POST")
        t.hazard("a", "begin")
        go.set()
        c.expect_end()
    assert not tunnels.b.requests


def test_the_client_leaves(tunnels):
    # Goal: a tunnel is closed, not drained, when its client is gone.
    tunnels.a.serve(agree_and(echo))
    t = tunnels()
    c = t.client()
    c.send(ASK)
    assert c.response(interim=True).status == 101
    connection = tunnels.a.requests[0].connection
    c.reset()
    connection.wait_end()
    t.wait_metric_is("tailor_tunnels_current", 0)
    assert t.metrics()['tailor_losers_total{result="drained"}'] == 0


def test_an_idle_tunnel_ends(tunnels):
    # Goal: tunnel_timeout, and not those of requests, applies.
    tunnels.a.serve(agree_and(echo))
    t = tunnels(tunnel_timeout="4s", request_timeout="3s", idle_timeout="3s",
                client_timeout="3s")
    with t.client() as c:
        c.send(ASK)
        assert c.response(interim=True).status == 101
        c.send(b"x")
        assert c.exactly(1) == b"x"
        c.expect_end()
    assert t.metrics()['tailor_client_timeouts_total{phase="tunnel"}'] == 1


def test_a_server_that_only_talks_keeps_its_tunnel(tunnels):
    # Goal: a tunnel on which bytes come from one side only is not idle.
    def talk(connection):
        never = threading.Event()
        for _ in range(20):  # longer than tunnel_timeout altogether
            connection.send(b"x")
            never.wait(0.2)
        connection.close()

    tunnels.a.serve(agree_and(talk))
    t = tunnels(tunnel_timeout="3s")
    with t.client() as c:
        c.send(ASK)
        assert c.response(interim=True).status == 101
        assert c.exactly(20) == b"x" * 20
        c.expect_end()
    assert t.metrics()['tailor_client_timeouts_total{phase="tunnel"}'] == 0


CHANGES = [
    ((b"Upgrade: websocket", b"Upgrade: h2c"), False),
    ((b"Upgrade: websocket", b"Upgrade: websocket, h2c"), False),
    ((b"Upgrade: websocket", b"Upgrade: h2c\r\nUpgrade: websocket"), False),
    ((b", Upgrade", b""), False),
    ((b"GET /chat", b"POST /chat"), False),
    ((b"Upgrade: websocket", b"Upgrade: WebSocket"), True),
]


def test_only_websocket_is_asked_for(tunnels):
    # Goal: everything else arrives as an ordinary request, h2c above all; what
    # can be no handshake (RFC 6455 4.2.1) is refused.  A server's response that
    # does not agree is an ordinary one; the connection goes on.
    t = tunnels()
    tunnels.a.serve(lambda r: response(426, b"no"))
    with t.client() as c:
        c.send(ASK)
        answer = c.response()
        assert answer.status == 426 and answer.body == b"no"
        tunnels.a.serve()
        assert c.get().body == b"a"
    tunnels.a.requests.clear()
    for change, upgraded in CHANGES:
        with t.client() as c:
            c.send(ASK.replace(*change))
            assert c.response().status == 200
        r = tunnels.a.requests[-1]
        assert (r.get("upgrade") is not None) == upgraded, change
        assert (r.get("connection") is not None) == upgraded, change
    with t.client() as c:
        c.send(ASK.replace(b"Sec-WebSocket-Key", b"X-Key"))
        assert c.response().status == 400
    assert len(tunnels.a.requests) == len(CHANGES)


DISAGREE = [
    AGREED.replace(b"websocket", b"h2c"),
    AGREED.replace(b"Upgrade: websocket\r\n", b""),
    AGREED.replace(b"Sec-WebSocket-Accept", b"X"),
    AGREED.replace(b"Connection: Upgrade\r\n", b""),
    AGREED.replace(b"\r\n\r\n", b"\r\nContent-Length: x\r\n\r\n"),
]


def test_a_bad_agreement_is_a_502(tunnels):
    # Goal: a 101 that does not say the same is not one.
    t = tunnels()
    for answer in DISAGREE:
        with t.client() as c:
            c.send(ASK)
            r = tunnels.a.expect()
            r.send(answer)
            assert c.response(interim=True).status == 502, answer
            r.connection.wait_end()
    assert not tunnels.b.requests  # half an upgrade may have happened


@pytest.mark.parametrize("field", [
    b"Content-Length: 0", b"Content-Length: 3", b"Transfer-Encoding: chunked"])
def test_framing_beside_an_agreement(tunnels, field):
    # Goal: a 101 has no body, whatever it says (RFC 9110 8.6, 15.2): the
    # field goes no further, and what comes next is the tunnel's.
    answer = AGREED[:-2] + field + b"\r\n\r\n" + b"0\r\n\r\n"
    tunnels.a.serve(agree_and(echo, answer))
    t = tunnels()
    with t.client() as c:
        c.send(ASK)
        answer = c.response(interim=True)
        assert answer.status == 101
        assert answer.get(field.split(b":")[0].decode()) is None
        assert c.exactly(5) == b"0\r\n\r\n"
        c.send(b"hello")
        assert c.exactly(5) == b"hello"
        c.shutdown()
        c.expect_end()


def test_off_by_default(upstream, tailor):
    # Goal: without the key an upgrade is only a field that is dropped.
    server = upstream("active").serve()
    t = tailor(server)
    with t.client() as c:
        c.send(ASK)
        assert c.response().body == b"active"
    assert server.requests[0].get("upgrade") is None
