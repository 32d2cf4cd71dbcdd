"""Goal: show that the test tools themselves notice what they must notice."""

import pathlib
import sys

import pytest

from rig.client import Client
from rig.message import Malformed
from rig.process import ran, state_of
from rig.wait import wait_until


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
    done = ran(sys.executable, "-c", STARTER, pathlib.Path(__file__).parents[1],
               *how.split())
    wait_until(lambda: state_of(int(done.out)) in ("Z", None),
               "it is gone")
