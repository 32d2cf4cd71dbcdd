"""Goal: tailorctl log reads a stream; a small program
(talechain_stream.c) writes one."""

import json
import os
import pathlib
import re
import select
import shutil
import signal
import struct
import subprocess

import pytest

from rig.wait import PATIENCE_S, wait_until
from support.admin import http


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
    assert result.err == "3 events, 0 missed\n"


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
    """Write events until the follower, who begins at "now", shows one; in two
    minutes fewer than a stream holds, for none may be overtaken."""
    while not select.select([child.stdout], [], [], 0.2)[0]:
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
        assert re.fullmatch(rf"{len(shown)} events?, 0 missed\n",
                            child.stderr.read())
        counts = [int(n) for n in re.findall(r"count=(\d+)", "\n".join(shown))]
        assert all(n > 100 for n in counts)  # none of the old ones


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


HEAD, SLOTS, SLOT = 128, 4096, 96  # layout.h


def damaged(path, file, at, value):
    """A copy of a stream with another word there."""
    data = bytearray(pathlib.Path(path).read_bytes())
    data[at:at + 8] = struct.pack("=Q", value)
    file.write_bytes(data)
    return file


def test_log_of_a_damaged_stream(ctl, stream, scratch):
    """Goal: an event that must be there and is not is an error, not waited
    for."""
    _, path = stream(9)
    for head in (10, 2000, 2**55, 2**64 - 1):
        file = damaged(path, scratch / "copy", HEAD, head)
        for options in (["--dump"], []):
            result = ctl("log", "-s", file, *options, wide=True)
            assert result.returncode == 1 and result.err == (
                f"tailorctl: {file}: damaged: its newest event is missing\n")
    file = damaged(path, scratch / "copy", SLOTS + 4 * SLOT, 0)
    result = ctl("log", "--dump", "-s", file, wide=True)
    assert result.returncode == 1
    assert f"{file}: damaged: event 4 of 9 is missing\n" in result.err
    assert len(re.findall(r"(?m)^\d\d:", result.out)) == 4


def test_log_of_a_stream_that_is_cut(build, stream, scratch):
    """Goal: a file that is cut while it is followed ends that with a word."""
    _, path = stream(9)
    file = scratch / "copy"
    shutil.copy(path, file)
    with subprocess.Popen([build / "tailorctl", "log", "-s", file],
                          stderr=subprocess.PIPE, text=True) as child:
        wait_until(lambda: str(file) in pathlib.Path(
            f"/proc/{child.pid}/maps").read_text(), "it is mapped")
        os.truncate(file, 0)
        assert f"{file}: the stream was cut\n" in child.stderr.read()
        assert child.wait(PATIENCE_S) == 1


def test_log_query_of_events(ctl, stream):
    """Goal: -q picks events by kind, by argument, by number."""
    _, path = stream(9)

    def events(query):
        result = ctl("log", "-d", "-j", "-s", path, "-q", query, wide=True)
        assert result.returncode == 0, result.err
        return [json.loads(line) for line in result.out.splitlines()]

    assert len(events("event")) == 9
    gc = events("event == jvm_gc_begin and count > 1 and cause ~ alloc")
    assert gc and all(e["event"] == "jvm_gc_begin" and e["count"] > 1
                      and e["cause"] == 1 for e in gc)
    assert events("in_flight == 18446744073709551615")
