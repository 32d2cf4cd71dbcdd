"""Goal: on a terminal tailorctl has its width, colours and keys, and leaves it
as it was; in a pipe it has none of them."""

import contextlib
import fcntl
import json
import os
import pathlib
import re
import select
import signal
import struct
import subprocess
import termios
import time

import pytest

from rig.wait import PATIENCE_S, wait_until
from support.admin import SERVERS, http

ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
LIVE = {
    "mode": "act", "uptime_ns": 7_300_000_000_000, "inflight": 3, "swaps": 4,
    "servers": [{"name": "north", "state": "ready", "active": True},
                {"name": "south", "state": "warming", "active": False}],
    "latency": [{"to_ns": 1_000_000}, {"to_ns": 20_000_000}, {}],
    "slice_ns": 10_000_000_000, "slices": [
        {"began_ago_ns": 40_000_000_000, "requests": 9, "latency": [0, 9, 0]},
        {"began_ago_ns": 12_000_000_000, "requests": 110, "again": 6,
         "latency": [108, 2, 0]},
        {"began_ago_ns": 2_000_000_000, "requests": 10, "again": 0,
         "latency": [10, 0, 0]}]}
SLOW = {"slow": [
    {"id": "r", "target": f"/{'long-' * 12}{n}?q", "method": "GET",
     "cause": cause, "total_ns": total, "share_ns": total}
    for n, cause, total in [(1, "gc", 9_000_000), (2, "lock", 6_000_000),
                            (3, "lock", 5_000_000)]]}
LISTED = {"target_ns": 20_000_000, "slow": [
    {"id": f"r{n}", "target": f"/{'long-' * 12}", "method": "GET",
     "cause": cause, "total_ns": 41_200_000, "winner": "north",
     "status": 503, "finished": "2026-11-20T10:15:03.000Z",
     "verdict": "40 of 41 ms: north was in a gc. " * 4}
    for n, cause in enumerate(["gc", "unknown"])]}
GAIN = {"block_ns": 900_000_000_000, "uptime_ns": 10 ** 15,
        "edges_ns": [0, 10_000, 20_000, 400_000_000], "blocks": [
            {"requests": 9, "met": 2, "again": 1, "failed": 3, "saved": 2,
             "unknown": 1, "was_max_ns": 300_000_000, "would_max_ns": 20_000,
             "was": [[1, 8], [2, 1]], "would": [[1, 9]]}] * 9}
METRICS = "".join(f'tailor_x_total{{label="{"n" * 60}{i}"}} {i + 1}\n'
                  for i in range(40))


@pytest.fixture(autouse=True)
def answers(admin):
    """What the stub says."""
    for target, value in (("/servers", SERVERS), ("/live.json", LIVE),
                          ("/slow?n=1000", SLOW), ("/slow?n=20", LISTED),
                          ("/gain", GAIN)):
        admin.answers[f"GET {target}"] = http(200, json.dumps(value))
    admin.answers["GET /metrics"] = http(200, METRICS)


class Screen:
    """A program on a terminal of its own."""

    def __init__(self, command, columns, rows, env):
        self.master, slave = os.openpty()
        fcntl.ioctl(self.master, termios.TIOCSWINSZ,
                    struct.pack("HHHH", rows, columns, 0, 0))
        self.flags = termios.tcgetattr(self.master)[3]
        self.child = subprocess.Popen(
            ["setsid", "--ctty", *command], stdin=slave, stdout=slave,
            stderr=slave, env=env)
        self.slave = slave
        self.text = ""

    def read(self):
        """Take what there is, or wait for it a little."""
        if select.select([self.master], [], [], 0.02)[0]:
            self.text += os.read(self.master, 65536).decode()

    def wait(self, what, after=0):
        """Until it shows that; returns where that ends."""
        until = time.monotonic() + PATIENCE_S
        while what not in self.text[after:]:
            assert time.monotonic() < until, (what, self.text)
            self.read()
        return self.text.index(what, after) + len(what)

    def press(self, keys):
        os.write(self.master, keys.encode())

    def raw(self):
        """Whether keys come singly and are not shown."""
        return not termios.tcgetattr(self.master)[3] & (
            termios.ICANON | termios.ECHO)

    def end(self):
        """Its status, when it ends; the terminal is as before."""
        until = time.monotonic() + PATIENCE_S
        while self.child.poll() is None:
            assert time.monotonic() < until, self.text
            self.read()
        while select.select([self.master], [], [], 0)[0]:
            self.read()
        assert termios.tcgetattr(self.master)[3] == self.flags
        if "\x1b[?25l" in self.text:  # the cursor was hidden
            assert self.text.rindex("\x1b[?25h") > self.text.rindex("\x1b[?25l")
        return self.child.returncode


@pytest.fixture
def screen(build, admin):
    """Runs tailorctl on a terminal."""
    with contextlib.ExitStack() as stack:
        def start(*words, columns=80, rows=24, **env):
            inherited = {k: v for k, v in os.environ.items()
                         if k not in ("COLUMNS", "NO_COLOR")}
            s = Screen([build / "tailorctl", "-a", admin.path, *words],
                       columns, rows,
                       {**inherited, "TERM": "xterm", "TZ": "UTC", **env})

            def close():
                s.child.kill()
                s.child.wait()
                os.close(s.master)
                os.close(s.slave)
            stack.callback(close)
            return s
        yield start


COMMANDS = [["servers"], ["top", "-1"], ["top", "-1", "--by", "path"],
            ["log", "--list"], ["slow"], ["gain"]]


@pytest.mark.parametrize("words", COMMANDS)
def test_colours_and_width(ctl, screen, admin, words):
    # Goal: the same text in colours and without; 200 columns say more.
    plain = ctl("-a", admin.path, *words, env={"COLUMNS": "200"}).out
    assert "\x1b" not in plain
    for more in ({"NO_COLOR": "1"}, {"TERM": "dumb"}, {}):
        s = screen(*words, **more)
        assert s.end() == 0
        text = s.text.replace("\r", "")
        assert ("\x1b[" in text) == (not more and "--list" not in words)
        assert ESCAPE.sub("", text) == plain
    wide = screen(*words, columns=200)
    assert wide.end() == 0
    lines = ESCAPE.sub("", wide.text).splitlines()
    assert max(map(len, lines)) <= 200
    if words[-1] in ("path", "-1", "slow") and words != ["top", "-1"]:
        assert max(map(len, lines)) > 80 and "..." in plain


def test_names_of_metrics(ctl, screen, admin):
    # Goal: they are cut to fit a terminal, and whole in a pipe.
    plain = ctl("-a", admin.path, "metrics", "--rates", "-1", "-i",
                "0.01", wide=True).out
    assert max(map(len, plain.splitlines())) > 80 and "..." not in plain
    s = screen("metrics", "--rates", "-1", "-i", "0.01")
    assert s.end() == 0
    text = ESCAPE.sub("", s.text.replace("\r", ""))
    assert "..." in text and max(map(len, text.splitlines())) <= 80


def test_the_head_of_top(ctl, admin):
    # Goal: rates and bounds are those of the last 10 to 20 seconds.
    out = ctl("-a", admin.path, "top", "-1").out.splitlines()
    assert out[0] == "mode act  up 2.0h  active north ready  " \
        "backup south warming"
    assert out[1] == "10/s  p50 <1.00ms  p99 <20.0ms  in flight 3  " \
        "hedges 0.5/s  swaps 4"
    now = json.loads(ctl("-a", admin.path, "top", "-1", "-j",
                         wide=True).out)["overview"]
    assert (now["requests_per_s"], now["hedges_per_s"]) == (10, 0.5)
    assert (now["p50_under_ns"], now["p99_under_ns"]) == (1000000, 20000000)


def test_keys_of_top(screen):
    # Goal: s sorts, space stops the display, q ends it.
    s = screen("top", "-i", "0.05")
    at = s.wait("s sort by the longest")
    assert s.raw()
    assert s.text.index("lock ") < s.text.index("gc ")  # 11 ms, 9 ms
    s.press("s")
    at = s.wait("s sort by count", at)
    begin = s.text.rindex("\x1b[2J", 0, at)
    assert s.text.index("gc ", begin) < s.text.index("lock ", begin)
    s.press(" ")
    at = s.wait("space continue", at)
    s.press(" ")
    at = s.wait("space pause", at)
    s.press("q")
    assert s.end() == 0


def test_a_low_terminal(screen):
    # Goal: a display never scrolls; what is left out is counted.
    s = screen("metrics", "--rates", rows=10)
    s.wait("space pause")
    s.press("q")
    assert s.end() == 0
    frame = s.text.split("\x1b[2J")[1]
    assert frame.count("\n") <= 10 and '33 more: "tailorctl metrics' in frame


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM,
                                    signal.SIGHUP, signal.SIGQUIT])
def test_ended_by_a_signal(screen, number):
    # Goal: the terminal is as before, and the status is the signal's.
    s = screen("top")
    s.wait("q quit")
    s.child.send_signal(number)
    assert s.end() == -number


def test_stopped_and_continued(screen):
    # Goal: while it is stopped the terminal is the shell's.
    def state():
        stat = pathlib.Path(f"/proc/{s.child.pid}/stat").read_text()
        return stat.rpartition(")")[2].split()[0]

    s = screen("top", "-i", "0.05")
    s.wait("q quit")
    s.child.send_signal(signal.SIGTSTP)
    wait_until(lambda: state() == "T", "it is stopped")
    assert not s.raw()
    s.child.send_signal(signal.SIGCONT)
    at = len(s.text)
    s.wait("q quit", at)
    wait_until(s.raw, "its keys are read again")
    s.press("q")
    assert s.end() == 0
