"""Goal: a pause of the active server costs clients nothing, and never more
than one response reaches a client, or one write a server.

Pauses are reported to the admin listener, so each order of events is made by
the test and not by luck.
"""

import json
import threading
import time

import pytest

from rig.client import Client
from rig.message import response
from rig.wait import PATIENCE_S, wait_until
from support.pair import DRAINED, hedged

KERNEL_EVENTS = "off"


def test_in_flight_request_is_sent_again(pair):
    # Goal: the thesis's mechanism: swap, re-send, first response wins, the
    # late one is read and thrown away and its connection kept.  If the pause
    # ends soon, the original response is taken.
    t = pair()
    with t.client() as c:
        c.request("GET", "/q", fields=[("X-Request-Id", "hedged")])
        first = pair.a.expect()
        t.hazard("a", "begin")
        second = pair.b.expect()
        assert second.get("tailor-attempt") == "2"
        assert second.get("tailor-hedge") == "gc"
        assert second.get("tailor-request") == first.get("tailor-request")
        assert t.active() == "b"
        second.reply(200, b"from b")
        assert c.response().body == b"from b"
        first.reply(200, b"from a, late")
        t.wait_metric(DRAINED, 1)
        c.request("GET", "/next")
        pair.b.expect().reply(200, b"b again")
        assert c.response().body == b"b again"

        def attempts():  # what the observer has not read is not in it yet
            tale = c.get("/.talechain/timeline/hedged?format=json")
            return tale.status == 200 and [
                (one["name"], one["trigger"], one["outcome"])
                for one in json.loads(tale.body)["attempts"]]

        wait_until(lambda: attempts() == [("a", "first", "lost"),
                                          ("b", "gc", "won")], attempts)
        m = t.metrics()
        assert m['tailor_hedges_sent_total{trigger="gc",server="b"}'] == 1
        assert m["tailor_hedges_won_total"] == m["tailor_swaps_total"] == 1
        t.hazard("a", "end")
        assert t.ask("/switch", "POST").status == 200
        first, second = hedged(t, pair, c)
        first.reply(200, b"from a")
        assert c.response().body == b"from a"
        second.reply(200, b"late")
        t.wait_metric(DRAINED, 2)
    m = t.metrics()
    assert m["tailor_hedges_lost_total"] == 1
    assert m["tailor_hedge_saved_seconds_count"] == 1


def test_new_requests_go_to_the_other_server(pair):
    # Goal: after a swap the paused server gets nothing, and no swap back
    # when its pause ends (T5), but by an operator, if the other does not pause.
    pair.b.serve()
    t = pair()
    assert t.active() == "a"
    t.hazard("a", "begin")
    with t.client() as c:
        assert c.get().body == b"b"
        t.hazard("a", "end")
        assert c.get().body == b"b"
    assert not pair.a.requests
    assert t.active() == "b"
    assert t.ask("/switch", "POST").status == 200
    assert t.active() == "a"
    t.hazard("b", "begin")
    assert t.ask("/switch", "POST").status == 409


def test_what_is_sent_again(pair):
    # Goal: a pause is waited out by a POST, by one that a rule allows but that
    # is over the limit, and by a client that asked for it (E7); the ledger says
    # why.  A POST that a rule allows is sent again, with its whole body.
    t = pair(hedging={"repeatable": ["POST /*/_search"], "body_max": 1000})
    with t.client() as post, t.client() as large, t.client() as out, \
            t.client() as allowed:
        post.request("POST", "/pay", body=b"1")
        large.request("POST", "/i/_search", body=b"x" * 5000)
        out.request(fields=[("X-Tailor-Hedge", "off")])
        held = [pair.a.expect() for _ in range(3)]
        allowed.request("POST", "/i/_search", body=b'{"q":1}')
        pair.a.expect()
        t.hazard("a", "begin")
        second = pair.b.expect()
        assert second.message.body == b'{"q":1}'
        second.reply(200, b"found")
        assert allowed.response().body == b"found"
        t.hazard("a", "end")
        t.hazard("a", "begin")  # which decides about each of them again
        refused = t.ask_json("/ledger")["refused"]
        for why in ("method", "body_size", "optout"):
            assert refused.get(why) == 1, why
            assert t.metrics()['tailor_hedges_refused_total'
                               f'{{reason="{why}"}}'] == 1
        t.hazard("a", "end")
        for request in held:
            request.reply(200, b"from a")
        for c in (post, large, out):
            assert c.response().body == b"from a"
    assert len(pair.b.requests) == 1


def test_watching_does_not_act(pair):
    # Goal: in watch mode nothing is swapped or sent twice.
    t = pair(hedging={"mode": "watch"})
    with t.client() as c:
        c.request()
        first = pair.a.expect()
        t.hazard("a", "begin")
        first.reply(200, b"a")
        assert c.response().body == b"a"
        c.request()
        pair.a.expect().reply(200, b"a")
        assert c.response().body == b"a"
    assert not pair.b.requests and t.active() == "a"
    assert t.metrics()['tailor_pauses_total{server="a",kind="gc"}'] == 1


@pytest.mark.parametrize("framing, rest", [
    (b"Content-Length: 4\r\n\r\na", None),
    (b"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n", None),
    (b"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n",
     b"3\r\naaa\r\n0\r\n\r\n"),
])
def test_begun_answer_waits_in_a_pause(pair, framing, rest):
    # Goal: the millisecond after its head does not bind a client to a server
    # that stands still while another attempt runs; without one, or when the
    # pause is over, a response of unknown length goes on (W3).
    t = pair()
    with t.client() as c, Client(t.admin) as admin:
        admin.request("GET", "/healthz", host="localhost")
        assert admin.response().status == 200  # it is accepted
        c.request()
        first = pair.a.expect()
        t.pause()  # both are read in one turn, so that is not over
        first.send(b"HTTP/1.1 200 OK\r\n" + framing)
        admin.request("POST", "/pause?server=a&kind=gc&state=begin",
                      host="localhost")
        t.resume()
        assert admin.response("POST").status == 200
        second = pair.b.expect()
        assert c.silent_for(0.2)
        if rest is None:
            second.reply(200, b"bbbb")
            assert c.response().body == b"bbbb"
            return
        t.hazard("a", "end")
        assert c.response_head().status == 200
        first.send(rest)
        second.reply(200, b"late")
        assert c.exactly(1) == b"1"
        t.wait_metric(DRAINED, 1)


def test_death_in_an_answer(pair):
    # Goal: a response of known length is sent when it is whole: if its server
    # dies before, however late, the client never knows (W3).  Once bytes are
    # out, the response stays with its server (W4).
    t = pair()
    with t.client() as c:
        c.request()
        first = pair.a.expect()
        first.send(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\na")
        assert c.silent_for(0.05)
        first.reset()
        pair.b.expect().reply(200, b"bbbb")
        assert c.response().body == b"bbbb"
        c.request()
        first = pair.a.expect()
        first.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                   b"1\r\na\r\n")
        assert c.response_head().status == 200
        t.hazard("a", "begin")
        first.send(b"3\r\naaa\r\n0\r\n\r\n")
        assert c.exactly(6) == b"1\r\na\r\n"
    assert len(pair.b.requests) == 1


@pytest.mark.long("the verdict is about the largest part of the time")
def test_the_verdict_names_a_server_that_died(pair):
    # Goal: a request of which a server kept half a second, and then died.
    t = pair(profiler={"kernel": "lite"})
    with t.client() as c:
        c.request("GET", "/", [("x-request-id", "died")])
        pair.a.expect()
        time.sleep(0.5)  # the largest part of the request's time
        pair.a.stop()
        pair.b.expect().reply(200, b"saved")
        assert c.response().body == b"saved"
        why = c.get("/.talechain/timeline/died").body.decode()
        assert ("the request was on server a, which closed the connection "
                "without a response" in
                " ".join(why.split()))


def test_client_that_leaves_is_not_hedged(pair):
    # Goal: no request waits, none is sent again (E8); the abandoned response is
    # read to its end, and its connection kept.
    t = pair()
    c = t.client()
    c.request()
    first = pair.a.expect()
    c.reset()
    t.wait_metric('tailor_requests_total{code_class="aborted"}', 1)
    t.hazard("a", "begin")
    assert not pair.b.requests
    first.reply(200, b"unread")
    t.wait_metric(DRAINED, 1)
    t.hazard("a", "end")
    assert t.ask("/switch", "POST").status == 200
    with t.client() as c:
        c.request("GET", "/next")
        again = pair.a.expect()
        assert again.connection is first.connection
        again.reply(200, b"next")
        assert c.response().body == b"next"


def test_a_server_that_warms_up_helps(pair, tailor):
    # Goal: while the other one is still being warmed up a pause is hedged
    # there, for requests in flight and for new ones, which stay with the
    # active server; without a pause no request goes there.
    seen = threading.Event()  # by a, or the hedge's response is first
    pair.a.serve()
    pair.b.serve(lambda r: (r.target != "/new" or seen.wait(PATIENCE_S))
                 and response(200, b"b"))
    t = tailor(pair.a, pair.b, ready="one", warmup={
        "requests": 1000000, "max": "600s"})
    t.wait_server("a", state="ready")
    with t.client() as c, t.client() as d:
        assert c.get("/known").body == b"a"
        t.hazard("b", "begin", "exit")
        t.wait_server("b", state="warming")
        pair.a.script()
        c.request("GET", "/flying")
        held = [pair.a.expect()]
        t.hazard("a", "begin")
        assert c.response().body == b"b"
        d.request("GET", "/new")
        held.append(pair.a.expect())
        seen.set()
        assert d.response().body == b"b"
        assert t.active() == "a"
        t.hazard("a", "end")
        for late in held:
            late.reply(200, b"late")
        t.wait_metric(DRAINED, 2)
        pair.a.serve()
        assert d.get("/calm").body == b"a"
    m = t.metrics()
    assert m['tailor_hedges_sent_total{trigger="gc",server="b"}'] == 2
    assert m["tailor_hedges_won_total"] == 2
    assert m["tailor_swaps_total"] == 0
