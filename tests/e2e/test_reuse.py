"""Goal: a connection to a server belongs to those who made it: it carries
another request only if the server has surely read what came before, and
another client's only if no client has authenticated it."""

import http.server
import socket
import threading

import pytest

from rig.message import response
from rig.wait import PATIENCE_S, wait_until
from support.pair import DRAINED, Workers, entry, hedged
from test_streaming import Server

KERNEL_EVENTS = "off"
HIDDEN = b"GET /hidden HTTP/1.1\r\nHost: h\r\n\r\n"
SWALLOWS = b"GET /hidden HTTP/1.1\r\nX: "  # the head of the next request, too
PRIVATE = 'tailor_server_private_connections_total{server="%s"}'
RESTS = 'tailor_server_connections_private{server="%s"}'
GIVEN_UP = 'tailor_server_private_given_up_total{server="%s"}'
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


def test_a_response_that_begins_before_the_body_is_read(tailor):
    # Goal: a server that begins to respond by the head alone is not believed to
    # have read the body, although it takes all of it in the end.
    begun, body, after = threading.Event(), b"x" * (8 << 20), []

    def play(sock, request, stream):
        if request.method == "GET":
            sock.sendall(response(200, b"mine"))
            return
        sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nh")
        assert begun.wait(PATIENCE_S)
        stream.exactly(len(body))
        sock.sendall(b"i")
        after.append(sock.recv(9))

    server = Server(play)
    t = tailor({"name": "a", "address": server.address})
    with t.client() as c:
        c.request("POST", "/", body=body)
        head = c.response_head()
        begun.set()
        assert c.response_body(head) == b"hi"
        assert c.get().body == b"mine"
    wait_until(lambda: after, "its connection has ended")
    assert after == [b""]
    server.close()


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


# --- connections that a client has authenticated ------------------------------

CHALLENGES = {
    "NTLM": [("WWW-Authenticate", "NTLM")],
    "Negotiate": [("www-authenticate", 'Basic realm="a", negotiate')],
    "several": [("WWW-Authenticate", "Basic realm=a"),
                ("WWW-Authenticate", "Negotiate"),
                ("WWW-Authenticate", "NTLM")],
}


class Guard:
    """Authenticates connections, as NTLM does: in two steps, of which the
    second names the user; then it responds with that."""

    def __init__(self, challenge="NTLM", steps=2):
        self.challenge = CHALLENGES[challenge]
        self.steps = steps
        self.step, self.user = {}, {}

    def __call__(self, request):
        c = request.connection
        scheme, _, token = (request.get("authorization") or "").partition(" ")
        if scheme:
            assert scheme in ("NTLM", "Negotiate")
            self.step[c] = self.step.get(c, 0) + 1
            if self.step[c] == self.steps:
                self.user[c] = token
        if c not in self.user:
            return response(401, b"who?", self.challenge)
        return response(200, self.user[c].encode())


def authenticate(c, user, scheme="NTLM"):
    """The handshake, from the first request on."""
    assert c.get().status == 401
    for status in (401, 200):
        assert c.get(fields=[("Authorization", f"{scheme} {user}")]).status \
            == status


@pytest.mark.parametrize("challenge", CHALLENGES)
def test_a_connection_that_is_authenticated(one, challenge):
    # Goal: no stranger is taken for the client that authenticated it, which
    # keeps it for all its requests and takes it along when it leaves.
    a = one.server
    a.serve(Guard(challenge))
    t = one()
    scheme = "Negotiate" if challenge == "Negotiate" else "NTLM"
    with t.client() as alice, t.client() as bob:
        authenticate(alice, "alice", scheme)
        own = a.requests[-1].connection
        assert {r.connection for r in a.requests} == {own}
        for method in ("GET", "POST"):
            assert ask(t, method, body=b"q" if method == "POST" else b"") \
                .status == 401
        assert alice.get().body == b"alice"
        authenticate(bob, "bob", scheme)
        alice.request("POST", "/", body=b"q")
        assert alice.response().body == b"alice"
        assert bob.get().body == b"bob"
        assert a.requests[-2].connection is own
        assert t.metrics()[RESTS % "active"] == 2
        assert not own.ended
        alice.close()
        own.wait_end()
    assert t.metrics()[PRIVATE % "active"] == 4
    assert t.metrics()[GIVEN_UP % "active"] == 0


@pytest.mark.parametrize("leave", ["close", "reset"])
def test_its_client_leaves_while_it_is_used(one, leave):
    # Goal: what its client has left behind is read, and then it is closed.
    a = one.server
    t = one()
    c = t.client()
    c.request(fields=[("Authorization", "NTLM a")])
    r = a.expect()
    getattr(c, leave)()
    r.reply(200, b"alice")
    r.connection.wait_end()
    a.serve(Guard())
    assert ask(t).status == 401


def test_credentials_that_are_sent_at_once(one):
    # Goal: a connection is private from the request with them on: there need
    # not be a 401.
    a = one.server
    a.serve(Guard(steps=1))
    t = one()
    with t.client() as alice:
        assert alice.get(fields=[("Authorization", "Negotiate alice")]) \
            .body == b"alice"
        assert ask(t).status == 401
        assert alice.get().body == b"alice"


def test_another_challenge_makes_nothing_private(one):
    # Goal: a connection on which requests are authenticated one by one is
    # used for all.
    a = one.server
    a.serve(lambda r: response(
        401, b"", [("WWW-Authenticate", 'Basic realm="NTLM"')]))
    t = one()
    for _ in range(3):
        assert ask(t, fields=[("Authorization", "Basic TlRMTTo=")]).status \
            == 401
    assert len({r.connection for r in a.requests}) == 1
    assert t.metrics()[PRIVATE % "active"] == 0


def test_no_other_server_is_asked(pair):
    # Goal: a request on a client's own connection is neither hedged nor moved,
    # and goes to its server also while the other one is active.
    t = pair()
    with t.client() as alice, t.client() as bob:
        alice.request(fields=[("Authorization", "Negotiate alice")])
        first = pair.a.expect()
        t.hazard("a", "begin")
        t.wait_metric('tailor_hedges_refused_total{reason="private"}', 1)
        bob.request()
        pair.b.expect().reply(200, b"b")
        assert bob.response().body == b"b"
        pair.b.expect_nothing()
        first.reply(200, b"alice")
        assert alice.response().body == b"alice"
        alice.request()
        again = pair.a.expect()
        assert again.connection is first.connection
        again.reply(200, b"alice")
        assert alice.response().body == b"alice"
        t.hazard("a", "end")
    assert all(r.target != "/" or r.get("authorization") is None
               for r in pair.b.requests)


def test_a_hedge_that_is_challenged(pair):
    # Goal: of two connections that were challenged neither is left to others,
    # and the handshake that follows is on one.
    t = pair()
    with t.client() as c:
        first, second = hedged(t, pair, c)
        first.send(response(401, b"who?", CHALLENGES["NTLM"])[:-1])
        t.wait_metric(PRIVATE % "a", 1)
        second.reply(401, b"who?", CHALLENGES["NTLM"])
        assert c.response().status == 401
        first.send(b"?")
        first.connection.wait_end()
        second.connection.wait_end()
        t.hazard("a", "end")
        pair.a.serve(Guard())
        pair.b.serve(Guard())
        authenticate(c, "alice")
        assert c.get().body == b"alice"
        assert ask(t).status == 401


def test_its_server_closes_it(one):
    # Goal: the client's next request gets a new connection, and with it the
    # challenge.
    a = one.server
    a.serve(Guard())
    t = one()
    with t.client() as alice:
        authenticate(alice, "alice")
        a.requests[-1].connection.close()
        t.wait_metric(PRIVATE % "active", 1)
        assert alice.get().status == 401
        authenticate(alice, "alice")
        assert alice.get().body == b"alice"


def test_a_drain_ends_it(pair):
    # Goal: a server that is drained comes to rest beside clients that keep
    # connections of their own; their next requests go to the other server.
    pair.a.serve(Guard())
    pair.b.serve(Guard())
    t = pair()
    with t.client() as alice:
        authenticate(alice, "alice")
        own = pair.a.requests[-1].connection
        assert t.ask("/drain?server=a", "POST").status == 200
        t.wait_server("a", state="drained")
        own.wait_end()
        assert t.metrics()[GIVEN_UP % "a"] == 1
        before = len(pair.b.requests)
        assert alice.get().status == 401
        assert len(pair.b.requests) > before


def test_how_many_there_are(upstream, tailor):
    # Goal: those that rest are counted in connections_max: with more, the one
    # that has rested longest is closed.
    a = upstream("a").serve(Guard())
    t = tailor(entry(a, connections_max=2))
    clients = [t.client() for _ in range(3)]
    for i, c in enumerate(clients):
        authenticate(c, str(i))
    assert t.metrics()[RESTS % "a"] == 2
    assert t.metrics()[GIVEN_UP % "a"] == 1
    assert clients[1].get().body == b"1"
    assert clients[0].get().status == 401  # in the place of 2's
    assert clients[1].get().body == b"1"
    assert clients[2].get().status == 401
    for c in clients:
        c.close()
    t.wait_settled()
    t.wait_metric_is(RESTS % "a", 0)


def test_its_worker_is_needed(upstream, tailor):
    # Goal: a server whose one worker stays with a connection until it ends is
    # not kept from other clients by one that rests for its owner.
    a = upstream("a").serve(Workers(1, Guard(steps=1)))
    t = tailor(entry(a, connections_max=1))
    with t.client() as alice:
        assert alice.get(fields=[("Authorization", "Negotiate alice")]) \
            .status == 200
        assert ask(t).status == 401
    assert t.metrics()[GIVEN_UP % "a"] == 1


def test_a_late_response_beside_it(one):
    # Goal: a connection that rests for its owner is not given up as an idle one
    # is, for a new one on which a response is late: to authenticate again costs
    # more, and may fail in the middle of a handshake.
    a = one.server
    t = one()
    with t.client() as alice, t.client() as bob:
        alice.request(fields=[("Authorization", "NTLM 1")])
        first = a.expect()
        first.reply(401, b"", CHALLENGES["NTLM"])
        assert alice.response().status == 401
        bob.request("POST", "/", body=b"q")
        late = a.expect()
        assert late.connection is not first.connection
        assert bob.silent_for(0.5)  # longer than an idle one would be kept
        late.reply()
        assert bob.response().status == 200
        alice.request(fields=[("Authorization", "NTLM 3")])
        second = a.expect()
        assert second.connection is first.connection
        second.reply(200, b"alice")
        assert alice.response().body == b"alice"
