"""Goal: memory that a server frees as its cgroup is at its limit is a cause."""

import os

import pytest

from rig.cgroup import Group
from rig.wait import wait_until
from support.launched import http_server, need_kernel, script

LIMIT = 48 << 20

# /read reads a file that is larger than the limit, without a disk: all of it
# is a hole.  The response has the thread's CPU time for that, ns.
SERVER = http_server("""
import os, sys, time

file = os.open(sys.argv[2], os.O_RDWR | os.O_CREAT)
os.ftruncate(file, 512 << 20)
block = bytearray(1 << 20)

def respond(path, headers):
    begin = time.thread_time_ns()
    if path == "/read":
        for at in range(0, 512 << 20, len(block)):
            os.preadv(file, [block], at)
    return str(time.thread_time_ns() - begin).encode()
""")


@pytest.fixture
def group():
    try:
        made = Group(f"tailor-memory-{os.getpid()}")
    except PermissionError as error:
        pytest.skip(str(error))
    try:
        made.limit_memory(LIMIT)
        yield made
    except PermissionError as error:
        pytest.skip(str(error))
    finally:
        made.remove()


@pytest.fixture
def reader(group, tailor, scratch):
    server = script(scratch, SERVER, str(scratch / "hole"), name="reader")
    server["launch"]["command"] = group.command(server["launch"]["command"])
    t = tailor(server, slow={"target": "0"})
    need_kernel(t)
    yield t
    t.stop()


def test_reclaim_for_a_limit(reader):
    # Goal: it is not computing, and not more than the thread's CPU time.
    def told():
        with reader.client() as c:
            c.get("/read")  # fills the limit
            computed_ns = int(c.get(
                "/read", fields=[("X-Request-Id", "limit")]).body)
        tale = reader.timeline("limit")
        return (computed_ns, tale) if "reclaim" in tale["causes"] else None

    computed_ns, tale = wait_until(told, "it frees memory")
    freed_ns = tale["causes"].get("reclaim", 0)
    assert 0 < freed_ns <= computed_ns, tale["verdict"]
    told = [piece for piece in tale["path"] if piece["code"] == "reclaim"]
    assert {piece["confidence"] for piece in told} == {"observed"}
