"""Goal: a client that takes its time holds no server: slow uploads, slow
readers and crowds of waiting requests leave the servers to all others."""

import os
import pathlib
import resource
import socket
import threading

import pytest

from rig.client import Client
from rig.message import response
from rig.wait import PATIENCE_S, wait_until
from support.pair import prove
from test_streaming import (
    Server, digest, framing, pieces, read_body, read_head, send_body)

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


def test_stale_connection_and_a_large_body(upstream, tailor):
    # Goal: a body in a file is sent again from its start when the kept
    # connection that it went out on had ended.
    a = upstream("a")
    a.serve(hello)
    t = tailor(a, hedging={"allow": ["PUT /up"]})
    body = os.urandom(300_000)
    with t.client() as client:
        for _ in range(5):
            assert client.get().status == 200
            a.connections[-1].reset()
            client.send(b"PUT /up HTTP/1.1\r\nHost: t\r\n"
                        + framing(len(body), False) + body)
            assert client.response().status == 200
            assert a.requests[-1].wait_body() == body


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


def test_full_disk(upstream, tailor):
    # Goal: a file system that takes nothing is a response, not a hang.  (A file
    # is in the directory's place: as root nothing else fails at once.)
    a = upstream("a").serve(hello)
    t = tailor(a)
    os.rmdir(f"{t.directory}/spool")
    pathlib.Path(f"{t.directory}/spool").touch()
    with t.client() as client:
        client.send(b"PUT /up HTTP/1.1\r\nHost: t\r\n"
                    + framing(100_000, False) + b"x" * 100_000)
        answer = client.response()
        assert answer.status == 503 and answer.get("retry-after")
    metrics = t.metrics()
    assert metrics[
        'tailor_spool_refused_total{use="request",reason="failed"}'] == 1
    served_promptly(t, 1)


def test_many_large_uploads_at_once(tailor):
    # Goal: twenty uploads of some MB, sent together, arrive whole.
    size = 4 << 20

    def play(sock, _head, rest):
        found = read_body(sock, rest, size, False)
        sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 64\r\n"
                     b"Connection: close\r\n\r\n" + found.encode())

    server = Server(play)
    t = tailor({"name": "active", "address": server.address}, proxy=UNHURRIED)
    clients = [upload(t.address, size) for _ in range(20)]
    for piece in pieces(size):
        for client in clients:
            client.send(piece)
    for client in clients:
        assert client.response().body.decode() == digest(size)
        client.close()
    server.close()


# --- waiting ------------------------------------------------------------------

WAITING = 20_000
WAITING_BYTES_MAX = 4096  # for each, its connection included


def raise_limit():
    """As many descriptors as may be, here and in what is started."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return soft, hard


@pytest.mark.long("20,000 connections: takes long, and measures memory")
def test_twenty_thousand_wait(build, upstream, tailor):
    # Goal: 20,000 requests wait for two servers that are busy, at 4 KiB each
    # or less, and all are answered.  (As many as descriptors allow.)
    if "asan" in str(build) or "tsan" in str(build):
        pytest.skip("a sanitizer's own memory is not ours to promise")
    soft, hard = raise_limit()
    # The test's server may get a connection for each: it is silent for so
    # long that a kept one is not trusted.
    count = min(WAITING, hard // 2 - 500)
    if count < 1000:
        pytest.skip(f"the limit on open files, {hard}, is too low")
    gate, server = threading.Event(), upstream("active")

    def answer(request):
        assert gate.wait(600)
        return hello(request)

    t = tailor({"name": "active", "address": server.address,
                "streams_max": 0}, proxy={
        "queue_timeout": "600s", "request_timeout": "600s",
        "spool_directory": "", "connections_per_address_max": 0})
    prove(server, t)
    server.serve(answer)
    served = t.config["servers"][0].get("connections_max", SLOTS)
    body = b'{"query": {"match_all": {}}}'
    request = (b"POST /index/_search HTTP/1.1\r\nHost: search.example\r\n"
               b"User-Agent: a-client/1.0\r\nContent-Type: application/json\r\n"
               b"Content-Length: %d\r\n\r\n" % len(body) + body)
    clients = []
    try:
        for _ in range(served):
            clients.append(socket.create_connection(t.address))
            clients[-1].sendall(request)
        t.wait_metric("tailor_requests_inflight", served)
        before = t.resident_kib()
        for _ in range(count):
            clients.append(socket.create_connection(t.address))
            clients[-1].sendall(request)
        t.wait_metric("tailor_requests_queued", count)
        each = (t.resident_kib() - before) * 1024 / count
        print(f"{each:.0f} bytes for each of {count} requests that wait")
        gate.set()
        for client in clients:
            client.settimeout(60)
            assert client.recv(4096).startswith(b"HTTP/1.1 200 ")
        assert each <= WAITING_BYTES_MAX
        assert server.requests[-1].wait_body() == body
    finally:
        gate.set()
        for client in clients:
            client.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_burst_is_answered(upstream, tailor):
    # Goal: of 1500 requests at once none is refused.
    gate, server = threading.Event(), upstream("active")
    soft, hard = raise_limit()
    if hard < 3500:
        pytest.skip(f"the limit on open files, {hard}, is too low")

    def answer(request):
        assert gate.wait(600)
        return hello(request)

    server.serve(answer)
    t = tailor(server, proxy={"queue_timeout": "600s",
                              "request_timeout": "600s"})
    clients = []
    try:
        for _ in range(1500):
            clients.append(socket.create_connection(t.address))
            clients[-1].sendall(b"GET / HTTP/1.1\r\nHost: t\r\n\r\n")

        def there():
            metrics = t.metrics()
            return metrics["tailor_requests_inflight"] + sum(
                count for name, count in metrics.items()
                if name.startswith("tailor_local_replies_total"))
        wait_until(lambda: there() == 1500, "all are there")
        gate.set()
        for client in clients:
            client.settimeout(PATIENCE_S)
            assert client.recv(4096).startswith(b"HTTP/1.1 200 ")
    finally:
        gate.set()
        for client in clients:
            client.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


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
        self.address = self.server.address

    def _play(self, sock, head, _rest):
        while True:
            if head.startswith(b"GET /large "):
                sock.sendall(b"HTTP/1.1 200 OK\r\n"
                             + framing(SIZE, self._chunked))
                send_body(sock, SIZE, self._chunked)
                with self._lock:
                    self.sent += 1
            else:
                sock.sendall(hello(None))
            head, _ = read_head(sock)


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
    t = tailor({"name": "active", "address": tap.address,
                "connections_max": READERS}, proxy=UNHURRIED)
    slow = []
    for _ in range(READERS):
        slow.append(slow_reader(t))
    wait_until(lambda: tap.sent == READERS, "the server is done")
    served_promptly(t)
    metrics = t.metrics()
    assert metrics['tailor_spool_written_bytes_total{use="response"}'] \
        > READERS * SIZE // 2
    assert metrics["tailor_spool_files"] == READERS
    whole = digest(SIZE)
    for client in slow[:4]:
        sock = client.socket
        assert read_body(sock, read_head(sock)[1], SIZE, chunked) == whole
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
    t = tailor({"name": "active", "address": tap.address},
               proxy={**UNHURRIED, **limits})
    with slow_reader(t) as client:
        sock = client.socket
        head, rest = read_head(sock)
        assert head.startswith(b"HTTP/1.1 200 ")
        served_promptly(t)
        assert spooled(t) <= 1 << 20
        assert read_body(sock, rest, SIZE, False) == digest(SIZE)
    assert tap.sent == 1
    tap.server.close()


def test_slow_readers_leave_files_for_uploads(tailor):
    # Goal: responses take half of the files at most: a large upload still
    # finds one.
    tap = Tap()
    t = tailor({"name": "active", "address": tap.address},
               proxy={**UNHURRIED, "connections_max": 8})
    slow = []
    for _ in range(6):
        slow.append(slow_reader(t))
    wait_until(lambda: t.metrics()[
        'tailor_spool_refused_total{use="response",reason="limit"}'] > 0
        and tap.sent == 4, "four have a file, and two have none")
    assert t.metrics()["tailor_spool_files"] == 4
    up = upload(t.address, 100_000, b"x" * 100_000)
    assert up.response().status == 200
    up.close()
    for client in slow:
        client.close()
    tap.server.close()


def test_readers_at_changing_speed(tailor):
    # Goal: a client that stops and goes on, again and again, gets what was
    # sent, in order: through memory, the file, and memory again.
    tap = Tap(chunked=True)
    t = tailor({"name": "active", "address": tap.address},
               proxy={**UNHURRIED, "spool_max": "256M"})
    with socket.create_connection(t.address) as sock:
        sock.sendall(b"GET /large HTTP/1.1\r\nHost: t\r\n\r\n")
        data = b""
        for more in (1, 300_000, 1 << 20, 10, 5 << 20, 100_000):
            wanted = len(data) + more
            while len(data) < wanted:
                data += sock.recv(65536)
            served_promptly(t, 3)  # meanwhile the server goes on
        head, _, rest = data.partition(b"\r\n\r\n")
        assert b"chunked" in head
        assert read_body(sock, rest, SIZE, True) == digest(SIZE)
    tap.server.close()
