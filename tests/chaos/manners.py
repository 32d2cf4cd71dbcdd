"""How clients behave on a connection."""

import threading
import time

from client import LAST, Outcome, Visitor
from content import Spec
from rig.message import Cut
from rig.wire import PIECE, Wire

MANNERS = {  # and how often
    "steady": 30, "pipelined": 18, "trickling": 8, "sipping": 6,
    "expecting": 6, "half-closing": 5, "old": 6, "closing": 6,
    "leaving-in-head": 3, "leaving-in-body": 4, "leaving-early": 7,
    "leaving-in-response": 6, "hostile": 4, "idle": 3,
}
HOSTILE = (
    (b"GET / HTTP/1.1\r\n\r\n", 400),
    (b"GET / HTTP/1.1\nHost: a\n\n", 400),
    (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n"
     b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n"
     b"Content-Length: 6\r\n\r\nabcdef", 400),
    (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
     b"5 \r\nhello\r\n0\r\n\r\n", 400),
    (b"TRACE / HTTP/1.1\r\nHost: a\r\n\r\n", 405),
    (b"BREW / HTTP/1.1\r\nHost: a\r\n\r\n", 501),
    (b"GET / HTTP/1.7\r\nHost: a\r\n\r\n", 505),
    (b"GET /" + b"x" * 17000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", 414),
    (b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"y" * 20000 + b"\r\n\r\n", 431),
    (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nExpect: x\r\n\r\n",
     417),
    (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
)
# Behind a refused request, on the same connection: must not be looked at.
SMUGGLED = Spec("POST", "once", "smuggled")

SIPPING_S = 8


class Guest(threading.Thread, Visitor):
    """A visitor that makes connections, one after the other, until stop is
    set, and behaves on each in one of MANNERS."""

    def __init__(self, number, seed, addresses, book, stop):
        threading.Thread.__init__(self, daemon=True)
        Visitor.__init__(self, number, seed, book)
        self.addresses, self.stop = addresses, stop

    def run(self):
        names, weights = zip(*MANNERS.items())
        while not self.stop.is_set():
            manner = self.dice.choices(names, weights)[0]
            try:
                self.visit(manner)
            except Exception as error:  # pylint: disable=broad-except
                self.book.violation(f"visitor {self.number} {manner}: "
                                    f"{type(error).__name__} {error}")
            self.stop.wait(self.dice.random() * 0.02)

    def visit(self, manner):
        at = self.dice.randrange(len(self.addresses))
        try:
            w = Wire(self.addresses[at])
        except OSError as error:
            # The last address comes and goes with reloads.
            if (at != len(self.addresses) - 1 or not isinstance(
                    error, (ConnectionRefusedError, ConnectionResetError))):
                self.book.violation(f"connect {self.addresses[at]}: {error}")
            return
        self.book.note("connections", manner)
        name = manner + (LAST if at == len(self.addresses) - 1 else "")
        try:
            getattr(self, "be_" + manner.replace("-", "_"))(w, name)
        finally:
            w.close()

    def ask(self, w, spec, manner, **more):
        """One request, one response; True if there may be another."""
        begun = time.monotonic()
        head, body = self.request(spec, **more)
        w.send(head + body)
        return self.read(w, spec, manner, begun,
                         version=more.get("version", "1.1"))

    def at_rest(self, w, what):
        """Nothing may come behind the last response."""
        rest = w.leftover()
        if rest:
            self.book.violation(f"{what}: behind the last response "
                                f"{rest[:200]!r}")

    def at_end(self, w, what):
        """Nothing but the end may come behind the last response."""
        if w.spoilt:
            return
        try:
            head = w.head()
        except Cut as cut:
            if cut.body:
                self.book.violation(f"{what}: behind the last response "
                                    f"{cut.body[:200]!r}")
        else:
            self.book.violation(f"{what}: another response {head.raw!r}")

    def left(self, spec, manner, begun):
        self.book.outcome(Outcome(spec, manner, "left", "", begun,
                                  time.monotonic()))

    def leave(self, w):
        if self.dice.random() < 0.5:
            w.reset()
        else:
            w.close()

    # --- manners ----------------------------------------------------------

    def be_steady(self, w, manner):
        for _ in range(self.dice.randrange(1, 13)):
            if not self.ask(w, self.spec(), manner):
                self.at_end(w, manner)
                return
            if self.dice.random() < 0.2:
                self.stop.wait(self.dice.random() * 0.1)
        self.at_rest(w, manner)

    def be_pipelined(self, w, manner):
        specs = [self.spec(small=True)
                  for _ in range(self.dice.randrange(2, 9))]
        begun = time.monotonic()
        w.send(b"".join(b"".join(self.request(x)) for x in specs))
        while specs:
            if not self.read(w, specs.pop(0), manner, begun):
                self.at_end(w, manner)
                for spec in specs:
                    kind = "left" if w.spoilt else "unasked"
                    self.book.outcome(Outcome(spec, manner, kind, "", begun,
                                              time.monotonic()))
                return
        self.at_rest(w, manner)

    def be_trickling(self, w, manner):
        spec = self.spec(small=True)
        begun = time.monotonic()
        w.trickle(b"".join(self.request(spec)), self.dice)
        if self.read(w, spec, manner, begun):
            self.at_rest(w, manner)

    def be_sipping(self, w, manner):
        w.piece = self.dice.choice((100, 1000, 10_000))
        begun = time.monotonic()

        def sip():
            """Slowly, but not for so long that a server cannot be drained."""
            if time.monotonic() > begun + SIPPING_S:
                w.piece = PIECE
            else:
                time.sleep(self.dice.random() * 0.01)

        w.pace = sip
        spec = self.spec(small=True)
        w.send(b"".join(self.request(spec)))
        if self.dice.random() < 0.3:
            self.stop.wait(0.3)
        if self.read(w, spec, manner, begun):
            self.at_rest(w, manner)

    def be_expecting(self, w, manner):
        spec = self.spec(method=self.dice.choice(("POST", "PUT")))
        if not spec.upload:
            return
        begun = time.monotonic()
        head, body = self.request(spec, fields=["Expect: 100-continue"])
        w.send(head)
        try:
            first = w.head()
        except Cut as cut:
            self.book.outcome(Outcome(spec, manner, "cut", w.ending(cut), begun,
                                      time.monotonic()))
            return
        if first.status == 100:
            w.send(body)
        else:
            w.unread(first)
        if self.read(w, spec, manner, begun) and first.status == 100:
            self.at_rest(w, manner)

    def be_half_closing(self, w, manner):
        spec = self.spec()
        begun = time.monotonic()
        w.send(b"".join(self.request(spec)))
        w.shutdown()
        # An interim 100 finds out whether one that waits has left.
        self.read(w, spec, manner, begun, hundred=True)
        self.at_end(w, manner)

    def be_old(self, w, manner):
        keep = self.dice.random() < 0.5
        fields = ["Connection: keep-alive"] if keep else []
        for _ in range(self.dice.randrange(1, 4)):
            if not self.ask(w, self.spec(), manner, version="1.0",
                            fields=fields):
                self.at_end(w, manner)
                return
        self.at_rest(w, manner)

    def be_closing(self, w, manner):
        spec = self.spec()
        if self.ask(w, spec, manner, fields=["Connection: close"]):
            self.book.violation(f"{manner} {spec}: not closed")
        self.at_end(w, manner)

    def be_leaving_in_head(self, w, manner):
        spec = self.spec()
        begun = time.monotonic()
        head, _ = self.request(spec)
        w.send(head[:self.dice.randrange(1, len(head) - 1)])
        self.stop.wait(self.dice.choice((0, 0.01)))
        self.leave(w)
        self.left(spec, manner, begun)

    def be_leaving_in_body(self, w, manner):
        spec = self.spec(method="POST")
        if not spec.upload:
            return
        begun = time.monotonic()
        head, body = self.request(spec)
        w.send(head + body[:self.dice.randrange(len(body))])
        self.stop.wait(self.dice.choice((0, 0.01)))
        self.leave(w)
        self.left(spec, manner, begun)

    def be_leaving_early(self, w, manner):
        specs = [self.spec(small=True)
                  for _ in range(self.dice.choice((1, 1, 3)))]
        begun = time.monotonic()
        w.send(b"".join(b"".join(self.request(x)) for x in specs))
        self.stop.wait(self.dice.choice((0, 0.001, 0.01, 0.05)))
        self.leave(w)
        for spec in specs:
            self.left(spec, manner, begun)

    def be_leaving_in_response(self, w, manner):
        spec = self.spec()
        begun = time.monotonic()
        w.send(b"".join(self.request(spec)))
        try:
            w.head()
        except Cut:
            pass
        self.leave(w)
        self.left(spec, manner, begun)

    def be_hostile(self, w, manner):
        text, status = self.dice.choice(HOSTILE)
        begun = time.monotonic()
        w.send(text + b"".join(self.request(SMUGGLED)))
        try:
            head = w.head()
            w.body(head, False)
        except Cut as cut:
            self.book.outcome(Outcome(SMUGGLED, manner, "cut", w.ending(cut),
                                      begun, time.monotonic()))
            return
        if head.status != status:
            self.book.violation(f"{manner} {text[:60]!r}: {head.start}, not "
                                f"{status}")
        self.at_end(w, manner)

    def be_idle(self, w, manner):
        self.stop.wait(self.dice.random() * 0.5)
        if self.dice.random() < 0.7 and self.ask(w, self.spec(), manner):
            self.stop.wait(self.dice.random())
            self.at_rest(w, manner)
