"""Goal: what responses say of a server counts: one that errs much more often
than the other serves only where there is no other (B4)."""

import pytest

from rig.message import response
from rig.wait import wait_until
from test_pauses import answers_but, checked_pair

KERNEL_EVENTS = "off"
FAILING = 'tailor_server_state{server="b",state="failing"}'
LEFT = 'tailor_swaps_by_reason_total{reason="failure"}'


def broken(request):
    return response(500, b"broken")


def ask_until(t, done, method="GET"):
    """Send requests until done(); the statuses of their responses."""
    statuses = []

    def asked():
        with t.client() as c:
            c.request(method, "/x")
            statuses.append(c.response().status)
        return done()

    wait_until(asked, "what the responses show is seen")
    return statuses


def all_are_good(t, count=20):
    with t.client() as c:
        assert {c.get("/x").body for _ in range(count)} == {b"a"}


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_one_pause_before_a_broken_backup(upstream, tailor, method):
    a, b = upstream("a").serve(), upstream("b").serve()
    t = checked_pair(tailor, a, b)  # with something to ask b for
    b.serve(broken)
    t.hazard("a", "begin")
    t.wait_server("b", active=True)
    t.hazard("a", "end")
    assert set(ask_until(t, lambda: t.active() == "a", method)) <= {200, 500}
    all_are_good(t)
    assert t.metrics()[LEFT] == 1 == t.metrics()[FAILING]
    assert t.server("b")["state"] == "failing"
    assert " latest=500 " in t.wait_log(" server_failing server=b ")

    t.hazard("a", "begin")
    all_are_good(t)
    assert t.ask("/switch", "POST").status == 409
    t.hazard("a", "end")

    b.serve()
    t.wait_server("b", state="ready")
    t.wait_log(" server_recovered server=b")
    t.hazard("a", "begin")
    t.wait_server("b", active=True)


def test_a_backup_that_never_worked(upstream, tailor):
    a, b = upstream("a").serve(), upstream("b").serve(broken)
    b.stop()
    # No time ends its warm-up: on a slow machine that might have no request.
    t = tailor(a, b, ready="one", warmup={"requests": 20, "max": "600s"})
    all_are_good(t)
    b.listen()
    t.wait_server("b", state="failing")
    # The first six need no time; after them come four a second.
    t.wait_metric('tailor_warmup_failures_total{server="b"}', 9)
    assert t.server("b")["state"] == "failing"
    t.hazard("a", "begin")
    all_are_good(t)
    t.hazard("a", "end")

    a.stop()
    assert set(ask_until(t, lambda: t.active() == "b")) <= {500, 502}
    assert t.get("/x").body == b"broken"
    a.listen()
    t.wait_server("a", active=True)
    all_are_good(t)


def test_both_are_broken(upstream, tailor):
    a, b = upstream("a").serve(broken), upstream("b").serve(broken)
    t = checked_pair(tailor, a, b, health="")
    assert set(ask_until(t, lambda: t.active() == "b")) == {500}
    with t.client() as c:
        assert {c.get("/x").body for _ in range(20)} == {b"broken"}
    a.serve()
    ask_until(t, lambda: t.active() == "a")
    all_are_good(t)


@pytest.mark.parametrize("status", [408, 421, 425, 429])
def test_not_here_or_not_now(upstream, tailor, status):
    a, b = upstream("a").serve(answers_but("/x")), upstream("b").script()
    t = checked_pair(tailor, a, b, health="")
    with t.client() as c:
        c.request("GET", "/x")
        first = a.expect()
        t.hazard("a", "begin")
        b.expect().reply(status, b"b")
        t.wait_metric('tailor_server_connections_idle{server="b"}', 1)
        first.reply(200, b"a")
        assert c.response().body == b"a"
    assert t.metrics()[FAILING] == 0


def test_deadlines_are_evidence(upstream, tailor):
    a, b = upstream("a").serve(answers_but("/x")), upstream("b").serve()
    t = tailor(a, b, proxy={"request_timeout": "100ms"},
               hedging={"triggers": ["gc"]})
    statuses = ask_until(t, lambda: t.active() == "b", "POST")
    assert statuses.count(504) >= 6
    assert t.get("/x").body == b"b"
    assert t.metrics()[LEFT] == 1
