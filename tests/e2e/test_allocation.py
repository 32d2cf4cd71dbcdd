"""Goal: after warm-up a forwarded request allocates no memory."""

import signal

import pytest

from rig.message import response
from rig.process import ROOT, output


def test_no_allocation_per_request(build, upstream, tailor, tmp_path,
                                   monkeypatch):
    # Goal: a thousand more requests, large and small, with and without
    # bodies, allocate nothing.  libevent does once for each number of a
    # descriptor that it has not seen, and threads beside us take some; what
    # any kind of these requests did would be counted at least 83 times.
    if "san" in build.name:
        pytest.skip("a sanitizer brings its own allocator")
    library = tmp_path / "countmalloc.so"
    output("gcc", "-shared", "-fPIC", "-O1", "-o", library,
           ROOT / "tests/e2e/support/countmalloc.c")
    server = upstream("active")
    server.serve(lambda r: response(200, b"x" * int(r.target[1:])))
    with monkeypatch.context() as patch:
        patch.setenv("LD_PRELOAD", str(library))
        t = tailor(server, slow={"target": "10s", "keep_slowest": 0})

    def count():
        t.signal(signal.SIGUSR2)
        line = t.wait_log(r"^mallocs \d+$")
        t.lines.remove(line)
        return int(line.split()[1])

    def load(requests):
        with t.client() as c:
            for i in range(requests):
                size = (0, 100, 5000, 200_000)[i % 4]
                if i % 3:
                    c.get(f"/{size}")
                else:
                    c.request("POST", f"/{size}", body=b"y" * (i % 40_000))
                    assert c.response().status == 200

    load(400)
    before = count()
    load(1000)
    assert count() - before <= 40
