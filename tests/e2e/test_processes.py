"""Goal: a server is a set of processes: its workers are watched, also those
that come later, and each story is about the worker that had the request.  (What
it says of them: make foreign, with nginx, gunicorn and Node's cluster, too.)
"""

import itertools
import json
import os
import shutil
import signal
import sys

import pytest

from rig.ports import listens
from rig.process import Process, children
from rig.wait import wait_until
from support.launched import need_kernel

APP = """
import os

def app(environ, start_response):
    start_response("200 OK", [("Content-Length", "2"),
                              ("X-Pid", str(os.getpid()))])
    return [b"hi"]
"""


@pytest.fixture
def gunicorn(scratch, free_port):
    """It and two workers."""
    if shutil.which("gunicorn") is None:
        pytest.skip("gunicorn is not installed")
    (scratch / "app.py").write_text(APP)
    address = f"127.0.0.1:{free_port()}"
    server = Process(["gunicorn", "--chdir", scratch, "-w", 2, "-b", address,
                      "--log-level", "warning", "app:app"], stdout=sys.stderr)
    server.name, server.address = "gunicorn", address
    wait_until(lambda: listens(address), "it listens")
    yield server
    server.terminate()


def workers(server, but=()):
    """Its workers, when it has two and none of these."""
    wait_until(lambda: len(children(server.pid)) == 2
               and not {*children(server.pid)} & {*but}, "two workers")
    return children(server.pid)


def ask(t, name):
    """One request; returns its worker and its story."""
    answer = t.get(fields=[("X-Request-Id", name)])
    assert answer.status == 200, answer
    return int(answer.get("X-Pid")), t.timeline(name)


def check_worker(t, server):
    """The story is of the process that responded: the one that read the request
    from its socket.  On a busy machine the observer may be so late that a story
    lacks its end, or that events are lost: then that of another request is."""
    for i in range(30):
        pid, tale = ask(t, f"request-{i}")
        if tale["loss"]["channels"] == 0 and tale["verdict"]["code"] not in (
                "unknown", "lost", "blind"):
            break
    assert {e["pid"] for e in tale["events"] if e["type"] == "sock_recv"
            and e["server"] == 0} == {pid}, (tale["verdict"], tale["loss"])
    assert pid in children(server.pid)
    assert "not watched" not in json.dumps(tale)


def test_the_worker_is_named(gunicorn, tailor):
    # Goal: the story is of the worker that had the request, also of those
    # that replace killed ones.
    t = tailor(gunicorn)
    t.wait_server("gunicorn", processes=3)
    need_kernel(t)
    old = workers(gunicorn)
    check_worker(t, gunicorn)
    for pid in old:
        os.kill(pid, signal.SIGKILL)
    workers(gunicorn, but=old)
    check_worker(t, gunicorn)
    t.wait_server("gunicorn", processes=3)
    assert t.metrics()[
        'tailor_pauses_total{server="gunicorn",kind="exit"}'] == 0


def test_without_the_kernel(gunicorn, tailor):
    # Goal: without the kernel's events the processes are known, new ones too,
    # and no story says what they did.
    t = tailor(gunicorn, profiler={"kernel": "off"})
    t.wait_server("gunicorn", processes=3)
    names = (f"unseen-{i}" for i in itertools.count())

    def unseen():
        """A story; None if it is of a wait at Tailor, as on a busy machine."""
        pid, tale = ask(t, next(names))
        assert pid in children(gunicorn.pid)
        assert tale["causes"]["unknown"] > 0 and "work" not in tale["causes"]
        return tale if tale["verdict"]["code"] == "unknown" else None

    assert "without kernel events" in json.dumps(
        wait_until(unseen, "the server has most of a request's time"))
