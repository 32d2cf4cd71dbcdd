"""Goal: in watch mode tailorctl gain says what clients saw and what they would
have seen, and how it knows."""

import json
import re


from rig.message import response
from rig.wait import wait_until
from support.admin import http


def watched(pair):
    """A tailor that only watches, with 30 requests behind it."""
    t = pair(hedging={"mode": "watch"})
    pair.a.serve(lambda r: None if "held" in r.target else response(200))
    with t.client() as c:
        for _ in range(30):
            assert c.get().status == 200
    return t


def gain(ctl, t, *more):
    return ctl("-a", t.admin, *more, "gain", wide="-j" in more)


def counted(ctl, t, requests):
    """What it says, once that many requests are counted."""
    found = []

    def all_counted():
        found.append(json.loads(gain(ctl, t, "-j").out))
        return found[-1]["requests"] == requests

    wait_until(all_counted, lambda: f"{requests} are counted: {found[-1]}")
    return found[-1]


def met_a_pause(ctl, pair):
    """A tailor of which two requests met a pause, and what it says of them."""
    t = watched(pair)
    with t.client() as c, t.client() as d:
        c.request("GET", "/held")
        first = pair.a.expect()
        t.hazard("a", "begin")
        d.request("POST", "/held", body=b"x")
        second = pair.a.expect()
        c.silent_for(0.3)
        t.hazard("a", "end")
        first.reply()
        second.reply()
        assert c.response().status == d.response().status == 200
    return t, counted(ctl, t, 32)


def test_a_request_that_met_a_pause(ctl, pair):
    """Goal: it would have gone to the other server; text and JSON agree."""
    t, found = met_a_pause(ctl, pair)
    assert (found["met"], found["again"], found["failed"],
            found["unknown"]) == (2, 1, 0, 0)
    assert found["slowest"]["was_ns"] > 300e6
    text = gain(ctl, t).out
    assert re.match(r"32 requests in watch mode, in the last \d+ s;",
                    text), text
    assert "2 requests met a pause" in text and "1 of them would" in text
    assert re.search(r"^slowest +\S+s +\S+", text, re.M), text
    assert "to be as fast as this one" in text


def test_a_pause_between_head_and_body(ctl, pair):
    """Goal: acting holds a short response until it is whole, so this one would
    have been sent again, too."""
    t = watched(pair)
    with t.client() as c:
        c.request("GET", "/held")
        first = pair.a.expect()
        first.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n")
        head = c.response_head()
        t.hazard("a", "begin")
        assert c.silent_for(0.3)
        t.hazard("a", "end")
        first.send(b"x")
        assert c.response_body(head) == b"x"
    found = counted(ctl, t, 31)
    assert (found["met"], found["again"]) == (1, 1)


def test_no_estimate_of_what_acts(ctl, pair):
    """Goal: while Tailor acts there is the ledger."""
    pair.a.serve()
    t = pair()
    t.get()
    found = gain(ctl, t)
    assert found.returncode == 0
    assert "1, 0 sent a second time" in found.out, found.out
    assert t.ask_json("/gain")["blocks"] == []


def day(blocks, was, would):
    return {"schema": "tailor.gain/1", "block_ns": 900_000_000_000,
            "uptime_ns": 10 ** 15,
            "edges_ns": [0, *(10_000 * 2 ** i for i in range(19))],
            "blocks": [{"requests": 1000, "met": 10, "again": 5, "failed": 1,
                        "saved": 1, "unknown": 0, "was_max_ns": 10 ** 8,
                        "would_max_ns": 8 * 10 ** 6,
                        "was": [[8, 990], [was + i % 2, 10]],
                        "would": [[8, 990], [would, 10]]}
                       for i in range(blocks)]}


def test_intervals(ask, admin):
    """Goal: there are intervals, and they hold the value."""
    admin.answers["GET /gain"] = http(200, json.dumps(day(12, 14, 9)))
    found = json.loads(ask("-j", "gain", wide=True).out)
    tail = found["p99.9"]
    assert found["seconds"] == 12 * 900 and found["requests"] == 12_000
    assert found["slowest"]["would_ns"] <= 8e6
    assert "high_ns" not in found["slowest"]  # nothing drawn is above it
    assert tail["low_ns"] <= tail["would_ns"]
    half = found["p50"]
    assert half["low_ns"] <= half["would_ns"] <= half["high_ns"]
    assert tail["was_ns"] > 10 * tail["would_ns"]
    text = ask("gain").out
    assert " to " in text and " or more" in text
    # Whatever it says, no crash and no endless line.
    for tree in (day(0, 1, 1), day(200, 400, -7), [], {"blocks": 7},
                 {"edges_ns": ["x"], "blocks": [{"was": [[1e300, "y"], 7]}]},
                 {"edges_ns": list(range(5000)), "blocks": [{}] * 300}):
        admin.answers["GET /gain"] = http(200, json.dumps(tree))
        assert ask("gain").returncode in (0, 1)
        assert ask("-j", "gain", wide=True).returncode in (0, 1)
