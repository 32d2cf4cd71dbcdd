"""The demonstration's driver: what it computes, prints and cleans up."""

import json
import os
import pathlib
import subprocess
import sys
import xml.etree.ElementTree

import pytest

DEMO = pathlib.Path(__file__).resolve().parents[2] / "examples" / "demo"
sys.path.insert(0, str(DEMO))

import chart  # noqa: E402
import heating  # noqa: E402
import load  # noqa: E402
import report  # noqa: E402
import web  # noqa: E402
from processes import Trouble  # noqa: E402


def figures(key, title, *values, **more):
    return {"key": key, "title": title,
            "iterations": [(v / 2, v) for v in values],
            "client_p50_ms": 1.0, "client_p99_ms": 2.0,
            "client_p999_ms": 3.0, "client_max_ms": max(values),
            "errors": 0, "trusted": True, **more}


def write_requests(directory, requests):
    with open(directory / "requests.ndjson", "w", encoding="utf-8") as file:
        for i, (ms, status) in enumerate(requests):
            line = {"i": 1 + i // 100, "n": 1 + i, "id": f"r{i}"}
            if status == 200:
                line.update(st=status, lat=int(ms * 1e6), srv=int(ms * 5e5))
            else:
                line.update(err="status" if status else "reset")
            file.write(json.dumps(line) + "\n")


def test_result_of_known_requests(scratch):
    """Goal: 200 known requests give the quantiles, errors and worst request
    they must give."""
    known = [(i + 1, 200) for i in range(200)]
    known[99] = (900, 503)
    known[150] = (901, 0)
    write_requests(scratch, known)
    result = load.Result(str(scratch), True)
    found = result.summary()
    answered = sorted(ms for ms, status in known if status == 200)
    assert found["requests"] == 200 and found["errors"] == 2
    assert found["client_p50_ms"] == answered[98]  # ceil(0.5 * 198)th
    assert found["client_p99_ms"] == answered[196]
    assert found["client_max_ms"] == 200
    assert found["server_max_ms"] == 100
    assert result.worst["id"] == "r199"
    assert [most for _, most in result.iterations] == [99, 200]


class Warmer:
    """Stands for the load generator: the JVMs named collect with each so
    many requests, and say so in their logs."""

    def __init__(self, directory, ports, each):
        self.sent = {name: 0 for name in ports}
        self.collected_at = {}
        self._directory = directory
        self._names = {port: name for name, port in ports.items()}
        self._each = each

    def warm_up(self, port, requests, rate):
        assert rate == heating.RATE
        name = self._names[port]
        before, self.sent[name] = self.sent[name], self.sent[name] + requests
        each = self._each[name]
        if each and before // each < self.sent[name] // each:
            self.collected_at[name] = self.sent[name]
            with open(self._directory / f"{name}-gc-1.log", "a",
                      encoding="utf-8") as file:
                file.write("[1.0s][info][gc] GC(0) Pause Young (Normal) "
                           "9M->1M(9M) 12.500ms\n")


@pytest.mark.parametrize("requests", (2000, 2250, 6000))
def test_servers_are_half_a_generation_apart(scratch, requests):
    """Goal: whatever they allocated before, one server has just collected
    when the measurement begins, and the other is half way to its next."""
    ports = {"a": 1, "b": 2}
    warmer = Warmer(scratch, ports, {"a": 2200, "b": 2350})
    heating.heat_apart(warmer, ports, scratch, requests)
    beyond = {name: warmer.sent[name] - warmer.collected_at[name]
              for name in ports}
    assert beyond == {"a": 0, "b": heating.GENERATION // 2}
    assert min(warmer.sent.values()) > requests


def test_a_server_that_never_collects(scratch):
    """Goal: a JVM without collections is reported, with its name, instead of
    being warmed for ever."""
    ports = {"a": 1, "b": 2}
    warmer = Warmer(scratch, ports, {"a": 1000, "b": 0})
    with pytest.raises(Trouble, match="server b has not collected"):
        heating.heat_apart(warmer, ports, scratch, 500)
    assert warmer.sent["b"] == 500 + 2 * heating.GENERATION


def test_table_fits_a_terminal():
    """Goal: no figure, however large, makes the report wider than 80
    columns or runs two columns into one."""
    wide = figures("d", "Tailor, acting", 12345.6, client_p50_ms=999.99,
                 client_p99_ms=12345.6, client_p999_ms=12345.6,
                 server_p99_ms=12345.6, server_max_ms=12345.6, errors=12345,
                 hedges=1234, extra_pct=9.99)
    row = report.table([wide]).splitlines()[-1]
    assert len(row) <= report.WIDTH
    assert len(row.split()) == 3 + 9
    for many in (1, 12, 13, 40):
        drawn = report.chart([figures(k, k, *[1.0] * many) for k in "abcd"])
        assert max(map(len, drawn.splitlines())) <= report.WIDTH


def test_chart_places_values():
    """Goal: each set-up's letter stands in the row of its value."""
    rows = report.chart([figures("a", "a", 1.0, 60.0),
                         figures("d", "d", 1.9, 2.0)]).splitlines()
    assert rows[0] == "    50 |   a"
    assert rows[-3:-1] == ["     2 |    d", "     1 |ad"]


def test_ratio():
    """Goal: watching over acting, and nothing if one is missing."""
    setups = [figures("c", "c", 60.0), figures("d", "d", 5.0)]
    assert report.ratio(setups, "c", "d", "client_max_ms") == 12
    assert report.ratio(setups[:1], "c", "d", "client_max_ms") is None


def test_send_delay_says_what_there_is():
    """Goal: quantiles if there are any, else buckets, else why not."""
    name = "tailor_hazard_last_hedge"
    assert "not in /metrics" in report.send_delay({})[0]
    assert "no request" in report.send_delay({f"{name}_seconds_count": 0})[0]
    metrics = {f"{name}_seconds_count": 4,
               f'{name}_seconds_bucket{{le="1e-05"}}': 0,
               f'{name}_seconds_bucket{{le="5e-05"}}': 3,
               f'{name}_seconds_bucket{{le="0.0001"}}': 4,
               f'{name}_seconds_bucket{{le="+Inf"}}': 4}
    assert report.send_delay(metrics) == [
        "75.0 % within 50 us", "100.0 % within 100 us", "of 4"]
    metrics[f'{name}_quantile_seconds{{quantile="0.5"}}'] = 20e-6
    assert report.send_delay(metrics) == ["p50 20.0 us", "of 4"]


def test_picture_is_whole():
    """Goal: the SVG is well-formed, refers to nothing outside, and has a
    point for every value."""
    setups = [figures(k, k, 1.0, 50.0, 7.0) for k in "abcd"]
    text = chart.svg(setups, "a < b & c")
    root = xml.etree.ElementTree.fromstring(text)
    circles = root.iter("{http://www.w3.org/2000/svg}circle")
    assert len(list(circles)) == 2 * 4 * 3
    assert "href" not in text and "url(" not in text


def test_ports_are_safe():
    """Goal: a port of ours cannot be given to an outgoing connection."""
    with open("/proc/sys/net/ipv4/ip_local_port_range",
              encoding="ascii") as file:
        first, last = map(int, file.read().split())
    for _ in range(20):
        assert not first <= web.free_port() <= last


LEAVER = """
import subprocess, sys
sys.path.insert(0, {demo!r})
import processes
from processes import Process, adopt_orphans, end_all
adopt_orphans()
# so many looks at who is there miss those that are just being born
misses, look = {misses}, processes.descendants
def descendants():
    global misses
    misses -= 1
    return [] if misses >= 0 else look()
processes.descendants = descendants
# a child that dies and leaves its own children behind, one of them deaf
p = Process(["sh", "-c", "sleep 987 & trap '' TERM; sleep 986 & echo $!"],
            {out!r})
p.child.wait()
end_all(patience_s=0.5)
"""


@pytest.mark.parametrize("misses", [0, 3])
def test_leaves_no_process(scratch, misses):
    """Goal: even orphaned, deaf and late-born descendants are ended."""
    script = LEAVER.format(demo=str(DEMO), out=str(scratch / "out"),
                           misses=misses)
    subprocess.run([sys.executable, "-c", script], check=True, timeout=30)
    pid = int((scratch / "out").read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_says_what_is_missing(scratch):
    """Goal: without programs it names the missing one and the command."""
    done = subprocess.run(
        [sys.executable, DEMO / "demo.py", "--build", scratch],
        capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
    assert done.returncode == 1
    assert done.stderr.startswith("demo: ")
    assert "is missing: make" in done.stderr \
        or "apt-get install" in done.stderr
