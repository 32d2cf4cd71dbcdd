"""A client that sends any bytes and reads answers strictly."""

import socket
import struct

from .message import Closed, Stream
from .wait import PATIENCE_S


class Client:
    """One connection to Tailor (or to anything: host, port or a path), from
    the source address given."""

    def __init__(self, address, source=None):
        if isinstance(address, str):
            self._socket = socket.socket(socket.AF_UNIX)
        else:
            self._socket = socket.socket()
        self._socket.settimeout(PATIENCE_S)
        if source:
            self._socket.bind((source, 0))
        self._socket.connect(address)
        if not isinstance(address, str):
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket = self._wrapped(self._socket)
        self._stream = Stream(lambda: self._socket.recv(65536))

    def _wrapped(self, sock):
        """The socket as it is spoken through; for TLS."""
        return sock

    def send(self, data):
        """Send raw bytes."""
        self._socket.sendall(data)

    def request(self, method="GET", target="/", fields=(), body=b"",
                host="test"):
        """Send one well-formed request; does not wait for the answer."""
        lines = [f"{method} {target} HTTP/1.1", f"Host: {host}"]
        lines += [f"{name}: {value}" for name, value in fields]
        if body:
            lines.append(f"Content-Length: {len(body)}")
        self.send("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body)

    def response(self, to_method="GET", interim=False):
        """Read the next response; interim ones (1xx) only if asked for."""
        while True:
            message = self._stream.head()
            self._stream.body(message, to_method)
            if interim or message.status >= 200:
                return message

    def response_head(self):
        """Read a response's head only."""
        return self._stream.head()

    def exactly(self, count):
        """Read count raw bytes."""
        return self._stream.exactly(count)

    def get(self, target="/", **more):
        """GET and return the response."""
        self.request("GET", target, **more)
        return self.response()

    def expect_end(self):
        """Assert that the peer closes, with nothing more to say."""
        try:
            message = self._stream.head()
        except (Closed, ConnectionResetError):
            return
        raise AssertionError(f"expected the end, got {message!r}")

    def silent_for(self, seconds):
        """True if nothing arrives for that long."""
        self._socket.settimeout(seconds)
        try:
            return self._socket.recv(1, socket.MSG_PEEK) is None
        except TimeoutError:
            return True
        finally:
            self._socket.settimeout(PATIENCE_S)

    def shutdown(self):
        """Say that no more will be sent (half-close)."""
        self._socket.shutdown(socket.SHUT_WR)

    def reset(self):
        """Leave rudely (RST): FIN alone is no abort."""
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                struct.pack("ii", 1, 0))
        self._socket.close()

    def close(self):
        self._socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
