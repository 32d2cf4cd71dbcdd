"""Goal: behind HAProxy, nginx and stunnel, set up as docs/fronts.md says, a
client can neither read another's timeline nor be taken for another one, and
an operator can do what an operator may."""

import gzip
import json
import re
import socket
import threading

import pytest

from rig.client import Client
from rig.ports import free_port
from rig.wait import PATIENCE_S, wait_until
from support import fronts

KERNEL_EVENTS = "off"

# All on loopback; the fronts connect from 127.0.0.1.
USER, ATTACKER, OPERATOR = "127.0.0.2", "127.0.0.3", "127.0.0.9"
SECRET = "/account/4711?token=s3cr3t"
TOKEN = "0123456789abcdef0123456789abcdef"


def appended(text):
    """The recipe, but for what the client says in X-Forwarded-For."""
    text = text.replace("\thttp-request del-header X-Forwarded-For\n", "")
    return text.replace("X-Forwarded-For $remote_addr",
                        "X-Forwarded-For $proxy_add_x_forwarded_for")


class Rig:
    """A server, a tailor, and a front that talks to it over link."""

    def __init__(self, kind, link, server, tailor, scratch, edit, limit):
        self.kind, self.server = kind, server.serve()
        self.log = scratch / "access.log"
        self.token = scratch / "token"
        self.token.write_text(TOKEN + "\n", encoding="ascii")
        self.token.chmod(0o600)
        port = free_port()
        path = f"unix:{scratch}/http.sock"
        address = path if link == "unix" else f"127.0.0.1:{port}"
        proxy = {"trusted_proxies": ["unix" if link == "unix" else "127.0.0.1"],
                 "connections_per_address_max": limit}
        header = " proxy_protocol" if kind == "stunnel" else ""
        self.tailor = tailor(
            server, listen=[x + header if x == address else x
                            for x in (f"127.0.0.1:{port}", path)], proxy=proxy,
            talechain={"allow": [OPERATOR], "token_file": str(self.token)},
            access_log={"path": str(self.log)})
        self.direct = self.tailor.client if link == "tcp" and \
            kind != "stunnel" else None
        start = getattr(fronts, kind)
        directory = scratch / "front"
        directory.mkdir()
        more = {} if kind == "stunnel" else {"edit": edit}
        self.front = start(directory, address, **more)

    def get(self, source, target="/", **more):
        """One request from there through the front."""
        with self.front.client(source) as c:
            return c.get(target, **more)

    def entry(self, request_id):
        """The access log's line of a request."""
        def found():
            if not self.log.exists():
                return None
            lines = self.log.read_text(encoding="utf-8").splitlines()
            return next((x for x in map(json.loads, lines)
                         if x["id"] == request_id), None)
        return wait_until(found, f"{request_id} is logged")


@pytest.fixture
def behind(upstream, tailor, scratch):
    """Starts a rig; its front ends with the test."""
    made = []

    def start(kind, link, edit=lambda text: text, limit=0):
        made.append(Rig(kind, link, upstream("active"), tailor, scratch,
                        edit, limit))
        return made[-1]
    yield start
    for rig in made:
        rig.front.stop()


FRONTS = [("haproxy", "unix"), ("haproxy", "tcp"), ("nginx", "unix"),
          ("nginx", "tcp"), ("stunnel", "tcp"), ("stunnel", "unix")]
EDITS = {"as-is": lambda text: text, "appended": appended}


@pytest.mark.parametrize("kind,link", FRONTS)
def test_who_reads_timelines(behind, kind, link):
    # Goal: an operator, by address through the front and by token from
    # anywhere; not an attacker, by address, by any field or by a wrong token,
    # although the id is known.
    rig = behind(kind, link)
    name = rig.get(USER, SECRET).get("x-request-id")
    path = f"/.talechain/timeline/{name}"
    wait_until(lambda: rig.get(OPERATOR, path).status == 200, "it is filed")
    forged = [
        [], [("X-Forwarded-For", OPERATOR)], [("X-Real-IP", OPERATOR)],
        [("Forwarded", f"for={OPERATOR}")], [("X-Forwarded-For", "unix")],
        [("X-Forwarded-For", "127.0.0.1")],
        [("X-Forwarded-For", f"{OPERATOR}, 127.0.0.1")],
        [("Connection", "X-Forwarded-For"), ("X-Forwarded-For", OPERATOR)],
        [("Authorization", f"Bearer {TOKEN[:-1]}0")],
        [("Authorization", "Bearer ")]]
    for fields in forged:
        answer = rig.get(ATTACKER, path, fields=fields)
        assert answer.status == 403, fields
        assert b"talechain.allow" in answer.body
        assert b"4711" not in answer.body
        if not rig.direct:
            continue
        with Client(rig.tailor.address, ATTACKER) as c:
            assert c.get(path, fields=fields).status == 403, fields
    # Of all these requests servers saw the user's only.
    assert [r.target for r in rig.server.requests] == [SECRET]
    count = rig.tailor.metrics()["tailor_talechain_denied_total"]
    assert count == len(forged) * (2 if rig.direct else 1)
    bearer = [("Authorization", f"Bearer {TOKEN}")]
    for source, fields in ((OPERATOR, []), (USER, bearer)):
        # The observer may not have read all of it yet.
        wait_until(lambda: SECRET.encode() in rig.get(
            source, path, fields=fields).body, "it is filed")
    assert rig.get(OPERATOR).get("server-timing") is not None
    assert TOKEN not in rig.tailor.log
    assert TOKEN not in rig.tailor.ask("/config").body.decode()


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("kind,link", FRONTS)
def test_a_client_is_not_taken_for_another(behind, kind, link, edit):
    # Goal: the server, the access log and the metrics have the true address,
    # and no client chooses a request's id, whatever it says.
    rig = behind(kind, link, EDITS[edit])
    answer = rig.get(ATTACKER, fields=[
        ("X-Forwarded-For", OPERATOR), ("X-Request-Id", "mine"),
        ("Connection", "X-Forwarded-For, X-Request-Id, X-Forwarded-Proto"),
        ("X-Forwarded-Proto", "gopher"), ("X-Tailor-Hedge", "off")])
    r = rig.server.requests[0]
    addresses = [x.strip() for x in r.get("x-forwarded-for").split(",")]
    if link == "tcp" and kind != "stunnel":
        assert addresses.pop() == "127.0.0.1"
    assert addresses.pop() == ATTACKER
    kept = edit == "appended" and kind != "stunnel"
    assert addresses == ([OPERATOR] if kept else [])
    assert len(r.all("x-forwarded-for")) == 1
    assert r.get("x-forwarded-proto") == "http"
    name = answer.get("x-request-id")
    assert name == r.get("x-request-id") and name != "mine"
    assert answer.get("server-timing") is None
    assert rig.entry(name)["client"] == ATTACKER


@pytest.mark.parametrize("kind,link", FRONTS)
def test_limits_are_of_clients_not_of_the_front(behind, kind, link):
    # Goal: three connections for each address, and many more for all.
    rig = behind(kind, link, limit=3)
    release = threading.Event()
    rig.server.serve(lambda r: release.wait(PATIENCE_S) and
                     b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    clients = [rig.front.client(f"127.0.0.{10 + i}") for i in range(6)]
    for c in clients:
        c.request()
    wait_until(lambda: len(rig.server.requests) == 6, "all are in flight")
    release.set()
    for c in clients:
        assert c.response().status == 200
        c.close()
    assert rig.tailor.metrics()[
        'tailor_connections_rejected_total{reason="per_address"}'] == 0


@pytest.mark.parametrize("link", ["unix", "tcp"])
@pytest.mark.parametrize("kind", ["haproxy", "nginx"])
def test_without_configuration_nothing_is_open(upstream, tailor, scratch,
                                               kind, link):
    # Goal: a front before a tailor at its defaults gives nothing away, and
    # other processes of the machine are no fronts.
    server = upstream("active").serve()
    port = free_port()
    path = f"unix:{scratch}/http.sock"
    t = tailor(server, listen=[f"127.0.0.1:{port}", path], talechain=None)
    front = getattr(fronts, kind)(
        scratch, path if link == "unix" else f"127.0.0.1:{port}")
    try:
        for connect in (lambda: front.client(USER), t.client,
                        lambda: Client(path.removeprefix("unix:"))):
            server.requests.clear()
            with connect() as c:
                answer = c.get(SECRET, fields=[
                    ("X-Forwarded-For", OPERATOR), ("X-Request-Id", "mine")])
                name = answer.get("x-request-id")
                assert re.fullmatch("[0-9a-f]{16}", name)
                assert answer.get("server-timing") is None
                denied = c.get(f"/.talechain/timeline/{name}")
                assert denied.status == 403
                assert b"4711" not in denied.body
            forwarded = server.requests[0].get("x-forwarded-for")
            assert forwarded in (None, "127.0.0.1")
    finally:
        front.stop()


# --- nginx behind Tailor --------------------------------------------------------

@pytest.fixture
def before_nginx(tailor, scratch):
    """A tailor before a real nginx."""
    directory = scratch / "nginx"
    directory.mkdir()
    server = fronts.nginx_server(directory)
    try:
        # With the kernel's events Tailor looks at what runs there, too.
        yield tailor(server, profiler={"kernel": "lite"})
    finally:
        server.stop()


def test_nginx_goes_on_compressing(before_nginx):
    # Goal: nothing that Tailor adds switches a server's gzip off.
    with before_nginx.client() as c:
        answer = c.get("/index.html", fields=[("Accept-Encoding", "gzip")])
    assert answer.get("content-encoding") == "gzip"
    assert gzip.decompress(answer.body).startswith(b"<p>The same again.</p>")


def test_nginx_answers_clients_without_host(before_nginx):
    # Goal: an HTTP/1.0 request without Host is as good as with one.
    with socket.create_connection(before_nginx.address, timeout=PATIENCE_S) as s:
        s.sendall(b"GET /index.html HTTP/1.0\r\n\r\n")
        answer = b"".join(iter(lambda: s.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 200 "), answer[:200]
    assert answer.endswith(b"<p>The same again.</p>\n")
