"""Goal: each way in which a request can fail here has its code in the access
log and the metrics, and a first sentence of its timeline that says what
happened, what Tailor did and why it did no more."""

import json
import signal
from typing import NamedTuple

import pytest

from rig.wait import wait_until
from support.wire import AGREED, UPGRADE

KERNEL_EVENTS = "off"

HEAD = b"GET / HTTP/1.1\r\nHost: h\r\n"
CHUNKED = (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
           b"5\r\nbegun\r\n")
TO_NONE = "; no server received the request."
REFUSED = "Tailor refused the request"
CUT = ("; Tailor cut the client's connection because part of the response "
       "had been sent.")
POST = "; not sent again because POST /pay is not in hedging.repeatable."


# --- causes: each is given the client and both scripted servers -----------

def sends(raw):
    """The client sends these bytes and has a response."""
    def cause(c, _, __):
        c.send(raw)
        assert c.response().status >= 400
    return cause


def request(*then, method="GET"):
    """A request, and what the servers that get it do, in order."""
    def cause(c, *servers):
        c.request(method, "/pay?card=1", body=b"x" * (method == "POST"))
        for server, do in zip(servers, then):
            do(server.expect())
        assert c.response(method).status >= 500
    return cause


def begun(do):
    """A response that has begun when its server, or the client, does this."""
    def cause(c, a, _):
        c.request(target="/pay")
        served = a.expect()
        served.send(CHUNKED)
        assert c.response_head().status == 200
        do(c, served)
    return cause


def closes(served):
    served.close()


def resets(served):
    served.reset()


def keeps(_):
    """It does not respond."""


def answers(raw):
    return lambda served: served.send(raw)


def starts_and_resets(served):
    served.send(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhal")
    served.reset()


def leaves(c, _):
    c.reset()


def leaves_in_body(c, _, __):
    c.send(b"POST /pay HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nx")
    c.reset()


def leaves_early(c, a, _):
    c.request(target="/pay")
    a.expect()
    c.reset()


def reads_nothing(c, a, _):
    """The response is larger than all that takes it unread."""
    a.serve(lambda r: b"HTTP/1.1 200 OK\r\nContent-Length: 90000000\r\n\r\n"
            + b"x" * 50_000_000)
    c.request(target="/pay")


def tunnel(c, a, _):
    c.request(target="/pay", fields=UPGRADE)
    a.expect().send(AGREED)
    assert c.response_head().status == 101


def no_server(c, a, _):
    a.stop()
    c.request(target="/pay")
    assert c.response().status == 503


def opted_out(c, a, _):
    c.request(target="/pay", fields=[("X-Tailor-Hedge", "off")])
    a.expect().close()
    assert c.response().status == 502


class Case(NamedTuple):
    """sections: of the configuration; alone: with one server."""
    cause: object
    code: str
    flags: str
    sentence: str
    status: int
    sections: dict = {}
    alone: bool = False


def gate(status, raw, reason, words=None):
    words = (f": {words}" if words else
             f", which broke the rule {reason} (docs/http.md)")
    return Case(sends(raw), "PR", reason, REFUSED + words + TO_NONE, status)


SOON = {"proxy": {"request_timeout": "200ms"}}
CASES = {
    "400": gate(400, HEAD + b"Host: h\r\n\r\n", "host_twice"),
    "405": gate(405, b"TRACE / HTTP/1.1\r\nHost: h\r\n\r\n",
                "method_not_allowed", "the method is CONNECT or TRACE"),
    "413": gate(413, HEAD + b"Content-Length: 99999999999\r\n\r\n",
                "body_too_large", "the body is larger than proxy.body_max"),
    "414": gate(414, b"GET /" + b"a" * 17000, "request_line_too_long",
                "the request line is longer than 16 KiB"),
    "417": gate(417, HEAD + b"Expect: a miracle\r\n\r\n", "expectation",
                "Expect is not 100-continue"),
    "431": gate(431, HEAD + b"A: " + b"a" * 17000, "head_too_large",
                "the head is larger than 16 KiB"),
    "501": gate(501, b"BREW / HTTP/1.1\r\nHost: h\r\n\r\n", "method_unknown",
                "the method is not known"),
    "505": gate(505, b"GET / HTTP/1.2\r\nHost: h\r\n\r\n",
                "version_unsupported",
                "the version is not HTTP/1.0 or HTTP/1.1"),
    "400 body": gate(400, HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
                     "chunk_size"),
    "408": Case(sends(b"GET"), "cR", "timeout", "the client did not send the "
                "rest of the request in time (proxy.header_timeout, "
                "proxy.client_timeout)" + TO_NONE, 408,
                {"proxy": {"header_timeout": "200ms"}}),
    "503 spool": Case(
        sends(b"PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 2000000\r\n\r\n"
              + b"x" * 2_000_000), "RR", "spool_full,body_size",
        "Tailor had no room for the body (proxy.spool_max)" + TO_NONE, 503,
        {"proxy": {"spool_directory": ""}}),
    "503 no server": Case(
        no_server, "SQ", "no_server", "no server was ready within "
        "proxy.server_wait" + TO_NONE, 503,
        {"proxy": {"server_wait": "200ms"}}, alone=True),
    "closed": Case(request(closes, method="POST"), "SH", "closed,method",
                   "server a closed the connection # ms into the request, "
                   "before it responded" + POST, 502),
    "reset": Case(request(resets, method="POST"), "SH", "reset,method",
                  "server a reset the connection # ms into the request, "
                  "before it responded" + POST, 502),
    "malformed": Case(
        request(answers(b"nonsense\r\n\r\n"), method="POST"), "PH",
        "status_line,method", "the response of server a broke the rule "
        "status_line (docs/http.md)" + POST, 502),
    "both": Case(request(closes, resets), "SH", "reset,attempts",
                 "server b reset the connection # ms into the request, before "
                 "it responded; server a, which had the request first, ended "
                 "the connection without a response.", 502),
    "both cut": Case(request(starts_and_resets, resets), "SH",
                     "reset,attempts", "server b reset the connection # ms "
                     "into the request, before it responded; server a, which "
                     "had the request first, ended the connection in the "
                     "middle of its response.", 502),
    "alone": Case(request(closes), "SH", "closed,backup_not_ready",
                  "server a closed the connection # ms into the request, "
                  "before it responded; not sent again because no other "
                  "server was ready.", 502, alone=True),
    "watching": Case(request(closes), "SH", "closed,watching",
                     "server a closed the connection # ms into the request, "
                     "before it responded; not sent again because "
                     "hedging.mode is watch.", 502,
                     {"hedging": {"mode": "watch"}}),
    "opted out": Case(opted_out, "SH", "closed,optout",
                      "server a closed the connection # ms into the request, "
                      "before it responded; not sent again because the client "
                      "forbade that (X-Tailor-Hedge).", 502),
    "504": Case(request(keeps), "sH", "deadline", "server a had not responded "
                "when proxy.request_timeout expired", 504, SOON),
    "cut": Case(begun(lambda _, s: s.reset()), "SD", "reset",
                "server a reset the connection # ms into the request, in the "
                "middle of its response" + CUT, 200),
    "cut malformed": Case(begun(lambda _, s: s.send(b"zz\r\n")), "PD",
                          "chunk_size", "the response of server a broke the "
                          "rule chunk_size (docs/http.md)" + CUT, 200),
    "cut late": Case(begun(lambda *_: None), "sD", "deadline",
                     "server a sent no more of its response for "
                     "proxy.request_timeout" + CUT, 200, SOON),
    "left in its body": Case(leaves_in_body, "CR", "client_gone",
                             "the client left # ms into the request, before "
                             "all of it had arrived.", 499),
    "left": Case(leaves_early, "CH", "client_gone", "the client left # ms "
                 "into the request, before server a had responded.", 499),
    "left in the response": Case(begun(leaves), "CD", "client_gone",
                                 "the client left # ms into the request, "
                                 "in the middle of the response.", 200),
    "does not read": Case(
        reads_nothing, "cD", "write_timeout",
        "the client read nothing for proxy.client_timeout" + CUT, 200,
        {"proxy": {"client_timeout": "300ms", "spool_directory": ""}}),
    "idle tunnel": Case(
        tunnel, "cD", "tunnel_timeout", "neither side sent anything for "
        "proxy.tunnel_timeout" + CUT, 101,
        {"proxy": {"websocket": True, "tunnel_timeout": "200ms"}}),
}


class Logged:
    """A tailor before two scripted servers, and what its access log has."""

    def __init__(self, upstream, tailor, scratch, alone=False, **sections):
        self.a, self.b = upstream("a").script(), upstream("b").script()
        self.path = scratch / "access.log"
        self.tailor = tailor(*(self.a, self.b)[:2 - alone], access_log={
            "path": str(self.path)}, **sections)

    def lines(self):
        text = self.path.read_text() if self.path.exists() else ""
        return [json.loads(x) for x in text.rpartition("\n")[0].splitlines()]

    def wait(self, count=1):
        wait_until(lambda: len(self.lines()) >= count, f"{count} lines")
        return self.lines()

    def sentence(self, line):
        """The first words of why, each time in it as "# ms"."""
        text = self.tailor.timeline(line["id"])["verdict"]["text"]
        words = text.split(" ")
        return " ".join("#" if words[i + 1:i + 2] == ["ms"] else word
                        for i, word in enumerate(words))


@pytest.fixture
def logged(upstream, tailor, scratch):
    return lambda **more: Logged(upstream, tailor, scratch, **more)


@pytest.mark.parametrize("name", CASES)
def test_one_failure(logged, name):
    case = CASES[name]
    log = logged(alone=case.alone, **case.sections)
    with log.tailor.client() as c:
        case.cause(c, log.a, log.b)
        line = log.wait()[-1]
    log.a.errors.clear()  # it may have been left inside a request
    assert (line["status"], line["termination"], line["flags"]) == \
        (case.status, case.code, case.flags)
    begin = (f"{case.status}, but cut: " if case.code[1] == "D" else
             "no response: " if case.status == 499 else f"{case.status}: ")
    assert log.sentence(line).startswith(begin + case.sentence)
    codes = {k: v for k, v in log.tailor.metrics().items()
             if k.startswith("tailor_terminations_total") and v}
    assert codes == {f'tailor_terminations_total{{code="{case.code}"}}': 1}


def test_queue(logged):
    # Goal: one that waits too long for a slot, and one whose client leaves.
    log = logged(proxy={"queue_timeout": "200ms"}, alone=True)
    log.tailor.reload(servers=[{"name": "a", "address": log.a.address,
                                "connections_max": 1}])
    with log.tailor.client() as first, log.tailor.client() as late, \
            log.tailor.client() as left:
        first.request(target="/first")
        held = log.a.expect()
        left.request(target="/left")
        log.tailor.wait_metric("tailor_requests_queued", 1)
        left.reset()
        gone = log.wait()[0]
        late.request(target="/late")
        assert late.response().status == 503
        line = log.wait(2)[1]
        held.reply()
        assert first.response().status == 200
    assert (gone["termination"], line["termination"]) == ("CQ", "sQ")
    assert log.sentence(gone) == "no response: the client left # ms into the " \
        "request, while the request waited for a server."
    assert log.sentence(line) == "503: no server had a free slot within " \
        "proxy.queue_timeout" + TO_NONE


def test_stop(logged):
    # Goal: a stop that waits no longer is not a client that left.
    log = logged(proxy={"stop_timeout": "600s"})
    with log.tailor.client() as waits, log.tailor.client() as reads:
        waits.request(target="/waits")
        log.a.expect()
        reads.request(target="/reads")
        log.a.expect().send(CHUNKED)
        reads.response_head()
        log.tailor.signal(signal.SIGTERM)
        log.tailor.wait_log("stopping")
        log.tailor.signal(signal.SIGTERM)
        assert log.tailor.wait() == 0
    got = {x["path"]: (x["status"], x["termination"], x["flags"])
           for x in log.wait(2)}
    assert got == {"/waits": (0, "KH", "stopped"),
                   "/reads": (200, "KD", "stopped")}


def test_drain(logged):
    # Goal: a drain that waits no longer is not the server's failure.
    log = logged()
    log.tailor.reload(servers=[
        {"name": "a", "address": log.a.address, "drain_timeout": "200ms"},
        {"name": "b", "address": log.b.address}])
    with log.tailor.client() as c, log.tailor.client() as d:
        c.request("POST", "/pay", body=b"x")
        log.a.expect()
        d.request(target="/reads")
        log.a.expect().send(CHUNKED)
        assert d.response_head().status == 200
        assert log.tailor.ask("/drain?server=a", "POST").status < 300
        assert c.response().status == 502
        post, cut = sorted(log.wait(2), key=lambda x: x["path"])
    assert (post["termination"], cut["termination"]) == ("KH", "KD")
    drained = "server a was being drained, and servers[].drain_timeout expired"
    assert log.sentence(post).startswith("502: " + drained + POST)
    assert log.sentence(cut).startswith("200, but cut: " + drained + CUT)


def test_where_codes_are_shown(logged, ctl):
    # Goal: why takes the id in the response to a refused head; slow and the
    # log of requests show the code; Tailor's own paths have one, too.
    log = logged(slow={"target": "0ms"})
    with log.tailor.client() as c:
        c.send(HEAD + b"Host: h\r\n\r\n")
        answer = c.response()
    log.tailor.get("/.talechain/nothing")
    with log.tailor.client() as c:
        request(closes, method="POST")(c, log.a, log.b)
    refused, own, failed = log.wait(3)
    assert own["termination"] == "LR"
    assert answer.get("x-request-id") == refused["id"]
    why = ctl("-a", log.tailor.admin, "why", refused["id"]).out
    assert why.startswith("400: Tailor refused the request")
    slow = wait_until(  # the analysis thread may be slower than the log
        lambda: failed["id"] in (out := ctl(
            "-a", log.tailor.admin, "slow").out) and out, "it is kept")
    assert f"502 SH {failed['id']} " in slow
    assert "error 502, ended SH" in ctl(
        "-a", log.tailor.admin, "slow", "--all").out
    shown = ctl("-a", log.tailor.admin, "log", "-r", "--dump").out
    assert f"{refused['id']}" in shown and "400 PR" in shown
    assert "502 SH" in shown
    only = ctl("-a", log.tailor.admin, "log", "--dump", "-q",
               'termination == "SH"').out
    assert failed["id"] in only and refused["id"] not in only


def test_quick_failures_are_kept(logged, ctl):
    # Goal: as many of each minute as slow.keep_slowest, and not those of
    # clients that left.
    log = logged(slow={"target": "600s", "keep_slowest": 2})
    for count in range(1, 5):
        with log.tailor.client() as c:
            request(closes, method="POST")(c, log.a, log.b)
        log.wait(count)
    with log.tailor.client() as c:
        leaves_early(c, log.a, log.b)
        gone = log.wait(5)[-1]
    log.a.errors.clear()

    def kept():
        slow = json.loads(ctl("-j", "-a", log.tailor.admin, "slow",
                              wide=True).out)["slow"]
        return [x["id"] for x in slow if x["reason"] == "failed"]
    wait_until(lambda: len(kept()) >= 2, "two are kept")
    assert len(kept()) <= 4 and gone["id"] not in kept()
    assert "listed: failed, and quicker than the target" in ctl(
        "-a", log.tailor.admin, "slow", "--all").out
