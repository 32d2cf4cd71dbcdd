"""Goal: what is too large for memory passes, in constant memory, and a client
that stops reading stops its server in the end."""

import contextlib
import fcntl
import hashlib
import os
import signal
import socket
import struct
import termios
import threading
import time

import pytest

from rig.message import Closed, Stream
from rig.process import MemoryGauge
from rig.wait import PATIENCE_S, wait_until
from support.pair import entry

PIECE = 256 * 1024
MOST = 64 * 1024 * 1024  # that four sockets' buffers and a file may hold
_base = os.urandom(PIECE + 65536)


def pieces(size):
    """size bytes of which no two pieces are alike, piece by piece."""
    view = memoryview(_base)
    for i in range(0, size // PIECE):
        at = i * 4099 % 65536
        yield view[at:at + PIECE]


def digest(size):
    """What the other side must have got."""
    running = hashlib.sha256()
    for piece in pieces(size):
        running.update(piece)
    return running.hexdigest()


def send_body(sock, size, chunked, sent=None):
    """Send pieces(size); sent[0] counts bytes, as they go."""
    for piece in pieces(size):
        if chunked:
            sock.sendall(b"%x;x=\"y\"\r\n" % PIECE)
        view = piece
        while view:
            n = sock.send(view)
            view = view[n:]
            if sent is not None:
                sent[0] += n
        if chunked:
            sock.sendall(b"\r\n")
    if chunked:
        sock.sendall(b"0\r\n\r\n")


def read_body(stream, size, chunked):
    """The digest of a body; stream: a Client or a Stream."""
    running, left = hashlib.sha256(), size
    while chunked or left:
        count = int(stream.line(), 16) if chunked else min(left, PIECE)
        running.update(stream.exactly(count))
        left -= count
        if chunked:
            assert stream.line() == b""
            if count == 0:
                break
    assert left == 0
    return running.hexdigest()


def framing(size, chunked):
    return b"Transfer-Encoding: chunked\r\n\r\n" if chunked \
        else b"Content-Length: %d\r\n\r\n" % size


class Server:
    """Takes connections; play(sock, request, stream) has the one with a
    request, of which stream reads on.  A connection without one is a probe.

    It is no rig.origin.Origin, which keeps every byte."""

    def __init__(self, play, name="active"):
        self.name, self.result = name, None
        self._play = play
        self._done = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self._listener.getsockname()[1]
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(sock,),
                             daemon=True).start()

    def _serve(self, sock):
        stream = Stream(lambda: sock.recv(PIECE))
        try:
            request = stream.head()
        except (AssertionError, Closed, OSError):
            return
        try:
            self.result = self._play(sock, request, stream)
        except (AssertionError, Closed, OSError, ValueError) as error:
            self.result = error
        self._done.set()

    def wait(self):
        assert self._done.wait(120), "the server is not done"
        return self.result

    def close(self):
        self._listener.close()


def sanitized(build):
    return "asan" in str(build) or "tsan" in str(build)


def size_for(build, long):
    """1 GiB; less where it would only take longer: what is kept of a body
    shows in memory all the same."""
    if sanitized(build):
        return 32 << 20
    return 1 << 30 if long else 64 << 20


SIZES = pytest.mark.parametrize("chunked, long", [
    pytest.param(False, False, id="length"),
    pytest.param(True, False, id="chunked"),
    pytest.param(False, True, id="1 GiB",
                 marks=pytest.mark.long("1 GiB takes long"))])


@pytest.fixture
def bounded(build, tailor):
    """bounded(size, play): a client of a tailor before such a server, which
    plays well.  At the end the memory was constant: two buffers of 256 KiB, and
    what the first use of anything takes.  A sanitizer keeps bytes for each of
    ours, and what was freed or happened; a body that is kept must still be
    seen.  With ASan memory grew by a sixteenth of a body at most, and one that
    is kept takes more than itself; with TSan by a half, and one takes five
    times itself."""
    @contextlib.contextmanager
    def start(size, play):
        server = Server(play)
        t = tailor(entry(server), proxy={
            "body_max": "2G", "spool_max": "1G", "request_timeout": "600s",
            "client_timeout": "600s"},
            slow={"target": "600s"})  # explaining one takes memory too
        memory = MemoryGauge(t, 0.02)
        with t.client() as c:
            c.metrics = t.metrics
            yield c
        assert server.wait() is True
        kib = memory.stop()
        grown = max(kib) - kib[0]
        print(f"grown by {grown} KiB")
        assert grown < (2 * 1024 if not sanitized(build) else
                        size >> (10 if "tsan" in str(build) else 11))
        server.close()
    return start


@SIZES
def test_large_upload(build, bounded, chunked, long):
    # Goal: a large body from client to server arrives as it was sent, with
    # its length, and tailor's memory stays what it was.
    size = size_for(build, long)

    def play(sock, request, stream):
        assert request.get("content-length") == str(size)
        found = read_body(stream, size, False)
        sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
        return found == digest(size)

    with bounded(size, play) as c:
        c.send(b"PUT /up HTTP/1.1\r\nHost: t\r\n" + framing(size, chunked))
        send_body(c.socket, size, chunked)
        assert c.response().status == 200


@SIZES
def test_large_download(build, bounded, chunked, long):
    # Goal: a large body from server to client, likewise.
    size = size_for(build, long)

    def play(sock, _request, _stream):
        sock.sendall(b"HTTP/1.1 200 OK\r\n" + framing(size, chunked))
        send_body(sock, size, chunked)
        return True

    with bounded(size, play) as c:
        c.request()
        head = c.response_head()
        assert (head.get("transfer-encoding") == "chunked") == chunked
        assert read_body(c, size, chunked) == digest(size)


def unsent(sock):
    """Bytes in a socket's send buffer."""
    return struct.unpack("i", fcntl.ioctl(sock, termios.TIOCOUTQ,
                                          b"\0" * 4))[0]


def wait_stuck(sock, sent):
    """Wait until a sender has got no further for half a second, with its own
    send buffer full; returns how far it got."""
    state = {"at": -1, "since": time.monotonic()}

    def stuck():
        now = time.monotonic()
        if sent[0] != state["at"] or unsent(sock) == 0:
            state.update(at=sent[0], since=now)
        return now - state["since"] > 0.5
    wait_until(stuck, "the sender is stuck")
    return sent[0]


def test_client_stops_reading(bounded):
    # Goal: a client that stops reading stops its server, which then has sent
    # no more than sockets, memory and its file hold; as it reads on, it
    # gets everything.
    size = 256 << 20
    sent, connection = [0], []

    def play(sock, _request, _stream):
        connection.append(sock)
        sock.sendall(b"HTTP/1.1 200 OK\r\n" + framing(size, False))
        send_body(sock, size, False, sent)
        return True

    with bounded(size, play) as c:
        c.request()
        assert c.response_head().status == 200
        at = wait_stuck(connection[0], sent)
        print(f"the server got {at >> 10} KiB off")
        assert at < MOST
        assert read_body(c, size, False) == digest(size)


def test_server_stops_reading(bounded):
    # Goal: a server that does not read stops no other: its client is done,
    # memory stays what it was, and the body is there when it reads on.
    size = 256 << 20
    go_on, reached = threading.Event(), threading.Event()

    def play(sock, _request, stream):
        reached.set()
        assert go_on.wait(PATIENCE_S)
        found = read_body(stream, size, False)
        sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        return found == digest(size)

    with bounded(size, play) as c:
        c.send(b"PUT /up HTTP/1.1\r\nHost: t\r\n" + framing(size, False))
        send_body(c.socket, size, False)
        assert reached.wait(PATIENCE_S)
        assert c.metrics()["tailor_spool_bytes"] == size
        go_on.set()
        assert c.response().status == 200


BLOCK = 16384 + 512  # as much as is read at once (proxy/net/buffer.h)


def test_nothing_is_held_back_from_a_cut(tailor):
    # Goal: what was read just before the connection broke is the client's,
    # who notices the break by a reset.
    begun, broken = threading.Event(), threading.Event()

    def play(sock, _request, _stream):
        sock.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
        assert begun.wait(PATIENCE_S)
        sock.sendall(b"x" * BLOCK)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                        struct.pack("ii", 1, 0))
        sock.close()
        broken.set()
        return True

    server = Server(play)
    t = tailor({"name": "active", "address": server.address})
    with socket.create_connection(t.address) as sock:
        # HTTP/1.0: only the connection's end is the body's.
        sock.sendall(b"GET /down HTTP/1.0\r\nHost: t\r\n\r\n")
        assert Stream(lambda: sock.recv(BLOCK)).head().status == 200
        os.kill(t.pid, signal.SIGSTOP)
        begun.set()
        try:
            assert broken.wait(PATIENCE_S)
        finally:
            os.kill(t.pid, signal.SIGCONT)
        assert len(sock.recv(BLOCK, socket.MSG_WAITALL)) == BLOCK
        with pytest.raises(ConnectionResetError):
            sock.recv(1)
    assert server.wait() is True
    server.close()
