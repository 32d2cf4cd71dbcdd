"""tailor-load against a scripted server that knows what it did and when."""

import csv
import json
import math
import os
import re
import selectors
import signal
import socket
import subprocess
import threading
import time

import pytest

from support.process import SANITIZER, SANITIZER_ENV
from support.wait import PATIENCE_S, wait_until

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
RUN_S = 120


class Stub:
    """One thread, one request after the other, like a server with one CPU.

    answer(request) returns the bytes to send, or None: no answer.  While it
    runs nothing else is served, so sleeping in it is a stall.  A request is a
    dict of its header fields (lower case) with "method", "target", "body" and
    "socket".
    """

    def __init__(self, answer=lambda request: OK, path=None):
        self.answer = answer
        self.requests = []
        self.pipelined = 0
        self._listener = socket.socket(
            socket.AF_UNIX if path else socket.AF_INET)
        self._listener.bind(str(path) if path else ("127.0.0.1", 0))
        self._listener.listen(4096)
        self._listener.setblocking(False)
        if not path:
            self.port = self._listener.getsockname()[1]
            self.url = f"http://127.0.0.1:{self.port}/"
        self._buffers = {}
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._wake, self._woken = socket.socketpair()
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is self._woken:
                    self._end()
                    return
                if key.fileobj is self._listener:
                    self._accept()
                elif key.fileobj in self._buffers:
                    self._read(key.fileobj)

    def _accept(self):
        try:
            sock, _ = self._listener.accept()
        except BlockingIOError:
            return
        if sock.family == socket.AF_INET:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffers[sock] = b""
        self._selector.register(sock, selectors.EVENT_READ)

    def drop(self, sock):
        """Close a connection."""
        self._selector.unregister(sock)
        del self._buffers[sock]
        sock.close()

    def _read(self, sock):
        try:
            data = sock.recv(65536)
        except ConnectionError:
            data = b""
        if not data:
            self.drop(sock)
            return
        self._buffers[sock] += data
        head, end, rest = self._buffers[sock].partition(b"\r\n\r\n")
        if not end:
            return
        lines = head.decode("latin-1").split("\r\n")
        request = dict(re.split(r":\s*", line, maxsplit=1)
                       for line in lines[1:])
        request = {name.lower(): value for name, value in request.items()}
        length = int(request.get("content-length", 0))
        if len(rest) < length:
            return
        method, target, _ = lines[0].split(" ")
        request.update(method=method, target=target, body=rest[:length],
                       socket=sock)
        self.pipelined += len(rest) > length
        self._buffers[sock] = b""
        self.requests.append(request)
        answer = self.answer(request)
        if answer and sock in self._buffers:
            try:
                sock.sendall(answer)
            except OSError:
                pass

    def _end(self):
        for sock in list(self._buffers):
            self.drop(sock)
        self._listener.close()
        self._selector.close()

    def kill(self):
        """Close everything at once, as the end of a process does."""
        if self._thread.is_alive():
            self._wake.send(b"x")
            self._thread.join(PATIENCE_S)

    def measured(self):
        """The requests that were no warm-up."""
        return [r for r in self.requests if "-w" not in r["x-request-id"]]


@pytest.fixture
def stub():
    """Makes stub servers."""
    made = []

    def make(*arguments, **more):
        made.append(Stub(*arguments, **more))
        return made[-1]

    yield make
    for server in made:
        server.kill()


class Result:
    """A finished run: status, output, run.json and requests.ndjson."""

    def __init__(self, child, directory):
        try:
            self.out, self.err = child.communicate(timeout=RUN_S)
        finally:
            child.kill()  # if it hangs; an ended one is not touched
        self.status = child.returncode
        assert not SANITIZER.search(self.err), self.err
        self.run, self.lines = None, []
        if (directory / "run.json").exists():
            text = (directory / "run.json").read_text()
            self.run = json.loads(text) if text else None
            self.lines = [json.loads(line) for line in
                          (directory / "requests.ndjson").open()]
            self.hgrm = (directory / "run.hgrm").read_text()

    @property
    def verdict(self):
        assert self.run, (self.status, self.err)
        return self.run["generator"]["verdict"]

    def assert_done(self, status=0):
        """It ended with status, or with 4 because this machine is busy."""
        expected = 4 if self.verdict == "bad" else status
        assert self.status == expected, (self.status, self.out, self.err)

    def iteration(self, index):
        """The requests of one iteration."""
        return [line for line in self.lines if line["i"] == index]


@pytest.fixture
def load(build, scratch):
    """Runs tailor-load: load(url, *options); start=True does not wait."""
    count = 0

    def run(url, *options, start=False):
        nonlocal count
        count += 1
        directory = scratch / f"out{count}"
        child = subprocess.Popen(
            [str(build / "tailor-load"), "--cpu", "none", "--pause", "0",
             "-o", str(directory), *map(str, options), url],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, **SANITIZER_ENV})
        if start:
            return child, directory
        return Result(child, directory)

    return run


def nearest_rank(values, percent):
    """The percentile, independently of the program."""
    rank = math.ceil(round(percent * len(values) / 100, 9))
    return sorted(values)[rank - 1]


def check_distribution(reported, values):
    """A distribution of run.json is exactly that of these values."""
    assert reported["count"] == len(values)
    assert reported["min_ns"] == min(values)
    assert reported["max_ns"] == max(values)
    assert abs(reported["mean_ns"] - sum(values) / len(values)) <= 1
    for key, percent in (("p50", 50), ("p90", 90), ("p99", 99),
                         ("p999", 99.9)):
        assert reported[f"{key}_ns"] == nearest_rank(values, percent), key


def test_report_is_exactly_the_samples(stub, load):
    """Goal: every figure of run.json follows from requests.ndjson."""
    server = stub(lambda request: b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"
                  b"Server-Timing: tailor;dur=9, upstream;dur=0.015\r\n"
                  b"\r\nok")
    result = load(server.url, "-i", 6, "-n", 200, "-r", 400, "--warmup", 20)
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
        for key, field in (("latency", "lat"), ("service", "svc"),
                           ("lag", "lag"), ("server", "srv")):
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
    assert len(re.findall(r"^ +\d+ +\d+/s ", result.out, re.M)) == 6
    rows = [line.split() for line in result.hgrm.splitlines()
            if re.match(r" +\d", line)]
    assert float(rows[-1][0]) == pytest.approx(max(everything) / 1e6, abs=2e-6)
    assert int(rows[-1][2]) == 1200
    for value, _, total, _ in rows:
        below = sum(x <= float(value) * 1e6 + 0.5 for x in everything)
        assert below == int(total)


class Stall:
    """Answers at once, but sleeps 50 ms in one measured request."""

    def __init__(self):
        self.begin = self.end = 0

    def __call__(self, request):
        if request["x-request-id"].endswith("-01-0300"):
            self.begin = time.monotonic_ns()
            time.sleep(0.05)
            self.end = time.monotonic_ns()
        return OK


def waited_for(result, stall):
    """(due time, latency) of requests due while the server stalled."""
    epoch = int(result.run["clock"]["epoch_ns"])
    return [(line["sched"] + epoch, line["lat"]) for line in result.lines
            if stall.begin <= line["sched"] + epoch < stall.end]


def test_stall_shows_as_a_ramp(stub, load):
    """Goal: a 50 ms stall at 1000/s delays about 50 requests, not one."""
    stall = Stall()
    server = stub(stall)
    result = load(server.url, "-i", 1, "-n", 600, "-r", 1000, "--warmup", 10)
    result.assert_done()
    delayed = waited_for(result, stall)
    # 50 are expected in 50 ms; a busy machine may make the stall longer.
    expected = (stall.end - stall.begin) / 1e6
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


def test_known_delays(stub, load):
    """Goal: a delay of one request in twenty is its p99 and not its p50."""
    def answer(request):
        if int(request["x-request-id"][-4:]) % 20 == 0:
            time.sleep(0.03)
        return OK
    server = stub(answer)
    result = load(server.url, "-i", 1, "-n", 100, "-r", 20, "--warmup", 0)
    result.assert_done()
    late = [line["n"] for line in result.lines if line["lat"] >= 30e6]
    assert set(late) >= {20, 40, 60, 80, 100}
    assert result.run["iterations"][0]["latency"]["p99_ns"] >= 30e6
    assert result.run["iterations"][0]["latency"]["p50_ns"] < 30e6


def test_server_dies(stub, load):
    """Goal: a server that ends mid-run gives counted errors, no latencies."""
    def answer(request):
        if request["x-request-id"].endswith("-01-0100"):
            threading.Thread(target=server.kill).start()
        return OK
    server = stub(answer)
    result = load(server.url, "-i", 2, "-n", 200, "-r", 500, "--warmup", 0,
                  "--fail", "errors<1%")
    result.assert_done(3)
    ok = [line for line in result.lines if "err" not in line]
    failed = [line for line in result.lines if "err" in line]
    assert len(result.lines) == 400 and len(ok) >= 99
    assert {x["err"] for x in failed} <= {"connect", "reset", "short"}
    assert sum(x["err"] == "connect" for x in failed) > 200
    assert not any("lat" in x or "svc" in x for x in failed)
    errors = {}
    for line in failed:
        errors[line["err"]] = errors.get(line["err"], 0) + 1
    summary = result.run["summary"]
    assert summary["errors"] == errors
    assert summary["pooled"]["count"] == summary["ok"] == len(ok)
    assert summary["pooled"]["max_ns"] == max(x["lat"] for x in ok)
    assert "latency" not in result.run["iterations"][1]
    assert f"Errors: {len(failed)} of 400" in result.out
    assert result.run["fail"][0]["pass"] is False


ENDINGS = {
    "/ok": (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", None),
    "/chunked": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                 b"3\r\nabc\r\n0\r\n\r\n", None),
    "/close": (b"HTTP/1.1 200 OK\r\n\r\nabc", None),
    "/status": (b"HTTP/1.1 503 No\r\nContent-Length: 3\r\n\r\nabc", "status"),
    "/short": (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", "short"),
    "/nothing": (b"", "short"),
    "/malformed": (b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
                   "malformed"),
    "/surplus": (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcd",
                 "malformed"),
    "/reset": (b"HTTP/1.1 200", "reset"),
    "/never": (None, "timeout"),
}


def test_every_ending(stub, load, scratch):
    """Goal: each way a response can end is told from the others."""
    def answer(request):
        data, _ = ENDINGS[request["target"]]
        sock = request["socket"]
        if request["target"] in ("/close", "/short", "/nothing", "/reset"):
            sock.sendall(data)
            if request["target"] == "/reset":
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                b"\1\0\0\0\0\0\0\0")
            server.drop(sock)
            return None
        return data
    server = stub(answer)
    urls = scratch / "urls"
    urls.write_text("".join(path + "\n" for path in ENDINGS))
    result = load(server.url, "-i", 1, "-n", 30, "-r", 100, "--warmup", 0,
                  "--urls", urls, "--timeout", "1s")
    result.assert_done()
    targets = list(ENDINGS)
    for line in result.lines:
        target = targets[(line["n"] - 1) % len(targets)]
        assert line.get("err") == ENDINGS[target][1], target
        if "err" not in line:
            assert line["bytes"] == 3
    assert result.run["summary"]["errors"] == {
        "reset": 3, "timeout": 3, "short": 6, "malformed": 6, "status": 3}
    assert result.run["iterations"][0]["status"] == {"200": 9, "503": 3}
    assert server.pipelined == 0


def test_never_waits(stub, load):
    """Goal: a server that never answers does not hold back one request."""
    server = stub(lambda request: None)
    result = load(server.url, "-i", 1, "-n", 100, "-r", 500, "--warmup", 0,
                  "-c", 4, "--timeout", "2s")
    assert result.status == 1 and "not one of 100" in result.err
    iteration = result.run["iterations"][0]
    assert iteration["errors"] == {"timeout": 100}
    assert iteration["max_in_flight"] == 100
    assert iteration["new_connections"] == 96
    assert iteration["connection_wait"]["count"] == 0
    assert server.pipelined == 0
    assert len({x["conn"] for x in result.lines}) == 100


def test_bad_generator(stub, load):
    """Goal: exit 4 and a reason when requests had to wait for a connection."""
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
    assert "Generator: BAD" in result.out
    assert "waited for a connection" in "".join(
        result.run["generator"]["reasons"])
    # The wait is in the latency: the 100th had 100 times 5 ms before it.
    assert result.lines[-1]["lat"] > 300e6


def test_could_not_run(load, stub, free_port, scratch):
    """Goal: exit 1 when there is no server, or no place for results."""
    result = load(f"http://127.0.0.1:{free_port()}/", "-i", 1, "-n", 10)
    assert result.status == 1 and "refused" in result.err
    server = stub()
    (scratch / "file").write_text("")
    result = load(server.url, "--json", scratch / "file" / "x")
    assert result.status == 1 and "Not a directory" in result.err
    assert server.requests == []


@pytest.mark.parametrize("options", [
    ["--rate", "0"], ["--bogus"], ["--arrivals", "closed:1", "-r", "5"],
    ["-H", "Content-Length: 5"], ["--fail", "p99"], ["--urls", "/dev/null"]])
def test_usage(stub, load, options):
    """Goal: exit 2 with a reason, before any request."""
    server = stub()
    result = load(server.url, *options)
    assert result.status == 2, result.err
    assert result.err.startswith("tailor-load: ") and result.out == ""
    assert server.requests == []


def test_help_and_version(load):
    """Goal: both exit 0 and print to stdout."""
    result = load("x", "--help")
    assert result.status == 0 and "--arrivals KIND" in result.out
    result = load("x", "-V")
    assert result.status == 0
    assert re.match(r"tailor-load \d+\.\d+", result.out)


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


def test_interrupt(stub, load):
    """Goal: SIGINT ends the run with status 130 and its partial results."""
    server = stub()
    child, directory = load(server.url, "-i", 5, "-n", 100, "-r", 200,
                            "--warmup", 0, start=True)
    wait_until(lambda: len(server.requests) >= 150, "the second iteration")
    child.send_signal(signal.SIGINT)
    result = Result(child, directory)
    assert result.status == 130, result.err
    run = result.run
    assert run["interrupted"] is True
    last = run["iterations"][-1]
    assert last.get("partial") is True and 0 < last["sent"] < 100
    assert run["summary"]["iterations"] == len(run["iterations"]) - 1 >= 1
    assert len(result.lines) == sum(x["sent"] for x in run["iterations"])
    assert "Interrupted" in result.out


def test_interrupt_while_waiting(stub, load):
    """Goal: an interruption does not wait for answers that do not come."""
    server = stub(lambda request: None)
    child, directory = load(server.url, "-i", 1, "-n", 5, "-r", 100,
                            "--warmup", 0, "--timeout", "10m", start=True)
    wait_until(lambda: len(server.requests) == 5, "all requests")
    child.send_signal(signal.SIGTERM)
    result = Result(child, directory)
    assert result.status == 130, result.err
    assert result.run["iterations"][0]["unanswered"] == 5
    assert [line["err"] for line in result.lines] == ["unanswered"] * 5


def test_what_is_sent(stub, load, scratch):
    """Goal: method, headers, body, ids and trace of every request."""
    server = stub()
    (scratch / "body").write_bytes(b"a\0b")
    result = load(server.url, "-i", 2, "-n", 30, "-r", 300, "--warmup", 5,
                  "-X", "PUT", "-H", "X-Mine: 1", "-H", "user-agent: me",
                  "--data", f"@{scratch}/body")
    result.assert_done()
    assert len(server.requests) == 2 * 35
    for request in server.requests:
        assert request["method"] == "PUT" and request["body"] == b"a\0b"
        assert request["x-mine"] == "1" and request["user-agent"] == "me"
        assert request["host"] == f"127.0.0.1:{server.port}"
        assert re.fullmatch(r"00-[0-9a-f]{32}-[0-9a-f]{16}-01",
                            request["traceparent"])
    assert len({r["x-request-id"] for r in server.requests}) == 70
    assert len({r["traceparent"] for r in server.requests}) == 70
    sent = {(r["x-request-id"], r["traceparent"]) for r in server.measured()}
    assert sent == {(x["id"], x["trace"]) for x in result.lines}
    assert all(re.fullmatch(r"[0-9a-f]{8}-0[12]-00\d\d", x["id"])
               for x in result.lines)


def test_urls_in_order(stub, load, scratch):
    """Goal: targets are taken in turn and wrap; HEAD has no body."""
    server = stub(lambda request: b"HTTP/1.1 200 OK\r\n"
                  b"Content-Length: 5\r\n\r\n")
    urls = scratch / "urls"
    urls.write_text(f"/a\n# comment\n\n{server.url}b?c=d\n/e\n")
    result = load(server.url, "--urls", urls, "-i", 1, "-n", 10, "-r", 100,
                  "--warmup", 0, "-X", "HEAD")
    result.assert_done()
    by_id = {r["x-request-id"]: r["target"] for r in server.requests}
    assert [by_id[line["id"]] for line in result.lines] == \
        (["/a", "/b?c=d", "/e"] * 4)[:10]


def test_urls_at_random(stub, load, scratch):
    """Goal: drawn targets depend on the seed alone, and are all drawn."""
    server = stub()
    urls = scratch / "urls"
    urls.write_text("".join(f"/{n}\n" for n in range(8)))

    def drawn(seed):
        server.requests.clear()
        result = load(server.url, "--urls", urls, "--urls-random", "-i", 2,
                      "-n", 100, "-r", 500, "--warmup", 0, "--seed", seed)
        by_id = {r["x-request-id"]: r["target"] for r in server.requests}
        return [by_id[line["id"]] for line in result.lines]

    first = drawn(3)
    assert drawn(3) == first and drawn(4) != first
    assert first[:100] != first[100:] and len(set(first)) == 8
    assert max(map(first.count, set(first))) < 50


def test_big_body(stub, load):
    """Goal: a request too big for the socket's buffer is sent whole."""
    def answer(request):
        time.sleep(0.01)
        return OK
    server = stub(answer)
    body = "x" * 100000
    result = load(server.url, "--data", body, "-i", 1, "-n", 20, "-r", 200,
                  "--warmup", 0)
    result.assert_done()
    assert result.run["summary"]["ok"] == 20
    assert {len(r["body"]) for r in server.requests} == {100000}
    assert len({r["x-request-id"] for r in server.requests}) == 20


def test_unix_socket(stub, load, scratch):
    """Goal: http+unix reaches a server on a Unix socket."""
    stub(path=scratch / "s")
    name = str(scratch / "s").replace("/", "%2F")
    result = load(f"http+unix://{name}/x", "-i", 1, "-n", 20, "-r", 200)
    result.assert_done()
    assert result.run["summary"]["ok"] == 20


def test_same_seed_same_schedule(stub, load):
    """Goal: the seed decides the schedule, warm-ups do not change it."""
    server = stub()

    def gaps(*options):
        result = load(server.url, "-i", 2, "-n", 50, "-r", 500, *options)
        due = [x["sched"] for x in result.iteration(2)]
        return [b - a for a, b in zip(due, due[1:])]

    first = gaps("--seed", 5)
    assert gaps("--seed", 5, "--warmup", 3) == first
    assert gaps("--seed", 6) != first


def test_stdout_is_for_one(stub, build):
    """Goal: --json - gives JSON and nothing else; -q gives nothing."""
    server = stub()
    common = [str(build / "tailor-load"), "--cpu", "none", "-i", "1", "-n",
              "20", "-r", "200", "--warmup", "0"]
    done = subprocess.run([*common, "--json", "-", server.url], check=False,
                          capture_output=True, text=True, timeout=RUN_S)
    assert json.loads(done.stdout)["summary"]["ok"] == 20
    done = subprocess.run([*common, "-q", server.url], check=False,
                          capture_output=True, text=True, timeout=RUN_S)
    assert done.stdout == ""


def test_connection_close(stub, load):
    """Goal: a server that closes after each response is no error."""
    server = stub(lambda request: b"HTTP/1.1 200 OK\r\nConnection: close\r\n"
                  b"Content-Length: 2\r\n\r\nok")
    result = load(server.url, "-i", 1, "-n", 30, "-r", 200, "-c", 2,
                  "--warmup", 0)
    result.assert_done()
    assert result.run["summary"]["ok"] == 30
    assert len({line["conn"] for line in result.lines}) == 30
    assert sum(line["new_conn"] for line in result.lines) == 28


def test_kernel_stamps(stub, load):
    """Goal: the kernel's stamps lie where they must, for every request."""
    server = stub()
    result = load(server.url, "-i", 2, "-n", 100, "-r", 300, "-c", 4)
    result.assert_done()
    assert result.run["plan"]["stamps"] == "kernel"
    stamped = [x for x in result.lines if "krx" in x]
    if not stamped:
        pytest.skip("this kernel stamps no TCP bytes")
    assert len(stamped) == len(result.lines) == 200
    for x in stamped:
        # Two clocks are compared: 20 us for reading their difference.
        assert x["send0"] - 20e3 <= x["ktx"] <= x["kack"] + 1e3
        assert x["ktx"] <= x["krx"] <= x["first"] + 20e3
    for iteration in result.run["iterations"]:
        lines = result.iteration(iteration["index"])
        check_distribution(iteration["send"],
                           [x["ktx"] - x["send0"] for x in lines])
        check_distribution(iteration["receive"],
                           [x["first"] - x["krx"] for x in lines])
    result = load(server.url, "-i", 1, "-n", 50, "-r", 300, "--stamps", "user")
    assert not any("krx" in x or "ktx" in x for x in result.lines)
    assert "send" not in result.run["iterations"][0]


def test_csv_is_the_log(stub, load, scratch):
    """Goal: the table has what requests.ndjson has, failures included."""
    def answer(request):
        if request["x-request-id"].endswith("7"):
            return b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"
        return OK
    server = stub(answer)
    table = scratch / "table.csv"
    result = load(server.url, "-i", 2, "-n", 40, "-r", 300, "--csv", table)
    with open(table, newline="", encoding="ascii") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(result.lines) == 80
    for row, line in zip(rows, result.lines):
        assert {k: v for k, v in row.items() if v not in ("", "0")} == \
            {k: str(v) for k, v in line.items() if v != 0}
    assert sum(row["err"] == "status" for row in rows) == 8


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


def test_slow_rules(stub, load):
    """Goal: over:T and p:Q list exactly the requests that they name."""
    def answer(request):
        if request["x-request-id"][-2:] in ("10", "30", "35"):
            time.sleep(0.06)
        return OK
    server = stub(answer)
    result = load(server.url, "-i", 1, "-n", 40, "-r", 20, "--warmup", 0,
                  "--slow", "over:50ms")
    over = sorted(x["n"] for x in result.lines if x["lat"] > 50e6)
    assert set(over) >= {10, 30, 35}
    listed = result.run["iterations"][0]["slowest"]
    assert sorted(x["seq"] for x in listed) == over
    result = load(server.url, "-i", 1, "-n", 40, "-r", 200, "--warmup", 0,
                  "--slow", "p:90")
    limit = nearest_rank([x["lat"] for x in result.lines], 90)
    listed = result.run["iterations"][0]["slowest"]
    assert [x["latency_ns"] for x in listed] == sorted(
        (x["lat"] for x in result.lines if x["lat"] > limit), reverse=True)
