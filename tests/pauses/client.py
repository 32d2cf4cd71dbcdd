"""The clients of one proxy: send what the plan says when it says so, read
strictly, and note what came.
"""

import concurrent.futures
import dataclasses
import threading
import time

from rig.message import Cut
from rig.wire import Silence, Wire

PATIENCE_S = 90   # longer than any default that is a minute
SMALL_BUFFER = 8192
MOST = 4000       # requests in flight

threading.stack_size(256 * 1024)


@dataclasses.dataclass
class Outcome:
    """What came of one request through one proxy.

    kind    ok, or: status (another than the server's), wrong (a body),
            cut (inside a response), ended (before one), refused, silent
    text    what is known of it
    begun, head, over   monotonic seconds; head is 0 without one
    """
    kind: str
    text: str
    begun: float
    over: float
    head: float = 0.0
    server: str = "-"

    @property
    def ok(self):
        return self.kind == "ok"

    @property
    def ms(self):
        return (self.over - self.begun) * 1000


class Bad(Exception):
    """What came is not what must come."""

    def __init__(self, kind, text):
        super().__init__(text)
        self.kind = kind


def framed(plan):
    """(head, body) as they go over the wire."""
    fields = ["Host: chaos.test", f"X-Chaos-Id: {plan.ident}",
              "Connection: " + ("keep-alive" if plan.keep else "close")]
    body = plan.upload
    if plan.chunked:
        fields.append("Transfer-Encoding: chunked")
        pieces = [body[i:i + 4000] for i in range(0, len(body), 4000)]
        body = b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in pieces)
        body += b"0\r\n\r\n"
    elif body or plan.method in ("POST", "PUT"):
        fields.append(f"Content-Length: {len(body)}")
    head = "\r\n".join([f"{plan.method} {plan.target} HTTP/1.1", *fields])
    return head.encode() + b"\r\n\r\n", body


class Clients:
    """All that send to one address, with a pool of kept connections."""

    def __init__(self, address):
        host, _, port = address.rpartition(":")
        self.address, self.idle = (host, int(port)), []
        self.threads = concurrent.futures.ThreadPoolExecutor(MOST)

    def close(self):
        self.threads.shutdown(wait=False)
        for wire in self.idle:
            wire.close()

    def start(self, plan):
        """One request, from now on; a future of its Outcome."""
        return self.threads.submit(self.perform, plan)

    def connection(self, plan):
        if plan.manner == "slow reader":
            wire = Wire(self.address, PATIENCE_S, SMALL_BUFFER)
            pause_s = plan.seconds * SMALL_BUFFER / max(1, len(plan.expected))
            wire.piece, wire.pace = SMALL_BUFFER, lambda: time.sleep(pause_s)
            return wire
        while plan.keep:
            try:
                wire = self.idle.pop()
            except IndexError:
                break
            if wire.rests():
                return wire
            wire.close()
        return Wire(self.address, PATIENCE_S)

    def perform(self, plan):
        out = Outcome("ok", "", time.monotonic(), 0)
        wire = None
        try:
            wire = self.connection(plan)
            if (self.exchange(wire, plan, out) and plan.keep
                    and plan.manner != "slow reader"):
                self.idle.append(wire)
                wire = None
        except Bad as bad:
            out.kind, out.text = bad.kind, str(bad)
        except Cut as cut:
            out.kind = "cut" if out.head else "ended"
            out.text = wire.ending(cut)
        except AssertionError as error:
            out.kind, out.text = "wrong", str(error)
        except (Silence, TimeoutError):
            out.kind, out.text = "silent", f"nothing for {PATIENCE_S} s"
        except OSError as error:
            out.kind, out.text = "refused", type(error).__name__
        finally:
            if wire is not None:
                wire.close()
        out.over = time.monotonic()
        return out

    def exchange(self, wire, plan, out):
        """Send and read; True if the connection may carry another."""
        head, body = framed(plan)
        if plan.manner == "trickle":
            wire.send(head)
            step = max(1, len(body) // 20)
            for at in range(0, len(body), step):
                time.sleep(plan.seconds / 20)
                wire.send(body[at:at + step])
        else:
            wire.send(head + body)
        while (head := wire.head()).status < 200:
            pass
        out.head = time.monotonic()
        out.server = head.get("x-server") or "-"
        got = wire.body(head, plan.method == "HEAD")
        if out.server == "-" or head.status != plan.status:
            reason = got[-80:].decode("latin-1").strip().splitlines()
            raise Bad("status", f"{head.status} " +
                      (reason[-1] if out.server == "-" and reason else
                       f"in place of {plan.status}"))
        if got != plan.expected:
            raise Bad("wrong", f"{len(got)} bytes, {got[:40]!r}, in place of "
                      f"{len(plan.expected)}, {plan.expected[:40]!r}")
        return (head.get("connection") or "").lower() != "close"
