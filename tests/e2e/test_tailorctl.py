"""Goal: tailorctl shows what an admin socket says.

A stub admin server on a Unix socket gives the responses.
"""

import json
import subprocess

import pytest

from support.admin import SERVERS, http

SLOW = {
    "schema": "tailor.slow/1", "target_ns": 20000000, "slow": [
        {"id": "req-1", "request": "00000000000000a1", "method": "GET",
         "target": "/search?q=" + "tail+" * 40, "status": 200,
         "total_ns": 41234567, "winner": "north", "attempts": 2,
         "trigger": "gc", "finished": "2026-10-04T10:15:03.412345Z",
         "cause": "gc", "share_ns": 39000000, "proxy_ns": 41234567,
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


def test_servers_table(ask, admin):
    """Goal: every server with state, hazards and counts, in 80 columns."""
    admin.answers["GET /servers"] = http(200, json.dumps(SERVERS))
    result = ask("servers")
    assert result.returncode == 0, result.err
    lines = result.out.splitlines()
    assert lines[0] == "mode act"
    assert lines[2].split() == ["*", "north", "ready", "gc,safepoint", "812",
                                "0.2", "3", "813us", "41.2ms"]
    assert lines[3] == "    127.0.0.1:9001, pid 812 (java, 3 processes)"
    assert lines[4] == "    pauses: agent: OpenJDK 17"
    assert "2 restarts, 7 errors" in lines[5]
    assert lines[6].split() == ["a-backup-...", "down", "-", "0", "0", "0",
                                "-", "-"]


def test_what_is_not_seen(ask, admin):
    """Goal: a line for each signal that is missed, with all that lack it and
    what changes it; of another reason another line."""
    kernel = {"signals": "kernel events", "why": "CAP_BPF is missing",
              "do": "sudo \x1b[31m"}
    servers = [{"name": "north", "misses": [
        {"signals": "collections", "why": "no page", "do": ""}, kernel]},
        {"name": "south", "misses": [kernel]},
        {"name": "west", "misses": [{**kernel, "do": "nothing"}]}]
    admin.answers["GET /servers"] = http(200, json.dumps({"servers": servers}))
    result = ask("servers")
    assert result.returncode == 0, result.err
    assert result.out.splitlines()[-3:] == [
        "not seen of north: collections: no page",
        "not seen of north, south: kernel events: CAP_BPF is missing; do: sudo "
        "?[31m", "not seen of west: kernel events: CAP_BPF is missing; do: nothing"]


def test_slow_table(ask, admin):
    """Goal: a slow request, its cause and verdict, the id that "why" takes."""
    admin.answers["GET /slow?n=5"] = http(200, json.dumps(SLOW))
    (line,) = ask("slow", "-n", "5").out.splitlines()[1:]
    assert line.startswith(
        "10-04 10:15  41.2ms gc             200    req-1            GET /search?q=")
    result = ask("slow", "-n", "5", "--all")
    assert result.returncode == 0, result.err
    lines = result.out.splitlines()
    assert lines[1].startswith("10-04 10:15  41.2ms gc             north ")
    assert lines[2].startswith("    39.0 of 41.2 ms: north collected garbage")
    assert lines[-2:] == [
        "    listed: slower than the target (now 20.0ms), sent again (gc)",
        "    why req-1 (earlier boot)"]
    assert json.loads(ask("slow", "-n", "5", "-j", wide=True).out) == SLOW


def test_slow_without_timeline(ask, admin):
    """Goal: a slow request without a timeline is listed as such, all are counted
    by the reason, and those that wait are, too."""
    missed = {**SLOW["slow"][0], "missing": "budget",
              "cause": "not_observed",
              "verdict": "No timeline: analysis.cpu was used up: raise it."}
    admin.answers["GET /slow?n=20"] = http(200, json.dumps({
        **SLOW, "slow": [missed, *SLOW["slow"]], "slow_requests": 90,
        "waiting": 7, "left_out": 12, "missing": [
            {"code": "budget", "why": "analysis.cpu was used up: raise it",
             "requests": 12}]}))
    lines = ask("slow").out.splitlines()
    assert lines[1].startswith("10-04 10:15  41.2ms no timeline ")
    assert lines[2].startswith("10-04 10:15  41.2ms gc ")
    assert lines[3].startswith("12 of 90 slow requests have no timeline ")
    assert lines[-2:] == [
        "     12  analysis.cpu was used up: raise it",
        "7 requests wait to be examined: list again in a moment."]
    assert "    No timeline: analysis.cpu was used up: raise it." in ask(
        "slow", "--all").out


@pytest.mark.parametrize("fields, words", [
    ({"reason": "slowest"}, "among the slowest of its minute, sent again (gc)"),
    ({"reason": "pinned", "attempts": 1}, "pinned"),
    ({"reason": "asked", "attempts": 1}, "its client had it analyzed"),
    ({"status": 503, "trigger": "unresponsive"},
     "slower than the target (now 20.0ms), error 503, sent again "
     "(unresponsive)"),
])
def test_why_it_is_listed(ask, admin, fields, words):
    """Goal: each row says why it is there, within 80 columns."""
    document = {**SLOW, "slow": [{**SLOW["slow"][0], **fields}]}
    admin.answers["GET /slow?n=20"] = http(200, json.dumps(document))
    out = " ".join(ask("slow", "--all").out.split())
    assert f" listed: {words} why req-1" in out


def test_slow_filters(ask, admin):
    """Goal: filters reach the tailor, escaped."""
    asked = "GET /slow?n=20&since=5400&cause=gc&path=%2Fa%20b%26n%3D1"
    admin.answers[asked] = http(200, json.dumps(SLOW))
    assert ask("slow", "--since", "1.5h", "--cause", "gc", "--path",
               "/a b&n=1").returncode == 0
    assert ask("slow", "--since", "soon").returncode == 2
    admin.answers["GET /slow?n=20&sort=total"] = http(200, json.dumps(SLOW))
    assert ask("slow", "--sort", "total").returncode == 0


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


def test_why_the_slowest(ask, admin):
    """Goal: without an id the slowest of ten minutes, else of all; none: it
    says so."""
    empty = http(200, json.dumps({**SLOW, "slow": []}))
    recent = "GET /slow?n=300&sort=total&since=600"
    missed = {**SLOW["slow"][0], "id": "no", "missing": "budget"}
    admin.answers[recent] = http(200, json.dumps(
        {**SLOW, "slow": [missed, *SLOW["slow"]]}))
    admin.answers["GET /timeline/req-1"] = http(200, "41 ms: GC\n")
    result = ask("why")
    assert result.out == "41 ms: GC\n"
    assert result.err == "slowest kept request: req-1\n"
    admin.answers[recent] = empty
    admin.answers["GET /slow?n=300&sort=total"] = http(200, json.dumps(SLOW))
    assert ask("why").out == "41 ms: GC\n"
    admin.answers["GET /slow?n=300&sort=total"] = empty
    result = ask("why")
    assert result.returncode == 1
    assert result.err == "tailorctl: no slow request is kept yet\n"
    admin.answers["GET /slow?n=300&sort=total&since=60"] = empty
    result = ask("why", "--since", "60s")
    assert result.returncode == 1
    assert result.err == "tailorctl: no slow request is kept from that time\n"


def test_why_is_short(ask, admin):
    """Goal: at most 20 lines, of the first three paragraphs; --all and a pipe
    have all."""
    body = "\n\n".join("\n".join(f"{p} {i}" for i in range(6))
                       for p in "vrcp") + "\n"
    admin.answers["GET /timeline/7"] = http(200, body)
    short = ask("why", "7").out.splitlines()
    assert short[:18] == body.splitlines()[:18] and len(short) == 20
    assert short[18:] == [
        "...", "More: --all (picture, threads, events), or -o why.html"]
    assert ask("why", "7", "--all").out == body
    body = "a\n\nb\n\nc\n\nd\n"
    admin.answers["GET /timeline/7"] = http(200, body)
    assert ask("why", "7").out == "a\n\nb\n\nc\n\n" + short[-1] + "\n"


@pytest.mark.parametrize("status", [404, 410, 500, 503])
def test_refusals_are_said(ask, admin, status):
    """Goal: an error of the tailor's is shown, and is exit status 1."""
    admin.answers["GET /timeline/7"] = http(status, '{"error":"gone by now"}')
    result = ask("why", "7")
    assert (result.returncode, result.out) == (1, "")
    said, *more = result.err.splitlines()
    assert said == "tailorctl: gone by now"
    assert bool(more) == (status == 404)


def test_advice_is_said(ask, admin):
    """Goal: what the tailor advises, and what --force is for, reaches the
    terminal, in its width."""
    admin.answers["GET /timeline/7"] = http(410, json.dumps(
        {"error": "expired", "advice": "raise slow.history " * 8}))
    lines = ask("why", "7").err.splitlines()
    assert lines[0].startswith("tailorctl: expired: raise slow.history ")
    assert len(lines) > 1 and lines[-1].endswith("slow.history")
    admin.answers["POST /drain?server=a"] = http(409, json.dumps(
        {"error": "no other server is ready", "forceable": True}))
    assert ask("drain", "a").err == (
        "tailorctl: no other server is ready; use --force to do it anyway\n")


@pytest.mark.parametrize("words", ["restart a", "undrain a"])
@pytest.mark.parametrize("readings, status", [
    ([("draining", 3), ("starting", 0), ("starting", 2), ("ready", 2)], 0),
    ([("starting", 5), ("starting", 7), ("ready", 7)], 0),
    ([("draining", 3), ("down", 0), ("down", 1), ("down", 3)], 1),
])
def test_failed_starts_are_new(ask, admin, words, readings, status):
    """Goal: a server that does not start is one that ended three times since
    the command: what it did before is not counted."""
    left = iter(readings)

    def answer(connection):
        state, ends = next(left)
        connection.sendall(http(200, json.dumps({"servers": [
            {"name": "a", "state": state, "quick_ends": ends,
             "last_end": "status 3"}]})))

    admin.answers[f"POST /{words.replace(' ', '?server=')}"] = http(200, "{}")
    admin.answers["GET /servers"] = answer
    result = ask(*words.split())
    assert result.returncode == status, result.err
    assert ("does not start" in result.err) == (status == 1)
    assert next(left, None) is None


@pytest.mark.parametrize("asked, reply, words, status, said", [
    ("POST /switch", http(200, '{"active":"south"}'), "switch", 0,
     "active: south\n"),
    ("POST /switch", http(200, '{"active":"south"}'), "switch --json", 0,
     '{"active":"south"}\n'),
    ("POST /switch", http(409, '{"error":"backup is down"}'), "switch", 1,
     "tailorctl: backup is down\n"),
    ("GET /timeline/a%20b%2Fc", http(200, "38 ms: GC\n│▇▇│\n"), "why a%b/c", 0,
     "38 ms: GC\n│▇▇│\n"),
    ("GET /timeline/7?format=json", http(200, '{"a":1}'), "why 7 --json", 0,
     '{"a":1}\n'),
    ("GET /info", http(200, '{"version":"0.1","placement":{"cpus":[0,1]}}'),
     "info", 0, "version: 0.1\nplacement\n    cpus\n        - 0\n        - 1\n"),
])
def test_what_is_said(ask, admin, asked, reply, words, status, said):
    """Goal: exit status and words show whether it worked; ids are escaped,
    nested members are indented lines."""
    admin.answers[asked] = reply
    result = ask(*(word.replace("%", " ") for word in words.split()))
    assert (result.returncode, result.out + result.err) == (status, said)
    assert admin.asked == [asked]


def test_metrics(ask, admin):
    """Goal: all as it came, or those of a name; as JSON, too."""
    admin.answers["GET /metrics"] = http(200, METRICS)
    assert ask("metrics", wide=True).out == METRICS
    assert ask("metrics", "swaps").out == "tailor_swaps_total 0\n"
    samples = json.loads(ask("metrics", "--json", wide=True).out)["samples"]
    assert len(samples) == 4
    assert samples[0]["name"].endswith('path="a b}\\" c"}')


def test_rates(ask, admin):
    """Goal: without zeros and parts of histograms; in a pipe names are
    whole."""
    name = 'hazard_seconds_total{server="' + 40 * "a" + '",kind="safepoint"}'
    admin.answers["GET /metrics"] = http(200, METRICS + f"{name} 1\n")
    rows = ask("metrics", "--rates", "-1", "-i", "0.01",
               wide=True).out.splitlines()[1:]
    assert [row.split()[-2:] for row in rows] == [["1500", "0"], ["2.5", "0"],
                                                  ["1", "0"]]
    assert rows[-1].startswith(name)


def test_rates_of_two_readings(build, admin):
    """Goal: two readings 100 apart give a positive change per second; of what
    is smaller than before that change, or of a counter all since zero."""
    value = [1000]

    def answer(connection):
        value[0] += 100
        connection.sendall(http(200, f"a_total {value[0]}\nb 5\n"
                                f"c {6200 - value[0]}\n"
                                f"d_total {6200 - value[0]}\n"))

    admin.answers["GET /metrics"] = answer
    with subprocess.Popen([build / "tailorctl", "-a", admin.path, "metrics",
                           "--rates", "--json", "-i", "0.05"], text=True,
                          stdout=subprocess.PIPE) as child:
        first = json.loads(child.stdout.readline())["samples"]
        second = json.loads(child.stdout.readline())["samples"]
        child.terminate()
    assert first[0] == {"name": "a_total", "value": 1100}
    assert second[0]["value"] == 1200 and second[0]["per_second"] > 0
    assert second[1]["per_second"] == 0
    assert [x["value"] for x in second[2:]] == [5000, 5000]
    assert second[2]["per_second"] == pytest.approx(
        -second[0]["per_second"], rel=1e-3)
    assert second[3]["per_second"] == pytest.approx(
        50 * second[0]["per_second"], rel=1e-3)
