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
From the first line on standard input on no handler returns.
"""

import json
import os
import pathlib
import socket
import sys
import threading
import time
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from rig.message import Closed, Stream, response  # noqa: E402


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
        address = given["address"]
        if address.startswith("unix:"):
            path = address.removeprefix("unix:")
            if os.path.exists(path):
                os.unlink(path)
            self.listener = socket.socket(socket.AF_UNIX)
            self.listener.bind(path)
        else:
            self.listener = socket.socket()
            self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self.listener.bind(("127.0.0.1",
                                int(address.rpartition(":")[2])))
        self.listener.listen(given["backlog"])
        self.hanging = False

    def serve(self):
        threading.Thread(target=self.wait_hang, daemon=True).start()
        while True:
            sock, _ = self.listener.accept()
            threading.Thread(target=self.connection, args=(sock,),
                             daemon=True).start()

    def wait_hang(self):
        sys.stdin.readline()
        self.hanging = True

    def connection(self, sock):
        stream, left = Stream(lambda: sock.recv(65536)), self.given["requests"]
        with sock:
            try:
                while self.exchange(sock, stream):
                    left -= 1
                    if left == 0:
                        return
            except (OSError, AssertionError, Closed):
                pass

    def exchange(self, sock, stream):
        """One request; True if the connection may carry another."""
        sock.settimeout(self.given["idle_s"])
        request = stream.head()
        sock.settimeout(None)
        stream.body(request)
        path, _, query = request.target.partition("?")
        _, what, ident, number = path.split("/")
        asked = dict(part.split("=") for part in query.split("&") if part)
        os.write(self.log, f"{request.method} {ident} "
                 f"{request.get('tailor-warmup') or '-'}\n".encode())
        time.sleep(int(asked.get("d", 0)) / 1000)
        while self.hanging:
            time.sleep(60)
        fields = [("X-Server", self.given["name"])]
        if what == "s":
            self.events(sock, ident, int(number), int(asked["i"]) / 1000)
            return False
        keep = (request.start.endswith("1.1") and
                (request.get("connection") or "").lower() != "close")
        if not keep:
            fields.append(("Connection", "close"))
        # The head of a response to HEAD has the length of GET's body.
        method = request.method.replace("HEAD", "GET")
        whole = response(asked.get("s", 200), body(
            "python", method, ident, int(number), request.body), fields,
            "Because")
        if method != request.method:
            whole = whole[:whole.index(b"\r\n\r\n") + 4]
        sock.sendall(whole)
        return keep

    def events(self, sock, ident, events, period_s):
        sock.sendall(f"HTTP/1.1 200 OK\r\nX-Server: {self.given['name']}\r\n"
                     "Content-Type: text/event-stream\r\n"
                     "Connection: close\r\n\r\n".encode())
        for i in range(events):
            sock.sendall(f"data: {ident} {i}\n\n".encode())
            time.sleep(period_s)


if __name__ == "__main__":
    threading.stack_size(256 * 1024)
    Server(json.loads(sys.argv[1])).serve()
