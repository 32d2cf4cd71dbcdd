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
        return tale if "the observer was late" not in tale["verdict"][
            "text"] else None
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


def test_queue_without_a_server(upstream, tailor):
    # Goal: a wait in Tailor's queue is that, though a 503 ended it, and says
    # that no server was ready.
    a = upstream("a")
    t = tailor(a, proxy={"server_wait": "3s"})
    a.stop()
    t.hazard("a", "begin", "exit")
    with t.client() as c:
        def queue(name):
            c.request(fields=[("X-Request-Id", name)])
            assert c.response().status == 503

        tale = story_read(c, queue)
    verdict = tale["verdict"]
    assert verdict["code"] == "proxy_queue", verdict
    assert "no server was ready" in verdict["text"]
    assert "responded with 503" in verdict["text"]


# Serves all connections on one thread; /long computes for 200 ms, /slow sleeps
# for 20.
ONE_THREAD = """
import selectors, socket, sys, time
poll = selectors.DefaultSelector()
door = socket.create_server(("127.0.0.1", int(sys.argv[1])))
poll.register(door, selectors.EVENT_READ)
while True:
    for key, _ in poll.select():
        if key.fileobj is door:
            poll.register(door.accept()[0], selectors.EVENT_READ)
            continue
        head = key.fileobj.recv(65536)
        if not head:
            poll.unregister(key.fileobj)
            key.fileobj.close()
            continue
        if b"/long" in head:
            end = time.thread_time() + 0.2
            while time.thread_time() < end:
                pass
        if b"/slow" in head:
            time.sleep(0.02)
        key.fileobj.send(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok")
"""


def test_names_the_request_in_the_way(tailor, scratch):
    # Goal: a request that waits for a thread that has another one says which:
    # its id, target and how long, and draws it as another request's work.
    t = tailor(script(scratch, ONE_THREAD, name="one"), slow={"target": "0"})
    need_kernel(t)

    def waited():
        """The second of two requests, if it had to wait for the first."""
        with t.client() as first, t.client() as second:
            first.request("GET", "/long?is=first",
                          fields=[("X-Request-Id", "in-the-way")])
            second.get("/short", fields=[("X-Request-Id", "behind")])
            assert first.response().status == 200
            tale = story(second, "behind")
            return tale if tale["requests"] else None

    tale = wait_until(waited, "one waits for the other")
    other, = tale["requests"]
    assert (other["method"], other["target"], other["external_id"]) == (
        "GET", "/long?is=first", "in-the-way")
    assert other["waited"] > 0
    assert f"request {other['id']} was GET /long?is=first " \
        "(tailorctl why in-the-way)" in tale["verdict"]["evidence"]
    drawn = [bar for bar in tale["others"] if "request" in bar]
    assert drawn and {bar["request"] for bar in drawn} == {other["id"]}
    # None of that is work on this request.
    for bar in drawn:
        assert all(work["e"] <= bar["b"] or work["b"] >= bar["e"]
                   for work in tale["work"] if work["l"] == bar["l"])


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
