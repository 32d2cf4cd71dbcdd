"""Goal: the thread that did something is named, not one that waited, too; and
a thread that keeps timers holds no lock."""

import pytest

from rig.wait import wait_until
from support.launched import http_server, need_kernel, script

pytestmark = pytest.mark.long("a verdict is about the largest part of the "
                              "time, which is another one on a busy machine")

# /chain waits for b, b for c, c for d, which computes for 150 ms at a time
# without the interpreter's lock.  /tick waits for a thread that ticks.
SERVER = http_server("""
import ctypes, hashlib, sys, threading, time

class Turn:
    "Who waits gets the next one."
    def __init__(self):
        self.condition = threading.Condition()
        self.number = 0
    def next(self):
        with self.condition:
            self.number += 1
            self.condition.notify_all()
    def wait(self, count=1):
        with self.condition:
            last = self.number + count
            while self.number < last:
                self.condition.wait()

turns = {name: Turn() for name in "bcdt"}

def named(name):
    ctypes.CDLL(None).prctl(15, name.encode(), 0, 0, 0)

def follow(name, behind):
    named("thread-" + name)
    while True:
        turns[behind].wait()
        turns[name].next()

def computes():
    named("thread-d")
    while True:
        hashlib.pbkdf2_hmac("sha512", b"a", b"b", int(sys.argv[2]))
        turns["d"].next()

def ticks():
    named("ticker")
    for n in range(1 << 60):
        time.sleep(0.02)
        if n % 10 == 0:
            turns["t"].next()

for run in ((follow, "b", "c"), (follow, "c", "d"), (computes,), (ticks,)):
    threading.Thread(target=run[0], args=run[1:], daemon=True).start()

def respond(path, headers):
    if path in ("/chain", "/tick"):
        turns["b" if path == "/chain" else "t"].wait()
""")


@pytest.fixture
def threads(tailor, scratch):
    t = tailor(script(scratch, SERVER, "150000", name="threads"),
               slow={"target": "0"})
    need_kernel(t)
    return t


def told(t, path, code, words):
    """A verdict of a cause with certain words, of one of a few requests."""
    seen = []

    def once():
        name = f"r{len(seen)}"
        t.get(path, fields=[("X-Request-Id", name)])
        verdict = t.timeline(name)["verdict"]
        seen.append(verdict)
        print(verdict["text"])
        return (verdict["code"] == code
                and all(word in verdict["text"] for word in words))

    wait_until(once, f"{path} is {code}")
    return seen


def test_the_last_of_a_chain(threads):
    # Goal: of a chain of four threads the last one is named with what it did.
    told(threads, "/chain", "lock", [
        "until thread-b[", ", which waited for thread-c[",
        ", which waited for thread-d["])


def test_a_thread_that_ticks(threads):
    # Goal: a thread that sleeps again and again, and then wakes the request's,
    # is no lock.
    seen = told(threads, "/tick", "sleep",
                ["until ticker[", "which slept until timers woke it"])
    assert not any("lock" in verdict["text"] for verdict in seen), seen
