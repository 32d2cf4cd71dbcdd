"""Goal: a tailor that is stopped loses nothing that it can keep, ends in
time, and says what it cut; the service manager is notified of it all."""

import contextlib
import os
import re
import signal
import socket
import sys
import time

import pytest

from rig.client import Client
from rig.ports import free_port
from rig.process import Process
from rig.wait import PATIENCE_S, wait_until
from support.launched import words
from support.wire import AGREED, STREAM, UPGRADE

KERNEL_EVENTS = "off"


def cut(t):
    """(requests, connections) of the log's last line."""
    line = t.wait_log(" stopped ")
    return tuple(int(x) for x in re.search(
        r"cut_requests=(\d+) cut_connections=(\d+)", line).groups())


def test_in_flight_finish(upstream, tailor):
    # Goal: after SIGTERM a request in flight is answered, and so is one that
    # was on its way on a kept connection, with Connection: close; no new client
    # is accepted; nothing is cut.
    server = upstream("active").script()
    t = tailor(server, proxy={"stop_timeout": "600s"})
    with t.client() as c, t.client() as kept:
        kept.request()
        server.expect().reply()
        assert kept.response().get("connection") is None
        c.request()
        request = server.expect()
        t.signal(signal.SIGTERM)
        t.wait_log("stopping why=SIGTERM requests=1")
        with pytest.raises(ConnectionRefusedError):
            t.client()
        assert t.ask("/readyz").body == b"stopping\n"
        kept.request()
        server.expect().reply()
        answer = kept.response()
        assert (answer.status, answer.get("connection")) == (200, "close")
        kept.expect_end()
        request.reply(200, b"done")
        answer = c.response()
        assert (answer.body, answer.get("connection")) == (b"done", "close")
        c.expect_end()
    assert t.wait() == 0
    assert cut(t) == (0, 0)


def test_idle_connections_are_closed(upstream, tailor):
    # Goal: one that stays idle is closed after a thirtieth of stop_timeout, and
    # is no cut.
    server = upstream("active").serve()
    t = tailor(server, proxy={"stop_timeout": "15s"})
    with t.client() as c:
        c.get()
        t.signal(signal.SIGTERM)
        c.expect_end()
    assert t.wait() == 0
    assert cut(t) == (0, 0)


def test_a_promise_is_kept(upstream, tailor):
    # Goal: a connection whose response began before the stop, without
    # Connection: close, serves one more request.
    server = upstream("active").script()
    t = tailor(server, proxy={"stop_timeout": "600s"})
    with t.client() as c:
        c.request()
        served = server.expect()
        served.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                    b"3\r\nbeg\r\n")
        head = c.response_head()
        assert head.get("connection") is None
        t.signal(signal.SIGTERM)
        t.wait_log("stopping why=SIGTERM requests=1")
        served.send(b"0\r\n\r\n")
        assert c.response_body(head) == b"beg"
        c.request()
        server.expect().reply(200, b"next")
        answer = c.response()
        assert (answer.body, answer.get("connection")) == (b"next", "close")
    assert t.wait() == 0


@pytest.mark.long("judges a duration")
def test_clients_that_do_not_close(upstream, tailor):
    # Goal: one that has its last response is not waited for.
    server = upstream("active").script()
    t = tailor(server)
    with t.client() as c:
        c.request()
        request = server.expect()
        t.signal(signal.SIGTERM)
        t.wait_log("stopping why=SIGTERM requests=1")
        request.reply()
        assert c.response().get("connection") == "close"
        answered = time.monotonic()
        assert t.wait() == 0
        assert time.monotonic() - answered < 4
    assert cut(t) == (0, 0)


@pytest.mark.parametrize("timeout", ["600s", "100ms"])
def test_what_cuts(upstream, tailor, timeout):
    # Goal: the second SIGTERM does not wait, and stop_timeout ends what does not
    # finish; what it cost is counted.
    server = upstream("active").script()
    t = tailor(server, proxy={"stop_timeout": timeout})
    with t.client() as c, t.client() as d:
        c.request()
        d.request()
        server.expect()
        server.expect()
        t.signal(signal.SIGTERM)
        t.wait_log("stopping")
        if timeout == "600s":
            t.signal(signal.SIGTERM)
        assert t.wait() == 0
        c.expect_end()
        d.expect_end()
    assert cut(t) == (2, 2)


def test_queued_connections_are_served(upstream, tailor):
    # Goal: a client that has connected, but was not accepted yet when the
    # stop began, is served: closing the socket would have reset it.
    server = upstream("active").serve()
    t = tailor(server, proxy={"stop_timeout": "600s"})
    t.signal(signal.SIGSTOP)
    with t.client() as c:
        c.request()
        t.signal(signal.SIGTERM)
        t.signal(signal.SIGCONT)
        answer = c.response()
        assert (answer.status, answer.get("connection")) == (200, "close")
    assert t.wait() == 0


# --- the service manager ----------------------------------------------------


class Manager:
    """A service manager's end of sd_notify.  The kernel keeps only ten
    datagrams that were not read: the watchdog must not be too quick.  It keeps
    the descriptors that it is sent, as {name: [socket]}."""

    def __init__(self, path):
        self.path = path
        self.kept = {}
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.settimeout(PATIENCE_S)
        self._socket.bind(path.replace("@", "\0", 1))

    def expect(self, *starts):
        """Read on to a message that has a line beginning with each."""
        while True:
            data, fds, _, _ = socket.recv_fds(self._socket, 4096, 16)
            lines = data.decode().splitlines()
            self._keep(lines, [socket.socket(fileno=fd) for fd in fds])
            if all(any(x.startswith(s) for x in lines) for s in starts):
                return lines

    def _keep(self, lines, sockets):
        name = [x[7:] for x in lines if x.startswith("FDNAME=")]
        if "FDSTOREREMOVE=1" in lines:
            self._forget(name[0])
        if "FDSTORE=1" in lines:
            self.kept.setdefault(name[0], []).extend(sockets)

    def _forget(self, name):
        for s in self.kept.pop(name, []):
            s.close()

    def close(self):
        self._socket.close()
        for name in list(self.kept):
            self._forget(name)


@pytest.fixture
def manager(scratch):
    """The service manager that the program under test notifies."""
    made = Manager(f"{scratch}/notify")
    yield made
    made.close()


@contextlib.contextmanager
def notifying(build, server, scratch, manager, port=0, **env):
    """A tailor by command line with that manager; at the end it is stopped, if
    the test has not done so."""
    process = Process(
        [build / "tailor", "--listen", f"127.0.0.1:{port or free_port()}",
         *words(scratch, server.serve())],
        env={"NOTIFY_SOCKET": manager.path, **env})
    try:
        yield process
    finally:
        if process.running():
            process.signal(signal.SIGTERM)
        assert process.wait() == 0


def silent(manager, what):
    """Assert that no such message comes for a while."""
    manager._socket.settimeout(0.3)
    with pytest.raises(TimeoutError):
        manager.expect(what)
    manager._socket.settimeout(PATIENCE_S)


@pytest.mark.parametrize("begin", ["", "@"], ids=["path", "abstract"])
def test_notify(build, upstream, scratch, begin):
    # Goal: READY once it serves, the servers in STATUS, WATCHDOG by itself,
    # RELOADING around a reload, STOPPING first of all in a stop.
    port = free_port()
    manager = Manager(f"{begin}{scratch}/notify")
    with notifying(build, upstream("active"), scratch, manager, port,
                   WATCHDOG_USEC="1000000") as process:
        manager.expect("READY=1", "STATUS=")
        with Client(("127.0.0.1", port)) as c:
            manager.expect("STATUS=a ready (active)")
            assert c.get().status == 200
        manager.expect("WATCHDOG=1")
        manager.expect("WATCHDOG=1")
        process.signal(signal.SIGHUP)
        lines = manager.expect("RELOADING=1", "MONOTONIC_USEC=")
        assert int(lines[1].split("=")[1]) > 0
        manager.expect("READY=1")
        process.signal(signal.SIGTERM)
        manager.expect("STOPPING=1")
    manager.close()


def test_watchdog_bites_a_hung_loop(build, upstream, scratch, manager):
    # Goal: the watchdog is fed by the loop itself: stopped, nothing comes; and
    # where WATCHDOG_PID is another's.
    with notifying(build, upstream("active"), scratch, manager,
                   WATCHDOG_USEC="60000") as process:
        manager.expect("WATCHDOG=1")
        process.signal(signal.SIGSTOP)
        silent(manager, "no such line")
        process.signal(signal.SIGCONT)
        manager.expect("WATCHDOG=1")
    with notifying(build, upstream("b"), scratch, manager,
                   WATCHDOG_USEC="1000", WATCHDOG_PID="1"):
        manager.expect("STATUS=a ready (active)")
        silent(manager, "WATCHDOG=1")


ACTIVATE = """
import os, sys
n = int(sys.argv[1])
fds = [int(x) for x in sys.argv[3].split(",")]
for i, fd in enumerate(fds):
    os.dup2(fd, 100 + i)
for i in range(n):
    os.dup2(100 + i, 3 + i)
    os.close(100 + i)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(n),
                  LISTEN_FDNAMES=sys.argv[2])
os.execv(sys.argv[4], sys.argv[4:])
"""


def activated(build, sockets, names, *arguments, env=None):
    """Start a tailor that is handed listening sockets."""
    for s in sockets:
        s.set_inheritable(True)
    script = [sys.executable, "-c", ACTIVATE, str(len(sockets)), names,
              ",".join(str(s.fileno()) for s in sockets),
              str(build / "tailor"), *arguments]

    return Process(script, close_fds=False, env=env or {})


def test_sockets_outlive_the_process(build, upstream, scratch):
    # Goal: with sockets from the manager nothing is configured twice, the
    # admin socket has its name, and a client that connects while no tailor
    # runs is answered by the next one.
    server = upstream("active").serve()
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    admin = socket.socket(socket.AF_UNIX)
    admin.bind(f"{scratch}/handed.sock")
    admin.listen()
    waiting = None
    for _ in range(2):
        process = activated(build, [listening, admin], "http:admin",
                            *words(scratch, server, "admin="))
        try:
            process.wait_log("listening .*inherited=1")
            process.wait_log(" server_up ")
            assert "socket_unused" not in process.log
            if waiting:
                assert waiting.response().status == 200
                waiting.close()
            with Client(listening.getsockname()) as c:
                assert c.get().body == b"active"
            with Client(f"{scratch}/handed.sock") as c:
                c.request("GET", "/healthz",
                          fields=[("Connection", "close")])
                assert c.response().status == 200
        finally:
            process.signal(signal.SIGTERM)
            assert process.wait() == 0
        assert os.path.exists(f"{scratch}/handed.sock")
        if waiting is None:
            waiting = Client(listening.getsockname())
            waiting.request()


def test_restart_with_a_stream_open(build, upstream, scratch, manager):
    # Goal: a manager that keeps descriptors gets the listeners.  While a stream
    # of before the stop goes on, new clients are served; after its end they
    # wait for the next tailor, which takes the sockets over.
    server = upstream("active").script()
    ports = [free_port(), free_port()]
    env = {"NOTIFY_SOCKET": manager.path, "FDSTORE": "8"}
    arguments = words(scratch, server, "proxy.stop_timeout=120s",
                      "proxy.stop_streams=600s")
    address = ("127.0.0.1", ports[0])
    first = Process([
        build / "tailor", "--listen",
        f"127.0.0.1:{ports[0]},127.0.0.1:{ports[1]}", *arguments], env=env)
    try:
        manager.expect("STATUS=a ready")
        assert len(manager.kept["tailor-listen"]) == 2
        with Client(address) as stream:
            stream.request()
            served = server.expect()
            served.send(STREAM)
            stream.response_head()
            first.signal(signal.SIGTERM)
            first.wait_log("stopping why=SIGTERM requests=1")
            with Client(address) as c:
                c.request()
                server.expect().reply(200, b"meanwhile")
                answer = c.response()
                assert (answer.body, answer.get("connection")) == (
                    b"meanwhile", "close")
            served.send(b"0\r\n\r\n")
            stream.close()
            assert first.wait() == 0
    finally:
        if first.running():
            first.kill()
            first.wait()
    assert cut(first) == (0, 0)
    with Client(address) as waiting, Client(("127.0.0.1", ports[1])) as lost:
        waiting.request()
        second = activated(
            build, manager.kept["tailor-listen"], "tailor-listen:tailor-listen",
            "--listen", f"127.0.0.1:{ports[0]}", *arguments, env=env)
        try:
            second.wait_log(f"listening address=127.0.0.1:{ports[0]} inherited=1")
            server.expect().reply(200, b"next")
            assert waiting.response().body == b"next"
            # Where this one does not listen, no process does, though the manager
            # may have the socket still.
            with pytest.raises(ConnectionError):
                lost.request()
                lost.response()
            with pytest.raises(ConnectionRefusedError):
                Client(("127.0.0.1", ports[1]))
            manager.expect("STATUS=a ready")
            assert len(manager.kept["tailor-listen"]) == 1
        finally:
            second.signal(signal.SIGTERM)
            assert second.wait() == 0


def test_more_listeners_than_are_kept(build, upstream, scratch, manager):
    # Goal: a store that is too small is said, and the sockets are closed at the
    # stop as without one: no client waits in a queue without an end.
    port = free_port()
    with notifying(build, upstream("active"), scratch, manager,
                   f"{port},127.0.0.1:{free_port()}", FDSTORE="1") as process:
        manager.expect("STATUS=a ready")
        process.wait_log("listeners_not_kept sockets=2")
        assert not manager.kept
        with Client(("127.0.0.1", port)) as c:
            c.request()
            assert c.response().status == 200
            process.signal(signal.SIGTERM)
            process.wait_log("stopping")
            with pytest.raises(ConnectionRefusedError):
                Client(("127.0.0.1", port))


def test_streams_have_a_limit_of_their_own(upstream, tailor):
    # Goal: an event stream and a tunnel, which would go on for ever, do not
    # keep a stopping tailor for its whole stop_timeout; a request does.
    server = upstream("active").script()
    t = tailor(server, proxy={
        "stop_timeout": "600s", "stop_streams": "10ms", "websocket": True})
    with t.client() as stream, t.client() as tunnel, t.client() as c:
        stream.request()
        server.expect().send(STREAM)
        stream.response_head()
        tunnel.request(fields=UPGRADE)
        server.expect().send(AGREED)
        assert tunnel.response_head().status == 101
        c.request()
        request = server.expect()
        t.signal(signal.SIGTERM)
        t.wait_log("stop_cut why=stop_streams requests=2 connections=2")
        tunnel.expect_end()
        request.reply(200, b"done")
        assert c.response().body == b"done"
    assert t.wait() == 0
    assert cut(t) == (2, 2)


def test_socket_that_is_not_configured(build, upstream, scratch):
    # Goal: a handed socket that no address names is closed, and said.
    server = upstream("active").serve()
    sockets = [socket.socket(), socket.socket()]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
        s.listen()
    ports = [s.getsockname()[1] for s in sockets]
    process = activated(
        build, sockets, "x:y", "--listen", f"127.0.0.1:{ports[1]}",
        *words(scratch, server))
    try:
        line = process.wait_log("socket_unused")
        assert f":{ports[0]}" in line
        process.wait_log(" server_up ")
        with Client(("127.0.0.1", ports[1])) as c:
            assert c.get().status == 200
    finally:
        process.signal(signal.SIGTERM)
        assert process.wait() == 0


def test_children_inherit_none_of_it(tailor, scratch, manager):
    # Goal: a launched server sees neither NOTIFY_SOCKET nor LISTEN_* nor the
    # watchdog: it would answer in our name.
    out = scratch / "environment"
    os.environ["NOTIFY_SOCKET"] = manager.path
    os.environ["WATCHDOG_USEC"] = "10000000"
    try:
        tailor({"name": "a", "address": f"127.0.0.1:{free_port()}",
                "launch": {"command": ["/usr/bin/env"],
                           "output": str(out)}}, ready=False)
    finally:
        del os.environ["NOTIFY_SOCKET"], os.environ["WATCHDOG_USEC"]
    manager.expect("READY=1")
    wait_until(lambda: out.exists() and "TALECHAIN_SOCKET" in out.read_text(),
               "the child ran")
    text = out.read_text()
    assert "NOTIFY_SOCKET" not in text and "WATCHDOG" not in text
    assert "LISTEN_" not in text
