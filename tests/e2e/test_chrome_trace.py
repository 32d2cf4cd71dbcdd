"""Goal: the Chrome trace of every story is what trace viewers want."""

import decimal
import json
import subprocess

import pytest

from rig.process import ROOT
from rig.wait import PATIENCE_S
from support import chrome_trace


@pytest.fixture(scope="module")
def traces(build, tmp_path_factory):
    """{name: document} of every sample."""
    folder = tmp_path_factory.mktemp("traces")
    subprocess.run([build / "e2e" / "talechain_pages", folder], check=True,
                   cwd=ROOT, timeout=PATIENCE_S)
    return {path.name.split(".")[0]: chrome_trace.read(path)
            for path in folder.glob("*.trace.json")}


def test_all_rules_hold(traces):
    # Goal: nesting, flows, decimals, names, for samples and random stories.
    assert len(traces) > 40
    for name, document in traces.items():
        assert list(chrome_trace.faults(document)) == [], name


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


def test_strings_are_data(traces):
    # Goal: hostile names arrive as they are, whatever they contain.
    text = json.dumps(traces["hostile"], default=str)
    assert "</script><img src=x onerror=alert(1)>" in text
    assert "\\u2028" in text


def test_rates_are_counters(traces):
    # Goal: each rate is a counter of its own, which falls to nothing where
    # nothing is known.
    ipc = [(event["ts"], *event["args"].values())
           for event in named(traces["classes"], "A: main ipc", "C")]
    assert ipc == [(0, decimal.Decimal("0.6")), (4000, decimal.Decimal("0.3")),
                   (9000, 0), (12000, decimal.Decimal("1.5")), (18500, 0)]
    assert len(named(traces["classes"], "A: main classes", "C")) == 3
