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
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))

from support.client import Client  # noqa: E402
from support.message import Closed, Malformed, response  # noqa: E402
from support.process import SANITIZER, Process, free_port  # noqa: E402
from support.upstream import Upstream  # noqa: E402
from support.wait import Late, wait_until  # noqa: E402

KINDS = ["alloc", "accept", "connect", "write", "read", "event", "open"]
HEAD, ENTRY, PATHS = 120, 120, 8192
AGREE = (b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
         b"Upgrade: websocket\r\n"
         b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n")
ASK = (b"GET /chat HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\n"
       b"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
       b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
FORMATS = ("text", "json", "html", "svg", "chrome")
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
    """Two scripted servers that answer so that it can be checked."""

    def __init__(self):
        self.hedged = threading.Event()
        self.a, self.b = Upstream("a"), Upstream("b")
        for server in (self.a, self.b):
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
                    self.hedged.wait(0.1)
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
        return [e for e in self.a.errors + self.b.errors
                if " ended " not in e]

    def stop(self):
        self.a.stop()
        self.b.stop()


class Tailor(Process):
    """One with the layer in it."""

    def __init__(self, build, servers, directory, page):
        self.directory = directory
        self.page = page
        self.port = free_port()
        self.admin = f"{directory}/admin.sock"
        self.servers = servers
        self.lines_of = {}  # of metrics, by format
        os.makedirs(f"{directory}/store", exist_ok=True)
        path = f"{directory}/tailor.json"
        with open(path, "w", encoding="utf-8") as file:
            file.write(CONFIG.format(
                port=self.port, directory=directory, a=servers.a.address,
                b=servers.b.address, name=os.path.basename(directory)))
        super().__init__([f"{build}/faults/tailor", "-c", path],
                         env={"TAILOR_FAULTS": page.path})

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
                   f"tailor serves\n{self.log[-3000:]}")
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
        if "listen_failed what=admin" in self.log:
            return  # it serves without, and cannot be asked
        wait_until(lambda: not any(self.gauges().values()),
                   f"nothing is left over: {self.gauges()}", 30)

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))


# What is launched as b is not who answers at its address: a script of ours
# does, and what can fail is launching.
CONFIG = """{{
"listen": ["127.0.0.1:{port}"], "admin": "unix:{directory}/admin.sock",
"servers": [{{"name": "a", "address": "{a}", "health": "/health"}},
            {{"name": "b", "address": "{b}",
              "launch": {{"command": ["/bin/sleep", "1000"], "cpus": ""}}}}],
"warmup": {{"requests": 2}},
"hedging": {{"timer_ratio": 1, "timer_delay": "20ms",
             "drain_timeout": "2s", "budget_burst": 1000}},
"proxy": {{"cpu": "none", "stop_timeout": "5s", "stop_idle": 0,
           "websocket": true, "trailers_pass": true, "lingering": "1s",
           "queue_timeout": "2s", "request_timeout": "3s",
           "header_timeout": "2s", "body_timeout": "2s",
           "idle_timeout": "4s", "write_timeout": "2s",
           "upstream_idle_timeout": "2s", "tunnel_timeout": "4s"}},
"profiler": {{"poll": "sleep", "cpu": "none", "kernel": "off", "rates": [],
              "stream": "/dev/shm/tailor-{name}",
              "channel_socket": "{directory}/channels.sock"}},
"log": {{"level": "debug"}},
"access_log": {{"path": "{directory}/access.log"}},
"slow": {{"target": "1us", "store": "{directory}/store", "keep": 64}}
}}
"""


# --- traffic: each goes through a part of tailor, and raises Wrong -----------

def checked(answer, target, body=b""):
    """An answer is the server's, or an error of Tailor's."""
    if answer.status == 200 and answer.body != Servers.body(target, body):
        raise Wrong(f"{target} was answered {answer.body[:80]!r}")
    return answer


def ask_plainly(t):
    with t.client() as c:
        for target in ("/one", "/two?size=300000", "/three"):
            checked(c.get(target), target)


def send_bodies(t):
    for size in (100, 300_000):
        with t.client() as c:
            body = os.urandom(size)
            c.request("POST", "/post", body=body)
            checked(c.response(), "/post", body)
    with t.client() as c:
        c.send(b"PUT /put HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked"
               b"\r\nExpect: 100-continue\r\n\r\n3\r\nabc\r\n")
        c.send(b"0\r\n\r\n")
        checked(c.response(), "/put", b"abc")


def pipeline(t):
    with t.client() as c:
        for i in range(3):
            c.request("GET", f"/{i}")
        for i in range(3):
            checked(c.response(), f"/{i}")


def be_refused(t):
    with t.client() as c:
        c.send(b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n")
        if c.response().status not in (400, 503):
            raise Wrong("two hosts")


def lose_a_server(t):
    with t.client() as c:
        checked(c.get("/die"), "/die")


def hedge(t):
    t.servers.hedged.clear()
    with t.client() as c:
        c.request("GET", "/hedge")
        t.ask("/hazard?server=a&kind=gc&state=begin", "POST")
        answer = c.response()
        t.ask("/hazard?server=a&kind=gc&state=end", "POST")
        checked(answer, "/hedge")


def tunnel(t):
    with t.client() as c:
        c.send(ASK)
        if c.response(interim=True).status != 101:
            return
        for data in (b"hello", b"y" * 60000):
            c.send(data)
            if c.exactly(len(data)) != data:
                raise Wrong("a tunnel's bytes")
        c.shutdown()
        c.expect_end()


def reload(t):
    t.ask("/reload", "POST")


def leave(t):
    with t.client() as c:
        c.request("GET", "/hedge")
        c.reset()


def analyze(t):
    with t.client() as c:
        c.get("/told", fields=[("X-Request-Id", "tale-1")])
    with t.client() as c:
        c.request("POST", "/.talechain/analyze",
                  body=b'{"id":"tale-1","client":{"sched_ns":1}}')
        c.response()
        c.request("POST", "/.talechain/pin?id=tale-1")
        c.response()
    for form in FORMATS:
        with t.client() as c:
            c.get(f"/.talechain/timeline/tale-1?format={form}")
        t.ask(f"/timeline/tale-1?format={form}")


def ask_admin(t):
    for target in ("/servers", "/slow", "/ledger", "/live.json", "/info"):
        answer = t.ask(target)
        try:
            if answer.status == 200:
                json.loads(answer.body)
        except ValueError as error:
            raise Wrong(f"{target}: {error}: {answer.body!r}") from None
    for target in ("/live", "/healthz", "/readyz", "/stream", "/",
                   "/nothing"):
        t.ask(target)
    for kind in ("text/plain", "application/openmetrics-text"):
        answer = t.ask("/metrics", fields=[("Accept", kind)])
        lines, before = answer.body.count(b"\n"), t.lines_of.get(kind, 0)
        if answer.status == 200 and lines < before:
            raise Wrong(f"/metrics without {before - lines} of its lines")
        t.lines_of[kind] = max(lines, before)


def act(t):
    for target in ("/switch?server=b", "/switch?server=a",
                   "/drain?server=b", "/ready?server=b", "/restart?server=b",
                   "/log?level=info", "/log?level=debug"):
        t.ask(target, "POST")


def reopen_log(t):
    t.signal(10)  # SIGUSR1
    ask_plainly(t)


PLAIN = [ask_plainly, send_bodies, pipeline, be_refused, lose_a_server,
         tunnel, leave, reopen_log]
TRAFFIC = PLAIN + [ask_admin, reload, analyze, act, hedge]  # of the admin too


def perform(t, act_):
    """One of the above.  Errors and ends are right; silence is not."""
    try:
        act_(t)
    except TimeoutError:
        raise Wrong(f"{act_.__name__}: silence") from None
    except (OSError, Closed, Malformed, AssertionError):
        pass
    if not t.running():
        raise Wrong(f"{act_.__name__}: tailor ended by itself")


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
        self.servers = Servers()
        self.symbols = Symbols(self.build / "faults" / "tailor")
        self.number = 0

    def page(self):
        self.number += 1
        page = Page(f"{self.directory}/page{self.number}")
        page.record()
        return page

    def start(self, page):
        directory = f"{self.directory}/t{self.number}"
        os.mkdir(directory)
        return Tailor(self.build, self.servers, directory, page)

    def end(self, t, may_fail=False):
        """Stop it; it must end well.  may_fail: status 1 is well too."""
        t.page.disarm()
        if t.running():
            t.signal(15)
        status = t.wait()
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
