"""Clients that know what every response must be.

A visitor has dice of its own.  How it behaves is in manners.py; here is what
it asks for and how it reads what comes back.  Every request ends in one
Outcome; what is wrong whatever happened to the servers is a violation at
once, what may be right is left to the judge.
"""

import collections
import dataclasses
import os
import random
import threading
import time

from content import EARLY, Spec
from rig.message import Cut
from rig.wire import Silence

# Marks the manner of a client of the listener that comes and goes.
LAST = " at the last listener"


@dataclasses.dataclass
class Outcome:
    """How one request ended.

    kind    response, short (a response whose end its server's death could also
            be), unheard (an old client on a Unix socket, which has no means
            to notice a cut, got a part), error (the proxy's own), cut,
            unasked (no response, since the connection was to end before),
            left (the client went away), wrong
    text    of an error: its status and reason; else details
    """
    spec: Spec
    manner: str
    kind: str
    text: str
    begun: float
    over: float


class Wrong(Exception):
    """A response that nothing can excuse."""


class Book:
    """What all visitors found, of tests/soak too.  Thread-safe."""

    def __init__(self, say):
        self.say = say
        self.lock = threading.Lock()
        self.count = collections.Counter()  # (kind of request, outcome)
        self.odd = []         # outcomes that are for the judge
        self.violations = []  # texts
        self.nonces = {}      # process -> numbers seen

    def violation(self, text):
        with self.lock:
            self.violations.append(text)
            if len(self.violations) <= 20:
                self.say(f"VIOLATION {text}")

    def outcome(self, outcome):
        shown = outcome.kind
        if outcome.kind == "error":
            shown += f" {outcome.text.split(' ')[0]}"
        self.note(f"{outcome.spec.rule} {outcome.spec.method}", shown)
        if outcome.kind not in ("response", "left"):
            self.odd.append(outcome)

    def note(self, sort, outcome):
        """Count one of a sort that came out like that."""
        with self.lock:
            self.count[sort, outcome] += 1

    def nonce_is_new(self, nonce):
        process, _, number = nonce.rpartition(".")
        with self.lock:
            seen = self.nonces.setdefault(process, set())
            if number in seen:
                return False
            seen.add(number)
            return True


class Visitor:
    """One client: what it asks and how it reads responses."""

    def __init__(self, number, seed, book):
        self.number, self.book = number, book
        self.dice = random.Random(f"visitor {number} {seed}")
        self.serial = 0

    # --- what is asked ----------------------------------------------------

    def spec(self, uploads=True, small=False, method=None):
        dice = self.dice
        self.serial += 1
        method = method or dice.choices(
            ("GET", "HEAD", "OPTIONS", "POST", "PUT", "DELETE"),
            (50, 6, 3, 26, 10, 5))[0]
        if method in ("GET", "HEAD", "OPTIONS"):
            rule, upload = "safe", 0
        else:
            rule = "once" if method == "DELETE" else dice.choice(
                ("once", "again"))
            upload = dice.choices(
                (0, dice.randrange(1, 2000), dice.randrange(2000, 60_000),
                 dice.randrange(70_000, 400_000)),
                (2, 6, 3, 0 if small else 1))[0]
        if not uploads:
            upload = 0
        if small:
            upload = min(upload, 2000)
        size = dice.choices(
            (0, dice.randrange(200), dice.randrange(1000, 20_000),
             dice.randrange(16_000, 17_500), dice.randrange(60_000, 300_000),
             dice.randrange(1_000_000, 3_000_000)),
            (2, 10, 10, 3, 2, 0.1 if small else 0.4))[0]
        return Spec(
            method, rule, f"{self.number}-{self.serial}",
            dice.choices((200, 201, 204, 304, 404, 500, 503),
                         (80, 3, 3, 3, 5, 3, 2))[0],
            size, dice.choices(("length", "chunked", "close"), (6, 3, 1))[0],
            upload, dice.choices((0, 1, 5, 30), (10, 5, 3, 1))[0],
            dice.choices((0, 1, 3), (20, 1, 1))[0])

    def request(self, spec, version="1.1", fields=()):
        """The head and the body, as they are sent."""
        lines = [f"{spec.method} {spec.target} HTTP/{version}",
                 f"Host: tailor-{self.dice.randrange(100)}",
                 f"X-Some: {'z' * self.dice.randrange(60)}", *fields]
        body = spec.body_up()
        if spec.upload:
            if version == "1.1" and self.dice.random() < 0.4:
                lines.append("Transfer-Encoding: chunked")
                body = self.chunked(body)
            else:
                lines.append(f"Content-Length: {len(body)}")
        elif spec.method in ("POST", "PUT"):
            lines.append("Content-Length: 0")
        return "\r\n".join(lines).encode() + b"\r\n\r\n", body

    def chunked(self, body):
        out, at = [], 0
        while at < len(body):
            size = self.dice.choice((1, 10, 1000, 8192, 100_000))
            part = body[at:at + size]
            out.append(b"%x\r\n%b\r\n" % (len(part), part))
            at += size
        return b"".join(out) + b"0\r\n\r\n"

    # --- what comes back --------------------------------------------------

    def read(self, w, spec, manner, begun, version="1.1", hundred=False):
        """Read one response and note the outcome.  True if the connection
        may be used for another request."""
        try:
            head = self.final(w, spec, hundred, version)
            body = w.body(head, spec.method == "HEAD"
                          or head.status in (204, 304))
            over = head.get("connection") == "close"
            if version == "1.0":
                over = head.get("connection") != "keep-alive"
            kind, text = self.judge(spec, head, body)
            if kind == "short":
                kind = self.short(w, spec, head, body, version)
        except Cut as cut:
            over = True
            try:
                self.check_cut(spec, cut)
                kind, text = "cut", w.ending(cut)
                if cut.head is not None:
                    text += f" {cut.head.get('x-nonce')}"
            except Wrong as error:
                self.book.violation(f"{manner} {spec}: {error}")
                kind, text = "wrong", str(error)
        except Silence as error:
            self.book.violation(f"{manner} {spec}: {error}")
            kind, text, over = "wrong", "silence", True
        except (Wrong, AssertionError) as error:
            self.book.violation(f"{manner} {spec}: {error}")
            kind, text, over = "wrong", str(error), True
        w.spoilt |= kind == "wrong"
        self.book.outcome(Outcome(spec, manner, kind, text, begun,
                                  time.monotonic()))
        return kind in ("response", "short", "error") and not over

    def final(self, w, spec, hundred, version):
        """The head of the response itself, behind the interim ones."""
        hints = 0
        while True:
            head = w.head()
            if head.status >= 200:
                return head
            if head.status == 100 and hundred:
                hundred = False
                continue
            hints += 1
            if head.status != 103 or version == "1.0" or hints > 8:
                raise Wrong(f"interim {head.status} number {hints}")

    def judge(self, spec, head, body):
        """Whose response it is, and whether it is right."""
        nonce = head.get("x-nonce")
        if nonce is None:
            text = body.decode("latin-1").strip()
            if spec.bodiless and not body:
                text = str(head.status)
            if head.status < 400 or not text.startswith(str(head.status)):
                raise Wrong(f"{head.start} without a nonce: {body[:80]!r}")
            return "error", text
        expected = f"{spec.status} Of-Course"
        if head.get("x-target") != spec.target:
            raise Wrong(f"the response to {head.get('x-target')}")
        if not self.book.nonce_is_new(nonce):
            raise Wrong(f"response {nonce} a second time")
        if not head.start.endswith(expected):
            raise Wrong(f"{head.start}, not {expected}")
        seen = head.get("x-digest")
        if seen not in (spec.digest(), EARLY if spec.upload else None):
            raise Wrong(f"the server saw {seen}, not {spec.digest()}")
        if (spec.method == "HEAD" and "content-length" in head.raw.decode(
                "latin-1").lower()
                and head.get("content-length") != str(spec.size)):
            raise Wrong(f"a length of {head.get('content-length')}")
        if self.compare(spec, seen, body):
            return "response", nonce
        # Its end looks like its server's: the judge asks the ledger.
        return "short", nonce

    def short(self, w, spec, head, body, version):
        """A response that ends well and too soon: can it be helped?"""
        if w.unix and version == "1.0" and head.get("content-length") is None:
            return "unheard"
        if spec.framing == "close":
            return "short"
        raise Wrong(f"{len(body)} bytes of {spec.size}")

    def compare(self, spec, seen, body):
        """Check a body, or its beginning, byte by byte.  True if it is
        whole."""
        right = spec.body_down(seen)
        if body == right:
            return True
        if not right.startswith(body):
            at = len(os.path.commonprefix([body, right]))
            raise Wrong(f"{len(body)} bytes of {len(right)}, wrong from byte "
                        f"{at}: {body[at:at + 32]!r}")
        return False

    def check_cut(self, spec, cut):
        """What there was of the response must be right."""
        if cut.head is None:
            if cut.body and not b"HTTP/1.1 ".startswith(
                    cut.body[:9]) and not cut.body.startswith(b"HTTP/1.1 "):
                raise Wrong(f"begins with {cut.body[:80]!r}")
            return
        if cut.head.get("x-target") != spec.target:
            raise Wrong(f"cut, and for {cut.head.get('x-target')}")
        self.book.nonce_is_new(cut.head.get("x-nonce"))
        self.compare(spec, cut.head.get("x-digest"), cut.body)
