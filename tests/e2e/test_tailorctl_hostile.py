"""Goal: tailorctl survives whatever an admin socket says."""

import json
import re

import pytest

from rig.process import ran
from support.admin import SERVERS, http


def endless(connection):
    """More bytes than tailorctl takes."""
    connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        connection.sendall(b"x" * 65536)


def drip(connection):
    """Never finished: tailorctl leaves first."""
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{")
    connection.recv(1)


@pytest.mark.parametrize("reply, complaint", [
    (b"", "the response head is incomplete"),
    (b"\x00\xff" * 400, "not valid HTTP/1"),
    (b"SSH-2.0-OpenSSH_9\r\n\r\n", "not valid HTTP/1"),
    (b"HTTP/1.1 2 OK\r\n\r\n", "not valid HTTP/1"),
    (b"HTTP/1.1 20000 OK\r\n\r\n", "not valid HTTP/1"),
    (http(200, '{"a":', length=50), "cut short"),
    (http(200, "", length="9" * 30), "not valid HTTP/1"),
    (http(200, "", length="-1"), "not valid HTTP/1"),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
     "transfer coding"),
    (http(200, "<html>"), "not Tailor's JSON"),
    (http(200, "[" * 100000), "not Tailor's JSON"),
    (http(500, b"\x1b[2J" * 500), "status 500"),
    (endless, "larger than 16 MiB"),
    (drip, "no response within 0.2 s"),
])
def test_hostile_replies(ask, admin, reply, complaint):
    """Goal: whatever comes, one message and exit status 1, soon."""
    admin.answers["GET /servers"] = reply
    timeout = "0.2" if reply is drip else "20"
    result = ask("servers", "-t", timeout)
    assert (result.returncode, result.out) == (1, "")
    assert complaint in result.err and result.err.count("\n") == 1


@pytest.mark.parametrize("wrong", [
    "null", "7", "[]", '{"servers":7}', '{"servers":[7,null,"x",{}]}',
    '{"servers":[{"name":7,"pauses":[1,{}],"inflight":"x","p50_ns":1e300}]}',
])
def test_unexpected_json(ask, admin, wrong):
    """Goal: JSON of another shape is shown as unknown, not trusted."""
    admin.answers["GET /servers"] = http(200, wrong)
    assert ask("servers").returncode == 0


def test_no_escape_reaches_the_terminal(ask, admin):
    """Goal: terminal control in a response is made harmless everywhere."""
    evil = "a\x1b]0;owned\x07\x9b2J\u009b1mé"
    tree = {"mode": evil, "servers": [{"name": evil, "detail": evil}]}
    admin.answers["GET /servers"] = http(200, json.dumps(tree))
    admin.answers["GET /timeline/x"] = http(200, evil)
    admin.answers["GET /timeline/y"] = http(404, json.dumps({"error": evil}))
    admin.answers["GET /info"] = http(200, json.dumps({evil: [evil]}))
    for result in (ask("servers"), ask("why", "x"), ask("why", "y"),
                   ask("info")):
        shown = result.out + result.err
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", shown), shown
        assert "owned" in shown


def test_closed_pipe_is_an_error(build, admin):
    """Goal: output that cannot be written is not a success."""
    admin.answers["GET /servers"] = http(200, json.dumps(SERVERS))
    with open("/dev/full", "w", encoding="utf-8") as full:
        assert ran(build / "tailorctl", "-a", admin.path, "servers",
                   capture_output=False, stdout=full)[0] == 1
