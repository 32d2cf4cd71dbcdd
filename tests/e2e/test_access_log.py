"""Goal: the access log has one true line for every request, never costs a
request anything, and says what it dropped."""

import json
import os
import re
import signal
import threading

import pytest

from rig.crowd import Crowd
from rig.message import response
from rig.wait import wait_until

KERNEL_EVENTS = "off"

LINES = 'tailor_access_log_lines_total{result="%s"}'


def lines_of(path):
    """Its lines that are whole: another process is writing."""
    try:
        return path.read_text().rpartition("\n")[0].splitlines()
    except FileNotFoundError:
        return []


def wait_lines(path, count):
    wait_until(lambda: len(lines_of(path)) >= count, f"{count} lines")
    return lines_of(path)


@pytest.fixture
def logged(upstream, tailor, scratch):
    """Starts a server with a handler, and a tailor that logs to a file: the
    server, the tailor, the file."""
    path = scratch / "access.log"

    def start(handler=None, **more):
        server = upstream("active").serve(handler)
        return server, tailor(server, access_log={
            "path": str(path), **more}), path
    return start


def test_json_line(logged):
    # Goal: every field, with the values that this request must have; the
    # server's time is upstream.  Then, whose connection was used before, and
    # who speaks HTTP/1.0.
    over = threading.Event()
    _, t, path = logged(
        lambda r: over.wait(0.04) or response(201, b"x" * 100))
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    with t.client() as c:
        c.request("POST", "/search?q=tail&n=1", body=b"12345",
                  fields=[("traceparent", f"00-{trace}-00f067aa0ba902b7-01"),
                          ("rEferer", " http://h/\t"), ("User-Agent", "one"),
                          ("User-Agent", "two")])
        answer = c.response()
        c.send(b"GET / HTTP/1.0\r\nHost: h\r\n\r\n")
        assert c.response().status == 201
    line, old = map(json.loads, wait_lines(path, 2))
    assert (old["version"], old["reused"]) == ("1.0", True)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z",
                        line.pop("ts"))
    times = {k: line.pop(k) for k in list(line) if k.startswith("t_")}
    assert line == {
        "id": answer.get("x-request-id"), "trace_id": trace,
        "client": "127.0.0.1", "method": "POST", "path": "/search",
        "query": "q=tail&n=1", "version": "1.1", "status": 201,
        "host": "test", "referer": "http://h/", "user_agent": "one",
        "upstream": "active", "reused": False,
        "attempt": 1, "attempts": 1, "bytes_in": 5,
        "bytes_out": len(answer.raw) + 100, "termination": "--",
        "flags": ""}
    assert set(times) == {"t_recv_us", "t_queue_us", "t_connect_us",
                          "t_upstream_us", "t_send_us", "t_total_us"}
    assert all(v >= 0 for v in times.values())
    assert times["t_upstream_us"] >= 40_000
    parts = sum(v for k, v in times.items() if k != "t_total_us")
    assert parts <= times["t_total_us"] + 6


def test_text_line(logged):
    # Goal: HAProxy's order of fields.
    _, t, path = logged(format="text")
    answer = t.get('/a"b?x=1')
    line = wait_lines(path, 1)[0]
    ms = r"\d+\.\d{3}"
    assert re.fullmatch(
        r"127\.0\.0\.1 \[\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d\.\d{3}\] "
        rf"tailor active {ms}/{ms}/{ms}/{ms}/{ms} 200 \d+ -- - 1/1 1/1 "
        r"\{test\|\|\} "
        r'"GET /a\\"b\?x=1 HTTP/1\.1" ' + answer.get("x-request-id"),
        line), line


def test_combined_line(logged):
    # Goal: Apache's combined format, as tools read it; a field of a client
    # that is longer than the log takes is cut, and one cannot forge a line.
    _, t, path = logged(format="combined")
    with t.client() as c:
        c.request("GET", "/a?x=1", fields=[
            ("Referer", 'http://h/"x'), ("User-Agent", "u" * 2000)])
        c.response()
        c.get("/b")
    first, second = wait_lines(path, 2)
    date = r"\[\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d \+0000\]"
    assert re.fullmatch(
        rf'127\.0\.0\.1 - - {date} "GET /a\?x=1 HTTP/1\.1" 200 \d+ '
        r'"http://h/\\"x" "u{508}\.\.\."', first), first
    assert re.fullmatch(
        rf'127\.0\.0\.1 - - {date} "GET /b HTTP/1\.1" 200 \d+ "-" "-"',
        second), second


def test_what_was_not_served(logged):
    # Goal: a refused head, a failed request and a client that left are lines
    # too, each with its reason.
    server, t, path = logged()
    server.script()
    with t.client() as c:
        c.send(b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n")
        assert c.response().status == 400
    first = json.loads(wait_lines(path, 1)[0])
    assert (first["status"], first["path"]) == (400, "-")
    assert (first["termination"], first["flags"]) == ("PR", "host_twice")
    assert first["upstream"] == "" and first["id"]
    assert "version" not in first
    assert first["t_upstream_us"] == -1
    c = t.client()
    c.request("GET", "/left")
    server.expect()
    c.reset()
    second = json.loads(wait_lines(path, 2)[1])
    assert (second["status"], second["path"]) == (499, "/left")
    assert second["client"] == "127.0.0.1"
    assert (second["termination"], second["flags"]) == ("CH", "client_gone")


def test_hedged_request(upstream, tailor, scratch):
    # Goal: which attempt won, and what the second was sent for.
    active, backup = upstream("active").script(), upstream("backup").script()
    path = scratch / "access.log"
    t = tailor(active, backup, access_log={"path": str(path)})
    with t.client() as c:
        c.request()
        held = active.expect()
        t.hazard("active", "begin")
        backup.expect().reply(200, b"second")
        assert c.response().body == b"second"
        held.reply(200, b"first")
    line = json.loads(wait_lines(path, 1)[0])
    assert (line["upstream"], line["attempt"], line["attempts"],
            line["trigger"]) == ("backup", 2, 2, "gc")


@pytest.mark.parametrize("form", ["json", "text", "combined"])
def test_redaction(logged, form):
    # Goal: neither the secret nor the whole address is in the file.
    _, t, path = logged(format=form, redact=["query", "client"])
    with t.client() as c:
        c.request("GET", "/x?token=secret",
                  fields=[("Referer", "http://h/?token=secret")])
        c.response()
    text = wait_lines(path, 1)[0]
    assert "secret" not in text and "token" not in text
    assert "127.0.0.0" in text and "127.0.0.1" not in text


def test_long_targets_are_whole(logged):
    # Goal: up to a KiB a target is in the log as it was sent; a longer one
    # is cut, and shows it.
    _, t, path = logged()
    whole, cut = "/" + "a" * 900, "/" + "b" * 2000
    with t.client() as c:
        c.get(whole)
        c.get(cut)
    lines = [json.loads(x) for x in wait_lines(path, 2)]
    assert lines[0]["path"] == whole
    assert lines[1]["path"].endswith("...")
    assert lines[1]["path"][:-3] == cut[:len(lines[1]["path"]) - 3]


def test_rotation_loses_nothing(logged, scratch):
    # Goal: as logrotate does it: renamed, then SIGUSR1, while requests go on;
    # every one is in one of the files, in order.
    _, t, path = logged()
    most = 0

    def target(_, n):
        wait_until(lambda: n < most, "more requests are wanted")
        return f"/{n}"

    with Crowd(t, 1, target) as crowd:
        sent = crowd.responses
        for i in range(5):
            count = len(sent)
            # Fewer lines than may wait for the thread that writes them.
            most = count + 800
            wait_until(lambda: len(sent) > count + 20, "requests go on")
            path.rename(scratch / f"access.{i}")
            t.signal(signal.SIGUSR1)
            wait_until(path.exists, "a new file")
        crowd.over.set()
        most += 1
    assert not crowd.errors
    t.wait_metric(LINES % "written", len(sent))
    names = [scratch / f"access.{i}" for i in range(5)] + [path]
    seen = [json.loads(x)["path"] for n in names for x in lines_of(n)]
    assert seen == [f"/{i}" for i in range(len(sent))]
    assert t.metrics()[LINES % "dropped"] == 0


def test_slow_reader_drops_lines_not_requests(upstream, tailor, scratch):
    # Goal: a pipe that is not read: requests are answered, the lines that
    # had no room are counted, and the sum is right; a stop is not delayed.
    server = upstream("active").serve()
    path = scratch / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    t = tailor(server, access_log={"path": str(path)})
    total = 3000
    with t.client() as c:
        for i in range(total):
            assert c.get("/" + "x" * 300).status == 200
    t.wait_metric(LINES % "dropped", 1)
    text = b""

    def drained():
        nonlocal text
        try:
            text += os.read(reader, 1 << 20)
        except BlockingIOError:
            pass
        m = t.metrics()
        return m[LINES % "written"] + m[LINES % "dropped"] == total

    wait_until(drained, "what is not dropped is written")
    drained()
    assert text.count(b"\n") == t.metrics()[LINES % "written"]
    with t.client() as c:
        for i in range(400):
            assert c.get("/" + "x" * 300).status == 200
    t.stop()
    os.close(reader)


def test_disk_full(upstream, tailor):
    # Goal: what the file does not take is counted, and said once.
    server = upstream("active").serve()
    t = tailor(server, access_log={"path": "/dev/full"})
    with t.client() as c:
        for _ in range(5):
            assert c.get().status == 200
            count = t.metrics()[LINES % "failed"]
            t.wait_metric(LINES % "failed", count or 1)
        t.wait_metric(LINES % "failed", 5)
    t.wait_log("access_log_failed")  # a thread of its own writes it
    assert t.log.count("access_log_failed") == 1
    assert t.metrics()[LINES % "written"] == 0


@pytest.mark.parametrize("again", ["goes on", "reopened", "restarted"])
def test_line_that_is_cut(upstream, tailor, scratch, faults, again):
    # Goal: a line of which a full disk took a part is counted as lost, and the
    # next one is not glued to it.
    faults(disk=100)
    server, path = upstream("active").serve(), scratch / "access.log"
    t = tailor(server, access_log={"path": str(path)})
    with t.client() as c:
        c.get("/before")
        t.wait_metric(LINES % "written", 1)
        t.signal(12)  # SIGUSR2
        t.wait_log("^calls fail$")
        c.get("/cut")
        t.wait_metric(LINES % "failed", 1)
    assert t.metrics()[LINES % "written"] == 1
    assert len(path.read_text().rpartition("\n")[2]) == 100
    t.signal(12)
    t.wait_log("^calls work$")
    if again == "reopened":
        t.signal(signal.SIGUSR1)
    if again == "restarted":
        t.stop()
        t = tailor(server, access_log={"path": str(path)})
    with t.client() as c:
        c.get("/after")
        wait_lines(path, 3)
    first, cut, last = lines_of(path)
    assert json.loads(first)["path"] == "/before"
    assert len(cut) == 100
    assert json.loads(last)["path"] == "/after"


def test_file_that_cannot_be(build, upstream, tailor, scratch):
    # Goal: at the start it is an error that names the key; in a reload the
    # old file stays.
    server = upstream("active").serve()
    path = scratch / "access.log"
    t = tailor(server, access_log={"path": str(path)})

    def reload(value):
        t.rewrite(access_log={"path": value})
        return t.ask("/reload", "POST").status

    assert reload("/no/such/directory/log") == 422
    assert "access_log.path" in t.wait_log("reload_error")
    with t.client() as c:
        c.get("/1")
        wait_lines(path, 1)
        # Another file, none, and the first again.
        assert reload(str(scratch / "other.log")) == 200
        c.get("/2")
        wait_lines(scratch / "other.log", 1)
        assert reload("") == 200
        c.get("/3")
        assert reload(str(path)) == 200
        c.get("/4")
        wait_lines(path, 2)
    assert [json.loads(x)["path"] for x in lines_of(path)] == ["/1", "/4"]
    assert len(lines_of(scratch / "other.log")) == 1


def test_a_log_whose_thread_cannot_start(upstream, tailor, scratch, faults):
    # Goal: a reload that switches the log on, but cannot start its thread, is
    # refused, and requests are served as before; it can be tried again.
    faults(thread=1)
    path = scratch / "access.log"
    t = tailor(upstream("active").serve())
    with t.client() as c:
        t.signal(12)  # SIGUSR2
        t.wait_log("^calls fail$")
        t.rewrite(access_log={"path": str(path)})
        assert t.ask("/reload", "POST").status == 422
        t.wait_log("access_log_not_started")
        assert c.get("/before").status == 200
        t.signal(12)
        t.wait_log("^calls work$")
        assert t.ask("/reload", "POST").status == 200
        assert c.get("/after").status == 200
    line, = wait_lines(path, 1)
    assert json.loads(line)["path"] == "/after"
