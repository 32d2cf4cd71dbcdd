"""Goal: many clients that do nothing, or next to nothing, cost little."""

import pytest

from rig.client import Client

IDLE = 2000
SLOW = 200
IDLE_BYTES_MAX = 4096


def test_memory_of_idle_and_slow_clients(build, upstream, tailor):
    # Goal: an idle kept connection costs at most 4 KiB of ours; those that
    # trickle heads are answered 408 in time, and meanwhile and afterwards
    # all other clients are served.
    if "asan" in str(build) or "tsan" in str(build):
        pytest.skip("a sanitizer's own memory is not ours to promise")
    server = upstream("active").serve()
    t = tailor(server, proxy={"connections_max": IDLE + SLOW + 50,
                              "header_timeout": "5s"})
    with t.client() as first:
        assert first.get().status == 200
        before = t.resident_kib()
        idle = []
        for _ in range(IDLE):
            idle.append(Client(t.address))
            assert idle[-1].get().status == 200
        each = (t.resident_kib() - before) * 1024 / IDLE
        print(f"{each:.0f} bytes for each idle connection")
        assert each <= IDLE_BYTES_MAX
        slow = [Client(t.address) for _ in range(SLOW)]
        for client in slow:
            for part in (b"GET / HT", b"TP/1.1\r\nHos", b"t: x\r\nX"):
                client.send(part)
        assert first.get().status == 200
        for client in slow:
            assert client.response().status == 408
            client.expect_end()
        assert t.metrics()['tailor_client_timeouts_total{phase="head"}'] \
            == SLOW
        for client in idle[::50]:
            assert client.get().status == 200
        for client in [*idle, *slow]:
            client.close()
