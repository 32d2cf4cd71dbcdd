"""Goal: a request costs few system calls, however seldom requests come."""

import re
import shutil
import subprocess

import pytest

from rig.client import Client
from rig.ports import free_port
from rig.process import state_of
from rig.wait import wait_until

REQUESTS = 200
SECONDLY = 100  # the most calls that come with seconds, not with requests


def one_after_the_other(client, n):
    """Requests on a kept connection, each after the response to the last."""
    for _ in range(n):
        client.request(target="/")
        assert client.response().status == 200


@pytest.fixture
def calls(tmp_path):
    """calls(t, act) is {system call: how often} of the proxy's thread."""
    if not shutil.which("strace"):
        pytest.skip("there is no strace")

    def count(t, act):
        out = tmp_path / "calls"
        tracer = subprocess.Popen(
            ["strace", "-c", "-o", out, "-p", str(t.pid)],
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        said = tracer.stderr.readline()
        if "attached" not in said:
            tracer.wait(10)
            pytest.skip(f"strace: {said}")
        act()
        # The last response may be with the client before its call is counted.
        wait_until(lambda: state_of(t.pid) == "S", "the proxy sleeps")
        tracer.terminate()
        tracer.wait(10)
        found = re.findall(
            r"^ *[\d.]+ +[\d.]+ +\d+ +(\d+) +(?:\d+ +)?(\w+)$",
            out.read_text(), re.MULTILINE)
        return {name: int(n) for n, name in found if name != "total"}

    return count


def test_system_calls_of_a_request(one, calls):
    # Goal: on kept connections one read and one write for each of a request and
    # its response, and one look at the kernel's account.
    one.server.serve()
    t = one()
    with t.client() as client:
        one_after_the_other(client, 10)
        found = calls(t, lambda: one_after_the_other(client, REQUESTS))
    assert found["recvfrom"] == found["sendto"] == 2 * REQUESTS
    assert found["getsockopt"] < REQUESTS + SECONDLY
    assert "setsockopt" not in found


def test_system_calls_of_a_local_request(one, calls, scratch):
    # Goal: for a Unix socket the kernel has no such account.
    one.server.serve()
    t = one(listen=[f"127.0.0.1:{free_port()}", f"unix:{scratch}/c.sock"])
    with Client(f"{scratch}/c.sock") as client:
        one_after_the_other(client, 10)
        found = calls(t, lambda: one_after_the_other(client, REQUESTS))
    assert found["recvfrom"] == found["sendto"] == 2 * REQUESTS
    assert found.get("getsockopt", 0) < SECONDLY
    assert "setsockopt" not in found


def test_system_calls_of_a_connection(one, calls):
    # Goal: a connection for one request takes no more than it must, beside what
    # its request takes.
    one.server.serve()
    t = one()
    t.get("/")

    def connect():
        for _ in range(REQUESTS):
            t.get("/")

    found = calls(t, connect)
    assert found["accept4"] <= 1.1 * REQUESTS
    # Its cookie and its account, and the account once more after the response.
    assert found["getsockopt"] < 3 * REQUESTS + SECONDLY
    assert "setsockopt" not in found
