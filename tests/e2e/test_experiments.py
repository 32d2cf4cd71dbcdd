"""The experiments' driver: one run with a small server; figures, sums."""

import argparse
import json
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import xml.etree.ElementTree

import pytest

HERE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "experiments"
sys.path.insert(0, str(HERE))

import experiment  # noqa: E402
import figures  # noqa: E402
import findings  # noqa: E402
import goals  # noqa: E402
import measure  # noqa: E402
import page  # noqa: E402
import placement  # noqa: E402
import plans  # noqa: E402
import readme  # noqa: E402
import setups  # noqa: E402
from rig.process import ROOT, output, ran  # noqa: E402
from rig.wait import wait_until  # noqa: E402

PLAN = {"title": "Tiny <b>", "question": "Does it run?", "rate_per_s": 300,
        "requests": 100, "iterations": 2, "post": 1, "rounds": 1, "heat": 20,
        "baseline": "nothing", "best": "tailor", "sizes": {},
        "setups": [
            {"key": "nothing", "title": "nothing", "servers": 1,
             "front": "none"},
            {"key": "haproxy", "title": "HAProxy", "servers": 2,
             "front": "haproxy", "template": "haproxy-tuned.cfg"},
            {"key": "nginx", "title": "nginx", "servers": 2,
             "front": "nginx", "template": "nginx-tuned.conf"},
            {"key": "tailor", "title": "Tailor", "servers": 2,
             "front": "tailor", "tailor": {
                 # a machine that is busy with other tests is no failure
                 "proxy": {"queue_timeout": "30s"},
                 "hedging": {"timer_ratio": 0.1, "timer_delay": "p95"}}}]}


def start(build, scratch):
    """The driver on PLAN, with the small server."""
    return subprocess.Popen(
        [sys.executable, str(HERE / "experiment.py"), "--stub", "--only",
         "tiny", "--plans", str(scratch), "--build", str(build), "--out",
         str(scratch / "out")], stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True)


@pytest.mark.long("a whole experiment: real loads, 15 seconds; it compares "
                  "how many requests were sent twice")
def test_whole(build, scratch):
    """Goal: a short run measures every set-up there is a program for, writes
    a report, and an interrupted one is continued, not begun again."""
    plan = dict(PLAN)
    plan["setups"] = [s for s in PLAN["setups"]
                      if s["front"] in ("none", "tailor")
                      or shutil.which(s["front"], path="/usr/sbin:/usr/bin")]
    (scratch / "tiny.json").write_text(json.dumps(plan))
    cells = scratch / "out/cells/tiny"
    first = start(build, scratch)
    wait_until(lambda: list(cells.glob("nothing-1-*/cell.json")),
               "the first cell", 60)
    first.send_signal(signal.SIGINT)
    _, said = first.communicate(timeout=60)
    assert first.returncode == 130 and "goes on from here" in said, said
    cell = next(cells.glob("nothing-1-*/cell.json"))
    written = cell.stat().st_mtime_ns
    assert len(list(cells.glob("*/cell.json"))) < len(plan["setups"])
    second = start(build, scratch)
    _, said = second.communicate(timeout=240)
    assert second.returncode == 0, said
    assert "cells are there already" in said
    assert cell.stat().st_mtime_ns == written
    results = json.loads((scratch / "out/results.json").read_text())
    rows = results["experiments"]["tiny"]["rows"]
    assert [row["key"] for row in rows] == [s["key"] for s in plan["setups"]]
    for row in rows:
        assert row["requests"] == 200 and len(row["iterations"]) == 2
        assert 0 < row["p50"]["value"] <= row["p99"]["value"] <= row["worst"]
        assert row["tail"][-1] == [pytest.approx(row["worst"], abs=1e-3), 1.0]
        # a busy machine is slower than the 20 ms that the proxies wait
        assert row["errors"] == 0 or row["key"] in ("haproxy", "nginx")
        assert 0 <= row["extra_pct"] < 50
        assert row["cpu_pct"] > 0
        assert row["slowest"]["ms"] == pytest.approx(row["worst"])
        assert row["post"]["requests"] == 100
        assert 0 < row["post"]["p999"]["value"] <= row["post"]["worst"]
        # HAProxy is configured to retry, and sends them twice
        assert row["post"]["extra"] == 0 or row["key"] == "haproxy"
    assert results["machine"]["cpus"] >= 2 and results["size"] == "full"
    text = (scratch / "out/report.html").read_text()
    assert "Tiny &lt;b&gt;" in text and "<b>" not in text
    assert "server a on CPU" in text and str(scratch) not in text
    assert "experiment.py --size full --only tiny --stub" in text
    assert "default-src 'none'" in text and "<script" not in text
    markdown = (scratch / "out/README.md").read_text()
    assert "POST p99.9, ms" in markdown
    for name in re.findall(r"\]\(([\w.-]+\.svg)\)", markdown):
        xml.etree.ElementTree.parse(scratch / "out" / name)
    assert not list((scratch / "out").rglob("*.part"))


def test_plans_are_whole(build, scratch):
    """Goal: every experiment's set-ups can be made and its names exist; none is
    refused by Tailor after half an hour."""
    config, tried = scratch / "tailor.json", 0
    for name in plans.ORDER:
        plan = json.loads((HERE / f"{name}.json").read_text())
        keys = [s["key"] for s in plan["setups"]]
        assert len(set(keys)) == len(keys)
        assert {plan["baseline"], plan["best"],
                plan.get("ideal", keys[0])} <= set(keys)
        for size in plan["sizes"].values():
            assert set(size.get("setups", keys)) <= set(keys)
            assert set(size) <= {"setups", "rounds"}
        for setup in plan["setups"]:
            assert setup["front"] in ("none", "tailor", "haproxy", "nginx")
            assert setup.get("during", "restart-server") in measure.ACTIONS
            assert any(o.startswith("-Xmx") for o in
                       setups.jvm_options(setup))
            if "template" in setup:
                text = (HERE / setup["template"]).read_text().format(
                    directory="/d", port=1, a=2, b=3)
                assert "127.0.0.1:2" in text and "{directory}" not in text
            if "tailor" in setup:
                config.write_text(json.dumps({
                    "listen": ["127.0.0.1:1"], "servers": [
                        {"name": n, "address": f"127.0.0.1:{i}"}
                        for i, n in ((2, "a"), (3, "b"))], **setup["tailor"]}))
                output(build / "tailor", "-t", "-c", config)
                tried += 1
    assert tried >= 8


def test_jvm_options():
    """Goal: a set-up changes the options it names and no others."""
    usual = setups.jvm_options({})
    assert "-XX:+UseG1GC" in usual and "-XX:+AlwaysPreTouch" in usual
    assert "-XX:+AlwaysPreTouch" not in setups.jvm_options({"pretouch": False})
    large = setups.jvm_options({"young_mb": 640})
    assert {"-Xmn640m", "-Xmx1280m", "-Xms1280m"} <= set(large)
    assert len(large) == len(usual)
    both = setups.jvm_options({"collector": "zgc", "heap_mb": 2048})
    assert {"-Xms2048m", "-Xmx2048m"} <= set(both)
    zgc = setups.jvm_options({"collector": "zgc"})
    assert "-XX:+UseZGC" in zgc and "-XX:+UseG1GC" not in zgc
    assert not any(o.startswith("-Xmn") for o in zgc)
    epsilon = setups.jvm_options({"collector": "epsilon"})
    # an experimental collector is refused without the first of these
    assert epsilon.index("-XX:+UnlockExperimentalVMOptions") < \
        epsilon.index("-XX:+UseEpsilonGC")
    assert {f"-Xms{setups.EPSILON_MB}m", f"-Xmx{setups.EPSILON_MB}m"} <= \
        set(epsilon)
    instead = json.loads((HERE / "instead.json").read_text())
    requests = instead["heat"] + instead["requests"] * (
        instead["iterations"] + instead["post"])
    assert requests / 4 < setups.EPSILON_MB


def write_run(directory, values):
    """run.json and requests.ndjson of known latencies, ms; None: failed."""
    iterations = []
    with open(directory / "requests.ndjson", "w", encoding="utf-8") as file:
        for i, ms in enumerate(values):
            iterations.append({
                "index": i + 1, "sent": len(ms),
                "errors": {"timeout": ms.count(None)} if None in ms else {},
                "lag": {"p99_ns": 1000}})
            for n, one in enumerate(ms):
                line = {"i": i + 1, "n": n + 1}
                line.update({"err": "timeout"} if one is None
                            else {"lat": int(one * 1e6), "srv": 500000,
                                  "sched": n * 10**9,
                                  "last": n * 10**9 + int(one * 1e6),
                                  # the slowest 100 were sent late
                                  "least": int(min(one, 900 * (i + 1)) * 1e6),
                                  "id": f"{i + 1}-{n + 1}"})
                file.write(json.dumps(line) + "\n")
    (directory / "run.json").write_text(json.dumps({
        "iterations": iterations,
        "generator": {"verdict": "good", "reasons": []},
        "summary": {"sent": sum(map(len, values))}}))


def test_known_figures(scratch):
    """Goal: known latencies give the row they must give."""
    values = [[float(k * (n + 1)) for n in range(1000)] for k in range(1, 7)]
    values[2][999] = None
    write_run(scratch, values)
    cell = measure.summarise(scratch)
    assert cell["slowest"] == {"ms": 6000, "id": "6-1000", "iteration": 6,
                               "number": 1000}
    cell.update(extra=12, cpu_s=3.0, wall_s=6.0, trusted=True, metrics={},
                pauses=[3.5, 1.5], unloaded=601.0)
    row = measure.combine({"key": "k", "title": "t"}, [cell, cell])
    assert row["requests"] == 12000 and row["errors"] == 2
    # the iterations' p99 are 990 k, two of each k; one of k = 3 lost its max
    assert row["p99"]["value"] == 990 * 3
    assert row["max"]["value"] == 999 * 3
    assert row["p50"]["value"] == 1500
    # rank 3 of 12 and its mirror: 96 % coverage
    assert (row["p99"]["low"], row["p99"]["high"]) == (990 * 2, 990 * 5)
    assert row["worst"] == 6000
    assert row["pauses"] == [1.5, 1.5, 3.5, 3.5]
    assert row["ranges"] == {"max": [1000, 6000], "server_max": [0.5, 0.5]}
    assert row["saturated"] == ""
    assert measure.combine({"key": "k", "title": "t"}, [
        {**cell, "unloaded": 399.0}])["saturated"] \
        == "p50 2500.0 ms, unloaded 399.0 ms"
    assert row["extra_pct"] == pytest.approx(0.2)
    assert row["cpu_pct"] == pytest.approx(50)
    assert measure.combine({"key": "k", "title": "t"}, [
        {**cell, "cpu_s": None}])["cpu_pct"] is None
    every = sorted(2 * [ms for it in values for ms in it if ms is not None])
    assert row["p999"]["value"] == measure.nearest_rank(every, 99.9)
    assert row["p999"]["low"] < row["p999"]["value"] < row["p999"]["high"]
    assert row["figures"]["p50"] == {"least": 1500, "trust": "good"}
    assert row["figures"]["p99"] == {"least": 2700, "trust": "within"}
    assert row["figures"]["worst"] == {"least": 5400, "trust": "within"}
    assert findings.not_good(row).startswith(
        "1 of 5\n(p99 within 2700.0-2970.0, p99.9 within ")
    # a cell of an earlier version does not say
    for it in cell["iterations"]:
        del it["least"], it["kept"]
    del cell["least"], cell["unloaded"]
    row = measure.combine({"key": "k", "title": "t"}, [cell])
    assert row["saturated"] == ""
    assert {f["trust"] for f in row["figures"].values()} == {"doubtful"}


def test_intervals_are_those_of_tailor_load():
    """Goal: the ranks that docs/lab/loadgen.md names."""
    assert [measure.rank_interval(n, 50) for n in (20, 10, 6, 5)] == [
        (6, 15), (2, 9), (1, 6), None]
    assert measure.rank_interval(100, 99.9) is None


def test_thinned_tail_is_whole():
    """Goal: the slowest 400 are all there, shares rise to one."""
    rng = random.Random(3)
    every = sorted(rng.expovariate(1) for _ in range(20000))
    points = measure.thin(every)
    assert [v for v, _ in points[-400:]] == [round(v, 4)
                                             for v in every[-400:]]
    assert len(points) < 900 and points[-1][1] == 1.0
    assert all(a[1] < b[1] for a, b in zip(points, points[1:]))


def test_saturated_is_said(scratch):
    """Goal: where responses do not keep up with the requests the result says
    so, in the sentence, in the table and beside the goals; not where a server
    was restarted, which misses requests anyway."""
    write_run(scratch, [[1.0] * 100] * 3)
    lines = [json.loads(line) for line in
             (scratch / "requests.ndjson").open()]
    for line in lines:  # each waits for all that were due before it
        line["last"] = line["sched"] + line["n"] * 200_000_000
    (scratch / "requests.ndjson").write_text(
        "".join(json.dumps(line) + "\n" for line in lines))
    cell = {**measure.summarise(scratch), "unloaded": 0.9, "extra": 0,
            "cpu_s": 0, "wall_s": 1, "metrics": {}, "pauses": []}
    row = measure.combine({"key": "k", "title": "t"}, [cell])
    assert row["saturated"] == "83 % of the rate kept"
    assert not measure.combine({"key": "k", "title": "t", "during": "x"},
                               [cell])["saturated"]
    assert "\nsaturated: this shows no pauses" in page.cells(row)[0]
    plan = {"baseline": "k", "best": "b", "ideal": "b"}
    best = row_of("b", 1.0, saturated="")
    assert findings.sentence("instead", plan, [row, best]).endswith(
        " Saturated: this shows no pauses: t (83 % of the rate kept).")
    goal = goals.judge({"instead": {**plan, "ideal": "k"}},
                       {"instead": {"rows": [row, best]}})[0]
    assert goal.state == "doubtful" and "saturated: t" in goal.why


@pytest.mark.parametrize("chosen, names", (
    ([], plans.ORDER), (["SIZE=short"], plans.ORDER),
    (["SIZE=medium", "ONLY=delay,restart"], ("delay", "restart"))))
def test_the_target_starts(scratch, chosen, names):
    """Goal: what `make experiment` would run runs, with and without ONLY: a
    forecast of it has the cells of every experiment that was asked for."""
    text = output("make", "-n", "--no-print-directory", "-C", ROOT,
                  "experiment", f"OUT={scratch / 'out'}", *chosen)
    command = text[text.index("\nBUILD="):].rstrip()
    assert command.endswith("experiment.py")
    found = output("sh", "-c", command + " --forecast", cwd=ROOT)
    cells, rest = found.split(" cells, about ")
    size = next((word.partition("=")[2] for word in chosen
                 if word.startswith("SIZE")), "full")
    whole = [plans.load_plan(HERE, name, size) for name in names]
    assert int(cells) == sum(
        plan["rounds"] * len(plan["setups"]) for plan in whole)
    assert rest.endswith(" min\n")


def row_of(key, worst, **more):
    figure = {"value": worst, "low": worst / 2, "high": worst * 2}
    return {"key": key, "title": f"{key} & <co>", "p50": figure,
            "p99": figure, "p999": figure, "max": figure, "worst": worst,
            "errors": 0, "requests": 1000, "extra_pct": 0.1, "cpu_pct": 5.0,
            "tail": [(worst / 2, 0.5), (worst, 1.0)],
            "iterations": [[worst / 2, worst]] * 3, "rounds": 1,
            "slowest": {"ms": worst, "why": "a <collection>"},
            "saturated": "", "pauses": [2.0],
            "ranges": {"max": [worst / 2, worst], "server_max": None},
            "figures": {name: {"least": worst, "trust": "good"} for name in
                        ("p50", "p99", "p999", "max", "worst")}, **more}


def post_of(ms, **more):
    return {"p999": {"value": ms}, "worst": ms, "requests": 1000, "errors": 0,
            "extra": 0, **more}


def test_figures_are_whole():
    """Goal: every figure is well-formed, needs nothing from outside, and
    shows each set-up by name; words are text, not markup."""
    svg = figures.dots("<i>", [row_of("x", 3.0)])
    assert "<i>" not in svg and "&lt;i&gt;" in svg
    rows = [row_of("a", 40.0, server_tail=[(1, 0.5), (2, 1.0)],
                   thesis={"client": [40, 46], "says": "x"}),
            row_of("b", 4.0)]
    plan = {"title": "T <t>", "x": "rate", "baseline": "a", "best": "b"}
    scaled = [row_of("a", 40.0, line="one", x=100),
              row_of("b", 4.0, line="one", x=200)]
    found = findings.figures_of("thesis", plan, rows) \
        + findings.figures_of("scale-rate", plan, scaled)
    assert len(found) == 9
    for name, svg, _ in found:
        root = xml.etree.ElementTree.fromstring(svg)
        assert "href" not in svg and "url(" not in svg, name
        if "line" not in rows[0] and name.startswith("thesis-dots"):
            assert "a & <co>" in "".join(root.itertext())


def test_sentences():
    """Goal: factors are computed, in the direction that they have; failures and
    the best of the others are named."""
    rows = [row_of("a", 40.0, line="one", x=100),
            row_of("b", 4.0, line="two", x=100)]
    plan = {"baseline": "a", "best": "b", "x": "requests/s"}
    assert "10.0 times less" in findings.compare(plan, rows)
    assert "10.0 times more" in findings.compare(
        {"baseline": "b", "best": "a"}, rows)
    words = findings.compare(plan, [*rows, row_of("c", 2.0, errors=3),
                                    row_of("d", 7.0)])
    assert '"d & <co>" has the lowest p99.9, 7.0 ms' in words
    assert "failed with c & <co> 3 of 1000." in words
    assert "10.0 times less" in findings.thesis(plan, rows)
    rows[1]["worst"] = 10.0
    assert "The goal was nine times" in findings.thesis(plan, rows)


def test_goals():
    """Goal: a goal is met or missed by the figures, by how much is said, and
    what was not measured is not judged."""
    path = [row_of("shipped", 40.0), row_of("tailor", 4.0)]
    others = [row_of("ideal", 3.0, post=post_of(3.0)), row_of("x", 40.0),
              row_of("y", 2.0, errors=7), row_of("t", 4.0),
              row_of("steering", 3.9, post=post_of(3.9))]
    known = {"thesis": {"best": "tailor"},
             "instead": {"best": "t", "ideal": "ideal"}}

    def judged():
        rows = {"thesis": {"rows": path}, "instead": {"rows": others}}
        return [goal.state for goal in goals.judge(known, rows)]

    assert judged() == ["met"] * 6
    usual = others[0]["max"]
    others[0]["max"] = {"value": others[0]["p999"]["value"] / 4}  # it stalled
    assert judged() == ["met", *["doubtful"] * 3, "met", "met"]
    others[0]["max"] = usual
    # x's p99.9 is a part of one goal, the ideal's of three
    others[1]["figures"]["p999"]["trust"] = "within"
    assert judged() == ["met", "met", "doubtful", "met", "met", "met"]
    others[0]["figures"]["p999"]["trust"] = "doubtful"
    assert judged() == ["met", *["doubtful"] * 3, "met", "met"]
    path[1]["figures"]["p999"]["trust"] = "doubtful"
    assert judged()[0] == "met"
    path[1]["worst"] = 5.0
    others[0] = row_of("ideal", 1.5, post=post_of(1.5))
    others[1] = row_of("x", 3.0)
    others[3]["errors"] = 1
    others[3]["figures"]["worst"]["trust"] = "doubtful"
    path[1]["extra_pct"] = 1.5
    assert judged() == ["missed"] * 6
    found = goals.judge(known, {"instead": {"rows": others}})
    assert found[0].state == "not measured"
    assert goals.judge({"delay": {}}, {}) == []
    assert found[1].why.startswith("4.0 ms with") and "+2.5 ms" in found[1].why
    assert "x & <co> by p99.9 1.0 ms, max 1.0 ms" in found[2].why
    assert "y & <co> failed 7" in found[2].why
    assert "as Tailor explains it: a <collection>" in found[2].why
    assert "lateness: worst of t & <co> doubtful" in found[2].why
    assert "+2.4 ms; GET 3.9 ms; 0 sent twice" in found[3].why
    # steering is Tailor's, no alternative to it
    assert "steering" not in found[2].why


def test_sizes():
    """Goal: what medium measures is a part of what full measures, cell for
    cell; short is another matter."""
    def cells(size):
        o = argparse.Namespace(seed=1, out=pathlib.Path("out"))
        return {name: {cell.directory for cell in plans.cells_of(
            o, name, plans.load_plan(HERE, name, size))}
            for name in plans.ORDER}
    full, medium, short = map(cells, ("full", "medium", "short"))
    for name in plans.ORDER:
        assert medium[name] < full[name]
        assert short[name] and not short[name] & full[name]


def test_bad_rounds_are_made_again(scratch):
    """Goal: a finished cell is left alone, one with a bad generator only as
    long as no request needs more."""
    (scratch / "tiny.json").write_text(json.dumps(PLAN))
    plan = {"tiny": plans.load_plan(scratch, "tiny", "full")}
    o = argparse.Namespace(seed=1, out=scratch, redo_bad=False)
    cells = plans.cells_of(o, "tiny", plan["tiny"])
    for cell, trusted in zip(cells, (True, False)):
        cell.directory.mkdir(parents=True)
        cell.path.write_text(json.dumps({"trusted": trusted}))
    missing = [c.name for c in experiment.missing_cells(o, plan)]
    assert missing == [c.name for c in cells[2:]]
    o.redo_bad = True
    again = [c.name for c in experiment.missing_cells(o, plan)]
    assert again == [c.name for c in cells[1:]]


def test_a_cell_that_ends_costs_no_other(scratch, capsys):
    """Goal: whatever ends a measurement, the others are made, and the report
    says what is lacking."""
    (scratch / "tiny.json").write_text(json.dumps(PLAN))
    plan = plans.load_plan(scratch, "tiny", "full")
    o = argparse.Namespace(seed=1, out=scratch, redo_bad=False)
    seen = []

    class Broken(plans.Cell):
        def run(self, environment):
            seen.append(self.name)
            self.directory.mkdir(parents=True)
            raise ConnectionResetError("gone\nfor good")
    original, plans.Cell = plans.Cell, Broken
    try:
        experiment.run_all(o, {"tiny": plan}, None)
        cells = plans.cells_of(o, "tiny", plan)
    finally:
        plans.Cell = original
    assert seen == [cell.name for cell in cells] and len(seen) == 4
    assert all("not measured: for good" in cell.why_not() for cell in cells)
    assert capsys.readouterr().err.count("FAILED: gone") == 4


def test_pauses(scratch):
    """Goal: pauses are those that a JVM logs after the begin, of all its
    collectors' words."""
    log = scratch / "a-gc-7.log"
    log.write_text("[1.0s][info][gc] GC(0) Pause Young (Normal) 9M->1M(9M) "
                   "12.500ms\n")
    pauses = measure.Pauses(scratch)
    of_b = measure.Pauses(scratch, "b")
    with open(log, "a", encoding="utf-8") as file:
        file.write(
            "[2.0s][info][gc,start    ] GC(1) Pause Young (Normal) (x)\n"
            "[2.0s][info][gc          ] GC(1) Pause Young (Normal) (x) "
            "224M->12M(1024M) 8.123ms\n"
            "[2.1s][info][gc,cpu      ] GC(1) User=0.01s Sys=0.00s\n"
            "[2.2s][info][gc,phases   ] GC(2) Pause Mark Start 0.010ms\n"
            "[2.3s][info][gc          ] GC(2) Concurrent Mark 7.000ms\n")
    (scratch / "b-gc-8.log").write_text(
        "[0.1s][info][gc] GC(0) Pause Init Mark (unload) 0.300ms\n")
    assert sorted(pauses.since()) == [0.010, 0.300, 8.123]
    assert of_b.since() == [0.300]


def test_placement():
    """Goal: two CPUs are one for each server; the generator gets a core of
    its own, with its lanes, only where there are enough."""
    two = placement.Placement({4, 7})
    assert two.direct == {"a": {4}, "b": {7}} and two.generator is None
    assert "server a on CPU 4" in two.words()
    assert placement.generator_core({0, 1, 2, 3}) == set()
    pairs = lambda cpu: {cpu % 8, cpu % 8 + 8}  # noqa: E731
    assert placement.generator_core(set(range(16)), pairs) == {7, 15}
    assert placement.generator_core(set(range(15)), pairs) == {6, 14}
    assert placement.parse("0-2,8\n") == {0, 1, 2, 8}


def test_readme_says_what_was_measured(scratch):
    """Goal: README cannot differ from the experiments' results."""
    script = str(HERE / "readme.py")

    def run(*arguments):
        return ran(sys.executable, script, *arguments)
    own = run("--check")
    assert own.returncode == 0, own.err
    root = scratch / "tree"
    source = root / "docs/experiments/results.json"
    source.parent.mkdir(parents=True)
    text = root / "README.md"
    marks = readme.BEGIN + readme.END
    empty = f"before\n{marks}between\n{marks}after\n"
    text.write_text(empty)
    assert run("--check", "--root", str(root)).returncode == 0

    def row(title, **more):
        figure = {"value": 1.234, "low": 1.0, "high": 2.0}
        return {"title": title, "p50": figure, "p99": figure,
                "p999": {"value": 78.9}, "max": {"value": 8.76}, "errors": 0,
                "requests": 9, "extra_pct": 0.5, "cpu_pct": None,
                "post": {"p999": {"value": 45.6}}, **more}

    rows = [row(title) for title in readme.ROWS]
    results = {"command": "make experiment SIZE=medium", "size": "medium",
               "machine": {"cpus": 2, "model": "m", "measured": "2026-11-21"},
               "goals": [], "experiments": {"instead": {
                   "title": "Instead", "shows": "",
                   "rows": [row("another", max={"value": 7.77}), *rows]}}}
    source.write_text(json.dumps(results))
    assert run("--check", "--root", str(root)).returncode == 1
    assert text.read_text() == empty
    assert run("--root", str(root)).returncode == 0
    said = text.read_text()
    for words in ("before\n", "between\n", "after\n", "SIZE=medium", "8.8 |",
                  "**79 ms without Tailor,", "1.23 (1.00-2.00)", "0 of 9 |",
                  "Tailor, steering |", " 45.6 |", "79 ms with steering",
                  "All 7 set-ups"):
        assert words in said, said
    assert "7.8" not in said  # in the report only
    assert run("--check", "--root", str(root)).returncode == 0
    text.write_text(said.replace("8.8", "8.7"))
    assert run("--check", "--root", str(root)).returncode == 1
    text.write_text("no marks\n")
    assert "lacks" in run("--root", str(root)).err
