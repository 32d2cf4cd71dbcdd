"""What tailor-load sends, and how each way a response can end is counted."""

import errno
import json
import re
import signal
import socket
import threading
import time

import pytest

from rig.stub import OK
from rig.process import ran
from rig.wait import wait_until
from support.load import Result


def test_what_is_sent(stub, load, scratch):
    """Goal: method, headers, body, ids and trace of every request."""
    server = stub()
    (scratch / "body").write_bytes(b"a\0b")
    result = load(server.url, "-i", 2, "-n", 30, "-r", 300, "--warmup", 5,
                  "-X", "PUT", "-H", "X-Mine: 1", "-H", "user-agent: me",
                  "--data", f"@{scratch}/body")
    result.assert_done()
    assert len(server.requests) == 2 * 35
    for request in server.requests:
        assert request.method == "PUT" and request.body == b"a\0b"
        assert request.get("x-mine") == "1"
        assert request.get("user-agent") == "me"
        assert request.get("host") == f"127.0.0.1:{server.port}"
        assert re.fullmatch(r"00-[0-9a-f]{32}-[0-9a-f]{16}-01",
                            request.get("traceparent"))
    assert len({r.get("x-request-id") for r in server.requests}) == 70
    assert len({r.get("traceparent") for r in server.requests}) == 70
    sent = {(r.get("x-request-id"), r.get("traceparent"))
            for r in server.measured()}
    assert sent == {(x["id"], x["trace"]) for x in result.lines}
    assert all(re.fullmatch(r"[0-9a-f]{8}-0[12]-00\d\d", x["id"])
               for x in result.lines)


@pytest.mark.parametrize("method, length", [
    ("POST", "0"), ("PUT", "0"), ("PATCH", "0"), ("GET", None),
    ("DELETE", None)])
def test_no_body(stub, load, method, length):
    """Goal: a POST without --data announces an empty body."""
    server = stub()
    load(server.url, "-i", 1, "-n", 5, "-r", 500, "-X", method).assert_done()
    assert {r.get("content-length") for r in server.requests} == {length}


def test_closed_between_iterations(stub, load):
    """Goal: a connection that the server closed after an iteration is opened
    again before the next, not used for a request."""
    def answer(request):
        if not request.get("x-request-id").endswith("-0010"):
            return OK
        # The response and the end of the connection, in one segment.
        request.connection.socket.sendall(OK, socket.MSG_MORE)
        request.connection.socket.shutdown(socket.SHUT_WR)
        return None
    server = stub(answer)
    result = load(server.url, "-i", 3, "-n", 10, "--arrivals", "closed:1",
                  "--warmup", 0)
    assert result.status == 0 and result.run["summary"]["errors"] == {}
    assert len(server.connections) == 3
    assert [i["new_connections"] for i in result.run["iterations"]] == [0] * 3


def serve_one_by_one(listener, accepted):
    """A worker that blocks on one connection, and closes it after a
    response, until its listener is shut down."""
    while True:
        try:
            sock, _ = listener.accept()
        except OSError:
            return
        accepted.append(sock)
        data = b""
        while b"\r\n\r\n" not in data:
            part = sock.recv(65536)
            if not part:
                break
            data += part
        else:
            sock.sendall(OK.replace(b"\r\n\r\n",
                                    b"\r\nConnection: close\r\n\r\n"))
        sock.close()


def test_blocking_workers(load):
    """Goal: the defaults open no connections that hold workers which others
    need: a server with one or two blocking ones serves all requests."""
    for workers in (1, 2):
        accepted = []
        with socket.create_server(("127.0.0.1", 0), backlog=100) as listener:
            threads = [threading.Thread(target=serve_one_by_one,
                                        args=(listener, accepted))
                       for _ in range(workers)]
            for thread in threads:
                thread.start()
            result = load(f"http://127.0.0.1:{listener.getsockname()[1]}/",
                          "-i", 1, "-n", 40, "-r", 100, "--warmup", 0,
                          "--all")
            listener.shutdown(socket.SHUT_RDWR)
            for thread in threads:
                thread.join()
        result.assert_done()
        assert result.run["summary"]["ok"] == 40
        # One was opened in advance.
        assert len(accepted) == 40
        assert "39 requests opened one" in result.out


def test_all_addresses(build, localhosts):
    """Goal: a server on one of a name's addresses is reached, whichever."""
    inside, servers = localhosts
    for server in servers:
        server.serve()
        done = ran(
            *inside, build / "tailor-load", "-i", "1", "-n", "5", "-r", "500",
            "--json", "-", f"http://localhost:{server.port}/")
        assert json.loads(done.out)["summary"]["ok"] == 5, done.err


def test_urls_in_order(stub, load, scratch):
    """Goal: targets are taken in turn and wrap; HEAD has no body."""
    server = stub(lambda request: b"HTTP/1.1 200 OK\r\n"
                  b"Content-Length: 5\r\n\r\n")
    urls = scratch / "urls"
    urls.write_text(f"/a\n# comment\n\n{server.url}b?c=d\n/e\n")
    result = load(server.url, "--urls", urls, "-i", 1, "-n", 10, "-r", 100,
                  "--warmup", 0, "-X", "HEAD")
    result.assert_done()
    by_id = {r.get("x-request-id"): r.target for r in server.requests}
    assert [by_id[line["id"]] for line in result.lines] == \
        (["/a", "/b?c=d", "/e"] * 4)[:10]


def test_big_body(stub, load):
    """Goal: a request too big for the socket's buffer is sent whole."""
    def answer(request):
        time.sleep(0.01)
        return OK
    server = stub(answer)
    body = "x" * 100000
    result = load(server.url, "--data", body, "-i", 1, "-n", 20, "-r", 200,
                  "--warmup", 0)
    result.assert_done()
    assert result.run["summary"]["ok"] == 20
    assert {len(r.body) for r in server.requests} == {100000}
    assert len({r.get("x-request-id") for r in server.requests}) == 20


def test_unix_socket(stub, load, scratch):
    """Goal: http+unix reaches a server on a Unix socket."""
    stub(path=scratch / "s")
    name = str(scratch / "s").replace("/", "%2F")
    result = load(f"http+unix://{name}/x", "-i", 1, "-n", 20, "-r", 200)
    result.assert_done()
    assert result.run["summary"]["ok"] == 20


def test_never_waits(stub, load):
    """Goal: a server that never answers does not hold back one request, nor
    the end of an interrupted run."""
    server = stub(lambda request: None)
    child, directory = load(server.url, "-i", 1, "-n", 100, "-r", 500,
                            "--warmup", 0, "-c", 4, "--timeout", "10m",
                            start=True)
    wait_until(lambda: len(server.requests) == 100, "all requests")
    child.send_signal(signal.SIGTERM)
    result = Result(child, directory)
    assert result.status == 130, result.err
    assert [line["err"] for line in result.lines] == ["unanswered"] * 100
    iteration = result.run["iterations"][0]
    assert iteration["unanswered"] == 100
    assert iteration["max_in_flight"] == 100
    assert iteration["new_connections"] == 96
    assert iteration["connection_wait"]["count"] == 0
    assert server.pipelined == 0
    assert len({x["conn"] for x in result.lines}) == 100


ENDINGS = {
    "/ok": (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", None),
    "/chunked": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                 b"3\r\nabc\r\n0\r\n\r\n", None),
    "/close": (b"HTTP/1.1 200 OK\r\n\r\nabc", None),
    "/status": (b"HTTP/1.1 503 No\r\nContent-Length: 3\r\n\r\nabc", "status"),
    "/missing": (b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n", "status"),
    "/short": (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", "short"),
    "/nothing": (b"", "short"),
    "/malformed": (b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
                   "malformed"),
    "/surplus": (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcd",
                 "malformed"),
    "/reset": (b"HTTP/1.1 200", "reset"),
    "/never": (None, "timeout"),
}


def test_every_ending(stub, load, scratch):
    """Goal: each way a response can end is distinguished, each status has its
    count, and other kinds of errors their names."""
    def answer(request):
        data, _ = ENDINGS[request.target]
        if request.target in ("/close", "/short", "/nothing", "/reset"):
            request.send(data)
            if request.target == "/reset":
                request.reset()
            else:
                request.close()
            return None
        return data
    server = stub(answer)
    urls = scratch / "urls"
    urls.write_text("".join(path + "\n" for path in ENDINGS))
    result = load(server.url, "-i", 1, "-n", 33, "-r", 100, "--warmup", 0,
                  "--urls", urls, "--timeout", "5s")
    result.assert_done()
    targets = list(ENDINGS)
    for line in result.lines:
        target = targets[(line["n"] - 1) % len(targets)]
        assert line.get("err") == ENDINGS[target][1], target
        if "err" not in line:
            assert line["bytes"] == 3
    assert result.run["summary"]["errors"] == {
        "reset": 3, "timeout": 3, "short": 6, "malformed": 6, "status": 6}
    assert result.run["iterations"][0]["status"] == {
        "200": 9, "404": 3, "503": 3}
    assert result.run["summary"]["failed_status"] == {"404": 3, "503": 3}
    said = " ".join(result.out.split())
    for part in ("24 of 33 failed:", "HTTP 404 x 3", "HTTP 503 x 3",
                 "malformed x 6", "short x 6"):
        assert part in said, said
    assert server.pipelined == 0


def test_every_request_fails(stub, load):
    """Goal: errors are named by their HTTP status, and figures of which none
    is of a successful request are not good."""
    def answer(request):
        return b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n"
    result = load(stub(answer).url, "-i", 2, "-n", 25, "-r", 500,
                  "--warmup", 0)
    assert result.status == 1 and result.verdict == "none"
    summary = result.run["summary"]
    assert summary["errors"] == {"status": 50}
    assert summary["failed_status"] == {"404": 50}
    assert result.run["iterations"][1]["failed_status"] == {"404": 25}
    assert result.run["generator"]["reasons"] == ["no request succeeded"]
    assert "Errors: 50 of 50 failed: HTTP 404 x 50\n" in result.out
    assert "Figures: none: no request succeeded\n" in result.out
    assert "GOOD" not in result.out


def test_errors_have_their_errno(stub, load, faults, free_port):
    """Goal: a failed call is named by its errno in all outputs; what to do
    when our own ports are used up is there."""
    def answer(request):
        return OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    result = load(f"http://127.0.0.1:{free_port()}/", "-c", 0, "-i", 1, "-n",
                  10, "-r", 500)
    assert result.status == 1
    assert "Errors: 10 of 10 failed: connect ECONNREFUSED x 10\n" in result.out
    assert result.run["summary"]["failed_errno"] == {
        "connect": {"ECONNREFUSED": 10}}
    assert {x["errno"] for x in result.lines} == {"ECONNREFUSED"}
    assert "EADDRNOTAVAIL" not in result.out
    faults(connect=errno.EADDRNOTAVAIL)
    result = load(stub(answer).url, "-i", 1, "-n", 10, "-r", 500,
                  "--warmup", 0)
    result.assert_done()
    assert result.run["summary"]["failed_errno"] == {
        "connect": {"EADDRNOTAVAIL": 9}}
    assert "connect EADDRNOTAVAIL x 9\n" in result.out
    assert any("own ports are used up" in text for text in
               result.run["generator"]["environment"])
    assert re.search(r"widen\s+net.ipv4.ip_local_port_range", result.out)


def test_server_dies(stub, load):
    """Goal: a server that ends mid-run gives counted errors, no latencies."""
    def answer(_):
        if len(server.requests) < 100:
            return OK
        if len(server.requests) == 100:
            threading.Thread(target=server.kill).start()
        return None  # so that the iteration does not end before
    server = stub(answer)
    result = load(server.url, "-i", 2, "-n", 200, "-r", 500, "--warmup", 0,
                  "--fail", "errors<1%")
    result.assert_done(3)
    ok = [line for line in result.lines if "err" not in line]
    failed = [line for line in result.lines if "err" in line]
    assert len(result.lines) == 400 and len(ok) == 99
    assert {x["err"] for x in failed} <= {"connect", "reset", "short"}
    assert sum(x["err"] == "connect" for x in failed) > 150
    assert not any("lat" in x or "svc" in x for x in failed)
    errors = {}
    for line in failed:
        errors[line["err"]] = errors.get(line["err"], 0) + 1
    summary = result.run["summary"]
    assert summary["errors"] == errors
    assert summary["pooled"]["count"] == summary["ok"] == len(ok)
    assert summary["pooled"]["max_ns"] == max(x["lat"] for x in ok)
    assert "latency" not in result.run["iterations"][1]
    assert f"Errors: {len(failed)} of 400" in result.out
    assert result.run["fail"][0]["pass"] is False
