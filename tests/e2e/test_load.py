"""tailor-load as a command: options, verdicts, exit status, interruption."""

import json
import os
import re
import signal
import subprocess
import threading
import time

import pytest

from rig.process import ran
from rig.stub import OK
from rig.wait import PATIENCE_S, wait_until
from support.load import RUN_S, Result, check_figures


def test_bad_generator(stub, load):
    """Goal: exit 4, and what to change, when requests had to wait for a
    connection."""
    def answer(request):
        time.sleep(0.005)
        return OK
    result = load(stub(answer).url, "-i", 1, "-n", 100, "-r", 1000,
                  "--warmup", 0, "-c", 1, "--max-connections", 1,
                  "--fail", "p99<1us")
    assert result.status == 4 and result.verdict == "bad"
    iteration = result.run["iterations"][0]
    assert iteration["max_in_flight"] == 1
    waited = [line for line in result.lines if line.get("waited")]
    assert iteration["connection_wait"]["count"] == len(waited) >= 90
    assert iteration["connection_wait"]["max_ns"] == \
        max(line["lag"] for line in waited)
    assert "Figures: BAD" in result.out
    assert "p50 doubtful" in result.out
    assert any("raise --max-connections" in text for text in
               result.run["generator"]["environment"])
    # The wait is in the latency: the 100th had 100 times 5 ms before it.
    assert result.lines[-1]["lat"] > 300e6


@pytest.mark.long("judges figures of a stop of one second")
def test_stopped_generator(stub, load):
    """Goal: the time in which the generator itself was stopped is in what it
    reports and not in the least that this can be: p99 is doubtful and the
    run is bad."""
    server = stub()
    child, directory = load(server.url, "-i", 1, "-n", 1000, "-r", 500,
                            "--warmup", 0, "--all", start=True)
    wait_until(lambda: len(server.requests) >= 100, "a tenth of them")
    child.send_signal(signal.SIGSTOP)
    time.sleep(1)
    child.send_signal(signal.SIGCONT)
    result = Result(child, directory)
    assert result.status == 4 and "Figures: BAD" in result.out
    check_figures(result)
    late = sum(line["lag"] > 1e6 for line in result.lines)
    assert late == result.run["generator"]["lag_over_1ms"] > 1
    assert f"{late} of 1000 sent >1ms late" in result.out
    figure = {f["statistic"]: f for f in result.run["generator"]["figures"]
              if f["scope"] == "median"}
    assert figure["p99"]["trust"] == figure["max"]["trust"] == "doubtful"
    assert figure["p99"]["reported_ns"] > 800e6
    # the least of each that the stop delayed is not even half of the stop
    assert max(x["least"] for x in result.lines if x["lag"] > 500e6) < 500e6
    assert re.search(r"^  p99 doubtful [\d.]+[mu]s - [\d.]+m?s \(",
                     result.out, re.M)
    assert "do not use these results" in result.out
    assert "Do not use these results" in \
        (directory / "report.html").read_text()


def test_refused_leaves_nothing(build, stub, free_port, scratch):
    """Goal: exit 1 where there is no place for results or no server: without a
    first connection there is no result, what was made for it is removed, and
    what was there before is as it was."""
    def run(*arguments):
        return ran(build / "tailor-load", *arguments, "-i", 1, "-n", 10, "-r",
                   1000)

    def content(folder):
        return {p: p.is_file() and p.read_bytes()
                for p in folder.rglob("*")}

    closed = f"http://127.0.0.1:{free_port()}/"
    (scratch / "mine").mkdir()
    (scratch / "mine" / "lines").write_text("old")
    before = content(scratch)
    for what in (
            [closed, "-o", scratch / "new" / "run"],
            [closed, "-o", scratch / "mine"],
            ["ab", "--a", closed, "--b", closed, "-o", scratch / "new"],
            [closed, "--json", scratch / "a", "--ndjson", scratch / "b"],
            [closed, "--ndjson", scratch / "mine" / "lines"]):
        result = run(*what)
        assert result.returncode == 1
        assert "Connection refused" in result.err
        assert content(scratch) == before
    server = stub()
    result = run(server.url, "-o", scratch / "mine" / "lines" / "x")
    assert result.returncode == 1 and "Not a directory" in result.err
    assert server.requests == []
    # Where there is a result the old one is gone, also if that was longer.
    (scratch / "mine" / "lines").write_text("old" * 10000)
    result = run(stub().url, "--ndjson", scratch / "mine" / "lines")
    text = (scratch / "mine" / "lines").read_text()
    assert [json.loads(line)["n"] for line in text.splitlines()] == \
        list(range(1, 11))


def test_expectations(stub, load):
    """Goal: exit 3 names what was not met; met ones alone exit 0."""
    server = stub()
    met = ["--fail", "errors<=0", "--fail", "p99<10s", "--fail", "rate>1"]
    result = load(server.url, "-i", 1, "-n", 50, "-r", 200, *met)
    result.assert_done(0)
    assert [x["pass"] for x in result.run["fail"]] == [True] * 3
    result = load(server.url, "-i", 1, "-n", 50, "-r", 200, *met,
                  "--fail", "p50<1ns", "--fail", "server.p99<1s")
    result.assert_done(3)
    assert [x["pass"] for x in result.run["fail"]] == [True] * 3 + [False] * 2
    assert result.run["fail"][3]["actual_ns"] == \
        result.run["iterations"][0]["latency"]["p50_ns"]
    assert "FAIL p50<1ns" in result.out and "not measured" in result.out


def test_one_screen_first(stub, load):
    """Goal: the result, the errors and what the figures are worth come first,
    in a dozen lines; the rest only with --all, and after it."""
    options = (stub().url, "-i", 6, "-n", 20, "-r", 400)
    short, whole = load(*options), load(*options, "--all")
    rows = re.compile(r"^ +\d+ +\d+/s ", re.M)
    assert short.out[:short.out.index("Figures: ")].count("\n") <= 12
    assert not rows.search(short.out) and "Generator" not in short.out
    places = [re.search(text, whole.out, re.M).start() for text in (
        r"^p50 +\S+ +\S+ - \S+$", "^p99 ", "^max .* slowest of all ",
        "^Errors: 0 of 120 failed$", "^Figures: ", "^iter ", "^Generator: ",
        "^Connections: ", "^Slowest requests:")]
    assert places == sorted(places) and len(rows.findall(whole.out)) == 6
    for line in (short.out + whole.out).splitlines():
        assert len(line) <= 80 and line == line.rstrip()


def test_interrupt(stub, load):
    """Goal: SIGINT ends the run with status 130 and its partial results."""
    # The server says nothing from the middle of the second iteration on.
    server = stub(lambda _: OK if len(server.requests) < 150 else None)
    child, directory = load(server.url, "-i", 5, "-n", 100, "--arrivals",
                            "closed:1", "--warmup", 0, "--timeout", "10m",
                            start=True)
    wait_until(lambda: len(server.requests) == 150, "the second iteration")
    child.send_signal(signal.SIGINT)
    result = Result(child, directory)
    assert result.status == 130, result.err
    run = result.run
    assert run["interrupted"] is True
    last = run["iterations"][-1]
    assert last.get("partial") is True and last["sent"] == 50
    assert run["summary"]["iterations"] == len(run["iterations"]) - 1 == 1
    assert len(result.lines) == 150
    assert "Interrupted" in result.out


def test_progress(stub, build):
    """Goal: on a terminal a line shows how far it is, and is gone at the
    end; elsewhere there is none."""
    line = re.compile(rb"\r\x1b\[Kiteration 1/2  [1-9]\d*/20 sent  "
                      rb"\d+ in flight  p99 so far [\d.]+[mu]?s")
    shown, seen = b"", {"-01-0010": threading.Event(),
                        "-02-0010": threading.Event()}

    def answer(request):
        """The tenth of each iteration waits until it has been shown."""
        one = seen.get(request.get("x-request-id")[-8:])
        assert one is None or one.wait(PATIENCE_S)
        return OK

    server = stub(answer)
    ours, theirs = os.openpty()
    command = [str(build / "tailor-load"), "--cpu", "none", "-i", "2", "-n",
               "20", "--arrivals", "closed:1", "--warmup", "0", "--pause",
               "0", "--timeout", "10m", server.url]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL,
                             stderr=theirs)
    os.close(theirs)
    while True:
        try:
            shown += os.read(ours, 65536)
        except OSError:  # the other side is closed
            break
        if line.search(shown):
            seen["-01-0010"].set()
        if b"iteration 2/2" in shown:
            seen["-02-0010"].set()
    os.close(ours)
    assert child.wait(RUN_S) == 0
    first = shown.index(b"iteration 1/2")
    assert first < shown.index(b"iteration 2/2")
    last = shown.rindex(b"iteration 2/2")
    assert b"\r\x1b[K" in shown[last:]
    assert "iteration" not in ran(*command).err


@pytest.mark.parametrize("words", [
    "--help", "--version", "completion bash", "check -d 100ms --cpu none"])
def test_lost_output_is_an_error(build, words):
    """Goal: output that cannot be written is not a success."""
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = ran(build / "tailor-load", *words.split(), stdout=full,
                   stderr=subprocess.PIPE, capture_output=False)
    # 4: this machine is busy
    assert done.returncode == 1 or (
        words.startswith("check") and done.returncode == 4), done.err


def test_stdout_is_for_one(stub, build):
    """Goal: --json - gives JSON and nothing else; -q gives nothing."""
    server = stub()
    common = [build / "tailor-load", "--cpu", "none", "-i", "1", "-n", "20",
              "-r", "200", "--warmup", "0", server.url]
    assert json.loads(ran(*common, "--json", "-").out)["summary"]["ok"] == 20
    assert ran(*common, "-q").out == ""
