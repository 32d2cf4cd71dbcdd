"""A tailor whose calls can be made to fail, traffic for it, and who checks.

What is right under a fault: an answer that is the right one, an error of
Tailor's, or a connection that ends.  Wrong are another answer, silence, a
crash, a sanitizer's report, and a process that does not serve afterwards.
"""

import json
import mmap
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))

from support.client import Client  # noqa: E402
from support.message import Closed, Malformed, response  # noqa: E402
from support.process import SANITIZER, Process, free_port  # noqa: E402
from support.upstream import Upstream  # noqa: E402
from support.wait import PATIENCE_S, wait_until  # noqa: E402

KINDS = ["alloc", "accept", "connect", "write", "read", "event", "open"]
HEAD, ENTRY, PATHS = 120, 120, 8192
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
SILENCE_S = 12.0  # longer than any timeout in the configuration below


class Wrong(Exception):
    """What must not happen under any fault."""


class Page:
    """The page of layer.h."""

    def __init__(self, path):
        self.path = path
        with open(path, "w+b") as file:
            file.truncate(HEAD + ENTRY * PATHS)
            self._map = mmap.mmap(file.fileno(), HEAD + ENTRY * PATHS)

    def _get(self, offset):
        return struct.unpack_from("<Q", self._map, offset)[0]

    def _set(self, offset, value):
        struct.pack_into("<Q", self._map, offset, value)

    def record(self):
        self._set(40, 1)

    def arm(self, kinds=0, path=0, skip=0, left=1):
        """Of the matching calls, skip go well and the next `left` fail."""
        self._set(24, 0)
        self._set(0, kinds)
        self._set(8, path)
        self._set(16, skip)
        self._set(24, left)

    def disarm(self):
        self._set(24, 0)

    @property
    def failed(self):
        return self._get(32)

    @property
    def calls(self):
        return dict(zip(KINDS, struct.unpack_from("<7Q", self._map, 48)))

    def paths(self):
        """{key: (kind, calls, failed, what, return addresses)}"""
        assert self._get(112) == 0, "the table of paths is full"
        found = {}
        for i in range(PATHS):
            one = struct.unpack_from("<QIIQQ16s9Q", self._map,
                                     HEAD + ENTRY * i)
            if one[0]:
                found[one[0]] = (KINDS[one[1]], one[3], one[4],
                                 one[5].rstrip(b"\0").decode(),
                                 [at for at in one[6:] if at])
        return found

    def close(self):
        self._map.close()


class Servers:
    """Scripted servers that answer so that it can be checked; c has a Unix
    socket."""

    def __init__(self, directory):
        self.asked = threading.Event()  # for /hedge, and once more
        self.hedged = threading.Event()
        self.a, self.b = Upstream("a"), Upstream("b")
        self.c = Upstream("c", f"{directory}/c.sock")
        for server in (self.a, self.b, self.c):
            server.serve(self._answer(server))

    def _answer(self, server):
        def answer(r):
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
        return answer

    @staticmethod
    def body(target, body=b""):
        """What the answer to a request must be."""
        size = int(target.partition("size=")[2] or 0)
        return target.encode() + b":" + body + b"x" * size

    def errors(self):
        """What tailor wrote that is not HTTP; half a request is no wrong."""
        return [e for e in self.a.errors + self.b.errors + self.c.errors
                if " ended " not in e]

    def stop(self):
        self.a.stop()
        self.b.stop()
        self.c.stop()


class Tailor(Process):
    """One with the layer in it."""

    def __init__(self, build, servers, directory, page, scene):
        self.directory = directory
        self.page = page
        self.port = free_port()
        self.admin = f"{directory}/admin.sock"
        self.servers = servers
        self.lines_of = {}  # of metrics, by format
        scene.prepare(self)
        path = f"{directory}/tailor.json"
        with open(path, "w", encoding="utf-8") as file:
            json.dump(scene.config(self), file)
        super().__init__([f"{build}/faults/tailor", "-c", path],
                         env={"TAILOR_FAULTS": page.path}
                         | scene.environment)

    def client(self):
        client = Client(("127.0.0.1", self.port))
        client._socket.settimeout(SILENCE_S)
        return client

    def ask(self, target, method="GET", fields=()):
        with Client(self.admin) as client:
            client._socket.settimeout(SILENCE_S)
            client.request(method, target,
                           fields=[("Connection", "close"), *fields])
            return client.response(method)

    def serves(self):
        """Whether a plain request gets its answer from a server."""
        try:
            with self.client() as client:
                answer = client.get("/again")
            return (answer.status == 200
                    and answer.body == Servers.body("/again"))
        except (OSError, Closed, Malformed):
            return False

    def wait_serving(self):
        """Wait until it serves, or has ended; False then."""
        wait_until(lambda: not self.running() or self.serves(),
                   lambda: f"tailor serves\n{self.log[-3000:]}", LIFE_S)
        return self.running()

    def wait_ready(self):
        """Wait until both its servers are ready."""
        wait_until(lambda: self.ask("/servers").body.count(b'"ready"') >= 2,
                   "both servers are ready")

    def gauges(self):
        text = self.ask("/metrics").body.decode()
        return {key: float(value) for key, value in re.findall(
            r"^(tailor_(?:requests_inflight|requests_queued"
            r"|connections_half_open|client_connections|connections_current"
            r"|tunnels_current|server_connections_busy\{[^}]*\}"
            r"|draining_connections\{[^}]*\})) (\S+)$", text, re.M)}

    def settle(self):
        """Wait until nothing is left of what was asked of it."""
        wait_until(self.at_rest,
                   lambda: f"nothing is left over: {self.gauges()}", 30)

    def at_rest(self):
        """Whether nothing is under way, as far as it can be asked."""
        try:
            return not any(self.gauges().values())
        except OSError:
            return False

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))


class Symbols:
    """Addresses of a program -> "file:line function" of ours."""

    OURS = re.compile(r"^(base|config|talechain|profiler|hedging|proxy)/")

    def __init__(self, program):
        self.program = str(program)
        self._known = {}

    def look_up(self, addresses):
        new = sorted({a for a in addresses if a not in self._known})
        if not new:
            return
        # A return address is behind its call: one byte less is in it.
        done = subprocess.run(
            ["addr2line", "-i", "-a", "-f", "-e", self.program],
            input="\n".join(f"{a - 1:#x}" for a in new), text=True,
            capture_output=True, check=True)
        for block in re.split(r"^(?=0x)", done.stdout, flags=re.M)[1:]:
            lines = block.splitlines()
            frames = []
            for function, place in zip(lines[1::2], lines[2::2]):
                place = place.partition(" ")[0]
                place = place.removeprefix(f"{ROOT}/").removeprefix("./")
                frames.append(f"{place} {function}")
            self._known[int(lines[0], 16) + 1] = frames

    def frames(self, addresses):
        """Every frame, inlined ones too, innermost first."""
        self.look_up(addresses)
        return [f for a in addresses for f in self._known.get(a, ())]

    def ours(self, addresses):
        """The innermost frame that is in our sources."""
        return next((f for f in self.frames(addresses)
                     if self.OURS.match(f)), "?")

    def sites(self):
        """Every call in tailor's sources that the layer can make fail:
        {"file:line function"}.  (The microscope is another program.)"""
        text = subprocess.run(
            ["objdump", "-d", "--no-show-raw-insn", self.program],
            text=True, capture_output=True, check=True).stdout
        found, next_is_one = [], None
        for line in text.splitlines():
            address, _, rest = line.partition(":")
            if next_is_one and rest:
                found.append(int(address, 16))
            next_is_one = re.search(r"call\s.*<__wrap_", rest)
        self.look_up(found)
        return {self._known[a][0] for a in found
                if self._known.get(a) and self.OURS.match(self._known[a][0])
                and "/shim/" not in self._known[a][0]}


class Rig:
    """A directory, servers, and tailors one after the other."""

    def __init__(self, build):
        self.build = pathlib.Path(build).resolve()
        self.directory = tempfile.mkdtemp(prefix="tlf-")
        self.root = ROOT
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
        return Tailor(self.build, self.servers, directory, page, scene)

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
