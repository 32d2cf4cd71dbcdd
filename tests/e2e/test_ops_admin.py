"""Goal: only those who may can command a tailor."""

import os

import pytest

from rig.client import Client
from rig.ports import free_port

ACTIONS = ("/switch", "/reload", "/hazard?server=active&kind=gc&state=begin")


@pytest.mark.parametrize("host, allowed", [
    ("localhost", True), ("LOCALHOST:8080", True), ("127.0.0.1", True),
    ("127.1.2.3:80", True), ("[::1]", True), ("[::1]:9", True),
    ("127.0.0.1.example.com", False), ("localhost.example.com", False),
    ("127.example.com:80", False), ("example.com", False),
    ("[::1].example.com", False), ("localhost:80.example.com", False),
    ("10.0.0.1", False), ("[::1", False)])
def test_host_of_a_tcp_admin(upstream, tailor, host, allowed):
    # Goal: a name that a browser resolved to 127.0.0.1 (DNS rebinding) is
    # refused, the machine's own names are not.
    server = upstream("active").serve()
    port = free_port()
    t = tailor_on_tcp(tailor, server, port)
    with Client(("127.0.0.1", port)) as c:
        c.request("GET", "/servers", host=host,
                  fields=[("Connection", "close")])
        assert c.response().status == (200 if allowed else 403)
    assert t.running()


def tailor_on_tcp(tailor, server, port):
    """A tailor whose admin listener is on TCP."""
    t = tailor(server, admin=f"127.0.0.1:{port}", ready=None)
    return t


def test_origin_is_refused(upstream, tailor):
    # Goal: whatever a page's script sends carries an Origin: no.
    server = upstream("active").serve()
    t = tailor(server)
    for target in ("/servers", "/metrics"):
        assert t.ask(target, fields=[("Origin", "http://x")]).status == 403
    for target in ACTIONS:
        answer = t.ask(target, "POST", fields=[("Origin", "null")])
        assert answer.status == 403
    assert t.ask_json("/servers")["swaps"] == 0


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE"])
def test_mutations_want_post(upstream, tailor, method):
    # Goal: any other method is 405 and does nothing.
    server, other = upstream("active").serve(), upstream("backup").serve()
    t = tailor(server, other)
    t.wait_server("backup", state="ready")
    for target in ACTIONS:
        answer = t.ask(target, method)
        assert answer.status == 405
        assert answer.get("allow") == "POST"
    servers = t.ask_json("/servers")
    assert servers["swaps"] == 0 and servers["active"] == "active"
    assert servers["servers"][0]["hazards"] == []


def test_socket_is_for_user_and_group(upstream, tailor):
    # Goal: others cannot open the admin socket.
    server = upstream("active").serve()
    t = tailor(server)
    assert os.stat(t.admin).st_mode & 0o777 == 0o660
