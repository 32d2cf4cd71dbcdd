"""Goal: a process that was killed is named as the cause of a 502 only if the
kernel's events show it."""

import os
import signal

import pytest

from rig.wait import wait_until
from support.launched import http_server, need_kernel, script

# Its file shows that it has the request.
HOLDS = http_server("""
import os, sys, time
def respond(path, headers):
    if path == "/pid":
        return str(os.getpid()).encode()
    open(sys.argv[2], "w").close()
    time.sleep(600)
""")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGABRT])
def test_killed_server(tailor, scratch, number):
    has = scratch / "has"
    t = tailor(script(scratch, HOLDS, str(has), name="a"))
    need_kernel(t)
    with t.client() as c, t.client() as other:
        pid = int(other.get("/pid").body)
        c.request(target="/held")
        wait_until(has.exists, "the server has the request")
        os.kill(pid, number)
        answer = c.response()
    assert answer.status == 502
    text = t.timeline(answer.get("x-request-id"))["verdict"]["text"]
    assert text.startswith(
        f"502: process {pid} of server a was killed by {number.name} "), text
