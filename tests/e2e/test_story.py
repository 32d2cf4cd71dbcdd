"""Goal: the story of a real request is true, and in the promised form."""

import itertools
import json
import os
import pathlib

import pytest

from rig.wait import wait_until
from support import schema
from support.launched import need_kernel, script

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TAILOR_BUILD", ROOT / "build"))
SCHEMA = json.loads((BUILD / "timeline.schema.json").read_text())


@pytest.fixture
def one(upstream, tailor):
    server = upstream("active")
    return server, tailor(server)


def story(client, name):
    """The timeline of a request, checked against the schema and itself."""
    tale = json.loads(
        client.get(f"/.talechain/timeline/{name}?format=json").body)
    schema.check(tale, SCHEMA, where="timeline")
    at = 0
    for piece in tale["path"]:
        assert piece["b"] == at < piece["e"], piece
        assert piece["l"] < len(tale["lanes"])
        at = piece["e"]
    assert at == tale["total"] == sum(tale["causes"].values())
    dark = {"unknown", "blind", "lost", "not_observed"}
    assert all((piece["confidence"] == "not_observed")
               == (piece["code"] in dark) for piece in tale["path"])
    observed = sum(piece["e"] - piece["b"] for piece in tale["path"]
                   if piece["confidence"] == "observed")
    assert abs(tale["coverage"] - observed / at) < 1e-6
    verdict = tale["verdict"]
    if verdict["confidence"] == "likely":
        assert " (likely)." in verdict["text"]
    assert verdict["text"] and verdict["evidence"]
    return tale


def story_read(client, send):
    """The story of what send(name) requests; of another request if Tailor
    says that its observer was late for this one."""
    names = (f"story-read-{i}" for i in itertools.count())

    def read():
        name = next(names)
        send(name)
        tale = story(client, name)
        verdict = tale["verdict"]
        return tale if verdict["code"] != "not_observed" and \
            "observer thread was late" not in verdict["text"] else None
    return wait_until(read, "the observer is there in time")


def test_form(one):
    # Goal: the JSON is what docs/timeline.schema.json says; the text begins
    # with the same sentence, and says all of it.
    server, t = one
    server.serve()
    with t.client() as c:
        c.get("/slow", fields=[("X-Request-Id", "story-1")])
        tale = story(c, "story-1")
        text = c.get("/.talechain/timeline/story-1").body.decode()
    assert tale["request"]["target"] == "/slow"
    assert [a["outcome"] for a in tale["attempts"]] == ["won"]
    words = " ".join(text.split())
    assert words.startswith(tale["verdict"]["text"])
    for line in tale["verdict"]["evidence"] + tale["verdict"]["advice"]:
        assert " ".join(line.split()) in words
    assert "where the time went" in text


LATE_S = 3  # so long that no machine makes another cause larger

# Sends a response without a length, and closes later.
LATE_CLOSE = f"""
import socket, sys, time
door = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    s = door.accept()[0]
    if s.recv(65536):
        s.sendall(b"HTTP/1.1 200 OK\\r\\n\\r\\nok")
        time.sleep({LATE_S})
    s.close()
"""


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_response_ends_with_its_connection(tailor, scratch, version):
    # Goal: a response that its server's close ends lasts until then, also for
    # a client whose connection ends with it, and that time is the server's.
    t = tailor(script(scratch, LATE_CLOSE, name="late"), slow={"target": "0"})

    def get(name):
        with t.client() as c:
            c.send(f"GET / HTTP/{version}\r\nHost: h\r\n"
                   f"X-Request-Id: {name}\r\n\r\n".encode())
            assert c.response().body == b"ok"

    with t.client() as other:
        tale = story_read(other, get)
    assert tale["total"] >= LATE_S * 1_000_000_000
    assert tale["causes"].get("proxy", 0) < LATE_S * 500_000_000
    need_kernel(t)
    assert tale["verdict"]["code"] == "sleep", tale["verdict"]
