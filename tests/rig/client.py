"""A client that sends any bytes and reads responses strictly."""

import socket
import struct

from .message import Closed, Stream
from .wait import PATIENCE_S


class Client:
    """One connection to a tailor, or to anything that listens.

    address         (host, port), or the path of a Unix socket
    source          the local address to connect from
    patience_s      how long any one operation may take
    receive_buffer  SO_RCVBUF, for a client that does not read
    connect         connect(socket, address) instead of its own method
    socket          may be used for what there is no method for
    """

    def __init__(self, address, source=None, patience_s=PATIENCE_S,
                 receive_buffer=None, connect=socket.socket.connect):
        unix = isinstance(address, str)
        sock = socket.socket(socket.AF_UNIX if unix else socket.AF_INET)
        self._patience_s = patience_s
        sock.settimeout(patience_s)
        if receive_buffer:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF,
                            receive_buffer)
        if source:
            sock.bind((source, 0))
        connect(sock, address)
        if not unix:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = self._wrapped(sock)
        self._stream = Stream(self._recv)

    def _wrapped(self, sock):
        """The socket as it is spoken through; for TLS."""
        return sock

    def _recv(self):
        return self.socket.recv(65536)

    def send(self, data):
        """Send raw bytes."""
        self.socket.sendall(data)

    def request(self, method="GET", target="/", fields=(), body=b"",
                host="test"):
        """Send one well-formed request; does not wait for the response."""
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

    def response_body(self, head):
        """Read the body of a response whose head was read."""
        self._stream.body(head)
        return head.body

    def line(self):
        """Read a line."""
        return self._stream.line()

    def exactly(self, count):
        """Read count raw bytes."""
        return self._stream.exactly(count)

    def get(self, target="/", **more):
        """GET and return the response."""
        self.request("GET", target, **more)
        return self.response()

    def expect_end(self):
        """Assert that the peer closes and sends nothing more.  It does not wait
        as long as an idle connection is kept, which ends, too."""
        self.socket.settimeout(min(self._patience_s, 60))
        try:
            message = self._stream.head()
        except (Closed, ConnectionResetError):
            return
        raise AssertionError(f"expected the end, got {message!r}")

    def silent_for(self, seconds):
        """True if nothing arrives for that long."""
        self.socket.settimeout(seconds)
        try:
            return self.socket.recv(1, socket.MSG_PEEK) is None
        except TimeoutError:
            return True
        finally:
            self.socket.settimeout(self._patience_s)

    def shutdown(self):
        """Send no more (half-close)."""
        self.socket.shutdown(socket.SHUT_WR)

    def reset(self):
        """Close with RST: FIN alone is no abort."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                               struct.pack("ii", 1, 0))
        self.socket.close()

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
