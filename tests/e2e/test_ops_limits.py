"""Goal: a tailor takes no more than it says, and does not run as more than
it must."""

import os
import pathlib
import re
import resource
import socket

import pytest

from rig.client import Client
from rig.ports import free_port
from rig.process import Process
from support.launched import child_of, fields_of, words

KERNEL_EVENTS = "off"

needs_root = pytest.mark.skipif(os.geteuid() != 0,
                                reason="only root can become another user")


@needs_root
def test_privileges_are_dropped(tailor, scratch):
    # Goal: every thread is the user, without groups or capabilities, and a
    # launched server can gain none; sockets and a reload still work.
    os.chmod(scratch, 0o777)
    t = tailor({"name": "a", "address": f"127.0.0.1:{free_port()}",
                "launch": {"command": ["/bin/sleep", "600"], "cpus": ""}},
               ready=False, process={"user": "nobody:nogroup"},
               admin=f"unix:{scratch}/run/admin.sock")
    fields = fields_of(child_of(t))
    assert fields["Uid"].split() == ["65534"] * 4
    assert int(fields["CapBnd"], 16) == 0 and int(fields["CapPrm"], 16) == 0
    assert fields["NoNewPrivs"].strip() == "1"
    for thread in pathlib.Path(f"/proc/{t.pid}/task").iterdir():
        fields = fields_of(thread)
        assert fields["Uid"].split() == fields["Gid"].split() == ["65534"] * 4
        assert fields["Groups"].split() in ([], ["65534"])
        assert int(fields["CapPrm"], 16) == int(fields["CapEff"], 16) == 0
    assert os.stat(t.admin).st_uid == 65534
    assert t.ask("/reload", "POST").status == 200
    t.stop()
    # Its own directory was given to it, so it could tidy up.
    assert not os.path.exists(t.admin)


def limited(build, scratch, server, port, limit):
    """A tailor that may have so many descriptors."""
    arguments = [build / "tailor", "--listen", f"127.0.0.1:{port}", *words(
        scratch, server, "proxy.header_timeout=600s")]
    # As root the hard limit would just be raised.
    drop = "setpriv --bounding-set -all --inh-caps -all" \
        if os.geteuid() == 0 else ""
    wrapper = ["/bin/sh", "-c", f'ulimit -n {limit}; exec {drop} "$@"', "sh"]
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[1] > limit
    return Process(wrapper + arguments)


@pytest.mark.parametrize("limit", [1000, 1600])
def test_few_descriptors(upstream, build, scratch, limit):
    # Goal: with too few descriptors for all configured clients it says so,
    # serves as many as it can and refuses the others; no request fails.
    server = upstream("active").serve()
    port = free_port()
    process = limited(build, scratch, server, port, limit)
    clients = []
    try:
        line = process.wait_log("few_descriptors")
        allowed = int(re.search(r"clients=(\d+)", line).group(1))
        assert f"have={limit}" in line and 100 < allowed < limit
        process.wait_log(" server_up ")
        for _ in range(allowed):
            clients.append(Client(("127.0.0.1", port)))
        assert clients[-1].get().status == 200
        with Client(("127.0.0.1", port)) as c:
            assert c.get().status == 200
        clients[0].expect_end()  # it made room
        assert clients[1].get().status == 200
        assert "accept_failed" not in process.log
    finally:
        for client in clients:
            client.close()
        process.signal(15)
        assert process.wait() == 0


def test_too_few_descriptors(upstream, build, scratch):
    # Goal: where hardly a client could connect it does not say that it is
    # ready, but what to do.
    process = limited(build, scratch, upstream("active"), free_port(), 400)
    assert "LimitNOFILE" in process.wait_log("too_few_descriptors")
    assert process.wait() == 1


def test_memory_is_held(tailor, build):
    # Goal: with every connection, request and body buffer in use at once,
    # and more asked for, memory stays within what was printed at the start.
    if "asan" in str(build) or "tsan" in str(build):
        pytest.skip("a sanitizer's own memory is not ours to promise")
    server = socket.socket()  # accepts, and neither reads nor answers
    server.bind(("127.0.0.1", 0))
    server.listen(128)
    t = tailor({"name": "active", "connections_max": 20,
                "address": f"127.0.0.1:{server.getsockname()[1]}"},
               proxy={"connections_max": 120, "request_timeout": "60s"},
               hedging={"body_max": "1M"},
               profiler={"stream_slots": 1024},
               slow={"history": 64, "store_bytes": "1M"})
    before = t.resident_kib()
    line = t.wait_log("memory_limit")
    total = int(re.search(r"total_kib=(\d+)", line).group(1))
    assert 1024 < total < 512 * 1024
    clients = []
    for i in range(120):
        client = Client(t.address)
        clients.append(client)
        size = 600_000 if i % 2 else 1_000_000
        client.send(b"POST /x HTTP/1.1\r\nHost: t\r\nContent-Length: %d\r\n"
                    b"\r\n" % size + b"x" * 600_000)
    t.wait_metric("tailor_requests_inflight", 20)
    assert t.resident_kib() - before <= total
    assert t.metrics()["tailor_memory_limit_bytes"] == total * 1024
    for client in clients:
        client.reset()
    server.close()
