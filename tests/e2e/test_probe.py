"""Goal: `tailorctl probe` says what the machine offers, and what would give the
rest."""

import ctypes
import json
import os
import re
import struct

import pytest

from rig.process import output


def probe(build, **options):
    return json.loads(output(build / "tailorctl", "probe", "--json",
                             **options))


def test_signals(build, ctl):
    # Goal: each signal is there or has a reason, and says what it gives.
    found = probe(build)
    assert found["schema"] == "tailor.probe/1"
    names = [s["name"] for s in found["signals"]]
    assert {"clock", "pidfd", "hsperfdata", "agent", "bpf", "pmu"} <= {*names}
    for signal in found["signals"]:
        assert signal["found"] and signal["gives"]
        assert signal["available"] or signal["enable"]
    kernel = [s["name"] for s in found["kernel_signals"]]
    assert {"scheduler", "tcp", "socket", "pagefault"} <= {*kernel}
    for signal in found["kernel_signals"]:
        assert signal["available"] or signal["why"]
    assert names + kernel == re.findall(r"^(?:yes|no ) +(\S+)",
                                        ctl("probe").out, re.M)


def test_probe_beside_a_tailor(ctl, admin):
    # Goal: the CPU of a running tailor's observer is not taken: its metrics
    # have its cost.
    done = ctl("--admin", admin.path, "probe", "--json", wide=True)
    seen = json.loads(done.out)["observer"]
    assert seen["neighbour"] and "seconds" not in seen
    text = ctl("--admin", admin.path, "probe").out
    assert "tailorctl metrics --rates tailor_profiler" in text


BPF_CALL = {"x86_64": 321, "aarch64": 280}.get(os.uname().machine)


def refuse_bpf():
    """A seccomp filter as a container has one: bpf() gets EPERM."""
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    lines = [(0x20, 0, 0, 0), (0x15, 0, 1, BPF_CALL), (0x06, 0, 0, 0x50001),
             (0x06, 0, 0, 0x7fff0000)]
    code = ctypes.create_string_buffer(
        b"".join(struct.pack("HBBI", *line) for line in lines))
    program = struct.pack("HxxxxxxP", len(lines), ctypes.addressof(code))
    assert prctl(38, 1, 0, 0, 0) == 0  # PR_SET_NO_NEW_PRIVS
    assert prctl(22, 2, program) == 0  # PR_SET_SECCOMP


@pytest.mark.skipif(os.geteuid() != 0, reason="not root")
@pytest.mark.parametrize("name, before, why, remedy", [
    ("container", ["setpriv", "--inh-caps=-all",
                   "--bounding-set=-bpf,-perfmon,-sys_admin"],
     "CAP_BPF and CAP_PERFMON are missing: this root", "--cap-add BPF"),
    ("one of two", ["setpriv", "--inh-caps=-all",
                    "--bounding-set=-perfmon,-sys_admin"],
     "CAP_PERFMON is missing: this root", "--cap-add"),
    ("seccomp", [], "seccomp filter", "SystemCallFilter="),
])
def test_root_that_is_refused(build, name, before, why, remedy):
    # Goal: root hears what is missing or refuses, never to become root.
    if name == "seccomp" and BPF_CALL is None:
        pytest.skip("no number of bpf() for this machine")
    before_exec = refuse_bpf if name == "seccomp" else None
    found = json.loads(output(
        *before, build / "tailorctl", "--json", "probe",
        preexec_fn=before_exec, env={**os.environ, "TAILOR_ADMIN": ""}))
    bpf, = [s for s in found["signals"] if s["name"] == "bpf"]
    assert not bpf["available"]
    assert why in bpf["found"] and remedy in bpf["enable"]
    assert "root" not in bpf["enable"]
    assert all(why in s["why"] for s in found["kernel_signals"])


def become_nobody():
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)


def test_without_privilege(public):
    # Goal: without privilege the kernel's signals are off, each with the
    # reason, and the rest is reported all the same.
    found = probe(public, preexec_fn=become_nobody)
    for signal in found["kernel_signals"]:
        assert not signal["available"]
        assert "CAP_BPF" in signal["why"]
    bpf, = [s for s in found["signals"] if s["name"] == "bpf"]
    assert not bpf["available"] and "setcap" in bpf["enable"]
    clock, = [s for s in found["signals"] if s["name"] == "clock"]
    assert clock["available"]
    assert found["observer"]["neighbour"]


@pytest.mark.long("counts how often a thread ran in a second or so")
def test_observer_without_a_tailor(public):
    # Goal: where no tailor runs, an observer of the probe's own is reported:
    # how often it looked, for how long it was blind, what it cost.
    seen = probe(public, preexec_fn=become_nobody)["observer"]
    if "seconds" in seen:
        assert seen["samples_per_s"] > 0 and 0 < seen["cpu_part"] <= 1.5
        # It has nothing to poll, so it may rest between all of its sweeps.
        assert (0 <= seen["period_p50_under_ns"]
                <= seen["period_p999_under_ns"])
        assert seen["sweep_cycles"]["own"] > 0
