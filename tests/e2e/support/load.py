"""Running tailor-load, and a scripted server that knows what it did and when.

The fixtures `stub` and `load` of conftest.py are made of these.
"""

import json
import math
import os
import re
import selectors
import socket
import subprocess
import threading

from support.process import SANITIZER, SANITIZER_ENV
from support.wait import PATIENCE_S

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
RUN_S = 120


class Stub:
    """One thread, one request after the other, like a server with one CPU.

    answer(request) returns the bytes to send, or None: no answer.  While it
    runs nothing else is served, so sleeping in it is a stall.  A request is a
    dict of its header fields (lower case) with "method", "target", "body" and
    "socket".
    """

    def __init__(self, answer=lambda request: OK, path=None):
        self.answer = answer
        self.requests = []
        self.pipelined = 0
        self._listener = socket.socket(
            socket.AF_UNIX if path else socket.AF_INET)
        self._listener.bind(str(path) if path else ("127.0.0.1", 0))
        self._listener.listen(4096)
        self._listener.setblocking(False)
        if not path:
            self.port = self._listener.getsockname()[1]
            self.url = f"http://127.0.0.1:{self.port}/"
        self._buffers = {}
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._wake, self._woken = socket.socketpair()
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is self._woken:
                    self._end()
                    return
                if key.fileobj is self._listener:
                    self._accept()
                elif key.fileobj in self._buffers:
                    self._read(key.fileobj)

    def _accept(self):
        try:
            sock, _ = self._listener.accept()
        except BlockingIOError:
            return
        if sock.family == socket.AF_INET:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffers[sock] = b""
        self._selector.register(sock, selectors.EVENT_READ)

    def drop(self, sock):
        """Close a connection."""
        self._selector.unregister(sock)
        del self._buffers[sock]
        sock.close()

    def _read(self, sock):
        try:
            data = sock.recv(65536)
        except ConnectionError:
            data = b""
        if not data:
            self.drop(sock)
            return
        self._buffers[sock] += data
        head, end, rest = self._buffers[sock].partition(b"\r\n\r\n")
        if not end:
            return
        lines = head.decode("latin-1").split("\r\n")
        request = dict(re.split(r":\s*", line, maxsplit=1)
                       for line in lines[1:])
        request = {name.lower(): value for name, value in request.items()}
        length = int(request.get("content-length", 0))
        if len(rest) < length:
            return
        method, target, _ = lines[0].split(" ")
        request.update(method=method, target=target, body=rest[:length],
                       socket=sock)
        self.pipelined += len(rest) > length
        self._buffers[sock] = b""
        self.requests.append(request)
        answer = self.answer(request)
        if answer and sock in self._buffers:
            try:
                sock.sendall(answer)
            except OSError:
                pass

    def _end(self):
        for sock in list(self._buffers):
            self.drop(sock)
        self._listener.close()
        self._selector.close()

    def kill(self):
        """Close everything at once, as the end of a process does."""
        if self._thread.is_alive():
            self._wake.send(b"x")
            self._thread.join(PATIENCE_S)

    def measured(self):
        """The requests that were no warm-up."""
        return [r for r in self.requests if "-w" not in r["x-request-id"]]


class Result:
    """A finished run: status, output, run.json and requests.ndjson."""

    def __init__(self, child, directory):
        try:
            self.out, self.err = child.communicate(timeout=RUN_S)
        finally:
            child.kill()  # if it hangs; an ended one is not touched
        self.status = child.returncode
        assert not SANITIZER.search(self.err), self.err
        self.run, self.lines = None, []
        if (directory / "run.json").exists():
            text = (directory / "run.json").read_text()
            self.run = json.loads(text) if text else None
            self.lines = [json.loads(line) for line in
                          (directory / "requests.ndjson").open()]
            self.hgrm = (directory / "run.hgrm").read_text()

    @property
    def verdict(self):
        assert self.run, (self.status, self.err)
        return self.run["generator"]["verdict"]

    def assert_done(self, status=0):
        """It ended with status, or with 4 because this machine is busy."""
        expected = 4 if self.verdict == "bad" else status
        assert self.status == expected, (self.status, self.out, self.err)

    def iteration(self, index):
        """The requests of one iteration."""
        return [line for line in self.lines if line["i"] == index]


class Load:
    """Runs tailor-load: load(url, *options); start=True does not wait."""

    def __init__(self, build, scratch):
        self._program = str(build / "tailor-load")
        self._scratch = scratch
        self._count = 0

    def __call__(self, url, *options, start=False):
        self._count += 1
        directory = self._scratch / f"out{self._count}"
        child = subprocess.Popen(
            [self._program, "--cpu", "none", "--pause", "0", "-o",
             str(directory), *map(str, options), url],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, **SANITIZER_ENV})
        return (child, directory) if start else Result(child, directory)


def nearest_rank(values, percent):
    """The percentile, independently of the program."""
    rank = math.ceil(round(percent * len(values) / 100, 9))
    return sorted(values)[rank - 1]


def check_distribution(reported, values):
    """A distribution of run.json is exactly that of these values."""
    assert reported["count"] == len(values)
    assert reported["min_ns"] == min(values)
    assert reported["max_ns"] == max(values)
    assert abs(reported["mean_ns"] - sum(values) / len(values)) <= 1
    for key, percent in (("p50", 50), ("p90", 90), ("p99", 99),
                         ("p999", 99.9)):
        assert reported[f"{key}_ns"] == nearest_rank(values, percent), key
