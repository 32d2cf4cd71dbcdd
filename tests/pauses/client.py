"""The clients of one proxy: send what the plan says when it says so, read
strictly, and note what came.

They are not rig.client.Client: a scene has up to 1500 requests in flight in
each of three proxies, which asyncio does and a thread for each does not.
"""

import asyncio
import dataclasses
import socket
import time

from rig.message import Message

PATIENCE_S = 90   # longer than any default that is a minute
SMALL_BUFFER = 8192


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


class Connection:
    """One to the proxy."""

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer

    @classmethod
    async def open(cls, address, slow):
        host, _, port = address.rpartition(":")
        sock = socket.socket()
        sock.setblocking(False)
        if slow:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL_BUFFER)
        else:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            await asyncio.get_running_loop().sock_connect(
                sock, (host, int(port)))
        except BaseException:
            sock.close()
            raise
        return cls(*await asyncio.open_connection(
            sock=sock, limit=SMALL_BUFFER if slow else 65536))

    @property
    def usable(self):
        return not self.reader.at_eof() and not self.writer.is_closing()

    def close(self):
        self.writer.transport.abort()


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
        self.address, self.idle = address, []

    def close(self):
        for connection in self.idle:
            connection.close()
        self.idle = []

    async def connection(self, plan):
        slow = plan.manner == "slow reader"
        while plan.keep and not slow and self.idle:
            connection = self.idle.pop()
            if connection.usable:
                return connection
            connection.close()
        return await Connection.open(self.address, slow)

    async def perform(self, plan):
        """One request; its Outcome."""
        out = Outcome("ok", "", time.monotonic(), 0)
        connection = None
        try:
            async with asyncio.timeout(PATIENCE_S):
                connection = await self.connection(plan)
                keep = await self.exchange(connection, plan, out)
            if keep and plan.keep and plan.manner != "slow reader":
                self.idle.append(connection)
                connection = None
        except Bad as bad:
            out.kind, out.text = bad.kind, str(bad)
        except AssertionError as error:
            out.kind, out.text = "wrong", str(error)
        except TimeoutError:
            out.kind, out.text = "silent", f"nothing for {PATIENCE_S} s"
        except (EOFError, OSError, asyncio.LimitOverrunError) as error:
            out.kind = ("refused" if connection is None else
                        "cut" if out.head else "ended")
            out.text = type(error).__name__
        finally:
            if connection is not None:
                connection.close()
        out.over = time.monotonic()
        return out

    async def exchange(self, connection, plan, out):
        """Send and read; True if the connection may carry another."""
        head, body = framed(plan)
        sending = None
        if plan.manner == "trickle":
            sending = asyncio.create_task(
                trickle(connection.writer, head, body, plan.seconds))
        else:
            connection.writer.write(head + body)
        try:
            head = await self.head(connection.reader)
            out.head = time.monotonic()
            out.server = head.get("x-server") or "-"
            got = await self.body(connection.reader, plan, head)
        finally:
            whole = sending is None or sending.done()
            if sending is not None:
                sending.cancel()
        if out.server == "-" or head.status != plan.status:
            reason = got[-80:].decode("latin-1").strip().splitlines()
            raise Bad("status", f"{head.status} " +
                      (reason[-1] if out.server == "-" and reason else
                       f"in place of {plan.status}"))
        if got != plan.expected:
            raise Bad("wrong", f"{len(got)} bytes, {got[:40]!r}, in place of "
                      f"{len(plan.expected)}, {plan.expected[:40]!r}")
        return whole and (head.get("connection") or "").lower() != "close"

    async def head(self, reader):
        """The next final head."""
        while True:
            head = Message(await reader.readuntil(b"\r\n\r\n"))
            if not head.is_response:
                raise Bad("wrong", f"not a response: {head.start[:60]!r}")
            if head.status >= 200:
                return head

    async def body(self, reader, plan, head):
        if plan.method == "HEAD" or head.status in (204, 304):
            return b""
        pause_s = 0
        if plan.manner == "slow reader":
            pause_s = plan.seconds * SMALL_BUFFER / max(1, len(plan.expected))
        if "chunked" in (head.get("transfer-encoding") or ""):
            parts = []
            while (size := int(await reader.readuntil(b"\r\n"), 16)) > 0:
                parts.append(await self.exactly(reader, size, pause_s))
                await reader.readexactly(2)
            await reader.readuntil(b"\r\n")
            return b"".join(parts)
        length = head.get("content-length")
        if length is not None:
            return await self.exactly(reader, int(length), pause_s)
        parts = []
        while data := await reader.read(65536):
            parts.append(data)
        return b"".join(parts)

    async def exactly(self, reader, count, pause_s):
        if not pause_s:
            return await reader.readexactly(count)
        parts = []
        while count > 0:
            parts.append(await reader.readexactly(min(count, SMALL_BUFFER)))
            count -= len(parts[-1])
            await asyncio.sleep(pause_s)
        return b"".join(parts)


async def trickle(writer, head, body, seconds):
    """The head, then the body in twenty pieces over that time."""
    writer.write(head)
    step = max(1, len(body) // 20)
    for at in range(0, len(body), step):
        await asyncio.sleep(seconds / 20)
        writer.write(body[at:at + step])
