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


def test_all_is_well():
    # Goal: no fault where Tailor answered, whatever the others did.
    assert judged(GET, outcome()) == []
    assert judged(GET, outcome(), "status", "ended") == []
    assert judged(POST, outcome()) == []


@pytest.mark.parametrize("kind", ["status", "cut", "ended", "refused",
                                  "silent"])
def test_fails_what_another_answered(kind):
    # Goal: each way to fail is a fault if one of the two answered, and none
    # if neither did.
    for plan in (GET, POST):
        assert judged(plan, outcome(kind), "ok", "status") == ["answered"]
        assert judged(plan, outcome(kind), "status", "ok") == ["answered"]
        assert judged(plan, outcome(kind), "status", "ended") == []


def test_wrong_is_wrong_for_all():
    # Goal: a wrong body is a fault even where the others failed.
    assert judged(GET, outcome("wrong"), "status", "status") == ["wrong"]


def test_kill_excuses_what_was_in_flight():
    # Goal: a kill excuses an unsafe request that was under way then, and no
    # other.
    kills = {"a": [(10.2, 10.25)], "b": []}
    failed = outcome("status")
    assert judged(POST, failed, kills=kills) == []
    assert judged(GET, failed, kills=kills) == ["answered"]
    later = outcome("status", 10.6, 10.9)
    assert judged(POST, later, kills=kills) == ["answered"]


def test_kill_excuses_a_response_that_had_begun():
    # Goal: a response that is cut by a kill is excused if its head had come.
    kills = {"a": [], "b": [(10.3, 10.31)]}
    assert judged(GET, outcome("cut", head=10.1), kills=kills) == []
    assert judged(GET, outcome("cut", head=10.45),
                  kills=kills) == ["answered"]


def test_no_server_left():
    # Goal: 503 is excused while both servers were away, but not while they
    # were so one after the other.
    failed = outcome("status")
    assert judged(GET, failed, away={"a": [(9, 10.2)],
                                     "b": [(10.1, 12)]}) == []
    assert judged(GET, failed, away={"a": [(9, 10.1)],
                                     "b": [(10.2, 12)]}) == ["answered"]
    assert judged(GET, failed, away={"a": [(9, 12)],
                                     "b": []}) == ["answered"]


def test_lost_in_a_full_backlog():
    # Goal: of what waits in vain while SYN cookies are sent, only an unsafe
    # request that no server executed is excused.
    late = outcome("status", over=71.0)
    assert judged(POST, late, executed=0, cookies=True) == []
    assert judged(POST, late, executed=0, hung=True) == []
    assert judged(GET, late, executed=0, hung=True) == ["answered"]
    assert judged(POST, late, executed=0) == ["answered"]
    assert judged(POST, late, cookies=True) == ["answered"]
    assert judged(GET, late, executed=0, cookies=True) == ["answered"]
    assert judged(POST, outcome("status"), executed=0,
                  cookies=True) == ["answered"]


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
    assert rules(outcome("status")) == ["standby"]
    for other in ({"server": "b"}, {"over": 11.5}, {"over": 10.1}):
        assert rules(dataclasses.replace(good, **other)) == ["standby"]
    key = 'tailor_hedges_refused_total{reason="breaker",trigger="gc"}'
    assert rules(good, {key: 0}) == []
    assert rules(good, {key: 1}) == rules(good, {}, " server_lost ") == [
        "standby"]
