"""Goal: many clients that do nothing, or next to nothing, cost little."""

import contextlib
import re

import pytest

from rig.client import Client

KERNEL_EVENTS = "off"

IDLE = 2000
SLOW = 200
IDLE_BYTES_MAX = 4096


def private_kib(t):
    """Its resident memory without what it shares, as the stream of events."""
    with open(f"/proc/{t.pid}/status", encoding="utf-8") as file:
        return int(re.search(r"RssAnon:\s+(\d+)", file.read())[1])


def test_memory_of_idle_and_slow_clients(build, upstream, tailor):
    # Goal: an idle kept connection costs at most 4 KiB of ours; those that
    # trickle heads are answered 408 in time, and meanwhile and afterwards
    # all other clients are served.
    if "asan" in str(build) or "tsan" in str(build):
        pytest.skip("a sanitizer's own memory is not ours to promise")
    server = upstream("active").serve()
    t = tailor(server, proxy={"connections_max": IDLE + SLOW + 50,
                              "header_timeout": "5s", "idle_timeout": "600s"})
    with contextlib.ExitStack() as stack:
        def client():
            return stack.enter_context(Client(t.address))

        first = client()
        for _ in range(IDLE):  # what is known of requests takes some, too
            assert first.get().status == 200
        before = private_kib(t)
        idle = []
        for _ in range(IDLE):
            idle.append(client())
            assert idle[-1].get().status == 200
        each = (private_kib(t) - before) * 1024 / IDLE
        print(f"{each:.0f} bytes for each idle connection")
        assert each <= IDLE_BYTES_MAX
        slow = [client() for _ in range(SLOW)]
        for one in slow:
            for part in (b"GET / HT", b"TP/1.1\r\nHos", b"t: x\r\nX"):
                one.send(part)
        assert first.get().status == 200
        for one in slow:
            assert one.response().status == 408
            one.expect_end()
        assert t.metrics()['tailor_client_timeouts_total{phase="head"}'] \
            == SLOW
        for one in idle[::50]:
            assert one.get().status == 200
