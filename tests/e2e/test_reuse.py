"""Goal: a connection to a server carries another request only if the server has
surely read what came before."""

import http.server
import socket
import threading

import pytest

from rig.message import response
from rig.wait import PATIENCE_S, wait_until
from support.pair import DRAINED

KERNEL_EVENTS = "off"
HIDDEN = b"GET /hidden HTTP/1.1\r\nHost: h\r\n\r\n"
SWALLOWS = b"GET /hidden HTTP/1.1\r\nX: "  # the head of the next request, too
UNREAD = 'tailor_server_unread_bodies_total{server="%s"}'


# --- bodies that a server does not read ---------------------------------------

class Careless(http.server.ThreadingHTTPServer):
    """Python's server with a handler that reads no body; /404 and the like
    choose the status."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), CarelessHandler)
        self.seen = []   # targets
        self.ended = []  # those whose connection has ended
        threading.Thread(target=self.serve_forever, daemon=True).start()


class CarelessHandler(http.server.BaseHTTPRequestHandler):
    """Responds with the target."""

    protocol_version = "HTTP/1.1"

    def setup(self):
        super().setup()
        self.targets = []

    def finish(self):
        super().finish()
        self.server.ended += self.targets

    def _any(self):
        self.targets.append(self.path)
        self.server.seen.append(self.path)
        name = self.path[1:]
        self.send_response(int(name) if name.isdigit() else 200)
        self.send_header("Content-Length", str(len(self.path)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(self.path.encode())

    do_GET = do_HEAD = do_OPTIONS = do_DELETE = do_PROPFIND = _any
    do_POST = do_PUT = do_PATCH = _any

    def log_message(self, *_):
        """Nothing."""


@pytest.fixture
def careless(tailor):
    """That server, behind a tailor."""
    server = Careless()
    server.tailor = tailor({"name": "a", "address": "127.0.0.1:%d"
                            % server.server_address[1]})
    yield server
    server.shutdown()
    server.server_close()


def ask(t, method="GET", target="/", body=b"", fields=()):
    """One request of a client of its own; the response."""
    with t.client() as c:
        c.request(method, target, body=body, fields=fields)
        return c.response(method)


@pytest.mark.parametrize("size", [0, 200_000], ids=["small", "in a file"])
@pytest.mark.parametrize(
    "method", ["GET", "HEAD", "OPTIONS", "DELETE", "PROPFIND"])
def test_a_body_that_the_method_does_not_define(careless, method, size):
    # Goal: a server that ignores it is not left with it as the next request:
    # it is neither executed nor is its response another client's.
    t = careless.tailor
    for name, hidden in ("/a", HIDDEN), ("/b", SWALLOWS):
        assert ask(t, method, name, hidden + b"x" * size).status == 200
        wait_until(lambda: name in careless.ended, "its connection has ended")
        assert ask(t, target="/mine").body == b"/mine"
    assert careless.seen == ["/a", "/mine", "/b", "/mine"]
    assert t.metrics()[UNREAD % "a"] == 2


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
@pytest.mark.parametrize("status", [302, 404, 503])
def test_a_body_refused_by_its_head(careless, method, status):
    # Goal: a connection on which a server has responded with anything but 2xx,
    # perhaps without reading the body, carries no other request.
    t = careless.tailor
    assert ask(t, method, f"/{status}", SWALLOWS).status == status
    assert ask(t, target="/mine").body == b"/mine"
    assert t.metrics()[UNREAD % "a"] == 1


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
def test_a_body_that_was_read(one, method):
    # Goal: after an ordinary request with a body, or an empty one of any
    # method, the connection is used again.
    a = one.server
    t = one()
    a.serve()
    with t.client() as c:
        c.request(method, "/", body=b"q")
        assert c.response().status == 200
        for empty in ("GET", "DELETE", "PROPFIND"):
            c.request(empty, "/", fields=[("Content-Length", "0")])
            assert c.response().status == 200
    assert a.requests[0].connection is a.requests[1].connection
    assert all(r.get("connection") is None for r in a.requests)
    assert t.metrics()[UNREAD % "active"] == 0


@pytest.mark.parametrize("kind", ["tcp", "unix"])
def test_a_body_that_lies_in_the_kernel(tailor, scratch, kind):
    # Goal: a server that says 200 before it has taken all of the body has not
    # read it, although all of it was written.
    used = []
    if kind == "unix":
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(scratch / "a"))
        address = f"unix:{scratch / 'a'}"
    else:
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        listener.bind(("127.0.0.1", 0))
        address = "127.0.0.1:%d" % listener.getsockname()[1]
    listener.listen(8)

    def play(sock):
        with sock:
            while head := sock.recv(1024):
                used.append(sock)
                sock.sendall(response(200, head.split()[1]))
                if head.startswith(b"POST"):
                    over.wait(PATIENCE_S)
                    return

    def accept():
        while True:
            try:
                sock, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=play, args=[sock], daemon=True).start()

    over = threading.Event()
    threading.Thread(target=accept, daemon=True).start()
    t = tailor({"name": "a", "address": address})
    assert ask(t, "POST", "/post", b"x" * 60_000).body == b"/post"
    assert ask(t, target="/mine").body == b"/mine"
    assert len(set(used)) == 2
    assert t.metrics()[UNREAD % "a"] == 1
    over.set()
    listener.close()


def test_both_attempts_end_their_connection(pair):
    # Goal: what holds for a body with GET holds for its second attempt, and
    # for the one that loses.
    t = pair()
    with t.client() as c:
        c.request("GET", "/", body=HIDDEN)
        first = pair.a.expect()
        t.hazard("a", "begin")
        second = pair.b.expect()
        second.reply(200, b"b")
        assert c.response().body == b"b"
        first.reply(200, b"a")
        t.wait_metric(DRAINED, 1)
        for r in (first, second):
            assert r.get("connection") == "close" and r.wait_body() == HIDDEN
            r.connection.wait_end()
