#!/usr/bin/python3
"""What a scrape of /metrics costs the proxy thread, in CPU time.

    TAILOR_BUILD=build tests/bench/bench_metrics.py [ROUNDS [SCRAPES]]

A tailor in front of two servers has served, hedged and refused some requests,
so that every series is there.  Each round asks the admin socket so often for
/metrics, and as often for /healthz, which costs what any question does: the
difference is the text, made and sent.  Prints the median of the rounds and
judges nothing; not a part of make check.
"""

import os
import pathlib
import statistics
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from rig.client import Client  # noqa: E402
from rig.message import response  # noqa: E402
from rig.origin import Origin  # noqa: E402
from rig.tailor import Tailor, configuration  # noqa: E402


def spent_us(tailor):
    """CPU time of the proxy's thread, the first one."""
    path = f"/proc/{tailor.pid}/task/{tailor.pid}/schedstat"
    return int(pathlib.Path(path).read_text().split()[0]) / 1000


def cost_us(tailor, path, count):
    """CPU time of one response."""
    with Client(tailor.admin) as client:
        before = spent_us(tailor)
        for _ in range(count):
            client.request("GET", path)
            size = len(client.response().body)
        return (spent_us(tailor) - before) / count, size


def history(tailor):
    """A bit of everything."""
    with Client(tailor.address) as client:
        for _ in range(100):
            assert client.get("/").status == 200
            for state in "begin", "end":
                tailor.hazard("active", state)
        client.send(b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n")
        assert client.response().status == 400


def main():
    rounds, scrapes = [int(x) for x in sys.argv[1:]] + \
        [9, 500][len(sys.argv) - 1:]
    build = pathlib.Path(os.environ.get("TAILOR_BUILD", ROOT / "build"))
    servers = [Origin(n).serve(lambda r: response(200, b"x"))
               for n in ("active", "backup")]
    with tempfile.TemporaryDirectory(prefix="tailor-") as directory:
        tailor = Tailor(build, directory, configuration(
            directory, servers, {"warmup": {"requests": 0}}))
        tailor.wait_ready()
        tailor.wait_server("backup", state="ready")
        history(tailor)
        metrics, others, own = [], [], []
        for _ in range(rounds):
            us, size = cost_us(tailor, "/metrics", scrapes)
            metrics.append(us)
            others.append(cost_us(tailor, "/healthz", scrapes)[0])
            own.append(
                tailor.metrics()["tailor_metrics_render_seconds"] * 1e6)
        lines = tailor.ask("/metrics").body.count(b"\n")
        tailor.stop()
    for server in servers:
        server.stop()
    more = statistics.median(a - b for a, b in zip(metrics, others))
    print(f"{lines} lines, {size} bytes; CPU us for each of {scrapes}, "
          f"median of {rounds} rounds:")
    print(f"/metrics {statistics.median(metrics):.0f}, /healthz "
          f"{statistics.median(others):.0f}, difference {more:.0f} "
          f"({min(metrics) - max(others):.0f} to "
          f"{max(metrics) - min(others):.0f}); by its own "
          f"tailor_metrics_render_seconds {statistics.median(own):.0f}")


if __name__ == "__main__":
    main()
