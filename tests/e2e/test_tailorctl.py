"""Goal: tailorctl shows what an admin socket says, and survives what it says.

A stub admin server on a Unix socket gives the answers, good ones and hostile
ones; the event stream comes from a small program (talechain_stream.c) that
writes a real one.
"""

import json
import os
import pathlib
import re
import select
import signal
import socket
import subprocess
import threading

import pytest

from support.wait import PATIENCE_S, wait_until

SERVERS = {
    "schema": "tailor.servers/1", "mode": "act", "active": "north",
    "servers": [
        {"name": "north", "address": "127.0.0.1:9001", "pid": 812,
         "state": "ready", "active": True, "hazards": ["gc", "safepoint"],
         "source": "agent", "detail": "OpenJDK 17", "inflight": 3,
         "draining": 1, "connections": {"idle": 5, "busy": 4},
         "p50_ns": 813000, "p95_ns": 41200000, "restarts": 2, "errors": 7},
        {"name": "a-backup-with-quite-a-long-name", "address": "unix:/s",
         "pid": 0, "state": "down", "active": False, "hazards": [],
         "source": "none", "detail": "x" * 300},
    ]}
SLOW = {
    "schema": "tailor.slow/1", "slow": [
        {"id": "req-1", "request": "00000000000000a1", "method": "GET",
         "target": "/search?q=" + "tail+" * 40, "status": 200,
         "total_ns": 41234567, "winner": "north", "attempts": 2,
         "trigger": "gc", "finished": "2026-10-04T10:15:03.412345Z",
         "cause": "gc", "share_ns": 39000000, "told_ns": 41234567,
         "verdict": "39.0 of 41.2 ms: north collected garbage. " * 4,
         "reason": "target", "earlier_boot": True}]}
METRICS = """# HELP tailor_requests_total Requests.
# TYPE tailor_requests_total counter
tailor_requests_total{code="2xx",path="a b}\\" c"} 1500
tailor_swaps_total 0
tailor_seconds_bucket{le="+Inf"} 12
tailor_open 2.5
not a sample at all
"""


def http(status, body, length=None):
    """A reply as the admin server sends it."""
    data = body if isinstance(body, bytes) else body.encode()
    size = len(data) if length is None else length
    return (f"HTTP/1.1 {status} X\r\nContent-Type: text/plain\r\n"
            f"Content-Length: {size}\r\nConnection: close\r\n\r\n"
            ).encode() + data


class Admin:
    """Answers every connection from a table: request line -> bytes or a
    function that gets the socket."""

    def __init__(self, path):
        self.path = str(path)
        self.answers = {}
        self.asked = []
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(self.path)
        self._socket.listen()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self):
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                head = b""
                while b"\r\n\r\n" not in head:
                    head += connection.recv(4096) or b"\r\n\r\n"
                asked = b" ".join(head.split(b" ")[:2]).decode()
                self.asked.append(asked)
                answer = self.answers.get(
                    asked, http(404, '{"error":"unknown"}'))
                try:
                    if callable(answer):
                        answer(connection)
                    else:
                        connection.sendall(answer)
                except OSError:
                    pass  # tailorctl had enough

    def close(self):
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(PATIENCE_S)


@pytest.fixture
def admin(scratch):
    server = Admin(scratch / "admin.sock")
    yield server
    server.close()


@pytest.fixture
def ctl(build):
    """Runs tailorctl; no output may be wider than 80 columns."""
    def run(*arguments, env=None, wide=False, before=()):
        result = subprocess.run(
            [*before, build / "tailorctl", *arguments], stdin=subprocess.DEVNULL,
            capture_output=True, timeout=PATIENCE_S, check=False,
            env={**os.environ, "TZ": "UTC", **(env or {})})
        result.out = result.stdout.decode()
        result.err = result.stderr.decode()
        if not wide:
            for line in (result.out + result.err).splitlines():
                assert len(line) <= 80, line
        return result
    return run


@pytest.fixture
def bare(ctl):
    """The same without capabilities, so that nothing is measured that needs
    them."""
    def run(*arguments, **more):
        return ctl(*arguments, before=["setpriv", "--bounding-set=-all",
                                       "--inh-caps=-all"], **more)
    return run if os.geteuid() == 0 else ctl


@pytest.fixture
def ask(ctl, admin):
    """Runs tailorctl against the stub."""
    def run(*arguments, **more):
        return ctl("--admin", admin.path, *arguments, **more)
    return run


def test_servers_table(ask, admin):
    """Goal: every server with state, hazards and counts, in 80 columns."""
    admin.answers["GET /servers"] = http(200, json.dumps(SERVERS))
    result = ask("servers")
    assert result.returncode == 0, result.err
    lines = result.out.splitlines()
    assert lines[0] == "mode act"
    assert lines[2].split() == ["*", "north", "ready", "gc,safepoint", "3",
                                "813us", "41.2ms", "agent"]
    assert "2 restarts, 7 errors" in lines[4]
    assert lines[5].split() == ["a-backup-wi...", "down", "-", "0", "-", "-",
                                "none"]


def test_json_is_passed_on(ask, admin):
    """Goal: --json gives the tailor's own JSON, unchanged."""
    admin.answers["GET /servers"] = http(200, json.dumps(SERVERS))
    result = ask("servers", "--json", wide=True)
    assert result.returncode == 0 and json.loads(result.out) == SERVERS


def test_slow_table(ask, admin):
    """Goal: a slow request, its cause and verdict, the id that "why" takes."""
    admin.answers["GET /slow?n=5"] = http(200, json.dumps(SLOW))
    result = ask("slow", "-n", "5")
    assert result.returncode == 0, result.err
    lines = result.out.splitlines()
    assert lines[1].startswith("10-04 10:15  41.2ms gc             north ")
    assert lines[2].startswith("    39.0 of 41.2 ms: north collected garbage")
    assert lines[-1] == "    why req-1 (earlier boot)"
    assert json.loads(ask("slow", "-n", "5", "-j", wide=True).out) == SLOW


def test_slow_filters(ask, admin):
    """Goal: filters reach the tailor, escaped."""
    asked = "GET /slow?n=20&since=5400&cause=gc&path=%2Fa%20b%26n%3D1"
    admin.answers[asked] = http(200, json.dumps(SLOW))
    assert ask("slow", "--since", "1.5h", "--cause", "gc", "--path",
               "/a b&n=1").returncode == 0
    assert ask("slow", "--since", "soon").returncode == 2


def test_why_formats(ask, admin, scratch):
    """Goal: each form is asked for by its name, and written as it came."""
    body = b"<!DOCTYPE html>\x00\xff"
    for option in ("html", "svg", "chrome", "json"):
        admin.answers[f"GET /timeline/7?format={option}"] = http(200, body)
        path = scratch / option
        result = ask("why", "7", f"--{option}", "-o", str(path))
        assert (result.returncode, result.out) == (0, ""), result.err
        assert path.read_bytes() == body
    result = ask("why", "7", "--html", "-o", str(scratch / "no" / "such"))
    assert result.returncode == 1 and "No such file" in result.err


def test_pin(ask, admin):
    """Goal: pinning is a POST, and says whether it worked."""
    admin.answers["POST /pin?id=a%2Fb"] = http(200, '{"pinned":true}')
    assert ask("pin", "a/b").out == "pinned\n"
    assert ask("pin", "none").returncode == 1


def test_why(ask, admin):
    """Goal: the timeline as text, or as JSON; the id is escaped."""
    admin.answers["GET /timeline/a%20b%2Fc"] = http(200, "38 ms: GC\n│▇▇│\n")
    admin.answers["GET /timeline/7?format=json"] = http(200, '{"a":1}')
    assert ask("why", "a b/c").out == "38 ms: GC\n│▇▇│\n"
    assert ask("why", "7", "--json").out == '{"a":1}\n'


@pytest.mark.parametrize("status", [404, 410, 500, 503])
def test_refusals_are_said(ask, admin, status):
    """Goal: an error of the tailor's is shown, and is exit status 1."""
    admin.answers["GET /timeline/7"] = http(status, '{"error":"gone by now"}')
    result = ask("why", "7")
    assert (result.returncode, result.out) == (1, "")
    assert result.err == "tailorctl: gone by now\n"


def test_ready_and_switch(ask, admin):
    """Goal: exit status and words tell whether it worked."""
    admin.answers["GET /readyz"] = http(200, "ok\n")
    assert (ask("ready").returncode, ask("ready").out) == (0, "ok\n")
    admin.answers["GET /readyz"] = http(503, "no server is ready\n")
    assert ask("ready").returncode == 1
    assert ask("ready").err == "tailorctl: no server is ready\n"
    assert json.loads(ask("ready", "-j").out) == {"ready": False,
                                                  "status": 503}
    admin.answers["POST /switch"] = http(409, '{"error":"standby is down"}')
    assert ask("switch").returncode == 1
    admin.answers["POST /switch"] = http(200, '{"active":"south"}')
    assert ask("switch").out == "active: south\n"
    assert ask("switch", "--json").out == '{"active":"south"}\n'
    assert "POST /switch" in admin.asked and "GET /switch" not in admin.asked


def test_info(ask, admin):
    """Goal: nested members as indented lines."""
    admin.answers["GET /info"] = http(200, json.dumps(
        {"version": "0.1.0", "placement": {"why": "2 CPUs", "cpus": [0, 1]}}))
    assert ask("info").out.splitlines() == [
        "version: 0.1.0", "placement", "    why: 2 CPUs", "    cpus",
        "        - 0", "        - 1"]


def test_stat(ask, admin):
    """Goal: counters without zeros and histogram parts; --all has them."""
    admin.answers["GET /metrics"] = http(200, METRICS)
    rows = ask("stat", "--once").out.splitlines()[1:]
    assert [row.split()[-1] for row in rows] == ["1500", "2.5"]
    rows = ask("stat", "-1", "--all", "swaps").out.splitlines()[1:]
    assert [row.split() for row in rows] == [["tailor_swaps_total", "0"]]
    samples = json.loads(ask("metrics", "--json", wide=True).out)["samples"]
    assert len(samples) == 4
    assert samples[0]["name"].endswith('path="a b}\\" c"}')


def test_stat_rates(build, admin):
    """Goal: two readings 100 apart give a positive change per second."""
    value = [1000]

    def answer(connection):
        value[0] += 100
        connection.sendall(http(200, f"a_total {value[0]}\nb 5\n"))

    admin.answers["GET /metrics"] = answer
    with subprocess.Popen([build / "tailorctl", "-a", admin.path, "stat",
                           "--json", "-i", "0.05"], text=True,
                          stdout=subprocess.PIPE) as child:
        first = json.loads(child.stdout.readline())["samples"]
        second = json.loads(child.stdout.readline())["samples"]
        child.terminate()
    assert first[0] == {"name": "a_total", "value": 1100, "per_second": 0}
    assert second[0]["value"] == 1200 and second[0]["per_second"] > 0
    assert second[1]["per_second"] == 0


def endless(connection):
    """More bytes than anybody wants."""
    connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        connection.sendall(b"x" * 65536)


def drip(connection):
    """Never finished: tailorctl leaves first."""
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{")
    connection.recv(1)


@pytest.mark.parametrize("reply, complaint", [
    (b"", "no end of its head"),
    (b"\x00\xff" * 400, "no end of its head"),
    (b"SSH-2.0-OpenSSH_9\r\n\r\n", "not HTTP/1"),
    (b"HTTP/1.1 2 OK\r\n\r\n", "not HTTP/1"),
    (b"HTTP/1.1 20000 OK\r\n\r\n", "not HTTP/1"),
    (http(200, '{"a":', length=50), "cut short"),
    (http(200, "", length="9" * 30), "not one number"),
    (http(200, "", length="-1"), "not one number"),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
     "encoded"),
    (http(200, "<html>"), "not JSON"),
    (http(200, "[" * 100000), "not JSON"),
    (http(500, b"\x1b[2J" * 500), "status 500"),
    (endless, "larger than 16 MiB"),
    (drip, "no answer within 0.2 s"),
])
def test_hostile_replies(ask, admin, reply, complaint):
    """Goal: whatever comes, one message and exit status 1, soon."""
    admin.answers["GET /servers"] = reply
    timeout = "0.2" if reply is drip else "20"
    result = ask("servers", "-t", timeout)
    assert (result.returncode, result.out) == (1, "")
    assert complaint in result.err and result.err.count("\n") == 1


@pytest.mark.parametrize("wrong", [
    "null", "7", "[]", '{"servers":7}', '{"servers":[7,null,"x",{}]}',
    '{"servers":[{"name":7,"hazards":[1,{}],"inflight":"x","p50_ns":1e300}]}',
])
def test_unexpected_json(ask, admin, wrong):
    """Goal: JSON of another shape is shown as unknown, not trusted."""
    admin.answers["GET /servers"] = http(200, wrong)
    assert ask("servers").returncode == 0


def test_no_escape_reaches_the_terminal(ask, admin):
    """Goal: terminal control in an answer is made harmless everywhere."""
    evil = "a\x1b]0;owned\x07\x9b2J\u009b1mé"
    tree = {"mode": evil, "servers": [{"name": evil, "detail": evil}]}
    admin.answers["GET /servers"] = http(200, json.dumps(tree))
    admin.answers["GET /timeline/x"] = http(200, evil)
    admin.answers["GET /timeline/y"] = http(404, json.dumps({"error": evil}))
    admin.answers["GET /info"] = http(200, json.dumps({evil: [evil]}))
    for result in (ask("servers"), ask("why", "x"), ask("why", "y"),
                   ask("info")):
        shown = result.out + result.err
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", shown), shown
        assert "owned" in shown


def test_no_tailor(ctl, scratch):
    """Goal: without a tailor, say where was looked and what to do."""
    env = {"XDG_RUNTIME_DIR": str(scratch), "TAILOR_ADMIN": ""}
    result = ctl("servers", env=env, wide=True)
    assert result.returncode == 1
    assert "no running tailor was found" in result.err
    assert f"{scratch}/tailor/admin.sock" in result.err
    assert "--admin" in result.err
    result = ctl("-a", f"{scratch}/none.sock", "ready", wide=True)
    assert (result.returncode, result.err.count("\n")) == (1, 1)


def test_finding_it(ctl, admin, scratch):
    """Goal: the environment names it, or it is in a usual place."""
    admin.answers["GET /readyz"] = http(200, "ok\n")
    assert ctl("ready", env={"TAILOR_ADMIN": admin.path}).returncode == 0
    assert ctl("ready",
               env={"TAILOR_ADMIN": f"unix:{admin.path}"}).returncode == 0
    os.mkdir(scratch / "tailor")
    os.rename(admin.path, scratch / "tailor" / "admin.sock")
    env = {"TAILOR_ADMIN": "", "XDG_RUNTIME_DIR": str(scratch)}
    if not os.path.exists("/run/tailor/admin.sock"):
        assert ctl("ready", env=env).returncode == 0


def test_over_tcp(ctl, upstream):
    """Goal: HOST:PORT works as well as a path."""
    server = upstream("admin")

    def answer(request):
        request.send(http(200, "ok\n"))
        request.close()

    server.serve(answer)
    result = ctl("-a", server.address, "ready")
    assert (result.returncode, result.out) == (0, "ok\n")


@pytest.mark.parametrize("arguments", [
    (), ("frob",), ("why",), ("why", "1", "2"), ("servers", "x"),
    ("slow", "-n", "0"), ("slow", "-n", "1x"), ("slow", "-k", "1"),
    ("ready", "-t", "nan"), ("ready", "-t", "-1"), ("--frob", "ready"),
    ("completion", "csh"),
])
def test_wrong_usage(ctl, arguments):
    """Goal: a wrong command line is exit status 2 and says what is wrong."""
    result = ctl(*arguments)
    assert result.returncode == 2 and result.err and not result.out


def test_help_and_version(ctl):
    """Goal: --help fits a terminal and names every command."""
    result = ctl("--help")
    assert result.returncode == 0
    assert len(result.out.splitlines()) <= 50
    for command in ("servers", "slow", "why", "stat", "log", "metrics",
                    "pin", "top", "hist",
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
    assert "0x0101 wakeup to_tid to_pid context vector\n" in out
    assert re.search(r"^kind .*: gc safepoint exit$", out, re.M)


def test_completion(ctl, build):
    """Goal: bash takes the script, and completes commands and options."""
    script = ctl("completion", "bash", wide=True).out

    def complete(*words):
        done = subprocess.run(
            ["bash", "-c", script + "COMP_WORDS=(\"$@\"); COMP_CWORD=$(("
             "$# - 1)); _tailorctl; echo \"${COMPREPLY[*]}\"", "bash", *words],
            capture_output=True, text=True, check=True)
        assert not done.stderr
        return done.stdout.split()

    assert complete("tailorctl", "se") == ["servers"]
    assert complete("tailorctl", "slow", "--nu") == ["--number"]
    assert complete("tailorctl", "slow", "--ca") == ["--cause"]
    assert complete("tailorctl", "why", "--ht") == ["--html"]
    assert complete("tailorctl", "top", "--b") == ["--by"]
    assert complete("tailorctl", "servers", "--nu") == []


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
    """Goal: the probe tells what the observer of a running tailor did in the
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
    assert seen["of"] == "of the tailor that runs"
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
    """Goal: a tailor that was named and is not there is told; the rest is
    probed all the same."""
    result = bare("--admin", str(scratch / "none"), "probe")
    assert result.returncode == 1
    assert "no tailor at" in result.err and "hsperfdata" in result.out


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


def test_closed_pipe_is_an_error(build, admin):
    """Goal: output that cannot be written is not a success."""
    admin.answers["GET /servers"] = http(200, json.dumps(SERVERS))
    with open("/dev/full", "w", encoding="utf-8") as full:
        status = subprocess.run([build / "tailorctl", "-a", admin.path,
                                 "servers"], stdout=full, check=False,
                                stderr=subprocess.DEVNULL).returncode
    assert status == 1


@pytest.fixture
def stream(build, scratch):
    """Starts the little writer of a stream in /dev/shm and hands it over."""
    path = f"/dev/shm/{scratch.name}"
    children = []

    def start(*arguments):
        child = subprocess.Popen(
            [build / "e2e" / "talechain_stream", path,
             *[str(a) for a in arguments]],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert child.stdout.readline() == "ready\n"
        children.append(child)
        return child, path

    yield start
    for child in children:
        child.stdin.close()
        child.stdout.close()
        assert child.wait(PATIENCE_S) == 0


def test_log_dump(ctl, stream):
    """Goal: the events there are, in words, wrapped at 80 columns."""
    _, path = stream(3)
    result = ctl("log", "--dump", "--stream", path)
    assert result.returncode == 0
    lines = result.out.splitlines()
    assert re.fullmatch(r"\d\d:\d\d:\d\d\.\d{9} 1 jvm_gc_begin "
                        r"cause=allocation count=1", lines[0])
    assert re.fullmatch(r"\S+ - proxy_receive request=0000000000000002",
                        lines[1])
    assert [line.strip() for line in lines[2:4]] == [
        "in_flight=18446744073709551615 cookie=18446744073709551615",
        "first_byte_ns=18446744073709551615"]
    assert re.fullmatch(r"\S+ - type_beef", lines[4])
    assert result.err == "3 events, 0 overtaken\n"


def test_log_json_and_stop(ctl, stream):
    """Goal: -k N stops after N; JSON numbers are exact."""
    _, path = stream(9)
    result = ctl("log", "-d", "-k", "2", "--json", "-s", path, wide=True)
    events = [json.loads(line) for line in result.out.splitlines()]
    assert [e["event"] for e in events] == ["jvm_gc_begin", "proxy_receive"]
    assert events[1]["in_flight"] == 2**64 - 1


def test_log_of_an_old_stream(ctl, stream):
    """Goal: an old stream begins at the oldest event that still exists."""
    _, path = stream(5000)
    result = ctl("log", "-d", "-s", path)
    shown, lost = map(int, re.findall(r"\d+", result.err))
    counts = [int(n) for n in re.findall(r"count=(\d+)", result.out)]
    assert 900 < shown <= 1024 and lost == 0
    assert counts[-1] >= 4997 and counts[0] > 5000 - 1024


def follow_until_output(writer, child):
    """Write events until the follower, who begins at "now", shows one."""
    while not select.select([child.stdout], [], [], 0.01)[0]:
        writer.stdin.write("1\n")
        writer.stdin.flush()
        assert writer.stdout.readline() == "written\n"
        assert child.poll() is None


def test_log_follows(build, stream, admin):
    """Goal: events appear as they are written; SIGINT ends it well."""
    writer, path = stream(100)
    admin.answers["GET /stream"] = http(200, json.dumps({"path": path}))
    with subprocess.Popen([build / "tailorctl", "-a", admin.path, "log"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as child:
        follow_until_output(writer, child)
        child.send_signal(signal.SIGINT)
        lines = child.stdout.read().splitlines()
        assert child.wait(PATIENCE_S) == 0
        shown = [line for line in lines if re.match(r"\d\d:", line)]
        assert child.stderr.read() == f"{len(shown)} events, 0 overtaken\n"
        assert len(shown) < 100  # none of the old ones


def test_log_ends_with_the_tailor(build, stream):
    """Goal: when the stream goes away, say so instead of waiting for ever."""
    writer, path = stream(0)
    with subprocess.Popen([build / "tailorctl", "log", "-s", path],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as child:
        follow_until_output(writer, child)
        writer.stdin.close()
        assert child.wait(PATIENCE_S) == 1
        assert "the tailor has stopped" in child.stderr.read()


def test_log_without_stream(ask, admin, scratch):
    """Goal: no stream, or something else, is said and not followed."""
    admin.answers["GET /stream"] = http(200, '{"path":null}')
    assert "private" in ask("log").err
    (scratch / "junk").write_bytes(b"\x00" * 8192)
    for path in (scratch / "junk", scratch / "none"):
        result = ask("log", "-s", str(path), wide=True)
        assert result.returncode == 1 and result.err.count("\n") == 1


@pytest.mark.parametrize("query, message", [
    ("total >", "column 8: wants a value here"),
    ("total > 20ms and speed", "column 18: requests have no field"),
    ("event == x and speed == 3", "column 16: no event has a field"),
    ("event == gc and total > 1ms", "column 1: requests have no field"),
    ("(total", "column 1: this parenthesis is never closed"),
    ("\x1b[2J", "column 1: "),
])
def test_wrong_queries(ctl, query, message):
    """Goal: what is wrong with a query, and where; nothing is asked for."""
    result = ctl("log", "-q", query)
    assert (result.returncode, result.out) == (2, "")
    assert message in result.err and "\x1b" not in result.err


def test_log_query_of_events(ctl, stream):
    """Goal: -q picks events by kind, by argument, by number."""
    _, path = stream(9)

    def events(query):
        result = ctl("log", "-d", "-j", "-s", path, "-q", query, wide=True)
        assert result.returncode == 0, result.err
        return [json.loads(line) for line in result.out.splitlines()]

    everything = events("event")
    assert len(everything) == 9
    gc = events("event == jvm_gc_begin")
    assert gc == [e for e in everything if e.get("event") == "jvm_gc_begin"]
    assert events("event == jvm_gc_begin and count > 1") == [
        e for e in gc if e["count"] > 1]
    assert events("cause ~ alloc") == [e for e in gc if e["cause"] == 1]
    assert events("in_flight == 18446744073709551615")
    assert events("not event ~ gc and not event == proxy_receive") == [
        e for e in everything
        if e.get("event") not in ("jvm_gc_begin", "proxy_receive")]


def test_known_traffic(ctl, upstream, tailor):
    """Goal: log -q, hist and top count what was really asked."""
    active, backup = upstream("active").serve(), upstream("backup").serve()
    t = tailor(active, backup, slow={"target": "0"})
    t.wait_server("backup", state="ready")

    def ask(*arguments):
        result = ctl("-a", t.admin, *arguments, wide=True)
        assert result.returncode == 0, result.err
        return result.out

    def requests(query):
        return [json.loads(line)
                for line in ask("log", "-drj", "-q", query).splitlines()]

    with t.client() as client:
        for i in range(7):
            client.get(f"/a?{i}")
    t.ask("/switch", method="POST")
    t.wait_server("backup", active=True)
    with t.client() as client:
        for i in range(4):
            client.get(f"/b?{i}")
        client.request("GET", "/%zz")
        client.response()
    wait_until(lambda: len(requests("total")) >= 11, "all are in the stream")
    mine = requests("total and bytes")
    assert len([r for r in mine if r["server"] == "active"]) == 7
    assert len(requests('server == "backup" and status == 200')) >= 4
    assert requests('server == "active" and total > 1m') == []
    fastest = min(r["total"] for r in mine)
    assert len(requests(f"total <= {fastest}")) == 1
    lines = ask("log", "--dump", "--requests").splitlines()
    assert len([x for x in lines if " active " in x]) == 7
    for line in lines:
        assert len(line) <= 80

    hist = json.loads(ask("hist", "-d", "-j"))
    assert hist["servers"] == ["active", "backup"]
    assert sum(b["requests"][0] for b in hist["buckets"]) == 7
    assert sum(b["requests"][1] for b in hist["buckets"]) >= 4
    text = ask("hist", "--dump")
    assert "|" in text and "#" in text and "p99" in text
    assert all(len(line) <= 80 for line in text.splitlines())

    wait_until(lambda: t.metrics()["tailor_tales"] >= 11, "they are kept")
    rows = json.loads(ask("top", "-1", "-j", "--by", "path"))["rows"]
    paths = {row["name"]: row["count"] for row in rows}
    assert (paths["/a"], paths["/b"]) == (7, 4)
    rows = json.loads(ask("top", "-1", "-j"))["rows"]
    assert sum(row["count"] for row in rows) == sum(paths.values())
    costs = [row["cost_ns"] for row in rows]
    assert costs == sorted(costs, reverse=True)
    for by in ("cause", "path", "cpu", "waker"):
        text = ask("top", "-d", "--by", by)
        assert all(len(line) <= 80 for line in text.splitlines())
    one = json.loads(ask("slow", "-j", "--path", "/b", "-n", "1"))["slow"][0]
    assert one["target"].startswith("/b")
    assert "<svg " in ask("why", one["id"], "--svg")
    assert ask("pin", one["id"]) == "pinned\n"


def test_with_a_real_tailor(ctl, upstream, tailor):
    """Goal: every command understands what a tailor really answers."""
    active, backup = upstream("active").serve(), upstream("backup").serve()
    t = tailor(active, backup, slow={"target": "0"})
    t.wait_server("backup", state="ready")

    def ask(*arguments, **more):
        result = ctl("-a", t.admin, *arguments, **more)
        assert result.returncode == 0, result.err
        return result.out

    with t.client() as client:
        request_id = client.get("/some?q=1").get("x-request-id")
    assert re.search(r"^\* active +ready", ask("servers"), re.M)
    assert re.search(r"^  backup +ready", ask("servers"), re.M)
    wait_until(lambda: "GET /some?q=1" in ask("slow"), "it is listed")
    assert f"why {request_id}" in ask("slow")
    assert "/some?q=1" in ask("why", request_id)
    json.loads(ask("why", request_id, "--json", wide=True))
    assert "tailor_connections_total" in ask("stat", "-1", "--all")
    assert f"pid: {t.pid}" in ask("info", wide=True)
    assert ask("ready")
    events = ask("log", "--dump")
    assert "proxy_receive" in events and "proxy_finish" in events
    assert ask("switch") == "active: backup\n"
    t.wait_server("backup", active=True)
    result = ctl("-a", t.admin, "why", "no-such-request")
    assert result.returncode == 1 and result.err.count("\n") == 1
