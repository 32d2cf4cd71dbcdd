"""Traffic for a tailor under faults: each act goes through a part of it.

An act raises Wrong for what must not happen; whatever else goes wrong in it
is the fault's doing, and perform() takes it.
"""

import array
import json
import os
import socket

from rig.message import Closed, Malformed
from stage import ASK, FORMATS, SILENCE_S, Servers, Wrong


def checked(response, target, body=b""):
    """A response is the server's, or an error of Tailor's."""
    if response.status == 200 and response.body != Servers.body(target, body):
        raise Wrong(f"{target} got {response.body[:80]!r}")
    return response


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
    for _ in range(3):  # there and back: the way that is usual
        t.servers.asked.clear()
        t.servers.hedged.clear()
        active = json.loads(t.ask("/servers").body)["active"]
        with t.client() as c:
            c.request("GET", "/hedge")
            t.servers.asked.wait(0.3)
            t.ask(f"/pause?server={active}&kind=gc&state=begin", "POST")
            response = c.response()
            t.ask(f"/pause?server={active}&kind=gc&state=end", "POST")
            checked(response, "/hedge")


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


BOOT = b"01234567-89ab-cdef-0123-456789abcdef"  # another machine's


def analyze(t):
    with t.client() as c:
        c.get("/explained", fields=[("X-Request-Id", "tale-1")])
    with t.client() as c:
        c.request("POST", "/.talechain/analyze",
                  body=b'{"id":"tale-1","client":{"sched_ns":1,'
                       b'"boot_id":"' + BOOT + b'"}}')
        c.response()
        c.request("POST", "/.talechain/pin?id=tale-1")
        c.response()
    for form in FORMATS:
        with t.client() as c:
            c.get(f"/.talechain/timeline/tale-1?format={form}")
        t.ask(f"/timeline/tale-1?format={form}")


def ask_admin(t):
    for target in ("/servers", "/slow", "/ledger", "/live.json", "/info"):
        response = t.ask(target)
        try:
            if response.status == 200:
                json.loads(response.body)
        except ValueError as error:
            raise Wrong(f"{target}: {error}: {response.body!r}") from None
    for target in ("/live", "/healthz", "/readyz", "/stream", "/",
                   "/nothing"):
        t.ask(target)
    for kind in ("text/plain", "application/openmetrics-text"):
        response = t.ask("/metrics", fields=[("Accept", kind)])
        lines, before = response.body.count(b"\n"), t.lines_of.get(kind, 0)
        if response.status == 200 and lines < before:
            raise Wrong(f"/metrics without {before - lines} of its lines")
        t.lines_of[kind] = max(lines, before)


def act(t):
    for target in ("/switch?server=b", "/switch?server=a",
                   "/drain?server=b", "/undrain?server=b", "/restart?server=b",
                   "/log?level=info", "/log?level=debug"):
        t.ask(target, "POST")


def reopen_log(t):
    t.signal(10)  # SIGUSR1
    ask_plainly(t)


# --- what only some scenes have ----------------------------------------------

def open_channels(t):
    """One that is granted, for a moment, one that is refused, one that does
    not ask.  An end is right, a channel without its memory is not."""
    for ask in (b"TALECHAIN 1 1 6 1 one\n", b"TALECHAIN 9\n", b""):
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(SILENCE_S)
            s.connect(f"{t.directory}/channels.sock")
            s.send(ask or b"TALE")
            if not ask:
                continue
            room = socket.CMSG_SPACE(array.array("i", [0]).itemsize)
            text, control, _, _ = s.recvmsg(200, room)
            if text.startswith(b"OK") and not control:
                raise Wrong("a channel without its memory")
            for _, _, data in control:
                os.close(int.from_bytes(data[:4], "little"))


def cut_page(t):
    """The JVM's page is cut short under its reader, and made again."""
    with open(t.jvm_page, "r+b") as file:
        whole = file.read()
        file.truncate(0)
        t.ask("/servers")
        file.seek(0)
        file.write(whole)


TRAFFIC = [ask_plainly, send_bodies, pipeline, be_refused, lose_a_server,
           tunnel, leave, reopen_log, ask_admin, reload, analyze, act, hedge]


def perform(t, act_):
    """One of the above.  Errors and ends are right; silence is not."""
    try:
        act_(t)
    except TimeoutError:
        raise Wrong(f"{act_.__name__}: silence") from None
    except (OSError, Closed, Malformed, AssertionError, ValueError):
        pass
    if not t.running():
        raise Wrong(f"{act_.__name__}: tailor ended by itself")


