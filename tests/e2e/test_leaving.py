"""Goal: a client that has left costs neither a slot of its server nor a request
there; a client that has only ended its side still gets its response."""

import socket

import pytest

from rig.client import Client
from support.pair import entry
from support.wire import STREAM

KERNEL_EVENTS = "off"
ENDLESS = (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
           b"4\r\nmore\r\n")
LEFT = 'tailor_client_aborts_total{phase="response"}'
DRAINING = 'tailor_draining_connections{server="active"}'


@pytest.mark.parametrize("response", [STREAM, ENDLESS])
def test_what_has_no_end_is_not_read_on(upstream, tailor, response):
    # Goal: the server learns at once that its client has left, and the slot
    # is free.
    server = upstream("active")
    t = tailor(entry(server, connections_max=2))
    for left in range(1, 4):
        with t.client() as c:
            c.request()
            request = server.expect()
            request.send(response)
            assert c.response_head().status == 200
            assert c.exactly(9)  # and no more of it comes
            c.reset()
        request.connection.wait_end()
        t.wait_metric(LEFT, left)
        assert t.metrics()[DRAINING] == 0
    with t.client() as c:
        c.request()
        server.expect().reply()
        assert c.response().status == 200


def test_a_silent_stream(one):
    # Goal: the end of a stream's client is seen though nothing is sent to it;
    # nor is one read on whose client left before its head came.
    server, t = one.server, one()
    with t.client() as c:
        c.request()
        request = server.expect()
        request.send(STREAM)
        assert c.response_head().status == 200
        assert c.exactly(9)
    request.connection.wait_end()
    with t.client() as c:
        c.request()
        request = server.expect()
        c.reset()
    t.wait_metric(DRAINING, 1)
    request.send(STREAM)
    request.connection.wait_end()


@pytest.mark.parametrize("path", ["tcp", "unix"])
def test_queued_requests_of_clients_that_left(
        upstream, tailor, scratch, free_port, path):
    # Goal: no server gets them; a client that has only ended its side gets its
    # response.
    server = upstream("active")
    t = tailor(entry(server, connections_max=1),
               listen=[f"127.0.0.1:{free_port()}", f"unix:{scratch}/front"])
    connect = ((lambda: Client(str(scratch / "front"))) if path == "unix"
               else t.client)
    with connect() as first, connect() as half:
        first.request("GET", "/first")
        held = server.expect()
        half.request("GET", "/half")
        clients = [connect() for _ in range(4)]
        for i, c in enumerate(clients):
            if i % 2:
                c.request("POST", "/left", body=b"x")
            else:
                c.request("GET", "/left")
        t.wait_metric("tailor_requests_queued", 5)
        before = t.metrics()["tailor_response_bytes_total"]
        for c in clients:
            c.close()
        half.socket.shutdown(socket.SHUT_WR)
        # Each has been sent an interim response, and who has left has
        # answered by a reset; or it is known already.
        if path == "tcp":
            t.wait_metric("tailor_response_bytes_total", before + 5 * 25)
        else:
            t.wait_metric("tailor_requests_queued", 1)
        held.reply()
        assert first.response().status == 200
        server.expect().reply(200, b"half")
        assert half.response().body == b"half"
        t.wait_settled()
    assert [r.target for r in server.requests] == ["/first", "/half"]
