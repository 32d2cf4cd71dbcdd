"""Goal: tailorctl finds its tailor, and says how it is used."""

import glob
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import threading

import pytest

from rig.wait import PATIENCE_S
from support.admin import http


@pytest.fixture(name="unseen")
def other_tailors_are_not_seen():
    """What precedes a command that must not find other tailors that run on
    this machine."""
    hide = ["unshare", "--mount", "sh", "-c",
            'mount -t tmpfs none /run && exec "$@"', "sh"]
    if subprocess.run([*hide, "true"], stderr=subprocess.DEVNULL,
                      check=False).returncode == 0:
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
    result = ctl("-a", f"{scratch}/none.sock", "ready", wide=True)
    assert (result.returncode, result.err.count("\n")) == (1, 2)


def test_names_of_sockets_are_plain(ctl, scratch, unseen):
    """Goal: the name of a file sends nothing to the terminal."""
    os.mkdir(scratch / "tailor")
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(f"{scratch}/tailor/admin-\x1b[2J.sock")
    env = {"XDG_RUNTIME_DIR": str(scratch), "TAILOR_ADMIN": ""}
    result = ctl("servers", env=env, wide=True, before=unseen)
    assert f"{scratch}/tailor/admin-?[2J.sock: Connection refused" \
        in result.err
    assert "\x1b" not in result.err


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
@pytest.mark.parametrize("own", [False, True])
def test_directory_of_another_user(public, own, unseen):
    """Goal: a directory in /tmp that another user has made is not read."""
    user = 1_000_000 + os.getpid()  # of no test that runs beside this one
    place = pathlib.Path(f"/tmp/tailor-{user}")
    place.mkdir(mode=0o755)
    try:
        with socket.socket(socket.AF_UNIX) as left:
            left.bind(f"{place}/admin-x.sock")
        os.chown(place, user if own else 0, -1)
        os.chown(place / "admin-x.sock", user, -1)
        done = subprocess.run(
            [*unseen, "setpriv", f"--reuid={user}", "--clear-groups",
             public / "tailorctl", "servers"],
            env={}, text=True, capture_output=True, timeout=PATIENCE_S,
            check=False)
    finally:
        shutil.rmtree(place)
    assert done.returncode == 1
    assert (f"{place}: Operation not permitted" in done.stderr) \
        == ("admin-x.sock" not in done.stderr) == (not own)


def test_finding_it(ctl, admin, scratch, unseen):
    """Goal: the environment names it, or it is in a usual place."""
    admin.answers["GET /readyz"] = http(200, "ok\n")
    assert ctl("ready", env={"TAILOR_ADMIN": admin.path}).returncode == 0
    assert ctl("ready",
               env={"TAILOR_ADMIN": f"unix:{admin.path}"}).returncode == 0
    os.mkdir(scratch / "tailor")
    os.rename(admin.path, scratch / "tailor" / "admin.sock")
    env = {"TAILOR_ADMIN": "", "XDG_RUNTIME_DIR": str(scratch)}
    assert ctl("ready", env=env, before=unseen).returncode == 0


def test_finding_it_among_many(ctl, admin, scratch, unseen):
    """Goal: sockets that killed tailors have left hide none that runs."""
    admin.answers["GET /readyz"] = http(200, "ok\n")
    os.mkdir(scratch / "tailor")
    for i in range(100):
        with socket.socket(socket.AF_UNIX) as left:
            left.bind(f"{scratch}/tailor/admin-{i}.sock")
    env = {"TAILOR_ADMIN": "", "XDG_RUNTIME_DIR": str(scratch)}
    result = ctl("ready", env=env, wide=True, before=unseen)
    assert result.returncode == 1
    assert result.err.count("Connection refused") == 32
    for name in ("50", "x", "99"):  # in the order that the directory has
        path = scratch / "tailor" / f"admin-{name}.sock"
        os.rename(admin.path, path)
        assert ctl("ready", env=env, before=unseen).returncode == 0
        assert ctl("-a", name, "ready", env=env,
                   before=unseen).returncode == 0
        os.rename(path, admin.path)


def test_over_tcp(ctl, upstream):
    """Goal: HOST:PORT works as well as a path."""
    server = upstream("admin")

    def answer(request):
        request.send(http(200, "ok\n"))
        request.close()

    server.serve(answer)
    result = ctl("-a", server.address, "ready")
    assert (result.returncode, result.out) == (0, "ok\n")


def test_all_addresses_of_a_name(ctl, scratch):
    """Goal: a name's later addresses are tried, too."""
    hosts = scratch / "hosts"
    hosts.write_text("127.0.0.1 localhost\n::1 localhost\n")
    inside = ["unshare", "--mount", "sh", "-c",
              f'mount --bind {hosts} /etc/hosts && exec "$@"', "sh"]
    if subprocess.run([*inside, "true"], stderr=subprocess.DEVNULL,
                      check=False).returncode != 0:
        pytest.skip("unshare --mount is refused")

    def answer(listener):
        sock, _ = listener.accept()
        with sock:
            sock.recv(65536)
            sock.sendall(http(200, "ok\n"))

    for family, host in ((socket.AF_INET, "127.0.0.1"),
                         (socket.AF_INET6, "::1")):
        try:
            listener = socket.create_server((host, 0), family=family)
        except OSError:
            pytest.skip(f"this machine has no {host}")
        with listener:
            thread = threading.Thread(target=answer, args=(listener,),
                                      daemon=True)
            thread.start()
            result = ctl("-a", f"localhost:{listener.getsockname()[1]}",
                         "ready", before=inside)
        assert (result.returncode, result.out) == (0, "ok\n"), result.err


def test_bare(ctl):
    """Goal: without a command: the commands, in 80 columns."""
    result = ctl()
    assert result.returncode == 2
    lines = result.err.splitlines()
    assert "no command is given" in lines[0] and "tailorctl --help" in lines[1]
    assert len(lines) <= 24
    for command in ("servers", "why", "restart", "probe"):
        assert f"\n  {command} " in result.err


def test_help_and_version(ctl):
    """Goal: --help fits a terminal and names every command."""
    result = ctl("--help")
    assert result.returncode == 0
    assert len(result.out.splitlines()) <= 62
    for command in ("servers", "slow", "why", "log", "metrics", "pin", "top",
                    "info", "ready", "switch", "probe", "completion", "events"):
        assert f"\n  {command}" in result.out
    assert re.fullmatch(r"tailorctl \d+\.\d+\.\d+\n", ctl("-V").out)


def test_events(ctl):
    """Goal: every event of the header, with its arguments, in 80 columns."""
    out = ctl("events").out
    header = (pathlib.Path(__file__).resolve().parents[2]
              / "talechain/talechain.h").read_text()
    known = re.findall(r"X\(\w+, (0x\w+), \"(\w+)\"", header)
    assert len(known) > 30
    for number, name in known:
        assert re.search(rf"^{number} {name}\b", out, re.M), name
    assert max(map(len, out.splitlines())) <= 80
    assert "0x0101 wakeup to_tid to_pid context vector futex\n" in out
    assert re.search(r"^kind .*: gc safepoint exit ", out, re.M)


def test_events_as_json(ctl):
    """Goal: --json has what the text has."""
    out = ctl("events").out
    tree = json.loads(ctl("events", "--json", wide=True).out)
    assert tree["schema"] == "tailor.events/1"
    lines = [" ".join([f"0x{e['number']:04x}", e["name"], *e["arguments"]])
             for e in tree["events"]]
    unfolded = re.sub(r"\n +", " ", out).splitlines()
    assert lines == [x for x in unfolded if x.startswith("0x")]
    assert tree["values"]["kind"][:3] == ["gc", "safepoint", "exit"]


def test_completion(ctl, build):
    """Goal: bash takes the script, and completes commands and options."""
    script = ctl("completion", "bash", wide=True).out

    def complete(*words):
        done = subprocess.run(
            ["bash", "-c", script + "COMP_WORDS=(\"$@\"); COMP_CWORD=$(("
             "$# - 1)); _tailorctl; echo \"${COMPREPLY[*]}\"", "bash", *words],
            capture_output=True, text=True, check=True, env={
                **os.environ, "PATH": f"{build}:{os.environ['PATH']}"})
        assert not done.stderr
        return done.stdout.split()

    assert complete("tailorctl", "se") == ["servers"]
    assert complete("tailorctl", "slow", "--nu") == ["--number"]
    assert complete("tailorctl", "slow", "--ca") == ["--cause"]
    assert complete("tailorctl", "why", "--ht") == ["--html"]
    assert complete("tailorctl", "top", "--b") == ["--by"]
    assert complete("tailorctl", "servers", "--nu") == []
    assert complete("tailorctl", "top", "--by", "") == [
        "cause", "path", "latency", "cpu", "waker"]
    assert complete("tailorctl", "completion", "z") == ["zsh"]


def test_completion_of_values(ctl, build, admin):
    """Goal: servers, ids and causes come from the running tailor; what a
    client wrote into its path is never run."""
    script = ctl("completion", "bash", wide=True).out
    admin.answers["GET /servers"] = http(200, json.dumps(
        {"servers": [{"name": "north"}, {"name": "south"}]},
        separators=(",", ":")))
    admin.answers["GET /slow?n=20"] = http(200, json.dumps({"slow": [
        {"id": "req-1", "cause": "gc", "target": "/search?q=1"},
        {"id": "x$(echo pwned)", "cause": "lock", "target": "/$(echo pwned)"},
        {"id": "`echo pwned`", "cause": "lock", "target": "/a'b"}]},
        separators=(",", ":")))

    def complete(*words):
        done = subprocess.run(
            ["bash", "-c", script + "COMP_WORDS=(\"$@\"); COMP_CWORD=$(("
             "$# - 1)); _tailorctl; echo \"${COMPREPLY[*]}\"", "bash",
             "tailorctl", "-a", admin.path, *words], capture_output=True,
            text=True, check=True, env={
                **os.environ, "PATH": f"{build}:{os.environ['PATH']}"})
        assert not done.stderr and "pwned" not in done.stdout
        return done.stdout.split()

    assert complete("drain", "")[-2:] == ["north", "south"]
    assert complete("drain", "s") == ["south"]
    assert complete("why", "r") == ["req-1"]
    assert complete("why", "x") == complete("why", "$") == []
    assert complete("slow", "--cause", "") == ["gc", "lock"]
    assert complete("slow", "--path", "") == ["/search"]
