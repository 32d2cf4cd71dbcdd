"""Goal: the edges of hedging, each a bug that some other proxy once had; each
order of events is made by the test and not by luck.  Numbers 1 to 13; the
others are in test_edges_ends.py.
"""


import pytest

from rig.client import Client
from rig.message import Malformed, response
from support.pair import DRAINED, entry, hedged

KERNEL_EVENTS = "off"


def back(t):
    """The end of what hedged() began: a is active again."""
    t.wait_settled()
    t.hazard("a", "end")
    if t.active() == "b":  # it was not, if its last word was an error
        assert t.ask("/switch", "POST").status == 200
    assert t.active() == "a"


# 1 ---------------------------------------------------------------------------

def test_01_late_loser_after_commit(pair):
    # Goal: bytes of a loser that comes while the winner is forwarded reach
    # nobody.
    t = pair()
    with t.client() as c:
        first, second = hedged(t, pair, c)
        second.send(b"HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n"
                    + b"b" * 100_000)
        assert c.response_head().get("content-length") == "200000"
        assert c.exactly(100_000) == b"b" * 100_000
        first.reply(200, b"a" * 5000)
        t.wait_metric(DRAINED, 1)
        second.send(b"b" * 100_000)
        assert c.exactly(100_000) == b"b" * 100_000
        c.request("GET", "/next")
        pair.b.expect().reply(200, b"next")
        assert c.response().body == b"next"


# 2, 3 ------------------------------------------------------------------------

FAILS = [(0, "replies"), (1, "replies"), (1, "resets")]


def test_02_a_5xx_that_is_first_does_not_win(pair):
    # Goal: whichever attempt fails, and however, the good response is sent
    # (B6, W2).
    t = pair()
    with t.client() as c:
        for bad_one, how in FAILS:
            attempts = hedged(t, pair, c)
            bad, good = attempts[bad_one], attempts[1 - bad_one]
            if how == "replies":
                bad.reply(503, b"not now")
            else:
                bad.reset()
            t.wait_server("ab"[bad_one], inflight=0)
            good.reply(200, b"good")
            assert c.response().body == b"good", (bad_one, how)
            back(t)


BOTH = [
    (500, 500, 0),  # alike: the first attempt's
    (503, 500, 1),  # an error of its own says more
    (500, 503, 0),
    (502, 503, 1),
]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_03_both_5xx(pair, order):
    # Goal: the response that says most is sent, whole, in either order.
    t = pair()
    with t.client() as c:
        for *statuses, sent in BOTH:
            attempts = hedged(t, pair, c)
            for i in order:
                attempts[i].reply(statuses[i], b"attempt %d" % i)
                if i == order[0]:
                    t.wait_server("ab"[i], inflight=0)
            answer = c.response()
            assert (answer.status, answer.body) == (
                statuses[sent], b"attempt %d" % sent), statuses
            back(t)


HELD = [(0, "whole"), (1, "whole"), (0, "cut")]


def test_03_a_held_answer_too_large_to_keep(pair):
    # Goal: whichever attempt's it is, it is sent after all when the other one
    # fails; if it is cut then, so is the client's connection, and nothing else
    # happens.
    t = pair()
    for held, end in HELD:
        with t.client() as c:
            attempts = hedged(t, pair, c)
            large, other = attempts[held], attempts[1 - held]
            large.send(b"HTTP/1.1 500 No\r\nContent-Length: 400000\r\n\r\n"
                       + b"x" * 100_000)
            t.wait_server("ab"[held], inflight=0)  # it counts as over
            other.reset()
            assert c.response_head().status == 500, held
            assert c.exactly(100_000) == b"x" * 100_000, held
            if end == "cut":
                large.reset()
                with pytest.raises((Malformed, ConnectionResetError)):
                    c.exactly(1)
                t.wait_metric("tailor_response_truncated_total", 1)
            else:
                large.send(b"x" * 300_000)
                assert c.exactly(300_000) == b"x" * 300_000, held
        back(t)


@pytest.mark.parametrize("status", [200, 502])
def test_03_a_drain_cuts_a_held_answer_too_large_to_keep(
        upstream, tailor, status):
    # Goal: it is dropped, and the response is the other attempt's: at the cut
    # as at the end of that one.
    a, b = upstream("a"), upstream("b")
    t = tailor(entry(a, drain_timeout="10ms"), b)
    with t.client() as c:
        c.request()
        first = a.expect()
        t.hazard("a", "begin")
        second = b.expect()
        t.hazard("a", "end")
        first.send(b"HTTP/1.1 500 No\r\nContent-Length: 400000\r\n\r\n"
                   + b"x" * 100_000)
        t.wait_server("a", inflight=0)  # it counts as over
        assert t.ask("/drain?server=a", "POST").status == 200
        t.wait_metric('tailor_drain_cut_total{server="a"}', 1)
        if status == 200:
            second.reply(200, b"b")
        else:
            second.reset()
        assert c.response().status == status
    t.wait_server("a", state="drained")


def test_03_a_large_bad_answer_that_is_malformed(pair):
    # Goal: what is in error is no response, however much of it came first.
    t = pair()
    with t.client() as c:
        for status in (200, 502):
            first, second = hedged(t, pair, c)
            first.send(b"HTTP/1.1 500 No\r\nTransfer-Encoding: chunked\r\n\r\n"
                       b"10040\r\n" + b"x" * 65_600 + b"\r\nnonsense\r\n")
            first.connection.wait_end()
            if status == 200:
                second.reply(200, b"b")
            else:
                second.reset()
            assert c.response().status == status
            back(t)


# 4 ---------------------------------------------------------------------------

def test_04_a_refused_hedge_does_not_hang_its_request(pair):
    # Goal: the budget is spent, then the only attempt fails: the other
    # server is tried all the same, and the client of what may not gets 502.
    t = pair(hedging={"budget_burst": 1, "budget_ratio": 0})
    with t.client() as c, t.client() as d:
        first, second = hedged(t, pair, c)  # takes the only token
        second.reply(200, b"b")
        assert c.response().body == b"b"
        first.reply()
        t.wait_metric(DRAINED, 1)
        t.hazard("a", "end")
        assert t.ask("/switch", "POST").status == 200
        c.request("GET", "/again")
        first = pair.a.expect()
        d.request("POST", "/once", body=b"x")
        unsafe = pair.a.expect()
        t.hazard("a", "begin")
        t.wait_metric('tailor_hedges_refused_total{reason="budget"}', 1)
        first.reset()  # a kept connection, of a server in a hazard
        pair.b.expect().reply(200, b"retried")
        assert c.response().body == b"retried"
        unsafe.reset()
        assert d.response().status == 502
    t.wait_settled()


# 5 ---------------------------------------------------------------------------

def deaf_pair(upstream, tailor, **sections):
    """A tailor before a server that accepts no connection any more, and one
    that does."""
    a, b = upstream("a", backlog=0), upstream("b")
    t = tailor(a, b, ready=False, **sections)
    a.accept().close()  # the probe's connection is not kept
    t.wait_server("a", state="ready")
    t.wait_server("b", state="ready")
    if not t.server("a")["active"]:  # the other one was ready first
        assert t.ask("/switch", "POST").status == 200
    t.wait_metric_is('tailor_server_connections_idle{server="a"}', 0)
    a.fill_backlog()
    return t, b


def test_05_commit_while_the_other_is_connecting(upstream, tailor):
    # Goal: an attempt without a connection yet can lose like any other, for
    # free.
    t, b = deaf_pair(upstream, tailor, hedging={
        "timer_ratio": 1, "timer_delay": "50ms"})
    with t.client() as c:
        for body in (b"b", b"again"):
            c.request()
            b.expect().reply(200, body)
            assert c.response().body == body
    m = t.metrics()
    assert m["tailor_hedges_won_total"] == 2
    assert m[DRAINED] == 0
    t.wait_settled()


def test_05_a_request_that_its_server_has_not_seen(upstream, tailor):
    # Goal: at a swap it goes to the other server instead of twice, whatever
    # its method.
    t, b = deaf_pair(upstream, tailor)
    with t.client() as c, t.client() as d:
        c.request("GET")
        d.request("POST", body=b"x")
        t.wait_server("a", inflight=2)
        t.hazard("a", "begin")
        for _ in range(2):
            r = b.expect()
            r.reply(200, r.method.encode())
        assert c.response().body == b"GET"
        assert d.response().body == b"POST"
    m = t.metrics()
    assert m["tailor_requests_moved_total"] == 2
    assert m["tailor_hedges_won_total"] == 0
    t.wait_settled()


# 6 ---------------------------------------------------------------------------

def test_06_a_held_error_and_then_the_client_leaves(pair):
    # Goal: a response kept back, another awaited, no client any more.
    t = pair()
    c = t.client()
    first, second = hedged(t, pair, c)
    second.reply(500, b"held")
    t.wait_metric('tailor_server_connections_idle{server="b"}', 1)
    c.reset()
    t.wait_metric('tailor_requests_total{code_class="aborted"}', 1)
    first.reply(200, b"late")
    t.wait_metric(DRAINED, 1)
    t.wait_settled()
    with t.client() as d:
        d.request()
        pair.b.expect().reply(200, b"on")
        assert d.response().body == b"on"


# 7 ---------------------------------------------------------------------------

def test_07_the_next_request_does_not_wait_for_a_loser(pair):
    # Goal: a client's connection is free as soon as it has its response.
    t = pair()
    with t.client() as c:
        first, second = hedged(t, pair, c)
        second.reply(200, b"one")
        assert c.response().body == b"one"
        for i in range(5):
            c.request("GET", f"/{i}")
            pair.b.expect().reply(200, b"%d" % i)
            assert c.response().body == b"%d" % i
        assert t.metrics()[DRAINED] == 0  # still silent
        first.reply()
        t.wait_metric(DRAINED, 1)


# 8 ---------------------------------------------------------------------------

ENDLESS = (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
           + 20 * (b"186a0\r\n" + b"x" * 100_000 + b"\r\n"))
STOLEN = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nstolen"
# What a loser sends; and as what it is counted, where that is certain.
LATE = {
    "close": (response(200, b"x", [("Connection", "close")]), None),
    "extra": (response(200, b"x") + STOLEN, None),
    "part of another": (response(200, b"x") + b"HTTP/1.1 200 OK\r\n", None),
    "until the end": (b"HTTP/1.1 200 OK\r\n\r\nwithout an end", None),
    "HTTP/1.0": (b"HTTP/1.0 200 OK\r\n\r\nlate", None),
    "large": (response(200, b"x" * 2_000_000), None),
    "endless": (ENDLESS, "failed"),
    "malformed": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                  b"5\r\nhello\r\nBAD", None),
    "nonsense": (b"nonsense\r\n\r\n", None),
    "silent": (b"", "timeout"),
}


@pytest.mark.parametrize("what", LATE)
def test_08_losers_whose_connection_cannot_be_kept(pair, what):
    # Goal: their connection ends, at a limit at the latest, and no byte of
    # theirs becomes a response.
    late, counted = LATE[what]
    t = pair()
    with t.client() as c:
        first, second = hedged(t, pair, c)
        second.reply(200, b"b")
        assert c.response().body == b"b"
        first.send(late)
        first.connection.wait_end()
        if counted:
            assert t.metrics()[
                f'tailor_losers_total{{result="{counted}"}}'] == 1
        t.hazard("a", "end")
        assert t.ask("/switch", "POST").status == 200
        c.request("GET", "/after")
        again = pair.a.expect()
        assert again.connection is not first.connection
        again.reply(200, b"clean")
        assert c.response().body == b"clean"
    t.wait_settled()


# 9, 10 -----------------------------------------------------------------------

def test_09_hazards_faster_than_the_loop(pair):
    # Goal: begin, end, begin before the proxy has had a turn: what counts is
    # the last, and one request is sent again at most once.
    t = pair()
    with t.client() as c, Client(t.admin) as admin:
        c.request()
        first = pair.a.expect()
        t.pause()  # all of it waits for the same turn
        for state in ("begin", "end", "begin", "end", "begin"):
            admin.request("POST", f"/pause?server=a&kind=gc&state={state}",
                          host="localhost")
        t.resume()
        for _ in range(5):
            assert admin.response("POST").status == 200
        second = pair.b.expect()
        pair.b.expect_nothing()
        second.reply(200, b"b")
        assert c.response().body == b"b"
        first.reply()
        t.wait_metric(DRAINED, 1)
        c.request()
        pair.b.expect().reply(200, b"new")
        assert c.response().body == b"new"
    m = t.metrics()
    assert m['tailor_pauses_total{server="a",kind="gc"}'] == 3
    assert m["tailor_swaps_total"] == 1


def test_10_hazard_on_both(pair):
    # Goal: with nowhere to go requests wait where they are, and move with
    # the first event that lets them.
    t = pair()
    with t.client() as c, t.client() as d:
        c.request("GET", "/old")
        first = pair.a.expect()
        t.hazard("b", "begin")
        t.hazard("a", "begin")
        d.request("GET", "/new")  # goes to the active one and waits there
        second = pair.a.expect()
        assert not pair.b.requests
        t.hazard("b", "end")
        for _ in range(2):
            r = pair.b.expect()
            r.reply(200, r.target.encode())
        assert c.response().body == b"/old"
        assert d.response().body == b"/new"
        first.reply()
        second.reply()
        t.wait_metric(DRAINED, 2)
    t.wait_settled()


# 11, 12 ----------------------------------------------------------------------

def test_11_swap_during_an_upload(pair):
    # Goal: what is not whole yet, in memory or in a file, goes to the new
    # active server, from its first byte on; no other hears of it.
    t = pair(hedging={"body_max": 1000, "repeatable": ["POST /**"]})
    with t.client() as big, t.client() as small:
        big.send(b"POST /big HTTP/1.1\r\nHost: h\r\nContent-Length: 4000\r\n"
                 b"\r\n" + b"x" * 2000)
        small.send(b"POST /small HTTP/1.1\r\nHost: h\r\nContent-Length: 10"
                   b"\r\n\r\n12345")
        t.wait_metric_is("tailor_request_bytes_total", 2005)
        t.hazard("a", "begin")
        big.send(b"x" * 2000)
        small.send(b"67890")
        bodies = {"/small": b"1234567890", "/big": b"x" * 4000}
        for _ in range(2):
            r = pair.b.expect()
            assert r.wait_body() == bodies[r.target]
            r.reply(200, r.target[1:].encode())
        assert small.response().body == b"small"
        assert big.response().body == b"big"
    assert not pair.a.requests
    t.wait_settled()


def test_12_pause_between_head_and_body(pair):
    # Goal: a head alone decides nothing while it is held back.
    t = pair()
    with t.client() as c:
        c.request()
        first = pair.a.expect()
        first.send(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nFrom: a\r\n\r\na")
        t.wait_metric_is("tailor_requests_inflight", 1)
        t.hazard("a", "begin")
        pair.b.expect().send(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n"
                             b"From: b\r\n\r\nbbbb")
        answer = c.response()
        assert answer.get("from") == "b" and answer.body == b"bbbb"
        first.send(b"aaa")
        t.wait_metric(DRAINED, 1)


# 13 --------------------------------------------------------------------------

CUT = [
    b"Transfer-Encoding: chunked\r\n\r\n14\r\n" + b"x" * 20 + b"\r\n",
    b"Content-Length: 70000\r\n\r\n" + b"x" * 20,
    b"\r\n" + b"x" * 20,  # ends with its connection; but not by a reset
]


def test_13_an_answer_cut_short_after_commit(pair):
    # Goal: what is not whole never looks whole, and no bytes of another
    # attempt are put behind it (W4).
    t = pair()
    for count, framing in enumerate(CUT, 1):
        with t.client() as c:
            c.request()
            first = pair.a.expect()
            first.send(b"HTTP/1.1 200 OK\r\n" + framing)
            head = c.response_head()
            if head.get("transfer-encoding"):
                assert c.line() == b"14"
            assert c.exactly(20) == b"x" * 20, framing
            first.reset()
            with pytest.raises((Malformed, ConnectionResetError)):
                if head.get("transfer-encoding"):
                    assert c.exactly(2) == b"\r\n"
                    c.response_body(head)
                else:
                    c.exactly(20)
        t.wait_metric("tailor_response_truncated_total", count)
    assert not pair.b.requests
    t.wait_settled()


def test_13_malformed_in_the_read_that_would_commit(pair):
    # Goal: nothing is committed before the whole read was looked at, though
    # no other attempt can overtake it.
    t = pair()
    with t.client() as c:
        c.request(fields=[("X-Tailor-Hedge", "off")])
        pair.a.expect().send(b"HTTP/1.1 200 OK\r\n"
                             b"Transfer-Encoding: chunked\r\n\r\nzz\r\n")
        assert c.response().status == 502
    assert t.metrics()["tailor_response_truncated_total"] == 0
    t.wait_settled()


# 23 --------------------------------------------------------------------------

SHORT = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize("method, mode, fields, servers", [
    ("POST", "act", (), 2),
    ("GET", "watch", (), 2),
    ("GET", "act", (), 1),
    ("GET", "act", (("X-Tailor-Hedge", "off"),), 2),
], ids=["post", "watch", "alone", "opted-out"])
def test_23_no_head_waits_where_no_other_can_answer(
        upstream, tailor, method, mode, fields, servers):
    # Goal: a response that nothing can overtake goes on as it comes.
    a = upstream("a")
    t = tailor(*[a, upstream("b")][:servers],
               hedging={"mode": mode})
    with t.client() as c:
        for framing, body in ((SHORT, b"hello"),
                              (CHUNKED, b"5\r\nhello\r\n0\r\n\r\n")):
            c.request(method, fields=fields)
            r = a.expect()
            r.send(framing)
            assert c.response_head().status == 200  # and no body yet
            r.send(body)
            assert c.exactly(len(body)) == body
        # What is whole in one read still goes out as one.
        c.request(method, fields=fields)
        a.expect().send(CHUNKED + b"5\r\nhello\r\n0\r\n\r\n")
        assert c.response(method).get("content-length") == "5"
    t.wait_settled()


ERROR = b"HTTP/1.1 500 Oops\r\nContent-Length: 5\r\n\r\n"


@pytest.mark.parametrize("head, status, body", [
    (SHORT, 200, b"hello"), (CHUNKED, 200, b"0\r\n\r\n"),
    (ERROR, 500, b"sorry")], ids=["short", "chunked", "error"])
def test_23_no_head_waits_when_the_other_attempt_has_failed(
        pair, head, status, body):
    # Goal: with both attempts used and one of them over, the other's response
    # is not held back any more, though it be a 5xx; not for a server's hazard
    # either.
    t = pair()
    with t.client() as c:
        r, hedge = hedged(t, pair, c)
        r.send(head)
        assert c.silent_for(0.1)
        hedge.reset()
        assert c.response_head().status == status
        r.send(body)
        assert c.exactly(5) == body
    t.wait_settled()


def test_23_a_timer_commits_the_response_that_set_it(pair):
    # Goal: a short response waits for its end, also when that of the other
    # attempt, of unknown length, is due.
    t = pair(hedging={"timer_ratio": 1, "timer_delay": "20ms"})
    with t.client() as c:
        c.request()
        r = pair.a.expect()
        hedge = pair.b.expect()
        r.send(SHORT + b"he")
        assert c.silent_for(0.1)
        hedge.send(CHUNKED + b"1\r\nb\r\n")
        assert c.response_head().get("transfer-encoding") == "chunked"
        hedge.send(b"0\r\n\r\n")
        r.send(b"llo")
        assert c.exactly(11) == b"1\r\nb\r\n0\r\n\r\n"
    t.wait_settled()


# 24 --------------------------------------------------------------------------

def test_24_a_slot_that_a_loser_leaves_is_given_to_who_waits(upstream, tailor):
    # Goal: a request waits for a slot, and takes it as soon as the loser that
    # had it has drained, although no request ends then.
    a, b = upstream("a"), upstream("b")
    servers = [{"name": s.name, "address": s.address, "connections_max": 1}
               for s in (a, b)]
    t = tailor(*servers, proxy={"queue_timeout": "600s"})
    with t.client() as c, t.client() as other:
        c.request()
        first = a.expect()
        t.hazard("a", "begin")  # b is active now
        loser = b.expect()
        t.hazard("a", "end")
        first.reply(200, b"a")
        assert c.response().body == b"a"
        other.request("GET", "/waits")
        t.wait_metric("tailor_requests_queued", 1)
        loser.reply(200, b"late")
        b.expect().reply(200, b"b")
        assert other.response().body == b"b"
    t.wait_settled()
