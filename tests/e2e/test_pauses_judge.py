"""Goal: the judge of tests/pauses finds what it must, and excuses only what
the rules excuse."""

import dataclasses
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "pauses"))

import scenes  # noqa: E402
from client import Outcome  # noqa: E402
from verdict import Judge, swapped  # noqa: E402

NEVER = {"a": [], "b": []}
GET = scenes.Plan(1.0, "1-1", "jdk")
POST = scenes.Plan(1.0, "1-1", "jdk", "POST")


def outcome(kind="ok", begun=10.0, over=10.5, head=0.0):
    return Outcome(kind, "" if kind == "ok" else "503 no_server", begun, over,
                   head)


def judged(plan, tailor, nginx="ok", haproxy="ok", executed=1, kills=NEVER,
           away=NEVER, **more):
    """The rules that one request breaks."""
    outcomes = {"tailor": {plan.ident: tailor},
                "nginx": {plan.ident: outcome(nginx)},
                "haproxy": {plan.ident: outcome(haproxy)}}
    lines = [(plan.method, plan.ident, False)] * executed
    judge = Judge([plan], outcomes, lines + more.get("copies", []), kills,
                  away, more.get("sent_twice"), not more.get("deaf"),
                  cookies=more.get("cookies", False),
                  hung=more.get("hung", False))
    return [fault.rule for fault in judge.faults()]


@pytest.mark.parametrize("kind", ["status", "cut", "ended", "refused",
                                  "silent"])
def test_fails_what_another_answered(kind):
    # Goal: no fault where Tailor answered, whatever the others did.  Each way to
    # fail is a fault if one of the two answered, and none if neither did; a
    # wrong body is one even then.
    for plan in (GET, POST):
        assert judged(plan, outcome()) == []
        assert judged(plan, outcome(), "status", "ended") == []
        assert judged(plan, outcome(kind), "ok", "status") == ["answered"]
        assert judged(plan, outcome(kind), "status", "ok") == ["answered"]
        assert judged(plan, outcome(kind), "status", "ended") == []
        assert judged(plan, outcome("wrong"), kind, kind) == ["wrong"]


BOTH = {"a": [(9, 10.2)], "b": [(10.1, 12)]}
IN_TURN = {"a": [(9, 10.1)], "b": [(10.2, 12)]}
ONE = {"a": [(9, 12)], "b": []}
KILLED = {"a": [(10.2, 10.25)], "b": []}
CUT = {"a": [], "b": [(10.3, 10.31)]}
LATE = outcome("status", over=71.0)


@pytest.mark.parametrize("plan, tailor, more, excused", [
    # a kill: an unsafe request that was under way then
    (POST, outcome("status"), {"kills": KILLED}, True),
    (GET, outcome("status"), {"kills": KILLED}, False),
    (POST, outcome("status", 10.6, 10.9), {"kills": KILLED}, False),
    # a response that is cut by it, if its head had come
    (GET, outcome("cut", head=10.1), {"kills": CUT}, True),
    (GET, outcome("cut", head=10.45), {"kills": CUT}, False),
    # both servers away, but not one after the other
    (GET, outcome("status"), {"away": BOTH}, True),
    (GET, outcome("status"), {"away": IN_TURN}, False),
    (GET, outcome("status"), {"away": ONE}, False),
    # what waits in vain while SYN cookies are sent: an unsafe request that no
    # server executed
    (POST, LATE, {"executed": 0, "cookies": True}, True),
    (POST, LATE, {"executed": 0, "hung": True}, True),
    (GET, LATE, {"executed": 0, "hung": True}, False),
    (POST, LATE, {"executed": 0}, False),
    (POST, LATE, {"cookies": True}, False),
    (GET, LATE, {"executed": 0, "cookies": True}, False),
    (POST, outcome("status"), {"executed": 0, "cookies": True}, False),
])
def test_excuses(plan, tailor, more, excused):
    # Goal: a failure is excused by what the rules name, and by nothing else.
    assert judged(plan, tailor, **more) == ([] if excused else ["answered"])


def test_executions():
    # Goal: a safe request twice at most, another once, each answered one at
    # all; copies are of safe ones.
    assert judged(GET, outcome(), executed=2) == []
    assert judged(GET, outcome(), executed=3) == ["executed"]
    assert judged(POST, outcome(), executed=2) == ["executed"]
    assert judged(POST, outcome("status"), "status", "status",
                  executed=2) == ["executed"]
    assert judged(GET, outcome(), executed=0) == ["lost"]
    assert judged(GET, outcome(), executed=0, deaf=True) == []
    copies = [("GET", "1-1", True)] * 5
    assert judged(GET, outcome(), copies=copies) == []
    copies.append(("DELETE", "1-1", True))
    assert judged(GET, outcome(), copies=copies) == ["executed"]


def test_what_another_sent_twice():
    # Goal: an unsafe request that nginx wrote to two servers is no example;
    # a safe one is, and so is what HAProxy did.
    failed = outcome("status")
    twice = {"sent_twice": {"nginx": {"1-1"}}}
    assert judged(POST, failed, "ok", "status", **twice) == []
    assert judged(POST, failed, "ok", "ok", **twice) == ["answered"]
    assert judged(GET, failed, "ok", "status", **twice) == ["answered"]


def test_swap():
    # Goal: at a swap a request is answered by the other server before the one
    # that stands still goes on, and nothing is refused.
    def rules(out, metrics=None, log=""):
        found = swapped([GET], {"tailor": {"1-1": out}}, pauses,
                        metrics or {}, log)
        return [fault.rule for fault in found]

    pauses = [(scenes.Hazard(0.5, "pause", "a", 1), 5, 9),
              (scenes.Hazard(2, "pause", "b", 1), 10.2, 11)]
    good = Outcome("ok", "", 10.0, 10.8, server="a")
    assert rules(good) == []
    assert rules(outcome("status")) == ["backup"]
    for other in ({"server": "b"}, {"over": 11.5}, {"over": 10.1}):
        assert rules(dataclasses.replace(good, **other)) == ["backup"]
    key = 'tailor_hedges_refused_total{reason="breaker",trigger="gc"}'
    assert rules(good, {key: 0}) == []
    assert rules(good, {key: 1}) == rules(good, {}, " server_lost ") == [
        "backup"]
