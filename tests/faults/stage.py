"""A tailor whose calls can be made to fail, its servers, and what is wrong.

Right under a fault is the right response, an error of Tailor's, or a
connection that ends.  Wrong are another response, silence, a
crash, a sanitizer's report, and a process that does not serve afterwards.
"""

import os
import pathlib
import shutil
import tempfile
import threading

from layer import Page
from rig.message import Closed, Malformed, response
from rig.origin import Origin
from rig.process import SANITIZER
from rig.tailor import Tailor
from rig.wait import PATIENCE_S, wait_until
from symbols import Symbols

AGREE = (b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
         b"Upgrade: websocket\r\n"
         b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n")
ASK = (b"GET /chat HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\n"
       b"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
       b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
FORMATS = ("text", "json", "html", "svg", "chrome")
# How long a start or an end may take.  The kernel attaches its programs one
# by one, and takes back each of the five probes of a libjvm after grace periods
# of RCU: at 15 runnable threads a CPU an end was asleep in there for 30 s, and
# starts took up to 20.  The search for leaks takes its time then, too.
LIFE_S = 3 * PATIENCE_S
# Metrics that are zero when nothing is under way.
GAUGES = tuple(f"tailor_{name}" for name in (
    "requests_inflight", "requests_queued", "connections_half_open",
    "client_connections", "connections_current", "tunnels_current",
    "server_connections_busy", "draining_connections"))
SILENCE_S = 12.0  # longer than any timeout in the configuration below


class Wrong(Exception):
    """What must not happen under any fault."""


class Servers:
    """Scripted servers whose responses can be checked; c has a Unix socket."""

    def __init__(self, directory):
        self.asked = threading.Event()  # for /hedge, and once more
        self.hedged = threading.Event()
        self.a, self.b = Origin("a"), Origin("b")
        self.c = Origin("c", f"{directory}/c.sock")
        for server in (self.a, self.b, self.c):
            server.serve(self._responder(server))

    def _responder(self, server):
        def respond(r):
            target = r.target.partition("?")[0]
            if target == "/chat":
                r.send(AGREE)
                while data := r.connection._recv():
                    r.connection.send(data)
                r.connection.close()
                raise Closed
            if target == "/die" and r.get("tailor-attempt") == "1":
                r.connection.close()
                raise Closed
            if target == "/hedge":
                if r.get("tailor-attempt") == "1":
                    self.asked.set()
                    self.hedged.wait(0.3)
                else:
                    self.hedged.set()
            return response(200, self.body(r.target, r.body))
        return respond

    @staticmethod
    def body(target, body=b""):
        """What the response to a request must be."""
        size = int(target.partition("size=")[2] or 0)
        return target.encode() + b":" + body + b"x" * size

    def errors(self):
        """What tailor wrote that is not HTTP; half a request is no wrong."""
        return [e for e in self.a.errors + self.b.errors + self.c.errors
                if " ended " not in e]

    def stop(self):
        self.a.close()
        self.b.close()
        self.c.close()


class FaultyTailor(Tailor):
    """One with the layer in it."""

    program = "faults/tailor"
    patience_s = SILENCE_S

    def __init__(self, build, servers, directory, page, scene):
        self.directory = directory
        self.page = page
        self.servers = servers
        self.lines_of = {}  # of metrics, by format
        scene.prepare(self)
        super().__init__(build, directory, scene.config(self),
                         {"TAILOR_FAULTS": page.path} | scene.environment)

    def serves(self):
        """Whether a plain request gets its response from a server."""
        try:
            with self.client() as client:
                got = client.get("/again")
            return got.status == 200 and got.body == Servers.body("/again")
        except (OSError, Closed, Malformed):
            return False

    def wait_serving(self):
        """Wait until it serves; False if it has ended instead."""
        wait_until(lambda: not self.running() or self.serves(),
                   lambda: f"tailor serves\n{self.log[-3000:]}", LIFE_S)
        return self.running()

    def wait_ready(self):
        """Wait until both its servers are ready."""
        wait_until(lambda: self.ask("/servers").body.count(b'"ready"') >= 2,
                   "both servers are ready")

    def left_over(self):
        """What is still under way, as far as it can be asked."""
        try:
            return {key: value for key, value in self.metrics().items()
                    if value and key.startswith(GAUGES)}
        except (OSError, ValueError) as error:  # it may be an error's page
            return error

    def settle(self):
        """Wait until nothing is left of what it was asked."""
        wait_until(lambda: self.left_over() == {},
                   lambda: f"nothing is left over: {self.left_over()}", 30)


class Stage:
    """A directory, servers, and tailors one after the other."""

    def __init__(self, build):
        self.build = pathlib.Path(build).resolve()
        self.directory = tempfile.mkdtemp(prefix="tlf-")
        self.servers = Servers(self.directory)
        self.symbols = Symbols(self.build / "faults" / "tailor")
        self.number = 0

    def page(self):
        self.number += 1
        page = Page(f"{self.directory}/page{self.number}")
        page.record()
        return page

    def start(self, page, scene):
        directory = f"{self.directory}/t{self.number}"
        os.mkdir(directory)
        return FaultyTailor(self.build, self.servers, directory, page, scene)

    def end(self, t, ended, may_fail=False):
        """Stop it; it must end well.  may_fail: status 1 is well too."""
        if t.running():
            t.signal(15)
        status = t.wait(LIFE_S)
        ended()
        if SANITIZER.search(t.log):
            raise Wrong(t.log[SANITIZER.search(t.log).start():][:4000])
        if status != 0 and not (may_fail and status == 1):
            raise Wrong(f"exit status {status}\n{t.log[-3000:]}")
        errors = self.servers.errors()
        if errors:
            raise Wrong(f"not HTTP: {errors}")
        shutil.rmtree(t.directory)
        t.page.close()
        return status

    def close(self):
        self.servers.stop()
        shutil.rmtree(self.directory, ignore_errors=True)
