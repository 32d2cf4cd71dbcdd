#!/usr/bin/python3
"""A server whose every response follows from the request (content.py), and
which misbehaves on command.

    origin.py NAME PORT DIRECTORY SEED

It is no rig.origin.Origin: Tailor launches it, it is killed and stopped as a
process of its own, it must start quickly, and what it does is drawn from the
seed and not scripted by a test.  It reads requests as that one does.

It writes a line into DIRECTORY/ledger for each request it sees, before it
responds, in a way that its own death does not undo:

    seen  NAME.PROCESS.N METHOD TARGET  the head of a request has arrived
    warm  ...                         likewise, but one of Tailor's warm-up
    whole ...                         a response that ends with its connection
                                      is written completely
    fault ... KIND                    the response is about to be spoilt
    wrong ... WHAT                    the request is not what was sent

N counts the process's responses and is in each as X-Nonce, so no response can
be given to two requests unseen.

DIRECTORY/NAME.ctl is a datagram socket that takes one mode as JSON:
{"kind": ..., "until": monotonic seconds, "share": of the requests}.  Modes
are those of faults.py and `slow`, `refuse` and `deaf`, which are for the whole
server.  It ends at SIGTERM, at once.
"""

import json
import os
import signal
import socket
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

import content  # noqa: E402
import faults  # noqa: E402
from rig.message import Closed, Cut, Malformed, Stream  # noqa: E402

HOP_BY_HOP = ("keep-alive", "proxy-connection", "upgrade", "expect",
              "trailer")
READ_S = 120  # of a connection on which nothing comes


class Origin:
    """The listening socket, the mode it is in, and the ledger."""

    def __init__(self, name, port, directory, seed):
        self.name, self.port, self.seed = name, port, seed
        self.mode = {"kind": "none", "until": 0, "share": 0}
        self.count = 0
        # Of a process that is never taken for another: numbers come again.
        self.process = f"{os.getpid()}-{time.monotonic_ns():x}"
        self.lock = threading.Lock()
        self.ledger = os.open(f"{directory}/ledger",
                              os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self.control = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        path = f"{directory}/{name}.ctl"
        if os.path.exists(path):
            os.unlink(path)
        self.control.bind(path)
        self.listener = self.listen()

    def listen(self):
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", self.port))
        listener.listen(64)
        return listener

    def note(self, event, nonce, method, target, more=""):
        line = f"{event} {nonce} {method} {target} {more}".rstrip() + "\n"
        os.write(self.ledger, line.encode("latin-1", "replace"))

    def nonce(self):
        with self.lock:
            self.count += 1
            return f"{self.name}.{self.process}.{self.count}"

    def in_mode(self, *kinds):
        return (self.mode["kind"] in kinds
                and time.monotonic() < self.mode["until"])

    def take_modes(self):
        while True:
            self.mode = json.loads(self.control.recv(4096))

    def accept(self):
        """Take connections, but for the modes in which none are taken."""
        while True:
            if self.in_mode("refuse"):
                self.listener.close()
                while self.in_mode("refuse"):
                    time.sleep(0.01)
                self.listener = self.listen()
            while self.in_mode("deaf"):
                time.sleep(0.01)
            self.listener.settimeout(0.05)
            try:
                sock, _ = self.listener.accept()
            except TimeoutError:
                continue
            sock.settimeout(READ_S)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=Connection(self, sock).run,
                             daemon=True).start()


class Connection:
    """One accepted connection."""

    def __init__(self, origin, sock):
        self.origin, self.sock = origin, sock
        self.stream = Stream(lambda: self.sock.recv(65536))

    def run(self):
        try:
            while self.one():
                pass
        except (Closed, Cut, OSError):
            pass
        except Malformed as error:
            self.origin.note("wrong", "-", "-", "-", repr(error)[:400])
        finally:
            self.sock.close()

    def one(self):
        """One request; True if the connection may carry another."""
        origin = self.origin
        request = self.stream.head()
        method, target = request.method, request.target
        for name in ("host", "content-length", "transfer-encoding"):
            if len(request.all(name)) > 1:
                origin.note("wrong", "-", method, target, f"{name} twice")
        nonce = origin.nonce()
        spec = content.parse(method, target)
        if (spec is None or not request.start.endswith(" HTTP/1.1")
                or not request.all("host")):
            origin.note("wrong", nonce, method, target,
                        repr(request.raw)[:400])
            return False
        warm = bool(request.all("tailor-warmup"))
        origin.note("warm" if warm else "seen", nonce, method, target)
        for name in HOP_BY_HOP:
            if request.all(name):
                origin.note("wrong", nonce, method, target, f"has {name}")
        if warm and spec.rule != "safe":
            origin.note("wrong", nonce, method, target, "warms unsafe")
        fault = self.fault(spec)
        if fault == "early" and spec.upload:
            return self.early(spec, nonce)
        try:
            self.stream.body(request)
        except Cut:
            return False
        except AssertionError as error:
            origin.note("wrong", nonce, method, target, f"framing {error!r}")
            return False
        if request.body != spec.body_up():
            origin.note("wrong", nonce, method, target,
                        f"body of {len(request.body)} bytes")
        if spec.delay_ms:
            time.sleep(spec.delay_ms / 1e3)
        if origin.in_mode("slow"):
            time.sleep(origin.mode["delay"])
        return faults.respond(self, spec, nonce, content.digest(request.body),
                             fault)

    def early(self, spec, nonce):
        """Respond before the body is read; then read it to the end."""
        faults.respond(self, spec, nonce, content.EARLY, "last")
        self.sock.shutdown(socket.SHUT_WR)
        self.sock.settimeout(2)
        while self.sock.recv(65536):
            pass
        return False

    def fault(self, spec):
        """Which fault this request draws in the mode that is on."""
        mode = self.origin.mode
        if time.monotonic() > mode["until"]:
            return None
        return faults.draw(mode, spec, self.origin.seed + self.origin.name)

    def send(self, data):
        self.sock.sendall(data)

    def note(self, event, nonce, spec, more=""):
        self.origin.note(event, nonce, spec.method, spec.target, more)


def main():
    name, port, directory, seed = sys.argv[1:]
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    threading.stack_size(256 * 1024)
    origin = Origin(name, int(port), directory, seed)
    threading.Thread(target=origin.take_modes, daemon=True).start()
    origin.accept()


if __name__ == "__main__":
    main()
