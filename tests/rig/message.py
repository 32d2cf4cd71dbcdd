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


class Cut(Malformed):
    """The peer closed the connection inside a message.

    head    the Message whose body it was; None if it was a head
    body    the bytes of it that came, decoded
    """

    def __init__(self, text, body=b""):
        super().__init__(text)
        self.head, self.body = None, body


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
        self.ended = False

    def _more(self):
        if not self.ended:
            data = self._recv()
            self.ended = not data
            self._buffer += data
        return not self.ended

    def _take(self, count):
        data = bytes(self._buffer[:count])
        del self._buffer[:count]
        return data

    def rest(self):
        """What has arrived and was not read (never waits)."""
        return self._take(len(self._buffer))

    def pending(self):
        """The same, and it is still to be read."""
        return bytes(self._buffer)

    def unread(self, data):
        """Put back what is to be read again."""
        self._buffer[:0] = data

    def exactly(self, count):
        while len(self._buffer) < count:
            if not self._more():
                raise Cut(f"ended {count - len(self._buffer)} bytes "
                          "before a body's end", self.rest())
        return self._take(count)

    def line(self):
        while (end := self._buffer.find(b"\r\n")) < 0:
            if not self._more():
                raise Cut(f"ended inside line {bytes(self._buffer)!r}")
        return self._take(end + 2)[:-2]

    def to_end(self):
        while self._more():
            pass
        return self.rest()

    def head(self):
        """The next message's head.  Closed if the peer is done."""
        while (end := self._buffer.find(b"\r\n\r\n")) < 0:
            if not self._more():
                if self._buffer:
                    raise Cut(f"ended inside {bytes(self._buffer)!r}",
                              self.rest())
                raise Closed
        return Message(self._take(end + 4))

    def body(self, message, to_method="GET"):
        """Read the body that goes with a head into message.body."""
        length = message.get("content-length")
        coding = message.get("transfer-encoding")
        assert length is None or coding is None, "both framings"
        if message.is_response and (to_method == "HEAD"
                                    or message.status < 200
                                    or message.status in (204, 304)):
            return
        try:
            if coding is not None:
                assert coding == "chunked", coding
                message.body = bytearray()
                self._chunks(message.body)
                message.body = bytes(message.body)
            elif length is not None:
                assert re.fullmatch(r"\d+", length), length
                message.body = self.exactly(int(length))
            elif message.is_response:
                message.body = self.to_end()
        except Cut as cut:
            cut.head, cut.body = message, bytes(message.body) + cut.body
            raise

    def _chunks(self, body):
        while True:
            size = self.line()
            if not re.fullmatch(rb"[0-9A-Fa-f]{1,16}", size):
                raise Malformed(f"chunk line {size[:80]!r}")
            if int(size, 16) == 0:
                break
            body += self.exactly(int(size, 16))
            if self.line() != b"":
                raise Malformed("chunk without its end")
        if self.line() != b"":
            raise Malformed("a trailer")


def response(status=200, body=b"", fields=(), reason="OK"):
    """Bytes of a whole response with Content-Length."""
    lines = [f"HTTP/1.1 {status} {reason}", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in fields]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body
