"""Goal: what a client waits for before Tailor sees its connection is counted,
and belongs to its request."""

import contextlib
import ctypes
import os
import select
import signal
import socket
import time

import pytest

from rig.lossy import ALL, dropping, drops
from rig.message import response
from rig.wait import PATIENCE_S, wait_until

LATE = "tailor_connections_late_total"
DROPPED = "tailor_connections_dropped_total"
TOTAL_RTO_TIME = 244  # in struct tcp_info, since Linux 6.7
PIDFD_GETFD = 438


@pytest.fixture(name="t")
def start(upstream, tailor):
    # Without the kernel's events: those also show when a request arrived.
    return tailor(upstream("a").serve(lambda r: response(200, b"a")),
                  slow={"target": "100ms", "keep_slowest": 0},
                  profiler={"kernel": "off"})


def late(t):
    """(SYN-ACKs sent again, waits in the accept queue)"""
    m = t.metrics()
    return m[LATE + '{why="resent"}'], m[LATE + '{why="accept_queue"}']


def listed(t, name):
    """A request in the list of slow ones, once it is there."""
    def find():
        return [one for one in t.ask_json("/slow?n=100")["slow"]
                if one["id"] == name]
    wait_until(find, "it is listed")
    return find()[0]


@contextlib.contextmanager
def stopped(t):
    """Tailor accepts nothing; the kernel still does."""
    t.signal(signal.SIGSTOP)
    try:
        yield
    finally:
        t.signal(signal.SIGCONT)


def lossy_connect(sock, address):
    """Connect, with the first three SYN-ACKs lost: one of the others was sent
    by the kernel's clock, not because the client sent its SYN again."""
    sock.setblocking(False)
    with dropping(sock, ALL) as lost:
        sock.connect_ex(address)
        wait_until(lambda: lost() >= 3, "SYN-ACKs are lost")
    sock.settimeout(PATIENCE_S)
    select.select([], [sock], [], PATIENCE_S)


def knows_timeouts(address):
    with socket.create_connection(address) as c:
        return len(c.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 512)) \
            >= TOTAL_RTO_TIME + 4


def test_syn_acks_lost(t):
    # Goal: the client connects only some seconds later, with a SYN-ACK that
    # the kernel sent again.
    assert t.get().status == 200 and late(t) == (0, 0)
    with t.client(connect=lossy_connect) as c:
        name = c.get().get("x-request-id")
        assert late(t) == (1, 0)
        if not knows_timeouts(t.address):
            pytest.skip("before Linux 6.7 the kernel does not say since when")
        one = listed(t, name)
        assert one["cause"] == "client_network", one
        assert one["total_ns"] > 900e6
        told = t.timeline(name)
        assert told["request"]["connecting"] == 0
        assert told["request"]["synacks"] >= 3
        assert "the client was connecting, and the kernel sent" in \
            told["verdict"]["text"]
        # Only the first request has waited for the connection.
        again = t.timeline(c.get().get("x-request-id"))
        assert "connecting" not in again["request"]
    assert late(t) == (1, 0)


def test_accept_queue(t):
    # Goal: the request was there before Tailor accepted its connection.
    assert t.get().status == 200
    with stopped(t):
        c = t.client()
        c.request()
        time.sleep(0.3)  # longer than the target
    with c:
        name = c.response().get("x-request-id")
    one = listed(t, name)
    assert one["cause"] == "accept_queue", one
    request = t.timeline(name)["request"]
    assert request["arrived"] == 0 and request["accepted"] > 200e6
    assert late(t) == (0, 1)


def listener(t):
    """Tailor's listening socket."""
    syscall = ctypes.CDLL(None, use_errno=True).syscall
    pidfd = os.pidfd_open(t.pid)
    try:
        for fd in os.listdir(f"/proc/{t.pid}/fd"):
            ours = syscall(PIDFD_GETFD, pidfd, int(fd), 0)
            if ours < 0:
                continue
            try:
                sock = socket.socket(fileno=ours)
            except OSError:  # no socket, as its log, whose end is waited for
                os.close(ours)
                continue
            if sock.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) \
                    and sock.getsockname() == t.address:
                return sock
            sock.close()
    finally:
        os.close(pidfd)
    return pytest.skip("may not take Tailor's sockets")


def test_full_queue(t):
    # Goal: connections dropped since the queue was full are counted and logged
    # with advice; their clients are served later.
    with listener(t) as queue, contextlib.ExitStack() as clients:
        queue.listen(1)
        with stopped(t):
            sockets = [clients.enter_context(socket.socket())
                       for _ in range(6)]
            for one in sockets:
                one.setblocking(False)
                one.connect_ex(t.address)
            wait_until(lambda: drops(queue), "the queue is full")
        t.wait_log("accept_queue_full address=.* queue_max=1 advice=")
        for one in sockets:
            with contextlib.suppress(OSError):
                one.setblocking(True)
                one.send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            wait_until(lambda: one.recv(4096).startswith(b"HTTP/1.1 200"),
                       "it has its response")
        # The kernel also counts as dropped a SYN that came twice.
        assert 1 <= t.metrics()[DROPPED] <= drops(queue)
