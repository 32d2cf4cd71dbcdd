"""A client's connection that misbehaves when asked to, and notices how a
response ended.

It is rig.client.Client, but: an error in sending is no error here, because
the response says what came of the request; an end or a reset inside a response
is a Cut with what there was of it; and it can read slowly.
"""

import time

from rig import message
from rig.client import Client

# Longer than any response may take: no response is a violation then.
PATIENCE_S = 30
PIECE = 16384


class Cut(Exception):
    """The connection ended inside a response, or before one.

    head    the response's, if it was whole
    body    what came of its body
    rude    it was reset
    """

    def __init__(self, head=None, body=b"", rude=False):
        super().__init__(f"{'reset' if rude else 'ended'} after "
                         f"{'a head and ' if head else ''}{len(body)} bytes")
        self.head, self.body, self.rude = head, body, rude


class Silence(Exception):
    """Nothing came for PATIENCE_S."""


class Wire(Client):
    """One connection.  pace(), if any, is called after each piece that is
    read, and pieces are of that many bytes at most."""

    def __init__(self, address):
        super().__init__(address, patience_s=PATIENCE_S)
        self.unix = isinstance(address, str)
        self.pace, self.piece = None, PIECE
        self.was_reset = False
        self.spoilt = False  # a response was wrong: what follows says nothing

    def send(self, data):
        """Send; what the peer does not want is not an error here."""
        try:
            super().send(data)
        except TimeoutError:
            raise Silence("the peer does not read") from None
        except OSError:
            pass

    def _recv(self):
        try:
            data = self.socket.recv(self.piece)
        except TimeoutError:
            raise Silence(f"no byte for {PATIENCE_S} s") from None
        except OSError:
            data = b""
            self.was_reset = True
        if self.pace is not None:
            self.pace()
        return data

    def head(self):
        """The next head; Cut if there is none."""
        try:
            head = self._stream.head()
        except message.Closed:
            raise Cut(None, b"", self.was_reset) from None
        except message.Cut as cut:
            raise Cut(None, cut.body, self.was_reset) from None
        if not head.is_response:
            raise message.Malformed(f"not a response: {head.raw[:80]!r}")
        return head

    def unread(self, head):
        """Have the head read again."""
        self._stream.unread(head.raw)

    def body(self, head, bodiless):
        """The body that goes with a head."""
        coded = head.get("transfer-encoding") is not None
        if coded and head.status in (204, 304):
            raise message.Malformed("a coding without a body")
        try:
            self._stream.body(head, "HEAD" if bodiless else "GET")
        except message.Cut as cut:
            raise Cut(head, cut.body, self.was_reset) from None
        framed = bodiless or coded or head.get("content-length") is not None
        if self.was_reset and not framed:
            raise Cut(head, head.body, True)
        return head.body

    def leftover(self):
        """What came behind the last response so far (never waits)."""
        data = self._stream.rest()
        if not self._stream.ended:
            self.socket.setblocking(False)
            try:
                data += self.socket.recv(PIECE)
            except OSError:
                pass
        return data

    def shutdown(self):
        try:
            super().shutdown()
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
