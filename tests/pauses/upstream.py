#!/usr/bin/python3
"""A server that closes kept connections early, and may listen on a Unix
socket.

It is no rig.origin.Origin: it is stopped and killed as a process of its own,
and takes bursts of 1500 connections, one by one from a small backlog.

    upstream.py JSON      {"name", "address", "backlog", "log",
                           "requests": of a connection before it is closed
                           without a word, 0 for any number,
                           "idle_s": before an idle connection is closed}

What a request asks for is in its target, for all three kinds of servers:

    /c/ID/SIZE?d=MS&s=STATUS   a response of at least SIZE bytes, after MS
    /s/ID/EVENTS?i=MS          an event stream

The body's first line is ID, the method, the length and the CRC-32 of the
request's body; then as many "x" as it takes.  nginx knows no delay and does
not read bodies: see body().

One line, "METHOD ID -", goes to the log for each request that is executed,
before its response; the third word is the field Tailor-Warmup, if any.
Commands on standard input are those of PauseServer.java.
"""

import asyncio
import json
import os
import socket
import sys
import zlib


def body(kind, method, ident, size, upload):
    """The body that a server of that kind must send."""
    if method == "HEAD":
        return b""
    if kind == "nginx":
        return b"x" * size if size else f"{ident} {method}\n".encode()
    first = (f"{ident} {method} {len(upload)} "
             f"{zlib.crc32(upload):08x}\n").encode()
    return first + b"x" * (size - len(first))


def stream(ident, events):
    """The body of an event stream."""
    return b"".join(b"data: %s %d\n\n" % (ident.encode(), i)
                    for i in range(events))


class Server:
    """The listening socket and what the commands have set."""

    def __init__(self, given):
        self.given = given
        self.log = os.open(given["log"],
                           os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self.free = asyncio.Event()
        self.free.set()
        self.hanging, self.held = False, 0

    async def serve(self):
        address, backlog = self.given["address"], self.given["backlog"]
        if address.startswith("unix:"):
            path = address.removeprefix("unix:")
            if os.path.exists(path):
                os.unlink(path)
            sock = socket.socket(socket.AF_UNIX)
            sock.bind(path)
        else:
            sock = socket.socket()
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind(("127.0.0.1", int(address.rpartition(":")[2])))
        # No start_server(): it would listen again, and accept `backlog` of
        # them at a time.
        sock.listen(backlog)
        sock.setblocking(False)
        loop = asyncio.get_running_loop()
        loop.add_reader(sys.stdin.fileno(), self.obey)
        print("ready", flush=True)
        tasks = set()
        while True:
            connection, _ = await loop.sock_accept(sock)
            reader, writer = await asyncio.open_connection(sock=connection)
            task = asyncio.create_task(self.connection(reader, writer))
            tasks.add(task)
            task.add_done_callback(tasks.discard)

    def obey(self):
        for command in os.read(0, 4096).decode().split("\n"):
            if command == "hang":
                self.hanging = True
                self.free.clear()
            elif command == "hold":
                self.free.clear()
            elif command == "release" and not self.hanging:
                self.free.set()
            elif command == "held":
                print(self.held, flush=True)

    async def connection(self, reader, writer):
        left = self.given["requests"]
        try:
            while await self.exchange(reader, writer):
                left -= 1
                if left == 0:
                    break
        except (OSError, EOFError, TimeoutError, asyncio.LimitOverrunError):
            pass
        writer.close()

    async def exchange(self, reader, writer):
        """One request; True if the connection may carry another."""
        async with asyncio.timeout(self.given["idle_s"]):
            head = await reader.readuntil(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        method, target, version = lines[0].split(" ")
        fields = {name.lower(): value for name, _, value in
                  (line.partition(": ") for line in lines[1:] if line)}
        upload = await receive(reader, fields)
        path, _, query = target.partition("?")
        _, what, ident, number = path.split("/")
        asked = dict(part.split("=") for part in query.split("&") if part)
        copy = fields.get("tailor-warmup", "-")
        os.write(self.log, f"{method} {ident} {copy}\n".encode())
        self.held += 1
        await self.free.wait()
        self.held -= 1
        await asyncio.sleep(int(asked.get("d", 0)) / 1000)
        keep = (version == "HTTP/1.1"
                and fields.get("connection", "").lower() != "close")
        if what == "s":
            await self.events(writer, ident, int(number),
                              int(asked.get("i", 100)) / 1000)
            return False
        size = len(body("python", "GET", ident, int(number), upload)
                   ) if method == "HEAD" else 0
        response = body("python", method, ident, int(number), upload)
        writer.write(
            f"HTTP/1.1 {asked.get('s', 200)} Because\r\n"
            f"X-Server: {self.given['name']}\r\n"
            f"Content-Length: {size or len(response)}\r\n"
            f"{'' if keep else 'Connection: close'}{'' if keep else chr(13)}"
            f"{'' if keep else chr(10)}\r\n".encode() + response)
        await writer.drain()
        return keep

    async def events(self, writer, ident, events, period_s):
        writer.write(f"HTTP/1.1 200 OK\r\nX-Server: {self.given['name']}\r\n"
                     "Content-Type: text/event-stream\r\n"
                     "Connection: close\r\n\r\n".encode())
        for i in range(events):
            writer.write(f"data: {ident} {i}\n\n".encode())
            await writer.drain()
            await asyncio.sleep(period_s)


async def receive(reader, fields):
    """A request's body."""
    if "chunked" not in fields.get("transfer-encoding", ""):
        return await reader.readexactly(int(fields.get("content-length", 0)))
    data = b""
    while (size := int(await reader.readuntil(b"\r\n"), 16)) > 0:
        data += (await reader.readexactly(size + 2))[:-2]
    await reader.readuntil(b"\r\n")
    return data


if __name__ == "__main__":
    asyncio.run(Server(json.loads(sys.argv[1])).serve())
