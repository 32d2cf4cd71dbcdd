"""Goal: what is wrong at the start is said once, with what to do, and
whatever can still be served is served."""

import json
import os
import subprocess

import pytest

from rig.client import Client
from rig.ports import free_port
from rig.process import ran
from rig.wait import PATIENCE_S
from support import schema
from support.admin import http

KERNEL_EVENTS = "off"


def test_all_errors_at_once(build, tmp_path):
    # Goal: one run shows every error, with its place and its range.
    file = tmp_path / "bad.json"
    file.write_text("""{
  "listen": "127.0.0.1:99999",   // no such port
  "servers": [{"address": "127.0.0.1:1", "jvm": "drown"}],
  "hedgin": {"mode": "act"},
  "proxy": {"header_timeout": "-1s",},
}""")
    status, out, err = ran(build / "tailor", "-t", "-c", str(file))
    assert status == 1 and out == ""
    assert "bad.json:2:13" in err and "1..65535" in err
    assert "hsperfdata" in err
    assert 'did you mean hedging?' in err
    assert "proxy.header_timeout" in err
    assert len(err.splitlines()) == 4
    assert all(line.startswith("tailor: ") for line in err.splitlines())


def test_good_configuration(build, tmp_path):
    # Goal: -t says in a line what is good; -T prints what can be read again.
    file = tmp_path / "good.json"
    file.write_text('{"listen": ":0", "servers": '
                    '[{"address": "127.0.0.1:1"}]}')
    assert ran(build / "tailor", "-t", "-c", str(file)) == (
        0, f"configuration {file} is ok: 1 server, listens on :0\n", "")
    assert ran(build / "tailor", "-t", "--listen", ":0,127.0.0.1:7", "--active",
               "127.0.0.1:1", "--backup", "127.0.0.1:2")[1] == (
        "configuration (no file) is ok: 2 servers, listens on :0, "
        "127.0.0.1:7\n")
    status, out, _ = ran(build / "tailor", "-T", "-c", str(file))
    assert status == 0
    again = tmp_path / "again.json"
    again.write_text(out)
    assert ran(build / "tailor", "-T", "-c", str(again))[1] == out
    assert json.loads(out)["hedging"]["mode"] == "act"


def test_a_token_that_cannot_be_used(build, tmp_path):
    # Goal: -t finds what would stop a start.
    file, token = tmp_path / "good.json", tmp_path / "token"
    file.write_text(json.dumps({
        "listen": ":0", "servers": [{"address": "127.0.0.1:1"}],
        "talechain": {"token_file": str(token)}}))

    def judged():
        status, out, err = ran(build / "tailor", "-t", "-c", str(file))
        return status if out else (status, err)

    assert judged() == (
        1, "tailor: talechain.token_file: No such file or directory: "
        "the file must be there and readable for tailor's user\n")
    token.touch(0o600)
    token.write_text("short\n")
    assert judged()[0] == 1
    token.write_text("0123456789abcdef\n")
    assert judged() == 0


def test_environment(build, tmp_path):
    # Goal: a key in the environment wins over the file, the command line
    # over both; what is wrong names the variable, what is no key is ignored.
    file = tmp_path / "good.json"
    file.write_text('{"listen": ":0", "proxy": {"body_max": "10k", '
                    '"connections_max": 50, "websocket": false}, '
                    '"servers": [{"address": "127.0.0.1:1"}]}')
    env = {"TAILOR_PROXY_BODY_MAX": "12k", "TAILOR_PROXY_CONNECTIONS_MAX": "60",
           "TAILOR_SERVERS_1_ADDRESS": "127.0.0.1:2", "TAILOR_NO_KEY": "x",
           "TAILOR_HEDGING_TRIGGERS": "gc,exit"}

    def dump(**more):
        return ran(build / "tailor", "-T", "-c", file, "--set",
                   "proxy.connections_max=70", env={**env, **more})[1:]

    out = json.loads(dump()[0])
    assert out["proxy"]["body_max"] == "12k"
    assert out["proxy"]["connections_max"] == 70 and out["proxy"]["websocket"] is False
    assert [s["address"] for s in out["servers"]] == ["127.0.0.1:1",
                                                      "127.0.0.1:2"]
    assert out["hedging"]["triggers"] == ["gc", "exit"]
    _, err = dump(TAILOR_PROXY_WEBSOCKET="perhaps", TAILOR_SERVERS_0_JVM="drown")
    assert "proxy.websocket: set by TAILOR_PROXY_WEBSOCKET" in err
    assert "servers[0].jvm: set by TAILOR_SERVERS_0_JVM" in err
    assert len(err.splitlines()) == 4
    # A slip is reported and does no harm; others' variables are not ours.
    out, err = dump(TAILOR_HEDGING_MOD="act", TAILOR_RUN="x",
                    TAILOR_SERVERS_0_ADRESS="127.0.0.1:3")
    assert json.loads(out)["hedging"]["mode"] == "act"
    assert len(err.splitlines()) == 2 and "TAILOR_RUN" not in err
    assert ("TAILOR_HEDGING_MOD in the environment is not a key and is ignored; "
            "did you mean TAILOR_HEDGING_MODE?") in err
    assert "did you mean TAILOR_SERVERS_0_ADDRESS?" in err


def members(value, path=""):
    """The keys of a configuration, those of its first server."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return members(value[0], path)
    if not isinstance(value, dict):
        return {path}
    return set().union(*(members(v, f"{path}.{k}")
                         for k, v in value.items())) if value else {path}


def described(one, path=""):
    """The keys of a schema."""
    one = one.get("items", one) if one.get("type") == "array" else one
    if "properties" not in one:
        return {path}
    return set().union(*(described(v, f"{path}.{k}")
                         for k, v in one["properties"].items()))


def test_schema(build, tmp_path):
    # Goal: the schema has every key and no other, takes what tailor takes
    # and refuses wrong names, types and ranges.
    status, out, _ = ran(build / "tailor", "--schema")
    assert status == 0
    ours = json.loads(out)
    file = tmp_path / "good.json"
    text = {"listen": [":0"], "servers": [
        {"address": "127.0.0.1:1", "connections_max": 7,
         "launch": {"command": "/bin/true", "environment": {"A": "b"}}},
        {"address": "127.0.0.1:2"}],
        "proxy": {"header_timeout": 1.5, "body_max": "12k"},
        "profiler": {"poll": "sleep:1ms", "cpu": 0},
        "hedging": {"triggers": "gc", "budget_ratio": 0.5}}
    file.write_text(json.dumps(text))
    schema.check(text, ours)
    status, out, _ = ran(build / "tailor", "-T", "-c", str(file))
    assert status == 0
    schema.check(json.loads(out), ours)
    assert described(ours) == members(json.loads(out))
    for section, key, value in [
            ("proxy", "header_timeout", "soon"), ("proxy", "websocket", "yes"),
            ("proxy", "header_timeout", -1), ("hedging", "mode", "dance"),
            ("proxy", "body_maxx", 1), ("proxy", "body_max", 2 ** 50),
            ("hedging", "triggers", ["gc", "moon"])]:
        bad = json.loads(json.dumps(text))
        bad.setdefault(section, {})[key] = value
        with pytest.raises(AssertionError):
            schema.check(bad, ours)
        file.write_text(json.dumps(bad))
        assert ran(build / "tailor", "-t", "-c", str(file))[0] == 1, (key, value)


def test_nothing_to_do(build):
    # Goal: without a server or listener the first step is shown; a key of the
    # command line that is none has the one that is meant.
    for arguments, said in ((), "tailor --listen :8080 --active 127.0.0.1:"), (
            ("--set", "servers.x.address=:1"), "did you mean servers[0].addr"):
        status, _, err = ran(build / "tailor", *arguments)
        assert status == 1 and said in err


def test_help_fits_a_terminal(build):
    # Goal: --help is 80 columns at most and names every option.
    status, out, _ = ran(build / "tailor", "--help")
    assert status == 0
    assert all(len(line) <= 80 for line in out.splitlines())
    for option in ("--listen", "--active", "--backup", "--admin", "--test"):
        assert option in out


def test_cpu_that_may_not_be_used(upstream, tailor):
    # Goal: no such CPU: said, and everything runs unpinned.
    server = upstream("active").serve()
    t = tailor(server, proxy={"cpu": "1000"}, profiler={"cpu": "1000"})
    t.wait_log(r"not_pinned .*(advice|do)=")
    with t.client() as c:
        assert c.get().status == 200


def test_the_line_of_each_server_and_the_last_one(upstream, tailor):
    # Goal: with servers that run already the log says of each what is
    # observed, and at the end, once, where clients connect and what each
    # server does; the one that does not run is not found yet.
    server = upstream("a")
    address = f"127.0.0.1:{free_port()}"
    t = tailor(server, {"name": "b", "address": address}, ready="one")
    line = t.wait_log(" ready route=")
    route = f'route="127.0.0.1:{t.port} -> a (active, collections not visible)'
    assert f'{route}, b (connecting, not found yet)" mode=act' in line, t.log
    seen = t.wait_log("server_observed server=a ")
    assert t.lines.index(seen) < t.lines.index(line)
    assert 'sees="end, restart"' in seen
    assert 'misses="collections: CPython is probed only on request; ' in seen
    assert 'do="--set servers.0.jvm=usdt; --set profiler.kernel=lite"' in seen
    # And it stays to be read: /servers has the same.
    kernel = {"signals": "stops, quota, kernel events",
              "why": "not configured: profiler.kernel is off",
              "do": "--set profiler.kernel=lite"}
    assert t.server("a")["misses"] == [
        {"signals": "collections", "do": "--set servers.0.jvm=usdt",
         "why": "CPython is probed only on request"}, kernel]
    lost = t.wait_log("server_not_found server=b ")
    assert "nothing listens" in lost and 'do="start it, or' in lost
    (miss,) = t.server("b")["misses"]
    assert miss["signals"] == "its process"
    assert miss["do"].startswith("start it, or correct servers[].address")
    # Not again when the other one responds.
    upstream("b", port=int(address.rpartition(":")[2]))
    t.wait_log("server_ready server=b")
    t.wait_log("server_observed server=b")
    assert t.log.count(" ready route=") == 1
    t._wait_for(lambda: kernel in t.server("b")["misses"], "b misses it")


def test_an_address_behind_a_gateway(upstream, tailor):
    # Goal: where packets to a server leave this machine's networks, the log
    # says that a gateway may answer in its place.
    with open("/proc/net/route", encoding="ascii") as routes:
        if not any(line.split()[1] == "00000000" and
                   line.split()[2] != "00000000" for line in routes):
            pytest.skip("this machine has no gateway")
    t = tailor(upstream("a"), {"name": "b", "address": "203.0.113.1:9"},
               ready="one")
    line = t.wait_log("server_not_found server=b ")
    assert " warning " in line and "go to a gateway" in line
    assert 'do="correct servers[].address, or' in line


def test_no_server_responds(upstream, tailor):
    # Goal: what is waited for is in the log once clients are refused for it;
    # the last line comes when it is true.
    port = free_port()
    t = tailor({"name": "a", "address": f"127.0.0.1:{port}"}, ready=False,
               proxy={"server_wait": "1s"}, hedging={"mode": "watch"})
    line = t.wait_log("not_ready")
    assert f"127.0.0.1:{t.port} -> a (active, connecting, not found yet)" in line
    assert (f'waits_for="a to respond at 127.0.0.1:{port} '
            '(nothing listens on its address here)"') in line
    assert " ready route" not in t.log
    upstream("a", port=port)
    line = t.wait_log(" ready route=")
    assert "a (active, " in line and line.endswith(" mode=watch")
    assert t.log.count("not_ready") == 1


@pytest.mark.parametrize("program", ["tailorctl", "tailor-load"])
def test_closed_output(build, tmp_path, upstream, admin, program):
    # Goal: what is opened first is not taken for a closed standard output,
    # and nothing is printed into it; of tailor see test_rights.py.
    server = upstream("active").serve()
    admin.answers["GET /info"] = http(200, "{}")
    arguments = {
        "tailorctl": ["-a", admin.path, "info"],
        "tailor-load": ["-i", "1", "-n", "5", "-r", "100", "-o",
                        tmp_path / "out", f"http://{server.address}/"]}
    child = subprocess.Popen(["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh",
                              build / program, *arguments[program]])
    try:
        # 4: it says that this machine was late.
        assert child.wait(PATIENCE_S) in (
            (0, 4) if program == "tailor-load" else (0,))
    finally:
        child.kill()
        child.wait()
    if program == "tailor-load":
        assert json.loads((tmp_path / "out" / "run.json").read_text())


def at_localhost(server, **more):
    return {"name": server.name, "address": f"localhost:{server.port}", **more}


def test_either_address_of_localhost(upstream, tailor):
    # Goal: a server at localhost is reached and its process found where it
    # listens, 127.0.0.1 or ::1, also when that changes.
    port = free_port()
    try:
        six = upstream("six", port=port, host="::1")
    except OSError:
        pytest.skip("this machine has no ::1")
    t = tailor(at_localhost(six.serve()))
    t.wait_server("six", state="ready", pid=os.getpid())
    assert t.client().get("/").body == b"six"
    six.close()
    four = upstream("four", port=port).serve()
    assert t.client().get("/").body == b"four"
    four.close()
    six = upstream("six", port=port, host="::1").serve()
    assert t.client().get("/").body == b"six"


def test_without_ipv6(upstream, tailor, faults):
    # Goal: ":PORT" is all addresses that there are, and localhost is
    # 127.0.0.1.
    faults(ipv6=1)
    port, collectors = free_port(), free_port()
    server = upstream("active").serve()
    t = tailor(at_localhost(server),
               {"name": "dead", "address": f"localhost:{free_port()}"},
               ready="one", listen=[f":{port}"],
               metrics={"listen": f":{collectors}"})
    t.wait_log(f"0.0.0.0:{port}")
    t.wait_log("server_not_found server=dead ")
    assert t.client().get("/").body == b"active"
    with Client(("127.0.0.1", collectors)) as client:
        assert client.get("/metrics").status == 200
