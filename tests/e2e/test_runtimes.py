"""Goal: collections of Node are seen from outside, acted on and explained.
(Without permission: test_unprivileged.py.)"""

import os
import shutil

import pytest

from rig.ports import free_port
from rig.process import output
from rig.wait import wait_until
from support.launched import need_kernel, past

# /gc collects a heap of so many objects that it takes some milliseconds.
SERVICE = """
const kept = Array.from({length: 400000}, (_, i) => ({i}));
require('http').createServer((q, s) => {
  if (q.url === '/gc') gc();
  s.end(`${process.pid} ${kept.length}\\n`);
}).listen(Number(process.argv[1]), '127.0.0.1');
""".replace("\n", " ")


# The first process hands connections to two others, which collect.
CLUSTER = ("const cluster = require('cluster'); if (cluster.isPrimary) "
           "{ cluster.fork(); cluster.fork(); } else {" + SERVICE + "}")


pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="probes need root")


@pytest.fixture(name="node")
def node_fixture():
    if shutil.which("node") is None:
        pytest.skip("no node (Debian: nodejs)")

    def launched(name, service=SERVICE):
        port = free_port()
        return {"name": name, "address": f"127.0.0.1:{port}",
                "launch": {"command": ["node", "--expose-gc", "-e", service,
                                       str(port)]}}
    return launched


def test_collections_are_seen(node, tailor):
    # Goal: each is a hazard with begin and end and moves the active server, in
    # a server that is started again, too.
    a, b = node("a"), node("b")
    t = tailor(a, b)
    need_kernel(t)
    for name in "ab":
        t.wait_server(name, state="ready", source="probes")
    key = 'tailor_pauses_total{server="a",kind="gc"}'
    for _ in range(2):
        for _ in range(3):
            before = t.metrics()[key]
            past(a, "/gc")
            t.wait_metric(key, before + 1)
            wait_until(lambda: not t.server("a")["pauses"], "a is calm")
        pid = t.server("a")["pid"]
        os.kill(pid, 9)
        wait_until(lambda: t.server("a")["pid"] not in (0, None, pid),
                   "a is started again")
        t.wait_server("a", state="ready", source="probes")
    assert t.metrics()["tailor_swaps_total"] >= 1
    assert t.metrics()["tailor_pauses_dropped_total"] == 0


def named(t):
    """The timeline of a request that a collection held up most; on a busy
    machine something else may have, then of another one."""
    def tale():
        response = t.get("/gc")
        one = t.ask_json(
            f"/timeline/{response.get('x-request-id')}?format=json")
        return one if one["verdict"]["code"] == "gc" else None
    return wait_until(tale, "a collection is what held a request up")


def test_a_collection_of_a_worker_is_named(node, tailor):
    # Goal: it is named in the timeline of the request that it held up, and is
    # no hazard: the other worker serves.
    t = tailor(node("a", CLUSTER), slow={"target": "1ms"})
    need_kernel(t)
    t.wait_server("a", state="ready", source="probes")
    wait_until(lambda: t.server("a")["processes"] == 3, "its workers are seen")
    key = 'tailor_pauses_total{server="a",kind="gc"}'

    def no_hazard():
        """The first process may collect at the same time: then again."""
        before = t.metrics()[key]
        assert "collecting garbage (V8)" in named(t)["verdict"]["text"]
        return t.metrics()[key] == before
    wait_until(no_hazard, "a worker's collection is no hazard")


# As Debian's Node: a program "node" without symbols, and a library that has the
# runtime.  Here it is mapped only when the test wants it, in both processes,
# of which the second one serves.  /gc does what V8 does when it collects.
LATE = """
import ctypes, http.server, os, sys, threading, time
library, wanted, port = sys.argv[1:]
begin = "_ZN2v88internal8GCTracer20StartObservablePauseE"
end = "_ZN2v88internal8GCTracer19StopObservablePauseE"

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/gc":
            runtime = ctypes.CDLL(library)
            runtime[begin]()
            until = time.monotonic() + 0.05
            while time.monotonic() < until:
                pass
            runtime[end]()
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
    def log_message(self, *args):
        pass

server = http.server.HTTPServer(("127.0.0.1", int(port)), Handler)
if os.fork() == 0:
    ctypes.CDLL(None).prctl(1, 9)  # it ends with the first one
    server.serve_forever()
while not os.path.exists(wanted):
    time.sleep(0.01)
runtime = ctypes.CDLL(library)
os.wait()
"""
LIBRARY = """
void _ZN2v88internal8GCTracer20StartObservablePauseE(void) { }
void _ZN2v88internal8GCTracer19StopObservablePauseE(void) { }
"""


def test_a_runtime_that_is_mapped_late(scratch, tailor):
    # Goal: that its program cannot be probed is not the last word, and workers
    # that are known by then are workers.
    program, library = scratch / "node", scratch / "libnode.so.1"
    shutil.copy(os.path.realpath("/usr/bin/python3"), program)
    (scratch / "late.py").write_text(LATE)
    (scratch / "runtime.c").write_text(LIBRARY)
    output("gcc", "-shared", "-fPIC", "-o", library, scratch / "runtime.c")
    port = free_port()
    t = tailor({"name": "a", "address": f"127.0.0.1:{port}", "launch": {
        "command": [str(program), str(scratch / "late.py"), str(library),
                    str(scratch / "wanted"), str(port)]}})
    need_kernel(t)
    t.wait_server("a", state="ready", processes=2)
    assert "has no symbol" in t.wait_log(" server_observed server=a ")
    (scratch / "wanted").touch()
    t.wait_server("a", source="probes")
    assert "runtime_off" not in t.log
    tale = named(t)
    assert "collecting garbage (V8)" in tale["verdict"]["text"]
    assert t.metrics()['tailor_pauses_total{server="a",kind="gc"}'] == 0
