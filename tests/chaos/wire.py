"""A client's end of a connection: sends as told, reads strictly."""

import os
import re
import socket
import struct
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "e2e"))

from support.message import Malformed, Message  # noqa: E402

# Longer than any answer may take: no answer is a violation then.
PATIENCE_S = 30
PIECE = 16384


class Cut(Exception):
    """The connection ended inside (or before) an answer.

    head    the answer's, if it was whole
    body    what came of its body
    rude    it was reset
    """

    def __init__(self, head=None, body=b"", rude=False):
        super().__init__(f"{'reset' if rude else 'ended'} after "
                         f"{'a head and ' if head else ''}{len(body)} bytes")
        self.head, self.body, self.rude = head, body, rude


class Silence(Exception):
    """Nothing came for PATIENCE_S."""


class Wire:
    """One connection.  pace(), if any, is called after each piece that is
    read, and pieces are of that many bytes at most."""

    def __init__(self, address):
        kind = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
        self.sock = socket.socket(kind)
        self.sock.settimeout(PATIENCE_S)
        self.sock.connect(address)
        if kind == socket.AF_INET:
            self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.unix = kind == socket.AF_UNIX
        self.buffer = bytearray()
        self.pace, self.piece = None, PIECE
        self.ended = self.was_reset = False
        self.spoilt = False  # an answer was wrong: what follows says nothing

    def send(self, data):
        """Send; what the peer does not want is not an error here."""
        try:
            self.sock.sendall(data)
        except TimeoutError:
            raise Silence("the peer does not read") from None
        except OSError:
            pass

    def _more(self):
        if self.ended:
            return False
        try:
            data = self.sock.recv(self.piece)
        except TimeoutError:
            raise Silence(f"no byte for {PATIENCE_S} s") from None
        except OSError:
            data = b""
            self.was_reset = True
        self.ended = not data
        self.buffer += data
        if self.pace is not None:
            self.pace()
        return bool(data)

    def head(self):
        """The next head; Cut if there is none."""
        while (end := self.buffer.find(b"\r\n\r\n")) < 0:
            if not self._more():
                raise Cut(None, self._take(len(self.buffer)), self.was_reset)
        text = bytes(self.buffer[:end + 4])
        del self.buffer[:end + 4]
        message = Message(text)
        if not message.is_response:
            raise Malformed(f"not a response: {text[:80]!r}")
        return message

    def _take(self, count):
        data = bytes(self.buffer[:count])
        del self.buffer[:count]
        return data

    def _exactly(self, count, head, body):
        """body + count bytes more, or Cut with what there is."""
        while len(self.buffer) < count:
            if not self._more():
                raise Cut(head, body + self._take(count), self.was_reset)
        return body + self._take(count)

    def _line(self, head, body):
        while (end := self.buffer.find(b"\r\n")) < 0:
            if not self._more():
                raise Cut(head, body, self.was_reset)
        return self._take(end + 2)[:-2]

    def body(self, head, bodiless):
        """The body that goes with a head."""
        length = head.get("content-length")
        coding = head.get("transfer-encoding")
        if length is not None and coding is not None:
            raise Malformed("both framings")
        if bodiless:
            if coding is not None and head.status in (204, 304):
                raise Malformed("a coding without a body")
            return b""
        if length is not None:
            if not re.fullmatch(r"\d+", length):
                raise Malformed(f"length {length!r}")
            return self._exactly(int(length), head, b"")
        if coding is None:
            while self._more():
                pass
            if self.was_reset:
                raise Cut(head, self._take(len(self.buffer)), True)
            return self._take(len(self.buffer))
        if coding != "chunked":
            raise Malformed(f"coding {coding!r}")
        return self._chunks(head)

    def _chunks(self, head):
        parts = []
        while True:
            line = self._line(head, b"".join(parts))
            if not re.fullmatch(rb"[0-9A-Fa-f]{1,16}", line):
                raise Malformed(f"chunk line {line[:80]!r}")
            if int(line, 16) == 0:
                break
            try:
                parts.append(self._exactly(int(line, 16), head, b""))
            except Cut as cut:
                raise Cut(head, b"".join(parts) + cut.body,
                          cut.rude) from None
            if (line := self._line(head, b"".join(parts))) != b"":
                raise Malformed(f"chunk ends with {line[:80]!r}")
        if (line := self._line(head, b"".join(parts))) != b"":
            raise Malformed(f"a trailer {line[:80]!r}")
        return b"".join(parts)

    def leftover(self):
        """What came behind the last answer so far (never waits)."""
        if not self.ended:
            self.sock.setblocking(False)
            try:
                self.buffer += self.sock.recv(PIECE)
            except OSError:
                pass
        return bytes(self.buffer)

    def close(self):
        self.sock.close()

    def reset(self):
        """Leave rudely."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                             struct.pack("ii", 1, 0))
        self.sock.close()

    def half_close(self):
        try:
            self.sock.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def trickle(self, data, dice, most_s=1.0):
        """Send byte by byte, with pauses, for a second or so."""
        until = time.monotonic() + most_s
        at = 0
        while at < len(data):
            if time.monotonic() > until:
                self.send(data[at:])
                return
            self.send(data[at:at + 1])
            at += 1
            if dice.random() < 0.2:
                time.sleep(dice.random() * 0.01)
