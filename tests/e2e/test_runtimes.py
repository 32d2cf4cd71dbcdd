"""Goal: collections of Node are seen from outside, acted on and explained.
(Without permission: test_unprivileged.py.)"""

import os
import shutil

import pytest

from rig.client import Client
from rig.ports import free_port
from rig.wait import wait_until
from support.launched import need_kernel

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


def collect(server):
    """Make a server collect, past Tailor."""
    port = int(server["address"].rpartition(":")[2])
    with Client(("127.0.0.1", port)) as client:
        assert client.get("/gc").status == 200


def test_collections_are_seen(node, tailor):
    # Goal: each is a hazard with begin and end and moves the active server, in
    # a server that is started again, too.
    if os.geteuid() != 0:
        pytest.skip("probes need root")
    a, b = node("a"), node("b")
    t = tailor(a, b)
    need_kernel(t)
    for name in "ab":
        t.wait_server(name, state="ready", source="probes")
    key = 'tailor_hazards_total{server="a",kind="gc"}'
    for _ in range(2):
        for _ in range(3):
            before = t.metrics()[key]
            collect(a)
            t.wait_metric(key, before + 1)
            wait_until(lambda: not t.server("a")["hazards"], "a is calm")
        pid = t.server("a")["pid"]
        os.kill(pid, 9)
        wait_until(lambda: t.server("a")["pid"] not in (0, None, pid),
                   "a is started again")
        t.wait_server("a", state="ready", source="probes")
    assert t.metrics()["tailor_swaps_total"] >= 1
    assert t.metrics()["tailor_hazards_dropped_total"] == 0


def named(t):
    """The timeline of a request that a collection held up most; on a busy
    machine something else may have, then of another one."""
    def tale():
        with t.client() as client:
            response = client.get("/gc")
        one = t.ask_json(
            f"/timeline/{response.get('x-request-id')}?format=json")
        return one if one["verdict"]["code"] == "gc" else None
    return wait_until(tale, "a collection is what held a request up")


def test_a_collection_is_named(node, tailor):
    # Goal: the timeline of a request that one held up names it.
    if os.geteuid() != 0:
        pytest.skip("probes need root")
    a = node("a")
    t = tailor(a, slow={"target": "1ms"})
    need_kernel(t)
    t.wait_server("a", state="ready", source="probes")
    tale = named(t)
    assert "V8 collection" in tale["verdict"]["text"]
    assert tale["hazards"][0]["cause"] == "v8"


def test_a_collection_of_a_worker_is_named(node, tailor):
    # Goal: it is named in the timeline of the request that it held up, and is
    # no hazard: the other worker serves.
    if os.geteuid() != 0:
        pytest.skip("probes need root")
    t = tailor(node("a", CLUSTER), slow={"target": "1ms"})
    need_kernel(t)
    t.wait_server("a", state="ready", source="probes")
    wait_until(lambda: t.server("a")["processes"] == 3, "its workers are seen")
    assert "V8 collection" in named(t)["verdict"]["text"]
    assert t.metrics()['tailor_hazards_total{server="a",kind="gc"}'] == 0
