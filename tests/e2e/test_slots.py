"""Goal: a client that takes its time holds no server: slow uploads, slow
readers and crowds of waiting requests leave the servers to all others."""

import os
import resource
import socket
import threading

import pytest

from rig.client import Client
from rig.message import response
from rig.wait import PATIENCE_S, wait_until
from support.pair import entry, prove
from test_streaming import (
    Server, digest, framing, read_body, send_body)

KERNEL_EVENTS = "off"

SLOTS = 64  # of a server, by default
# No client of these tests is late, however slow the machine is; and what waits
# for a slot that no one gives back gets a 503, before its client has given up.
UNHURRIED = {"client_timeout": "600s", "queue_timeout": "30s"}


def hello(_request):
    return response(200, b"hello")


def served_promptly(t, times=20):
    """Another client's requests find a slot; waiting, they would get 503."""
    with t.client() as other:
        for _ in range(times):
            assert other.get("/other").status == 200


def upload(address, size, begin=b""):
    """A client that has sent the head of a body of size, and begin."""
    client = Client(address)
    client.send(b"POST /up HTTP/1.1\r\nHost: t\r\n"
                + framing(size, False) + begin)
    return client


def spooled(t):
    return t.metrics()["tailor_spool_bytes"]


# --- uploads ------------------------------------------------------------------

def test_trickled_uploads_hold_no_server(upstream, tailor):
    # Goal: 64 uploads above body_max whose ends do not come leave both
    # servers to all others, and are answered when they are whole.
    a, b = upstream("a").serve(hello), upstream("b").serve(hello)
    t = tailor(a, b, proxy=UNHURRIED)
    size = 100_000
    trickled = [upload(t.address, size, b"x" * 80_000) for _ in range(SLOTS)]
    t.wait_metric_is("tailor_request_bytes_total", SLOTS * 80_000)
    served_promptly(t)
    assert not any(r.target == "/up" for r in a.requests + b.requests)
    for client in trickled:
        client.send(b"x" * (size - 80_000))
    for client in trickled:
        assert client.response().status == 200
        client.close()
    uploads = [r for r in a.requests + b.requests if r.target == "/up"]
    assert len(uploads) == SLOTS
    assert all(r.wait_body() == b"x" * size for r in uploads)
    assert t.metrics()["tailor_spool_files"] == spooled(t) == 0


@pytest.mark.parametrize("chunked", [False, True], ids=["length", "chunked"])
def test_refused_connect_costs_a_large_body_nothing(upstream, tailor,
                                                    free_port, chunked):
    # Goal: a POST above body_max whose first connect is refused reaches the
    # other server from its first byte on.
    a, b = upstream("a"), upstream("b")
    a.serve(hello)
    b.serve(hello)
    t = tailor(a, b)
    a.stop()  # its next connect is refused; it is still the active one
    body = os.urandom(1_000_000)
    with t.client() as client:
        fields = b"Transfer-Encoding: chunked" if chunked \
            else b"Content-Length: %d" % len(body)
        client.send(b"POST /up HTTP/1.1\r\nHost: t\r\n" + fields
                    + b"\r\n\r\n" + (b"%x\r\n" % len(body) if chunked else b""))
        client.send(body + (b"\r\n0\r\n\r\n" if chunked else b""))
        assert client.response().status == 200
    request, = [r for r in b.requests if r.target == "/up"]
    assert request.wait_body() == body
    assert request.get("content-length") == str(len(body))


def test_no_room_for_uploads(upstream, tailor):
    # Goal: what finds no room in files is answered 503 and counted; what
    # fits is not harmed, and room that is free again is used.
    a = upstream("a").serve(hello)
    t = tailor(a, proxy={"spool_max": "200k"})
    fits = upload(t.address, 150_000, b"x" * 149_999)
    wait_until(lambda: spooled(t) > 60_000, "it lies in a file")
    more = upload(t.address, 150_000, b"x" * 149_999)
    answer = more.response()
    assert answer.status == 503 and answer.get("retry-after")
    more.close()
    fits.send(b"x")
    assert fits.response().status == 200
    again = upload(t.address, 150_000, b"x" * 150_000)
    assert again.response().status == 200
    metrics = t.metrics()
    assert metrics[
        'tailor_spool_refused_total{use="request",reason="limit"}'] == 1
    assert metrics['tailor_request_failures_total{reason="spool_full"}'] == 1
    fits.close()
    again.close()


# --- waiting ------------------------------------------------------------------

WAITING = 20_000
WAITING_BYTES_MAX = 4096  # for each, its connection included


@pytest.fixture
def crowd(upstream):
    """crowd(t, count, request): so many more connections that have sent one;
    answered(): all are responded to once the server's gate is open."""
    clients, gate, server = [], threading.Event(), upstream("active")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 3500:
        pytest.skip(f"the limit on open files, {hard}, is too low")
    # As many descriptors as may be, here and in what is started.
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))

    def serve():
        server.serve(lambda r: gate.wait(600) and hello(r))

    def come(t, count, request):
        for _ in range(count):
            clients.append(socket.create_connection(t.address))
            clients[-1].sendall(request)

    def answered():
        gate.set()
        for client in clients:
            client.settimeout(PATIENCE_S)
            assert client.recv(4096).startswith(b"HTTP/1.1 200 ")

    come.server, come.serve, come.answered, come.most = (
        server, serve, answered, hard // 2 - 500)
    yield come
    gate.set()
    for client in clients:
        client.close()
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.long("20,000 connections: takes long, and measures memory")
def test_twenty_thousand_wait(build, tailor, crowd):
    # Goal: 20,000 requests wait for two servers that are busy, at 4 KiB each
    # or less, and all are answered.  (As many as descriptors allow.)
    if "asan" in str(build) or "tsan" in str(build):
        pytest.skip("a sanitizer's own memory is not ours to promise")
    # The test's server may get a connection for each: it is silent for so
    # long that a kept one is not trusted.
    count = min(WAITING, crowd.most)
    t = tailor(entry(crowd.server, streams_max=0), proxy={
        "queue_timeout": "600s", "request_timeout": "600s",
        "spool_directory": "", "connections_per_address_max": 0})
    prove(crowd.server, t)
    crowd.serve()
    body = b'{"query": {"match_all": {}}}'
    request = (b"POST /index/_search HTTP/1.1\r\nHost: search.example\r\n"
               b"User-Agent: a-client/1.0\r\nContent-Type: application/json\r\n"
               b"Content-Length: %d\r\n\r\n" % len(body) + body)
    crowd(t, SLOTS, request)
    t.wait_metric("tailor_requests_inflight", SLOTS)
    before = t.resident_kib()
    crowd(t, count, request)
    t.wait_metric("tailor_requests_queued", count)
    each = (t.resident_kib() - before) * 1024 / count
    print(f"{each:.0f} bytes for each of {count} requests that wait")
    crowd.answered()
    assert each <= WAITING_BYTES_MAX
    assert crowd.server.requests[-1].wait_body() == body


def test_a_burst_is_answered(tailor, crowd):
    # Goal: of 1500 requests at once none is refused.
    crowd.serve()
    t = tailor(crowd.server, proxy={"queue_timeout": "600s",
                                    "request_timeout": "600s"})
    crowd(t, 1500, b"GET / HTTP/1.1\r\nHost: t\r\n\r\n")

    def there():
        metrics = t.metrics()
        return metrics["tailor_requests_inflight"] + sum(
            count for name, count in metrics.items()
            if name.startswith("tailor_local_replies_total"))
    wait_until(lambda: there() == 1500, "all are there")
    crowd.answered()


def test_bodies_that_waited_arrive(upstream, tailor):
    # Goal: what is packed while it waits is sent as it came: no body, a small
    # one, one of some blocks, one in a file.
    server = upstream("active")
    t = tailor({"name": "active", "address": server.address,
                "connections_max": 1, "streams_max": 0},  # held, not aside
               proxy={"queue_timeout": "60s"})
    bodies = [b"", os.urandom(3), os.urandom(8000), os.urandom(50_000),
              os.urandom(200_000)]
    with t.client() as first:
        first.request()
        busy = server.expect()
        clients = [t.client() for _ in bodies]
        for i, (client, body) in enumerate(zip(clients, bodies)):
            client.request("POST", f"/{i}", fields=[("Number", str(i))],
                           body=body)
        t.wait_metric("tailor_requests_queued", len(bodies))
        busy.reply(200, b"first")
        assert first.response().body == b"first"
        for _ in bodies:
            request = server.expect()
            i = int(request.target[1:])
            assert request.get("number") == str(i)
            assert request.wait_body() == bodies[i]
            request.reply(200, b"%d" % i)
        for i, client in enumerate(clients):
            assert client.response().body == b"%d" % i
            client.close()


# --- slow readers -------------------------------------------------------------

SIZE = 20 << 20
READERS = 8  # and as many slots, where all of them must be taken


class Tap:
    """A server of large responses: counts those that it has got off."""

    def __init__(self, chunked=False):
        self.sent = 0
        self._lock = threading.Lock()
        self._chunked = chunked
        self.server = Server(self._play)

    def _play(self, sock, request, stream):
        while True:
            if request.target == "/large":
                sock.sendall(b"HTTP/1.1 200 OK\r\n"
                             + framing(SIZE, self._chunked))
                send_body(sock, SIZE, self._chunked)
                with self._lock:
                    self.sent += 1
            else:
                sock.sendall(hello(None))
            request = stream.head()


def slow_reader(t):
    """A client with a small buffer that asks for much and does not read."""
    client = t.client(receive_buffer=16384)
    client.request("GET", "/large")
    return client


@pytest.mark.parametrize("chunked", [False, True], ids=["length", "chunked"])
def test_slow_readers_hold_no_server(tailor, chunked):
    # Goal: clients that do not read 20 MB each, as many as the server has
    # slots, leave it to all other clients: it is done with all of them, and
    # each gets every byte.
    tap = Tap(chunked)
    t = tailor(entry(tap.server, connections_max=READERS), proxy=UNHURRIED)
    slow = [slow_reader(t) for _ in range(READERS)]
    wait_until(lambda: tap.sent == READERS, "the server is done")
    served_promptly(t)
    metrics = t.metrics()
    assert metrics['tailor_spool_written_bytes_total{use="response"}'] \
        > READERS * SIZE // 2
    assert metrics["tailor_spool_files"] == READERS
    whole = digest(SIZE)
    for client in slow[:4]:
        assert client.response_head().status == 200
        assert read_body(client, SIZE, chunked) == whole
        assert client.get().body == b"hello"
    for client in slow:
        client.close()
    t.wait_metric_is("tailor_spool_bytes", 0)
    tap.server.close()


@pytest.mark.parametrize("limits", [
    {"spool_max": "64M"}, {"spool_max": "2M"}, {"spool_directory": ""}],
    ids=["one response's", "all responses'", "no files"])
def test_a_slow_reader_at_the_limits(tailor, limits):
    # Goal: where files may take no more, the server waits, and the client
    # gets every byte all the same.
    tap = Tap()
    t = tailor(tap.server, proxy={**UNHURRIED, **limits})
    with slow_reader(t) as client:
        assert client.response_head().status == 200
        served_promptly(t)
        assert spooled(t) <= 1 << 20
        assert read_body(client, SIZE, False) == digest(SIZE)
    assert tap.sent == 1
    tap.server.close()
