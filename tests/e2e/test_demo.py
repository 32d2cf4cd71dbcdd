"""The demonstration's driver: what it computes, prints and cleans up."""

import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import xml.etree.ElementTree

import pytest

from rig.process import ROOT, output, ran, state_of

DEMO = ROOT / "examples" / "demo"
sys.path.insert(0, str(DEMO))

import capacity  # noqa: E402
import chart  # noqa: E402
import demo  # noqa: E402
import heating  # noqa: E402
import load  # noqa: E402
import processes  # noqa: E402
import report  # noqa: E402
import result_page  # noqa: E402
import stories  # noqa: E402
import web  # noqa: E402
from others import machine_ticks  # noqa: E402
from processes import Trouble  # noqa: E402
from rig.wait import wait_until  # noqa: E402
from support.launched import http_server  # noqa: E402


def one_way(key, *parts, **more):
    """A set-up as the report wants it; parts: latencies of iterations."""
    found = {"key": key, "requests": 3, "errors": 0, "trusted": True,
             "others": (0.0, 0.0), "saturated": "", "kept": [1.0] * len(parts),
            "parts": parts, "figures": report.figures(parts),
             "slowest": [part[-1] for part in parts],
             "story": {"ms": 1.0, "cause": "x", "lines": [],
                       "moments": []}, **more}
    return {**found, "title": demo.SETUPS[key][0]}


def write_requests(directory, requests):
    with open(directory / "requests.ndjson", "w", encoding="utf-8") as file:
        for i, (ms, status) in enumerate(requests):
            line = {"i": 1 + i // 100, "n": 1 + i, "id": f"r{i}"}
            if status == 200:
                line.update(st=status, lat=int(ms * 1e6), srv=int(ms * 5e5),
                            sched=i * 10**7, last=i * 10**7 + int(ms * 1e6))
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
    assert [part[-1] for part in result.parts] == [99, 200]
    # 1 ms later each, of 10 ms from one to the next
    assert result.kept == [pytest.approx(10 / 11)] * 2


@pytest.mark.parametrize("carries, chosen, iterations", (
    (5000, 400, 12), (1000, 400, 12), (999, 399, 12), (380, 152, 5),
    (30, 12, 4), (0.5, 1, 4)))
def test_rate_of_a_machine(carries, chosen, iterations):
    """Goal: 40 % of what one server carries, at most the workload's rate, in
    about the same time."""
    assert capacity.rate(carries, 400) == chosen
    assert capacity.iterations(chosen, 400, 12) == iterations


@pytest.mark.parametrize("p50_ms, shares, why", (
    ([1.4] * 12, [1.0] * 12, ""), ([4.9] * 12, [0.91] * 12, ""),
    # a kill or a pause spoils some
    ([1.4] * 9 + [279.0] * 3, [1.0] * 9 + [0.2] * 3, ""),
    ([1.4] * 3 + [279.0], [1.0] * 3 + [0.2], ""), ([1.4, 279.0], [], ""),
    ([1.4] * 8 + [279.0] * 4, [1.0] * 12, "p50 279.0 ms, unloaded 1.0 ms"),
    ([1.4] * 2 + [279.0] * 2, [1.0] * 4, "p50 279.0 ms, unloaded 1.0 ms"),
    ([1.4] * 12, [0.6] * 12, "60 % of the rate kept"),
    ([279.0], [], "p50 279.0 ms, unloaded 1.0 ms")))
def test_saturated(p50_ms, shares, why):
    """Goal: a p50 far above an unloaded request, or responses that do not keep
    up with the requests, are a load that was too much."""
    assert capacity.saturated(p50_ms, shares, 1.0) == why


def test_saturated_is_said():
    """Goal: a run that was saturated is no success: the headline, the terminal
    and the page say so, and there is no ratio; where only another set-up was,
    the ratio stays."""
    queue = [float(i) for i in range(100, 400)]
    runs = [[one_way("direct", queue, queue), one_way("act", [1.0, 3.0])]]
    setups = demo.together(runs, 1.0)
    assert [s["saturated"] != "" for s in setups] == [True, False]
    assert report.ratio_line(setups, None) \
        == "direct saturated: this shows no pauses"
    lines = report.doubts(setups)
    assert lines == ["direct saturated: this shows no pauses (p50 249.0 ms, "
                     "unloaded 1.0 ms)"] and len(lines[0]) <= 80
    text = result_page.page("", setups, None, "what", [0])
    assert 'id="lead">Direct saturated: this shows no pauses.<' in text
    assert text.count("saturated: this shows no pauses") == 3
    setups = demo.together([[one_way("steer", queue)]], 1.0)
    assert report.headline(setups) == "" and report.doubts(setups)


@pytest.mark.parametrize("others, said", (
    ((0.1, 0.05), None),
    ((1.25, 0.0), "The machine was busy: other programs used 1.2 of 2 CPUs "
                  "(act)."),
    ((0.1, 0.4), "The machine was busy: other programs used 0.1, the "
                 "hypervisor kept 0.4 of 2 CPUs (act).")))
def test_busy_is_said(monkeypatch, others, said):
    """Goal: figures with other programs' work in them say so, with how much
    of which set-up, on the terminal and on the page."""
    monkeypatch.setattr(report.os, "cpu_count", lambda: 2)
    setups = demo.together([[one_way("direct", [1.0, 2.0]),
                             one_way("act", [1.0, 3.0], others=others)]] * 2,
                           1.0)
    assert report.doubts(setups) == [said] * (said is not None)
    assert (said or "The machine was busy") in result_page.page(
        "", setups, None, "what", [0]) or not said


def test_others_are_not_ours():
    """Goal: CPU time of the demonstration's own processes, ended ones and
    children's children included, is none of other programs; what /proc/stat
    counts as stolen is the hypervisor's."""
    assert machine_ticks("cpu  10 20 30 999 999 5 6 40 10 0") == (71, 40)
    found = json.loads(output(sys.executable, "-c", TICKS, DEMO))
    assert found["ended_s"] > 0.1 and found["alive_s"] > 0.1
    assert abs(found["ticks"] / os.sysconf("SC_CLK_TCK")
               - found["ended_s"] - found["alive_s"]) < 0.1


# cpu_ticks() beside what the processes know themselves
TICKS = """
import json, os, subprocess, sys
sys.path.insert(0, sys.argv[1])
from processes import cpu_ticks
burn = "import time, os\\nwhile time.process_time() < 0.2: pass\\n"
python = [sys.executable, "-c"]
subprocess.run([*python, f"import subprocess; "
                f"subprocess.run({[*python, burn]!r})"], check=True)
alive = subprocess.Popen([*python, burn + "print(time.process_time(), "
                          "flush=True); os.read(0, 1)"],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)
alive_s = float(alive.stdout.readline())
print(json.dumps({"alive_s": alive_s, "ended_s": sum(os.times()[:4]),
                  "ticks": cpu_ticks()}))
alive.communicate(b"x")
"""


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


def test_figures():
    """Goal: the value of all requests, and the least and most of an iteration;
    the ratio of all, within what its iterations allow, certain where they agree
    and missing where a set-up is.  No figure makes the table wider than 80
    columns or runs two of its columns into one."""
    found = report.figures([[1.0] * 99 + [7.0], [2.0] * 98 + [5.0, 9.0]])
    assert found["p50"] == (2.0, 1.0, 2.0)
    assert found["p99"] == (5.0, 1.0, 5.0)
    assert found["max"] == 9.0
    assert report.span((64.82, 6.5, 111.4)) == "64.8 (6.50-111)"
    slow, quick = [10.0, 100.0], [10.0, 20.0]
    assert report.ratio([slow] * 5, [quick] * 5) == (5, 5, 5)
    assert report.ratio([slow] + [quick] * 3, [quick] * 4) == (5, 1, 5)
    assert report.ratio([slow], None) is None
    row = report.table([one_way("watch", [9999.4], errors=12345)])[-1]
    assert len(row) <= 80 and len(row.split()) == 3 + 2 * 3


MS = 1_000_000
S = 1000 * MS


@pytest.mark.parametrize("pauses, killed, restarted, cause", (
    ([(S + 40 * MS, 35.0)], 0, 0, "a garbage collection"),
    # one that it hardly met, or not at all, is not its cause
    ([(S + 10 * MS, 35.0)], 0, 0, "not observed"),
    ([(S - 1, 35.0)], 0, 0, "not observed"),
    ([], S - 500 * MS, S + 20 * MS, "the kill -9"),
    ([], S - 2000 * MS, S - 300 * MS, "likely a cold JVM: killed 2.0 s"),
    ([], S - 20_000 * MS, S - 18_000 * MS, "not observed"),
    ([], S + 60 * MS, S + 70 * MS, "not observed"),
))
def test_cause_without_a_timeline(pauses, killed, restarted, cause):
    """Goal: what the JVM's log and the kill explain is named, and nothing
    else; at most ten lines, in order."""
    found = stories.of_facts(50.0, (S, S + 50 * MS), pauses, killed, restarted)
    assert found["cause"].startswith(cause)
    moments = [float(line.split(" ms ")[0]) for line in found["moments"]]
    assert moments == sorted(moments) and len(moments) <= stories.LINES


def timeline(code):
    pause = {"server": 0, "kind": "gc", "cause": "unknown", "b": 2 * MS,
             "e": 42 * MS, "begin_seen": True, "end_seen": True}
    return {"t0": str(20 * S), "total": 45 * MS,
            "attempts": [{"name": "a", "trigger": "", "outcome": "lost",
                          "written": MS},
                         {"name": "b", "trigger": "gc", "outcome": "won",
                          "written": 3 * MS, "complete": 44 * MS}],
            "pauses": [pause],
            "verdict": {"code": code, "confidence": "observed",
                        "text": "40.0 of 45.0 ms: server b computed. Re-sent to "
                                "server b 0.5 ms after server a began to collect "
                                "garbage.",
                        "evidence": ["seen"] * 9}}


@pytest.mark.parametrize("code, killed, cause", (
    ("gc", {}, "a garbage collection"),
    ("gc", {"b": 15 * S}, "a garbage collection"),
    ("exit", {"a": 20 * S}, "the kill -9"),
    # the server that was not killed, or long ago, or later
    ("work", {"a": 15 * S}, "40.0 of 45.0 ms: server b computed."),
    ("work", {"b": 1}, "40.0 of 45.0 ms: server b computed."),
    ("exit", {"a": 21 * S}, "40.0 of 45.0 ms: server b computed."),
    ("work", {"b": 15 * S},
     "likely a cold JVM: killed 5.0 s before and started again"),
    ("class_loading", {"b": 15 * S}, "class loading and JIT; likely a "
     "cold JVM: killed 5.0 s before and started again"),
    ("proxy_queue", {"b": 15 * S},
     "the request waited for server b, killed 5.0 s before and started again"),
    ("proxy_queue", {"a": 15 * S}, "40.0 of 45.0 ms: server b computed."),
    # what was seen is not made a guess of
    ("runq", {"b": 15 * S}, "40.0 of 45.0 ms: server b computed."),
))
def test_cause_from_a_timeline(code, killed, cause):
    """Goal: kill, cold JVM and collection are named where they were, else
    the verdict's own sentence; then at most ten lines."""
    found = stories.of_timeline(50.0, timeline(code), ["a", "b"], killed)
    assert found["cause"] == cause
    assert len(found["lines"] + found["moments"]) <= stories.LINES
    assert "    +3.00 ms  sent again to b: gc" in found["moments"]
    assert "    +2.00 ms  a: gc begins" in found["moments"]


def test_page_has_its_parts():
    """Goal: the chart, well-formed, with a point for every value and nothing
    from outside; the figures and each set-up's story, whose words cannot become
    markup; the timeline is linked where there is one."""
    text = chart.svg([one_way(key, [1.0], [50.0], [0.0])
                      for key in demo.SETUPS], "a < b & c", [1])
    circles = xml.etree.ElementTree.fromstring(text).iter(
        "{http://www.w3.org/2000/svg}circle")
    assert len(list(circles)) == 3 * len(demo.SETUPS)
    assert "href" not in text and "url(" not in text
    story = {"ms": 45.0, "cause": "<b>&", "lines": ["<i>"],
             "moments": ["one"], "link": "act/worst.html"}
    setups = [one_way("direct", [1.0, 9.0]),
              one_way("act", [1.0, 3.0], extra_pct=0.25, story=story)]
    text = result_page.page("", setups, (3.0, 2.5, 3.5), "what", [0])
    assert text.count('class="demo"') == 1 and 'id="figures"' in text
    assert text.count('class="story"') == 2
    assert "3.0 (2.5-3.5) times as long" in text
    assert "&lt;b&gt;&amp;" in text and "&lt;i&gt;" in text
    assert text.count("<a href=") == 1 and "act/worst.html" in text


def test_ports_are_safe():
    """Goal: a port of ours cannot be given to an outgoing connection."""
    first, last = map(int, pathlib.Path(
        "/proc/sys/net/ipv4/ip_local_port_range").read_text().split())
    assert not any(first <= web.free_port() <= last for _ in range(20))


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
    output(sys.executable, "-c", script)
    assert state_of(int((scratch / "out").read_text())) is None


def test_says_what_is_missing(scratch):
    """Goal: without programs it names the missing one and the command."""
    done = ran(sys.executable, "-B", DEMO / "demo.py", "--build", scratch)
    assert done.returncode == 1
    assert done.err.startswith("demo: ")
    assert "is missing: make" in done.err or "apt-get install" in done.err


SERVER = http_server("def respond(path, headers):\n    return b'ok'\n")
WHOLE = f"""
import sys
sys.path.insert(0, {str(DEMO)!r})
import demo, workloads

class Recipe:
    signals, health = "none", "/"
    def __init__(self, o, channels):
        self.build, self.channels = o.build, channels
    def command(self, _name, port, _directory, _nodelay=True):
        return [sys.executable, "-c", "exec(" + repr({SERVER!r}) + ")",
                str(port)]

class Tiny(workloads.Lucene):
    rate, iterations, warm_up = 50, 2, 30
    more = {{"warmup": {{"target": "/", "requests": 5}}}}
    needs = staticmethod(lambda agent: {{}})
    recipe = Recipe
    def write_targets(path):
        path.write_text(40 * "/\\n")
        return 40
    def warm(generator, servers, directory, requests):
        for port in servers.values():
            generator.warm_up(port, requests, 100)

workloads.WORKLOADS["lucene"] = Tiny
sys.exit(demo.main())
"""


LONG_S = 100  # what takes seconds may take this on a busy machine


def run_whole(build, scratch, **environment):
    """The lines printed by a demonstration with that service."""
    text = output(
        sys.executable, "-B", "-c", WHOLE, "--build", build, "--out",
        scratch / "out", timeout=3 * LONG_S, env={**os.environ, **environment},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, capture_output=False)
    lines = text.splitlines()
    assert lines[-1] == str(scratch / "out" / "index.html"), text
    return lines


def command(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


@pytest.mark.long("a whole demonstration: real loads, 15 seconds")
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU: the "
                    "demonstration's servers need one each")
def test_whole(build, scratch):
    """Goal: at most 25 lines, with the two of the set-up and without those of a
    busy machine, of at most 80 columns; the last is the path of the page, which
    is whole.  KEEP=1 leaves Tailor and the live page there, under load, and the
    command that it prints ends all of it."""
    lines = run_whole(build, scratch, KEEP="1")
    keeper = int(re.search("To end it: kill ([0-9]+)", "\n".join(lines))[1])
    try:
        assert sum(not re.search("machine was busy|: this shows no pauses|"
                                 "itself was late", line)
                   for line in lines) <= 25 - 2
        assert max(map(len, lines[:-1])) <= 80
        look_at_page(scratch / "out")
        kept, port = look_at_kept(scratch / "out", lines, keeper)
    finally:
        os.kill(keeper, signal.SIGTERM)
        wait_until(lambda: not state_of(keeper), "the keeper's end", LONG_S)
    assert len(kept) >= 5 and not any(map(state_of, kept))
    assert web.get(port, "/") == (0, "")


def look_at_page(out):
    text = (out / "index.html").read_text()
    assert text.count("<polyline") == text.count('class="story"') == 4
    for link in re.findall('<a href="([^"]*)"', text):
        assert "<svg" in (out / link).read_text()


def look_at_kept(out, lines, keeper):
    """The pids of what is left running, and the port for clients."""
    address = next(line.split()[-1] for line in lines if "http://" in line)
    port, target = address.removeprefix("http://127.0.0.1:").split("/", 1)
    status, text = web.get(int(port), f"/{target}")
    assert status == 200 and "<title>Tailor</title>" in text
    config = json.loads((out / "act" / "tailor.json").read_text())
    port = int(config["listen"][0].rpartition(":")[2])
    assert web.get(port, "/") == (200, "ok")
    wait_until(lambda: any("tailor-load" in command(pid) for pid in
                           processes.descendants(keeper)), "the load", LONG_S)
    return processes.descendants(keeper), port


def fake(directory, **programs):
    for name, text in programs.items():
        path = directory / name.replace("_", "-")
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)


def install(scratch, simulated, **environment):
    """tools/install-deps node, where python3 is there and nodejs is not."""
    fake(scratch, id="echo 0",
         dpkg_query='for last; do :; done; [ "$last" = nodejs ] || echo "ii "',
         apt_get=f"""case " $* " in
         *" -s "*) echo "{simulated}" ;;
         *) echo much; echo "$*" >>{scratch}/calls ;;
         esac""")
    (scratch / "calls").write_text("")
    done = ran(ROOT / "tools" / "install-deps", "node",
               env={**os.environ, "PATH": f"{scratch}:{os.environ['PATH']}",
                    **environment})
    calls = (scratch / "calls").read_text().splitlines()
    return done, [line for line in calls if " install " in line]


def test_installs_quietly(scratch):
    """Goal: only what is missing is installed, in a line of output."""
    done, calls = install(scratch, "Inst nodejs (18.19)", UPGRADE="no")
    assert done.returncode == 0 and done.out.count("\n") == 1
    assert "nodejs" in done.out and "much" not in done.out
    assert len(calls) == 1 and calls[0].split()[-1] == "nodejs"
    assert "python3" not in calls[0]


def test_upgrades_nothing(scratch):
    """Goal: where something installed had to be upgraded, that and the
    command are printed, and nothing is done; unless it is allowed."""
    change = "Inst libc6 [2.36-9] (2.36-10)\nInst nodejs (18.19)"
    done, calls = install(scratch, change, UPGRADE="no")
    assert done.returncode == 1 and not calls
    assert "upgrade libc6." in done.err and "nodejs" in done.err
    done, calls = install(scratch, change)
    assert done.returncode == 0 and len(calls) == 1
