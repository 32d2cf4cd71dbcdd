"""Goal: tailorctl finds its tailor, and says how it is used."""

import glob
import json
import os
import re
import socket

import pytest

from rig.process import ROOT, ran
from support.admin import http


@pytest.fixture(name="unseen")
def other_tailors_are_not_seen():
    """What precedes a command that must not find other tailors that run on
    this machine."""
    hide = ["unshare", "--mount", "sh", "-c",
            'mount -t tmpfs none /run && exec "$@"', "sh"]
    if ran(*hide, "true").returncode == 0:
        return hide
    if glob.glob("/run/tailor*/admin*.sock"):
        pytest.skip("a tailor may run here")
    return []


def test_no_tailor(ctl, scratch, unseen):
    """Goal: without a tailor, say where was looked and what to do."""
    env = {"XDG_RUNTIME_DIR": str(scratch), "TAILOR_ADMIN": ""}
    result = ctl("servers", env=env, wide=True, before=unseen)
    assert result.returncode == 1
    assert "no running tailor was found" in result.err
    assert f"{scratch}/tailor: No such file" in result.err
    assert "--admin" in result.err
    result = ctl("-a", f"{scratch}/none.sock", "info", wide=True)
    assert (result.returncode, result.err.count("\n")) == (1, 2)
    # The name of a file sends nothing to the terminal.
    os.mkdir(scratch / "tailor")
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(f"{scratch}/tailor/admin-\x1b[2J.sock")
    result = ctl("servers", env=env, wide=True, before=unseen)
    assert f"{scratch}/tailor/admin-?[2J.sock: Connection refused" \
        in result.err
    assert "\x1b" not in result.err


def test_finding_it(ctl, admin, scratch, unseen):
    """Goal: the environment names it, or it is in a usual place; sockets that
    killed tailors have left hide none that runs."""
    admin.answers["GET /info"] = http(200, "{}")
    for named in admin.path, f"unix:{admin.path}":
        assert ctl("info", env={"TAILOR_ADMIN": named}).returncode == 0
    os.mkdir(scratch / "tailor")
    for i in range(100):
        with socket.socket(socket.AF_UNIX) as left:
            left.bind(f"{scratch}/tailor/admin-{i}.sock")
    env = {"TAILOR_ADMIN": "", "XDG_RUNTIME_DIR": str(scratch)}
    result = ctl("info", env=env, wide=True, before=unseen)
    assert result.returncode == 1
    assert result.err.count("Connection refused") == 32
    for name in ("", "-50", "-x", "-99"):  # in the order that the directory has
        path = scratch / "tailor" / f"admin{name}.sock"
        os.rename(admin.path, path)
        assert ctl("info", env=env, before=unseen).returncode == 0
        if name:
            assert ctl("-a", name[1:], "info", env=env,
                       before=unseen).returncode == 0
        os.rename(path, admin.path)


def test_over_tcp(ctl, localhosts):
    """Goal: HOST:PORT works as well as a path; a name's later addresses are
    tried, too."""
    inside, servers = localhosts

    def answer(request):
        request.send(http(200, '{"schema":"tailor.info/1"}'))
        request.close()

    for server in servers:
        server.serve(answer)
        result = ctl("-a", f"localhost:{server.port}", "info", before=inside)
        assert (result.returncode, result.out) == (0, "schema: tailor.info/1\n"), result.err


def test_help_and_version(ctl):
    """Goal: --help fits a terminal and names every command; without a command
    it is shown in short."""
    result = ctl()
    assert result.returncode == 2
    lines = result.err.splitlines()
    assert "no command is given" in lines[0] and "tailorctl --help" in lines[1]
    assert len(lines) <= 24
    for command in ("servers", "why", "restart", "probe"):
        assert f"\n  {command} " in result.err
    result = ctl("--help")
    assert result.returncode == 0
    assert len(result.out.splitlines()) <= 66
    for command in ("servers", "slow", "why", "log", "metrics", "top",
                    "info", "undrain", "switch", "probe", "completion"):
        assert f"\n  {command}" in result.out
    assert re.fullmatch(r"tailorctl \d+\.\d+\.\d+\n", ctl("-V").out)


def test_events(ctl):
    """Goal: every event of the header, with its arguments, in 80 columns;
    --json has what the text has."""
    out = ctl("log", "--list").out
    known = re.findall(r"X\(\w+, (0x\w+), \"(\w+)\"", (
        ROOT / "talechain/talechain.h").read_text())
    assert len(known) > 30
    for number, name in known:
        assert re.search(rf"^{number} {name}\b", out, re.M), name
    assert "0x0101 wakeup to_tid to_pid context vector futex\n" in out
    assert re.search(r"^kind .*: gc safepoint exit ", out, re.M)
    tree = json.loads(ctl("log", "--list", "--json", wide=True).out)
    assert tree["schema"] == "tailor.events/1"
    lines = [" ".join([f"0x{e['number']:04x}", e["name"], *e["arguments"]])
             for e in tree["events"]]
    unfolded = re.sub(r"\n +", " ", out).splitlines()
    assert lines == [x for x in unfolded if x.startswith("0x")]
    assert tree["values"]["kind"][:3] == ["gc", "safepoint", "exit"]
