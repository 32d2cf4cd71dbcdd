"""Goal: the Chrome trace of every story is what trace viewers want: times have
three decimals and go forward, flows start once and end once, processes and
threads are named and ordered.  (That slices of a track hold each other or are
apart, and that a flow's event lies in one: unit test_render_chrome.)"""

import decimal
import json
import re

import pytest

from rig.process import ROOT, output

PROCESSES = {1, 2, 3}


def read(path):
    """A trace; numbers with a point are exact decimals."""
    return json.loads(path.read_text(encoding="utf-8"),
                      parse_float=decimal.Decimal)


@pytest.fixture(scope="module")
def traces(build, tmp_path_factory):
    """{name: document} of every sample."""
    folder = tmp_path_factory.mktemp("traces")
    output(build / "e2e" / "talechain_pages", folder, cwd=ROOT)
    return {path.name.split(".")[0]: read(path)
            for path in folder.glob("*.trace.json")}


def check_times(events):
    last, flows = 0, {}
    for event in events:
        for key in {"ts", "dur"} & event.keys():
            value = event[key]
            assert value.as_tuple().exponent == -3 and value >= 0, event
        if event["ph"] in "MC":
            continue
        assert event["ts"] >= last, event
        last = event["ts"]
        if event["ph"] in "stf":
            key = event["cat"], event["name"], event["id"]
            flows.setdefault(key, []).append(event)
    for key, hops in flows.items():
        assert re.fullmatch("st*f", "".join(hop["ph"] for hop in hops)), key
        assert hops[-1]["bp"] == "e", key  # it binds to the slice it lies in
        assert [h["ts"] for h in hops] == sorted({h["ts"] for h in hops}), key


def check_counters(events):
    """Each goes forward, has a process, and one value a moment."""
    last = {}
    for event in events:
        key = event["pid"], event["name"]
        assert event["ts"] >= last.get(key, 0), event
        last[key] = event["ts"]
        value, = event["args"].values()
        assert isinstance(value, (int, decimal.Decimal)) and value >= 0, event
    assert {pid for pid, _ in last} <= PROCESSES


def check_names(events):
    """Processes and threads have a name and a place, which come first."""
    known = {}
    for event in events:
        if event["ph"] == "M":
            key = event["pid"] if event["name"].startswith("process") else (
                event["pid"], event["tid"])
            known.setdefault(key, {})[event["name"]] = event["args"]
    used = {(e["pid"], e["tid"]) for e in events if e["ph"] not in "MC"}
    for pid, tid in used:
        for key, what in (pid, "process"), ((pid, tid), "thread"):
            assert isinstance(known[key][f"{what}_name"]["name"], str)
            assert isinstance(
                known[key][f"{what}_sort_index"]["sort_index"], int)
    assert {pid for pid, _ in used} <= PROCESSES
    phases = [event["ph"] for event in events]
    assert phases == sorted(phases, key=lambda ph: ph != "M")


def test_all_rules_hold(traces):
    # Goal: for samples and random stories.
    assert len(traces) > 40
    for name, document in traces.items():
        print(name)
        events = document["traceEvents"]
        assert document["displayTimeUnit"] == "ns"
        check_times(events)
        check_counters([e for e in events if e["ph"] == "C"])
        check_names(events)


def named(document, name, phase="X"):
    return [event for event in document["traceEvents"]
            if event["ph"] == phase and event["name"] == name]


def test_everything_is_in_it(traces):
    # Goal: each bar is a slice at its place, the request's slice has the
    # verdict, tracks stand in the story's order.
    document = traces["ack"]
    wait, = [event for event in named(document, "waiting for an ACK")
             if event["cat"] == "delay"]
    assert (wait["ts"], wait["dur"]) == (2310, 38700)
    assert wait["args"]["code"] == "tcp_delayed_ack"
    parse, = named(document, "parse")
    assert (parse["ts"], parse["dur"]) == (340, 90)
    assert parse["pid"] == 2 and parse["args"]["thread"] == 812
    request, = named(document, "request")
    assert request["dur"] == 41240
    assert request["args"]["verdict"].startswith("38.7 of 41.2 ms")
    assert request["args"]["advice"] and request["args"]["evidence"]
    places = {event["tid"]: event["args"]["sort_index"]
              for event in named(document, "thread_sort_index", "M")}
    order = [event["args"]["name"] for event in
             sorted(named(document, "thread_name", "M"),
                    key=lambda event: places[event["tid"]])]
    assert order == ["request", "where the time went", "load-0", "CPU 3",
                     "CPU 1 tailor", "CPU 2 search", "delays"]


def test_bytes_are_one_flow(traces):
    # Goal: the way to the first server and what came back from the second are
    # chains of hops; each wake-up stands alone.
    flows = {}
    for event in traces["gc"]["traceEvents"]:
        if event["ph"] in "stf":
            flows.setdefault((event["cat"], event["id"]), []).append(event)
    chains = sorted("".join(hop["ph"] for hop in hops)
                    for (cat, _), hops in flows.items() if cat == "request")
    assert chains == ["stf", "sttf"]
    assert [len(hops) for (cat, _), hops in flows.items()
            if cat == "wakeup"] == [2]


def test_rates_are_counters(traces):
    # Goal: each rate is a counter of its own, which falls to nothing where
    # nothing is known.
    ipc = [(event["ts"], *event["args"].values())
           for event in named(traces["classes"], "A: main ipc", "C")]
    assert ipc == [(0, decimal.Decimal("0.6")), (4000, decimal.Decimal("0.3")),
                   (9000, 0), (12000, decimal.Decimal("1.5")), (18500, 0)]
    assert len(named(traces["classes"], "A: main classes", "C")) == 3
