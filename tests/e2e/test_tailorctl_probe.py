"""Goal: tailorctl probe shows what can be measured here."""

import json
import re


def test_probe_beside_a_tailor(ctl, admin):
    """Goal: the CPU of a running tailor's observer is not taken: its metrics
    have its cost."""
    done = ctl("--admin", admin.path, "probe", "--json", wide=True)
    seen = json.loads(done.out)["observer"]
    assert seen["neighbour"] and "seconds" not in seen
    text = ctl("--admin", admin.path, "probe").out
    assert "tailorctl metrics --rates tailor_profiler" in text


def test_probe(ctl):
    """Goal: each signal with what it gives; what is missing has a remedy."""
    text = ctl("probe").out
    found = json.loads(ctl("probe", "--json", wide=True).out)
    assert found["schema"] == "tailor.probe/1"
    names = [signal["name"] for signal in
             found["signals"] + found["kernel_signals"]]
    assert names == re.findall(r"^(?:yes|no ) +(\S+)", text, re.M)
    for one in found["signals"]:
        assert one["found"] and one["gives"]
        assert one["available"] or one["enable"]
