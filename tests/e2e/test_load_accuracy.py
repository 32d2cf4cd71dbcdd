"""tailor-load's figures against a server that knows what it did and when."""

import re
import socket
import time

import pytest

from rig.stub import OK
from support.load import (check_distribution, check_figures,
                          nearest_rank)


def test_report_is_exactly_the_samples(stub, load):
    """Goal: every figure of run.json follows from requests.ndjson."""
    server = stub(lambda request: b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"
                  b"Server-Timing: tailor;dur=9, upstream;dur=0.015\r\n"
                  b"\r\nok")
    result = load(server.url, "-i", 6, "-n", 200, "-r", 400, "--warmup", 20,
                  "--all")
    result.assert_done()
    run = result.run
    assert run["schema"] == "tailor.load.run/1"
    assert len(run["iterations"]) == 6
    for iteration in run["iterations"]:
        lines = result.iteration(iteration["index"])
        assert iteration["sent"] == iteration["ok"] == len(lines) == 200
        assert iteration["status"] == {"200": 200}
        assert iteration["errors"] == {}
        for line in lines:
            assert line["lat"] == line["last"] - line["sched"]
            assert line["lat"] == line["lag"] + line["svc"]
            assert line["lag"] == line["send0"] - line["sched"] >= 0
            assert line["send0"] <= line["send1"]
            assert line["send0"] <= line["first"] <= line["last"]
            assert line["srv"] == 15000 and line["bytes"] == 2
            assert line["svc"] - line["srv"] >= 0
        assert all(0 <= x["least"] <= x["svc"] for x in lines)
        for key, field in (("latency", "lat"), ("least", "least"),
                           ("service", "svc"), ("lag", "lag"), ("server", "srv")):
            check_distribution(iteration[key], [x[field] for x in lines])
        check_distribution(iteration["gap"],
                           [x["svc"] - x["srv"] for x in lines])
        slow = sorted((x["lat"] for x in lines), reverse=True)[:3]
        assert [x["latency_ns"] for x in iteration["slowest"]] == slow
        assert {x["id"] for x in iteration["slowest"]} == \
            {x["id"] for x in lines if x.get("slow")}
    p99 = sorted(i["latency"]["p99_ns"] for i in run["iterations"])
    summary = run["summary"]
    assert summary["p99"]["median_ns"] == p99[2]
    assert summary["p99"]["ci95_ns"] == [p99[0], p99[5]]
    assert summary["p99"]["coverage"] == pytest.approx(0.96875)
    everything = [x["lat"] for x in result.lines]
    assert summary["pooled"]["count"] == 1200
    assert summary["pooled"]["p99_ns"] == nearest_rank(everything, 99)
    assert summary["pooled"]["max_ns"] == max(everything)
    check_figures(result)
    assert len(re.findall(r"^ +\d+ +\d+/s ", result.out, re.M)) == 6


class Stall:
    """Answers at once, but sleeps 50 ms in one measured request."""

    def __init__(self):
        self.begin = self.end = 0

    def __call__(self, request):
        if request.get("x-request-id").endswith("-01-0300"):
            self.begin = time.monotonic_ns()
            time.sleep(0.05)
            self.end = time.monotonic_ns()
        return OK


def waited_for(result, stall):
    """(due time, latency) of requests due while the server stalled."""
    epoch = int(result.run["clock"]["epoch_ns"])
    return [(line["sched"] + epoch, line["lat"]) for line in result.lines
            if stall.begin <= line["sched"] + epoch < stall.end]


@pytest.mark.long("compares a stall of 50 ms with what was due meanwhile")
@pytest.mark.parametrize("arrivals", ["poisson", "uniform"])
def test_stall_shows_as_a_ramp(stub, load, arrivals):
    """Goal: a 50 ms stall at 1000/s delays about 50 requests, not one."""
    stall = Stall()
    server = stub(stall)
    result = load(server.url, "-i", 1, "-n", 600, "-r", 1000, "--warmup", 10,
                  "--arrivals", arrivals)
    result.assert_done()
    delayed = waited_for(result, stall)
    # 50 are expected in 50 ms; a busy machine may make the stall longer.
    expected = (stall.end - stall.begin) / 1e6
    if arrivals == "uniform":
        assert abs(len(delayed) - expected) <= 1
    assert 0.5 * expected < len(delayed) < 1.7 * expected
    for due, latency in delayed:
        assert latency >= stall.end - due
    # So the wait falls from the whole stall to nothing: a ramp.
    waits = [stall.end - due for due, _ in delayed]
    assert waits == sorted(waits, reverse=True)
    assert max(waits) > 40e6 and min(waits) < 10e6


def test_closed_loop_hides_the_stall(stub, load):
    """Goal: the same stall in a closed loop of one delays one request."""
    stall = Stall()
    server = stub(stall)
    result = load(server.url, "-i", 1, "-n", 600, "--arrivals", "closed:1",
                  "--warmup", 10)
    assert result.status == 0 and result.verdict == "closed"
    assert result.run["plan"]["latency_from"] == "send"
    assert waited_for(result, stall) == []
    epoch = int(result.run["clock"]["epoch_ns"])
    met = [line for line in result.lines if line["sched"] + epoch < stall.end
           and line["last"] + epoch >= stall.end]
    assert [line["n"] for line in met] == [300]
    assert met[0]["lat"] >= 50e6
    assert all(line["lag"] == 0 for line in result.lines)


def test_late_closing_is_the_servers(stub, load):
    """Goal: where the connection ends the response, the time from its last
    byte to that is the server's, not lateness of the generator."""
    def answer(request):
        request.send(b"HTTP/1.1 200 OK\r\n\r\nabc")
        time.sleep(0.01)
        request.close()
    result = load(stub(answer).url, "-i", 1, "-n", 20, "--arrivals",
                  "closed:1", "--warmup", 0)
    assert result.status == 0 and result.run["summary"]["ok"] == 20
    assert all(x["least"] == x["lat"] >= 10e6 for x in result.lines)


def test_closed_loop_goes_on_after_timeouts(load):
    """Goal: when all of its requests have timed out, it sends the next."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        result = load(f"http://127.0.0.1:{port}/", "-i", 1, "-n", 6,
                      "--warmup", 0, "--arrivals", "closed:2", "--timeout",
                      "50ms")
    assert result.run["iterations"][0]["errors"] == {"timeout": 6}
    assert result.status == 1 and "not one of 6" in result.err


def test_kernel_stamps(stub, load):
    """Goal: the kernel's stamps lie where they must, for every request."""
    server = stub()
    result = load(server.url, "-i", 2, "-n", 100, "-r", 300, "-c", 4)
    result.assert_done()
    assert result.run["plan"]["stamps"] == "kernel"
    stamped = [x for x in result.lines if "krx" in x]
    if not stamped:
        pytest.skip("this kernel stamps no TCP bytes")
    # The kernel begins to stamp for all sockets at once, in a task of its own,
    # which may come late: from then on every request is stamped.
    begun = min(x["krx"] for x in stamped)
    assert len(result.lines) == 200
    assert not [x for x in result.lines
                if x not in stamped and x["send0"] > begun]
    for x in stamped:
        # Two clocks are compared: 20 us for reading their difference.
        assert x["send0"] - 20e3 <= x["ktx"] <= x["kack"] + 1e3
        assert x["ktx"] <= x["krx"] <= x["first"] + 20e3
    for iteration in result.run["iterations"]:
        lines = result.iteration(iteration["index"])
        if not all("krx" in x for x in lines):
            continue
        check_distribution(iteration["send"],
                           [x["ktx"] - x["send0"] for x in lines])
        check_distribution(iteration["receive"],
                           [x["first"] - x["krx"] for x in lines])
    result = load(server.url, "-i", 1, "-n", 50, "-r", 300, "--stamps", "user")
    assert not any("krx" in x or "ktx" in x for x in result.lines)
    assert "send" not in result.run["iterations"][0]


def test_arrivals_from_file(stub, load, scratch):
    """Goal: requests are due when the file says, in every iteration."""
    server = stub()
    trace = scratch / "trace"
    due = [0, 0, 1.5, 20, 20.25, 60]
    trace.write_text("# ms\n" + "".join(f"{ms}\t/ignored\n" for ms in due))
    result = load(server.url, "-i", 3, "--arrivals", f"file:{trace}",
                  "--warmup", 4)
    result.assert_done()
    for k in (1, 2, 3):
        at = [x["sched"] for x in result.iteration(k)]
        assert [t - at[0] for t in at] == [int(ms * 1e6) for ms in due]
    assert result.run["plan"]["arrivals"] == "file"
    assert result.run["plan"]["requests"] == 6
