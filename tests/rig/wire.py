"""A client's connection that misbehaves when asked to, and notices how a
response ended.

It is a Client, but: an error in sending is no error here, because the response
says what came of the request; an end or a reset inside a response, or before
one, is a message.Cut with what there was of it; and it can read slowly.
"""

import time

from .client import Client
from .message import Closed, Cut, Malformed

# Longer than any response may take: no response is a violation then.
PATIENCE_S = 30
PIECE = 16384


class Silence(Exception):
    """Nothing came for as long as there is patience."""


class Wire(Client):
    """One connection.  pace(), if any, is called after each piece that is
    read, and pieces are of that many bytes at most."""

    def __init__(self, address, patience_s=PATIENCE_S, receive_buffer=None):
        super().__init__(address, patience_s=patience_s,
                         receive_buffer=receive_buffer)
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
            raise Silence(f"no byte for {self._patience_s} s") from None
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
        except Closed:
            raise Cut("ended before a response") from None
        if not head.is_response:
            raise Malformed(f"not a response: {head.raw[:80]!r}")
        return head

    def unread(self, head):
        """Have the head read again."""
        self._stream.unread(head.raw)

    def body(self, head, bodiless):
        """The body that goes with a head."""
        coded = head.get("transfer-encoding") is not None
        if coded and head.status in (204, 304):
            raise Malformed("a coding without a body")
        self._stream.body(head, "HEAD" if bodiless else "GET")
        framed = bodiless or coded or head.get("content-length") is not None
        if self.was_reset and not framed:
            cut = Cut("reset", head.body)
            cut.head = head
            raise cut
        return head.body

    def ending(self, cut):
        """How it ended, in words."""
        return (f"{'reset' if self.was_reset else 'ended'} after "
                f"{'a head and ' if cut.head else ''}{len(cut.body)} bytes")

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

    def rests(self):
        """True if it is open, and nothing has come on it."""
        try:
            return self.silent_for(1e-6)
        except OSError:
            return False

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
