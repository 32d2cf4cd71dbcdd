"""A server that does one thing at a time, for tests of tailor-load.

It is no Origin (origin.py): what it does and when must be known, so it has one
thread, as a server with one CPU.
"""

import selectors
import socket
import threading

from .message import Message
from .wait import PATIENCE_S

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Stub:
    """One thread, one request after the other.

    handler(request) returns the bytes to send, or None for no response.  While
    it runs nothing else is served, so sleeping in it is a stall.  A request is
    a Message with the `socket` that it came from.
    """

    def __init__(self, handler=lambda request: OK, path=None):
        self.handler = handler
        self.requests = []
        self.errors = []  # malformed input; fails the test at its end
        self.pipelined = 0
        self._listener = socket.socket(
            socket.AF_UNIX if path else socket.AF_INET)
        self._listener.bind(str(path) if path else ("127.0.0.1", 0))
        self._listener.listen(4096)
        self._listener.setblocking(False)
        if not path:
            self.port = self._listener.getsockname()[1]
            self.url = f"http://127.0.0.1:{self.port}/"
        self._buffers = {}
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._wake, self._woken = socket.socketpair()
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is self._woken:
                    self._end()
                    return
                if key.fileobj is self._listener:
                    self._accept()
                elif key.fileobj in self._buffers:
                    self._read(key.fileobj)

    def _accept(self):
        try:
            sock, _ = self._listener.accept()
        except BlockingIOError:
            return
        if sock.family == socket.AF_INET:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffers[sock] = b""
        self._selector.register(sock, selectors.EVENT_READ)

    def drop(self, sock):
        """Close a connection."""
        self._selector.unregister(sock)
        del self._buffers[sock]
        sock.close()

    def _read(self, sock):
        try:
            data = sock.recv(65536)
        except ConnectionError:
            data = b""
        if not data:
            self.drop(sock)
            return
        self._buffers[sock] += data
        head, end, rest = self._buffers[sock].partition(b"\r\n\r\n")
        if not end:
            return
        try:
            request = Message(head + end)
            length = int(request.get("content-length") or 0)
        except (AssertionError, ValueError) as error:
            self.errors.append(f"stub: {error}")
            self.drop(sock)
            return
        if len(rest) < length:
            return
        request.body, request.socket = rest[:length], sock
        self.pipelined += len(rest) > length
        self._buffers[sock] = b""
        self.requests.append(request)
        data = self.handler(request)
        if data and sock in self._buffers:
            try:
                sock.sendall(data)
            except OSError:
                pass

    def _end(self):
        for sock in list(self._buffers):
            self.drop(sock)
        self._listener.close()
        self._selector.close()

    def kill(self):
        """Close everything at once, as the end of a process does."""
        if self._thread.is_alive():
            self._wake.send(b"x")
            self._thread.join(PATIENCE_S)

    def measured(self):
        """The requests that were no warm-up."""
        return [r for r in self.requests if "-w" not in r.get("x-request-id")]
