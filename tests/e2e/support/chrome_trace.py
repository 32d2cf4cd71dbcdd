"""Whether Chrome trace events are what viewers want them to be.

Rules, each of which Perfetto's importer has: slices of a track hold each
other or are apart; a flow's event binds to the slice that is open on its
track at its moment when the file is read in order, and lies strictly inside
it; a flow starts once, ends once and goes forward; times have three decimals;
processes and threads are named and ordered.
"""

import decimal
import json
import pathlib
import re

PROCESSES = {1, 2, 3}


def read(path):
    """The events of a file; numbers with a point are exact decimals."""
    text = pathlib.Path(path).read_text(encoding="utf-8")
    return json.loads(text, parse_float=decimal.Decimal)


def decimals(document):
    """Every time is in microseconds with three decimals."""
    for event in document["traceEvents"]:
        for key in {"ts", "dur"} & event.keys():
            value = event[key]
            if not isinstance(value, decimal.Decimal) \
                    or value.as_tuple().exponent != -3 or value < 0:
                yield f"{key} {value}: no three decimals: {event}"


class Track:
    """The slices that are open, as a viewer sees them."""

    def __init__(self):
        self.open = []

    def until(self, ts):
        while self.open and self.open[-1]["ts"] + self.open[-1]["dur"] <= ts:
            self.open.pop()


def replay(document):
    """What is wrong with slices and flows, reading the file in order."""
    tracks, flows, last = {}, {}, decimal.Decimal(0)
    for event in document["traceEvents"]:
        if event["ph"] in "MC":
            continue
        if event["ts"] < last:
            yield f"goes back in time: {event}"
        last = event["ts"]
        track = tracks.setdefault((event["pid"], event["tid"]), Track())
        track.until(last)
        if event["ph"] == "X":
            end = event["ts"] + event["dur"]
            if track.open and end > track.open[-1]["ts"] + track.open[-1]["dur"]:
                yield f"overlaps {track.open[-1]['name']}: {event}"
            track.open.append(event)
        elif not track.open or event["ts"] <= track.open[-1]["ts"]:
            yield f"lies in no slice: {event}"
        else:
            key = event["cat"], event["name"], event["id"]
            flows.setdefault(key, []).append(event)
    for key, hops in flows.items():
        phases = "".join(hop["ph"] for hop in hops)
        if not re.fullmatch("st*f", phases):
            yield f"flow {key} is {phases}"
        if hops[-1].get("bp") != "e":
            yield f"flow {key} binds to the next slice"
        if [hop["ts"] for hop in hops] != sorted({hop["ts"] for hop in hops}):
            yield f"flow {key} does not go forward"
        if key[0] == "wakeup" and len(hops) != 2:
            yield f"wake-up {key} has {len(hops)} hops"


def counters(document):
    """Each counter goes forward, has a process, and one value a moment."""
    last = {}
    for event in document["traceEvents"]:
        if event["ph"] != "C":
            continue
        key = event["pid"], event["name"]
        if event["ts"] < last.get(key, 0):
            yield f"counter goes back in time: {event}"
        last[key] = event["ts"]
        if len(event["args"]) != 1 or not all(
                isinstance(value, (int, decimal.Decimal)) and value >= 0
                for value in event["args"].values()):
            yield f"counter without its value: {event}"
        if event["pid"] not in PROCESSES:
            yield f"counter of no process: {event}"


def names(document):
    """Processes and threads have a name and a place."""
    used, known = set(), {}
    for event in document["traceEvents"]:
        if event["ph"] == "C":
            continue  # a counter is of a process, and has a track by its name
        if event["ph"] != "M":
            used.add((event["pid"], event["tid"]))
            continue
        what = event["name"].split("_", 1)[0]
        key = event["pid"] if what == "process" else (event["pid"],
                                                      event["tid"])
        known.setdefault(key, {})[event["name"]] = event["args"]
    for pid, tid in used:
        for key, what in (pid, "process"), ((pid, tid), "thread"):
            for member, argument in ("name", str), ("sort_index", int):
                value = known.get(key, {}).get(f"{what}_{member}", {})
                if not isinstance(value.get(member), argument):
                    yield f"{what} {key} has no {member}"
    if {pid for pid, _ in used} - PROCESSES:
        yield "processes are " + ", ".join(str(pid) for pid, _ in used)
    first = [event["ph"] for event in document["traceEvents"]]
    if first != sorted(first, key=lambda ph: ph != "M"):
        yield "metadata does not come first"


def faults(document):
    """Everything that is wrong with a trace; nothing if it is fine."""
    if document.get("displayTimeUnit") != "ns":
        yield "displayTimeUnit is not ns"
    for rule in decimals, replay, counters, names:
        yield from rule(document)

