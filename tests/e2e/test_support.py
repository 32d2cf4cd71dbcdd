"""Goal: show that the test tools themselves notice what they must notice."""

import pathlib
import subprocess
import sys
import threading

import pytest

from rig.client import Client
from rig.message import Malformed, response
from rig.wait import PATIENCE_S, Late, wait_until


def test_reply_by_hand(upstream):
    """Goal: bytes reach the client exactly as scripted, piece by piece."""
    server = upstream()
    with Client(("127.0.0.1", server.port)) as client:
        client.request("POST", "/a?b", body=b"12345")
        request = server.expect()
        assert (request.method, request.target) == ("POST", "/a?b")
        assert request.wait_body() == b"12345"
        request.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        request.send(b"2\r\nhi\r\n0\r\n\r\n")
        assert client.response().body == b"hi"
        assert request.connection.received.endswith(b"12345")


def test_handler_may_wait(upstream):
    """Goal: a handler holds its response until the test lets it go."""
    go = threading.Event()
    server = upstream()

    def handler(request):
        assert go.wait(PATIENCE_S)
        return response(200, b"late")

    server.serve(handler)
    with Client(("127.0.0.1", server.port)) as client:
        client.request()
        server.expect_head()
        assert client.silent_for(0.05)
        go.set()
        assert client.response().body == b"late"


@pytest.mark.parametrize("end", ["close", "reset", "stop"])
def test_ends(upstream, end):
    """Goal: every way to end a connection is seen by the client."""
    server = upstream()
    with Client(("127.0.0.1", server.port)) as client:
        client.request()
        request = server.expect()
        getattr(server if end == "stop" else request, end)()
        client.expect_end()


def test_port_again(upstream):
    """Goal: a stopped server refuses, and comes back on the same port."""
    server = upstream()
    server.stop()
    with pytest.raises(OSError):
        Client(("127.0.0.1", server.port))
    server.listen()
    server.serve()
    with Client(("127.0.0.1", server.port)) as client:
        assert client.get().body == b"active"


@pytest.mark.parametrize("bad", [
    b"GET / HTTP/1.1\r\nHost : a\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\n\r\n\r\n",
    b"GET /\r\n\r\n",
    b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0x1\r\n",
    b"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na",
])
def test_malformed_is_noticed(upstream, bad):
    """Goal: a scripted server does not overlook malformed requests."""
    server = upstream()
    with Client(("127.0.0.1", server.port)) as client:
        client.send(bad)
        client.shutdown()
        server.accept().wait_end()
    assert server.errors
    server.errors.clear()  # or the fixture would fail this test


def test_client_is_strict(upstream):
    """Goal: a client does not overlook a response that was cut short."""
    server = upstream()
    with Client(("127.0.0.1", server.port)) as client:
        client.request()
        request = server.expect()
        request.send(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort")
        request.close()
        with pytest.raises(Malformed):
            client.response()


def test_waits_end():
    """Goal: waiting for what never happens fails instead of hanging."""
    with pytest.raises(Late):
        wait_until(lambda: False, "never", timeout_s=0.05)


STARTER = """
import os, sys
sys.path.insert(0, sys.argv[1])
from rig.process import Process
child = Process(["sh", "-c", "echo up >&2; exec sleep 1000"],
                group=sys.argv[2] == "group")
child.wait_log("up")
print(child.pid, flush=True)
if sys.argv[3] == "killed":
    os.kill(os.getpid(), 9)
"""


@pytest.mark.parametrize("how", ["alone ended", "group ended",
                                 "group killed"])
def test_no_process_is_left(how):
    """Goal: what a program of the tests has started ends with it."""
    done = subprocess.run(
        [sys.executable, "-c", STARTER, pathlib.Path(__file__).parents[1],
         *how.split()], text=True, stdout=subprocess.PIPE,
        timeout=PATIENCE_S, check=False)
    stat = pathlib.Path(f"/proc/{int(done.stdout)}/stat")

    def gone():
        try:
            return stat.read_text().rpartition(") ")[2][0] == "Z"
        except (FileNotFoundError, ProcessLookupError):
            return True

    wait_until(gone, "it is gone")


def test_jvm_collects_on_command(jvm):
    """Goal: the Java test server answers, and a collection is one."""
    server = jvm("-Xmx64m", "-XX:+UseSerialGC", "-Xlog:gc:stderr")
    assert server.get("/").body.strip() == str(server.pid).encode()
    before = server.log.count("Pause Full (System.gc())")
    server.collect()
    server.wait_log(r"Pause Full \(System.gc\(\)\)")
    assert server.log.count("Pause Full (System.gc())") == before + 1
