"""Goal: tailorctl probe shows what can be measured here."""

import json
import re

import pytest

from rig.wait import PATIENCE_S
from support.admin import http


# What an observer counts in a second, and what is said of it.
SECOND = {
    "samples_total": 4000, "cpu_seconds_total": 0.05,
    "sweeps_timed_total": 4, "blind_total": 2, "blind_seconds_total": 0.03,
    'sweep_cycles_total{source="orders"}': 800,
    'sweep_cycles_total{source="own"}': 400,
    'period_seconds_bucket{le="0.000131072"}': 1000,
    'period_seconds_bucket{le="0.000262144"}': 3970,
    'period_seconds_bucket{le="0.033554432"}': 4000,
    'period_seconds_bucket{le="+Inf"}': 4000,
}


def test_probe_running_observer(bare, admin):
    """Goal: the probe shows what the observer of a running tailor did in the
    last second: its counters' growth, not what they are."""
    turn = [7]

    def answer(connection):
        turn[0] += 1
        lines = [f"tailor_profiler_{name} {value * turn[0]}"
                 for name, value in SECOND.items()]
        connection.sendall(http(200, "\n".join(
            lines + ["tailor_profiler_blind_max_seconds 0.02", ""])))

    admin.answers["GET /metrics"] = answer
    done = bare("--admin", admin.path, "probe", "--json", wide=True)
    seen = json.loads(done.out)["observer"]
    assert seen["of"] == "of the running tailor"
    took = seen["seconds"]
    assert 1 <= took < PATIENCE_S
    assert seen["samples_per_s"] == pytest.approx(4000 / took, rel=1e-3)
    assert seen["cpu_part"] == pytest.approx(0.05 / took, rel=1e-3)
    assert (seen["blind"], seen["blind_max_seconds"]) == (2, 0.02)
    assert seen["blind_seconds"] == pytest.approx(0.03)
    assert seen["period_p50_under_ns"] == 2 ** 18
    assert seen["period_p999_under_ns"] == 2 ** 25
    assert seen["sweep_cycles"] == {
        "orders": 200, "pages": 0, "agents": 0, "channels": 0, "kernel": 0,
        "rates": 0, "own": 100}
    text = bare("--admin", admin.path, "probe").out
    assert "p50 <262us" in text and "together 300 cycles" in text


def test_probe_hostile_observer(bare, admin):
    """Goal: whatever /metrics says, the probe says something and ends."""
    admin.answers["GET /metrics"] = http(200, "".join(
        f"tailor_profiler_{name} {value}\n" for name in SECOND
        for value in ("nan", "-1e308", "1e308", "+Inf"))
        + 'tailor_profiler_period_seconds_bucket{le="1e300"} 5\n'
        + 'tailor_profiler_period_seconds_bucket{le="-1"} 5\n'
        + 'tailor_profiler_period_seconds_bucket{le="' + "9" * 90 + '"} 5\n')
    for more in ([], ["--json"]):
        done = bare("--admin", admin.path, "probe", *more, wide=bool(more))
        assert done.returncode == 0, done.err


def test_probe_asks_in_vain(bare, scratch):
    """Goal: a tailor that was named and is not there is reported; the rest is
    probed all the same."""
    result = bare("--admin", str(scratch / "none"), "probe")
    assert result.returncode == 1
    assert "no tailor at" in result.err and "hsperfdata" in result.out


@pytest.mark.parametrize("which", ["bare", pytest.param("ctl", marks=(
    pytest.mark.long("what the kernel's events cost is measured for long")))])
def test_probe(request, which):
    """Goal: each signal with what it gives; what is missing has a remedy."""
    run = request.getfixturevalue(which)
    text = run("probe").out
    found = json.loads(run("probe", "--json", wide=True).out)
    assert found["schema"] == "tailor.probe/1"
    names = [signal["name"] for signal in
             found["signals"] + found["kernel_signals"]]
    assert names == re.findall(r"^(?:yes|no ) +(\S+)", text, re.M)
    for one in found["signals"]:
        assert one["found"] and one["gives"]
        assert one["available"] or one["enable"]
