"""Goal: a story says where a server's thread waited: in which system call, for
which other service, and which request that was if Tailor forwarded it.

Truth is what the server did, which its path names.
"""

import re
import sys
import time

import pytest

from rig.message import response
from rig.ports import free_port, listens
from rig.process import Process
from rig.wait import wait_until
from support.launched import http_server, need_kernel

NAP_S = 0.2
LARGE = 300_000  # the kernel has room for it, and a small buffer has not


# One thread for each connection.  /nap sleeps, /ask?PORT asks a service there.
SERVER = http_server(f"""
import http.client, socket, time
def ask_peer(family, address, question):
    if family == "tcp":
        s = socket.create_connection(("127.0.0.1", int(address)))
    else:
        s = socket.socket(socket.AF_UNIX)
        s.connect(address)
    with s:
        s.sendall(question.encode())
        return s.recv(100)
def respond(path, headers):
    path, _, port = path.partition("?")
    if path in ("/nap", "/large"):
        time.sleep({NAP_S})
    if path == "/peer":
        return ask_peer(*port.split(","))
    if path == "/ask":
        peer = http.client.HTTPConnection("127.0.0.1", int(port))
        peer.request("GET", "/nap", headers={{
            "X-Request-Id": "inner-" + headers["X-Request-Id"]}})
        peer.getresponse().read()
        peer.close()
    return bytes({LARGE} if path == "/large" else 0)
""")


# Another process of the machine, with a thread for each connection.
PEER = f"""
import fcntl, os, socket, sys, threading, time
def compute(s):
    while time.thread_time() < {NAP_S}:
        pass
def lock():
    # Another process has the lock meanwhile.
    held, free = os.pipe(), os.open(sys.argv[2] + ".lock", os.O_CREAT)
    if os.fork() == 0:
        with open(sys.argv[2] + ".lock") as f:
            fcntl.flock(f, fcntl.LOCK_EX)
            os.write(held[1], b"x")
            time.sleep({NAP_S})
            os._exit(0)
    os.read(held[0], 1)
    fcntl.flock(free, fcntl.LOCK_EX)
    os.close(free), os.close(held[0]), os.close(held[1])
    os.wait()
def serve(s):
    with s:
        question = s.recv(100)
        if question == b"sleep":
            time.sleep({NAP_S})
        if question == b"compute":
            compute(s)
        if question == b"lock":
            lock()
        s.sendall(b"done")
def accept(listener):
    listener.listen()
    while True:
        threading.Thread(target=serve, args=[listener.accept()[0]]).start()
tcp, unix = socket.socket(), socket.socket(socket.AF_UNIX)
tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
unix.bind(sys.argv[2])
tcp.bind(("127.0.0.1", int(sys.argv[1])))
threading.Thread(target=accept, args=[unix]).start()
accept(tcp)
"""


@pytest.fixture
def peer(tmp_path):
    """Such a process: its port, its socket's path, the process."""
    port, path = free_port(), tmp_path / "peer.sock"
    process = Process([sys.executable, "-c", PEER, str(port), str(path)])
    wait_until(lambda: listens(f"127.0.0.1:{port}"), "it listens")
    yield {"tcp": str(port), "unix": str(path)}, process
    process.terminate()


@pytest.fixture
def server_there():
    """Such a server, which Tailor has not started."""
    address = f"127.0.0.1:{free_port()}"
    process = Process([sys.executable, "-c", SERVER, address.split(":")[1]])
    wait_until(lambda: listens(address), "it listens")
    yield {"name": "python", "address": address}
    process.terminate()


@pytest.fixture
def observed(tailor, server_there):
    """A tailor before such a server, with the kernel's events."""
    t = tailor(server_there)
    t.wait_server("python", processes=1)
    need_kernel(t)
    return t


def ask(t, target, name):
    assert t.get(target, fields=[("X-Request-Id", name)]).status == 200
    return t.timeline(name)


def longest(t, target, stacks=True):
    """The longest piece of a request's path, its name, its story; the first
    one of which no event is missing: a busy machine's observer may be late."""
    for i in range(30):
        name = f"request-{i}"
        tale = ask(t, target, name)
        piece = max(tale["path"], key=lambda x: x["e"] - x["b"])
        if tale["loss"]["channels"] == 0 and piece["code"] == "sleep" \
                and piece["e"] - piece["b"] > 0.9e9 * NAP_S \
                and ("stack" in piece) == stacks:
            return piece, name, tale
    raise AssertionError(f"no whole story: {tale['verdict']}, {tale['loss']}")


def test_a_timer(observed):
    # Goal: a sleep of the program's own has its system call, and no peer.
    piece, _, tale = longest(observed, "/nap")
    assert piece["call"] in ("clock_nanosleep", "select", "pselect6"), piece
    assert "peer" not in piece
    if tale["verdict"]["code"] == "sleep":
        assert f"slept in {piece['call']}" in tale["verdict"]["text"]
    # Of its stack only the innermost frame is sure: the C library's.
    own = [x for x in piece["stack"] if not x.endswith(" [k]")]
    assert piece["call"] in own[0] or own[0].startswith("[libc"), piece
    if tale["verdict"]["code"] == "sleep":
        assert any(own[0] in x for x in tale["verdict"]["evidence"])


def test_names_of_what_was_kept_before_it_was_read(observed):
    # Goal: a tale that was kept while its client still read, and is made again
    # with that, has its names, too.
    for i in range(30):
        name = f"late-{i}"
        with observed.client(receive_buffer=4096) as c:
            c.request("GET", "/large", fields=[("X-Request-Id", name)])
            wait_until(lambda: any(x["id"] == name for x in observed.ask_json(
                "/slow")["slow"]), "it is kept")
            assert len(c.response().body) == LARGE
        tale = observed.timeline(name)
        piece = max(tale["path"], key=lambda x: x["e"] - x["b"])
        if "stack" in piece:  # else a busy machine's observer was late
            break
    own = [x for x in piece["stack"] if not x.endswith(" [k]")]
    assert own[0] != "?", piece


def test_without_stacks(tailor, server_there):
    # Goal: profiler.stacks turns them off, and nothing else.
    t = tailor(server_there, profiler={"stacks": False})
    t.wait_server("python", processes=1)
    need_kernel(t)
    piece, _, tale = longest(t, "/nap", stacks=False)
    assert "stack" not in piece and "call" in piece
    assert not [e for e in tale["events"] if e["type"] == "stack"]


def held(_request):
    time.sleep(NAP_S)
    return response(200, b"")


def test_another_service(observed, upstream):
    # Goal: a service that is not watched has its address, and no request; one
    # that asks Tailor waits for the request that Tailor had from it, by its id.
    behind = upstream("behind").serve(held)
    port = behind.address.rpartition(":")[2]
    piece, _, tale = longest(observed, f"/ask?{port}")
    assert piece["call"] == "recvfrom" and piece["peer"] == behind.address
    assert "peer_request" not in piece
    if tale["verdict"]["code"] == "sleep":
        assert f"until bytes came from {behind.address}" \
            in tale["verdict"]["text"], tale["verdict"]
    piece, name, _ = longest(observed, f"/ask?{observed.port}")
    assert piece["peer"] == f"127.0.0.1:{observed.port}"
    inner = observed.timeline(f"inner-{name}")
    assert piece["peer_request"] == inner["request"]["id"]


MEANWHILE = re.compile(r" Meanwhile (?P<name>[^,]*?)(, which sent them,)? "
                       r"(?P<did>(was not|slept in|computed|waited).*)\.$")


@pytest.mark.parametrize("family", ["tcp", "unix"])
@pytest.mark.parametrize("question,did", [
    ("sleep", r"slept in (clock_nanosleep|p?select6?) for \S+ of \S+ ms "
              "until a timer woke it"),
    ("compute", r"computed for \S+ of \S+ ms"),
    ("lock", r"slept in flock for \S+ of \S+ ms until .* woke it")])
def test_what_another_process_did(observed, peer, family, question, did):
    # Goal: a wait for another process of this machine has that process, which
    # is watched after the first wait, and what it did.
    addresses, process = peer
    target = f"/peer?{family},{addresses[family]},{question}"
    ask(observed, target, "first")
    said = []

    def told():
        name = f"request-{len(said)}"
        said.append(ask(observed, target, name)["verdict"]["text"])
        what = MEANWHILE.search(said[-1])
        return what and re.match(did, what["did"]) and what

    # A busy machine's observer may be late; a process whose threads switched
    # too often is not watched for some seconds.
    found = wait_until(told, lambda: f"what it did: {said}")
    assert f"of process {process.pid}" in found["name"], said
    if family == "unix":
        return  # where its receipt has ended a first wait already
    first = MEANWHILE.search(observed.timeline("first")["verdict"]["text"])
    assert first is None or first["did"].startswith("was not watched"), first
