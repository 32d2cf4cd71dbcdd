"""Just enough HTTP/1.1 to look at messages byte by byte.

Strict on purpose: what Tailor writes must parse here without any leniency.
Nothing is normalised; `raw` is what came over the wire.
"""

import re

TOKEN = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")


class Malformed(AssertionError):
    """The peer sent bytes that are not an HTTP/1.1 message."""


class Closed(Exception):
    """The peer closed the connection between messages."""


class Message:
    """A request or a response: head, fields and decoded body."""

    def __init__(self, head):
        self.raw = head
        lines = head[:-4].split(b"\r\n")
        self.start = lines[0].decode("latin-1")
        if not re.match(r"(HTTP/1\.[01] \d{3} |\S+ \S+ HTTP/1\.[01]$)",
                        self.start):
            raise Malformed(f"start line {self.start!r}")
        self.fields = []
        for line in lines[1:]:
            name, colon, value = line.partition(b":")
            if not colon or not TOKEN.match(name) or b"\n" in line:
                raise Malformed(f"field line {line!r}")
            self.fields.append((name.decode().lower(),
                                value.strip(b" \t").decode("latin-1")))
        self.body = b""
        parts = self.start.split(" ", 2)
        if self.is_response:
            self.status = int(parts[1])
        else:
            self.method, self.target = parts[0], parts[1]

    @property
    def is_response(self):
        return self.start.startswith("HTTP/")

    def all(self, name):
        """Every value of a field, in order."""
        return [v for n, v in self.fields if n == name.lower()]

    def get(self, name):
        """The one value of a field, None if absent; twice is an error."""
        values = self.all(name)
        assert len(values) <= 1, f"{name} given {len(values)} times"
        return values[0] if values else None

    def __repr__(self):
        return f"<{self.start} +{len(self.body)} bytes>"


class Stream:
    """Reads messages from recv(), which returns b"" at the end."""

    def __init__(self, recv):
        self._recv = recv
        self._buffer = bytearray()
        self.received = bytearray()  # every byte there ever was
        self.ended = False

    def _more(self):
        data = self._recv()
        if not data:
            self.ended = True
        self._buffer += data
        self.received += data
        return bool(data)

    def exactly(self, count):
        while len(self._buffer) < count:
            if not self._more():
                raise Malformed(f"ended {count - len(self._buffer)} bytes "
                                "before a body's end")
        data = bytes(self._buffer[:count])
        del self._buffer[:count]
        return data

    def line(self):
        while (end := self._buffer.find(b"\r\n")) < 0:
            if not self._more():
                raise Malformed(f"ended inside line {bytes(self._buffer)!r}")
        return self.exactly(end + 2)[:-2]

    def to_end(self):
        while self._more():
            pass
        return self.exactly(len(self._buffer))

    def head(self):
        """The next message's head.  Closed if the peer is done."""
        while (end := self._buffer.find(b"\r\n\r\n")) < 0:
            if not self._more():
                if self._buffer:
                    raise Malformed(f"ended inside {bytes(self._buffer)!r}")
                raise Closed
        return Message(self.exactly(end + 4))

    def body(self, message, to_method="GET"):
        """Read the body that goes with a head into message.body."""
        length = message.get("content-length")
        coding = message.get("transfer-encoding")
        assert length is None or coding is None, "both framings"
        if message.is_response and (to_method == "HEAD"
                                    or message.status < 200
                                    or message.status in (204, 304)):
            return
        if coding is not None:
            assert coding == "chunked", coding
            self._chunks(message)
        elif length is not None:
            assert re.fullmatch(r"\d+", length), length
            message.body = self.exactly(int(length))
        elif message.is_response:
            message.body = self.to_end()

    def _chunks(self, message):
        body = bytearray()
        while True:
            size = self.line()
            if not re.fullmatch(rb"[0-9A-Fa-f]{1,16}", size):
                raise Malformed(f"chunk line {size!r}")
            if int(size, 16) == 0:
                break
            body += self.exactly(int(size, 16))
            if self.line() != b"":
                raise Malformed("chunk without its end")
        if self.line() != b"":
            raise Malformed("a trailer")
        message.body = bytes(body)


def response(status=200, body=b"", fields=(), reason="OK"):
    """Bytes of a whole response with Content-Length."""
    lines = [f"HTTP/1.1 {status} {reason}", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in fields]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body
