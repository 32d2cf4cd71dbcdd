"""The experiments' driver: one run with a small server; figures, sums."""

import json
import pathlib
import random
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree

import pytest

HERE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "experiments"
sys.path.insert(0, str(HERE))

import experiment  # noqa: E402
import figures  # noqa: E402
import findings  # noqa: E402
import measure  # noqa: E402
import setups  # noqa: E402

PLAN = {"title": "Tiny <b>", "question": "Does it run?", "rate_per_s": 300,
        "requests": 100, "iterations": 2, "rounds": 1, "heat": 20,
        "baseline": "nothing", "best": "tailor", "short": ["nothing"],
        "setups": [
            {"key": "nothing", "title": "nothing", "servers": 1,
             "front": "none"},
            {"key": "haproxy", "title": "HAProxy", "servers": 2,
             "front": "haproxy", "template": "haproxy-tuned.cfg"},
            {"key": "nginx", "title": "nginx", "servers": 2,
             "front": "nginx", "template": "nginx-tuned.conf"},
            {"key": "tailor", "title": "Tailor", "servers": 2,
             "front": "tailor", "tailor": {"hedging": {
                 "timer_ratio": 0.1, "timer_percentile": 95}}}]}


def run(build, scratch, *options):
    """The driver on PLAN, with the small server."""
    return subprocess.run(
        [sys.executable, str(HERE / "experiment.py"), "--stub", "--only",
         "tiny", "--plans", str(scratch), "--build", str(build), "--out",
         str(scratch / "out"), *options], capture_output=True, text=True,
        check=False, timeout=240)


def test_whole(build, scratch):
    """Goal: a short run measures every set-up there is a program for, writes
    a report, and an interrupted one is continued, not begun again."""
    plan = dict(PLAN)
    plan["setups"] = [s for s in PLAN["setups"]
                      if s["front"] in ("none", "tailor")
                      or shutil.which(s["front"], path="/usr/sbin:/usr/bin")]
    (scratch / "tiny.json").write_text(json.dumps(plan))
    first = run(build, scratch, "--setups", "nothing")
    assert first.returncode == 0, first.stderr
    cell = next((scratch / "out/cells/tiny").glob("nothing-1-*/cell.json"))
    written = cell.stat().st_mtime_ns
    done = run(build, scratch)
    assert done.returncode == 0, done.stderr
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
    text = (scratch / "out/report.html").read_text()
    assert "Tiny &lt;b&gt;" in text and "<b>" not in text
    assert "default-src 'none'" in text and "<script" not in text
    markdown = (scratch / "out/README.md").read_text()
    for name in re.findall(r"\]\(([\w.-]+\.svg)\)", markdown):
        xml.etree.ElementTree.parse(scratch / "out" / name)
    assert not list((scratch / "out").rglob("*.part"))


def test_plans_are_whole():
    """Goal: every experiment's set-ups can be made and its names exist."""
    for name in experiment.ORDER:
        plan = json.loads((HERE / f"{name}.json").read_text())
        keys = [s["key"] for s in plan["setups"]]
        assert len(set(keys)) == len(keys)
        assert {plan["baseline"], plan["best"], *plan["short"]} <= set(keys)
        for setup in plan["setups"]:
            assert setup["front"] in ("none", "tailor", "haproxy", "nginx")
            assert setup.get("during", "restart-server") in measure.ACTIONS
            assert any(o.startswith("-Xmx") for o in
                       setups.jvm_options(setup))
            if "template" in setup:
                text = (HERE / setup["template"]).read_text().format(
                    directory="/d", port=1, a=2, b=3)
                assert "127.0.0.1:2" in text and "{directory}" not in text


def test_jvm_options():
    """Goal: a set-up changes the options it names and no others."""
    usual = setups.jvm_options({})
    assert "-XX:+UseG1GC" in usual and "-XX:+AlwaysPreTouch" in usual
    assert "-XX:+AlwaysPreTouch" not in setups.jvm_options({"pretouch": False})
    large = setups.jvm_options({"young_mb": 640})
    assert {"-Xmn640m", "-Xmx1280m", "-Xms1280m"} <= set(large)
    assert len(large) == len(usual)
    zgc = setups.jvm_options({"collector": "zgc"})
    assert "-XX:+UseZGC" in zgc and "-XX:+UseG1GC" not in zgc
    assert not any(o.startswith("-Xmn") for o in zgc)


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
                            else {"lat": int(one * 1e6), "srv": 500000})
                file.write(json.dumps(line) + "\n")
    (directory / "run.json").write_text(json.dumps({
        "iterations": iterations, "generator": {"verdict": "good"},
        "summary": {"sent": sum(map(len, values))}}))


def test_known_figures(scratch):
    """Goal: known latencies give the row they must give."""
    values = [[float(k * (n + 1)) for n in range(1000)] for k in range(1, 7)]
    values[2][999] = None
    write_run(scratch, values)
    cell = measure.summarise(scratch)
    cell.update(extra=12, cpu_s=3.0, wall_s=6.0, trusted=True, metrics={})
    row = measure.combine({"key": "k", "title": "t"}, [cell, cell])
    assert row["requests"] == 12000 and row["errors"] == 2
    # the iterations' p99 are 990 k, two of each k; one of k = 3 lost its max
    assert row["p99"]["value"] == 990 * 3
    assert row["max"]["value"] == 999 * 3
    assert row["p50"]["value"] == 1500
    # rank 3 of 12 and its mirror: 96 % coverage
    assert (row["p99"]["low"], row["p99"]["high"]) == (990 * 2, 990 * 5)
    assert row["worst"] == 6000
    assert row["extra_pct"] == pytest.approx(0.2)
    assert row["cpu_pct"] == pytest.approx(50)
    assert measure.combine({"key": "k", "title": "t"}, [
        {**cell, "cpu_s": None}])["cpu_pct"] is None
    every = sorted(2 * [ms for it in values for ms in it if ms is not None])
    assert row["p999"]["value"] == measure.nearest_rank(every, 99.9)
    assert row["p999"]["low"] < row["p999"]["value"] < row["p999"]["high"]


def test_intervals_are_those_of_tailor_load():
    """Goal: the ranks that docs/loadgen.md names."""
    assert measure.rank_interval(20, 50) == (6, 15)
    assert measure.rank_interval(10, 50) == (2, 9)
    assert measure.rank_interval(6, 50) == (1, 6)
    assert measure.rank_interval(5, 50) is None
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


def row_of(key, worst, **more):
    figure = {"value": worst, "low": worst / 2, "high": worst * 2}
    return {"key": key, "title": f"{key} & <co>", "p50": figure,
            "p99": figure, "p999": figure, "max": figure, "worst": worst,
            "errors": 0, "requests": 1000, "extra_pct": 0.1, "cpu_pct": 5.0,
            "tail": [(worst / 2, 0.5), (worst, 1.0)],
            "iterations": [[worst / 2, worst]] * 3, "rounds": 1,
            "trusted": 1, **more}


def test_figures_are_whole():
    """Goal: every figure is well-formed, needs nothing from outside, and
    shows each set-up by name."""
    rows = [row_of("a", 40.0, server_tail=[(1, 0.5), (2, 1.0)]),
            row_of("b", 4.0)]
    plan = {"title": "T <t>", "x": "rate", "baseline": "a", "best": "b"}
    scaled = [row_of("a", 40.0, line="one", x=100),
              row_of("b", 4.0, line="one", x=200)]
    found = findings.figures_of("thesis", plan, rows) \
        + findings.figures_of("scale-rate", plan, scaled)
    assert len(found) == 7
    for name, svg, _ in found:
        root = xml.etree.ElementTree.fromstring(svg)
        assert "href" not in svg and "url(" not in svg, name
        if "line" not in rows[0] and name.startswith("thesis-dots"):
            assert "a & <co>" in "".join(root.itertext())


def test_sentences():
    """Goal: factors are computed, and a missed goal is said to be missed."""
    rows = [row_of("a", 40.0), row_of("b", 4.0)]
    plan = {"baseline": "a", "best": "b"}
    assert "10.0 times" in findings.compare(plan, rows)
    assert "10.0 times less" in findings.thesis(rows)
    assert "goal" not in findings.thesis(rows)
    rows[1]["worst"] = 10.0
    assert "The goal was nine times" in findings.thesis(rows)
    assert "ahead in p99.9" in findings.goals(plan, rows)[0]
    assert "NOT ahead" in findings.goals(
        {"baseline": "b", "best": "a"}, rows)[0]


def test_report_words_are_escaped():
    """Goal: figure titles and table cells are text, not markup."""
    svg = figures.dots("<i>", [row_of("x", 3.0)])
    assert "<i>" not in svg and "&lt;i&gt;" in svg
