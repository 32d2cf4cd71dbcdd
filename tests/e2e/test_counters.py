"""Goal: counters that take turns are in accounts, over a restart, too, and in
tailorctl blame --impact; where a machine counts nothing, that is said."""

import csv
import json
import os
import re

import pytest

from rig.wait import wait_until
from support.launched import http_server, script

MS = 1_000_000
# Each request touches new pages.
SERVER = http_server("""
import mmap
def respond(path, headers):
    with mmap.mmap(-1, 1 << 20) as m:
        for at in range(0, 1 << 20, 4096):
            m[at] = 1
""")


def counted(t):
    text = t.ask("/accounts").body.decode()
    return list(csv.DictReader(text.splitlines()))


@pytest.mark.skipif(os.geteuid() != 0, reason="not root")
def test_a_running_tailor_counts(ctl, tailor, scratch):
    """Goal: what the kernel counts of the server is in the accounts of its
    requests once their second is over, and is kept in files; the CPU's are
    absent, and named, where there is no PMU."""
    def start():
        return tailor(
            script(scratch, SERVER),
            profiler={"counters": ["faults", "dtlb_misses"]},
            analysis={"cpu": 1, "accounts": 1000},
            slow={"target": "1us", "keep_slowest": 0,
                  "store": str(scratch / "tales")})

    t = start()
    with t.client() as c:
        def some_counted():
            for _ in range(5):
                assert c.get("/a").status == 200
            return sum(bool(row.get("faults")) for row in counted(t)) > 50
        wait_until(some_counted, "accounts of whole epochs")
    rows = [row for row in counted(t) if row.get("faults")]
    # 256 pages in some ms of CPU time.
    assert max(float(row["faults"]) for row in rows) > 1000
    assert "major_faults" not in rows[0]
    found = ctl("-a", t.admin, "blame", "--impact").out
    assert re.search(r"^faults +\d+ %", found, re.M), found
    assert "Counters cover the whole server" in found
    if "dtlb_misses" not in rows[0]:
        assert "These accounts have no CPU counters" in found
        assert "dtlb" not in found
    t.stop()
    t = start()
    again = [row for row in counted(t) if row.get("faults")]
    assert len(again) >= len(rows)
    assert {row["id"] for row in rows} <= {row["id"] for row in again}


def row(n, counters, total):
    return ",".join(map(str, [
        n, f"id-{n}", round(1_700_000_000e9 + n * MS * 100), total, 1,
        "GET /a", "a", 1, 200, 1, 0, 0, *counters, 1, 0, total]))


def test_impact(ctl, tmp_path):
    """Goal: the counter that explains is first, one that is included in another
    is not listed but named, one that is not counted has its share."""
    def value(n, salt):
        return (n // 10 * 7919 * salt % 1009) / 1009

    lines = ["number,id,end_ns,total_ns,weight,route,server,in_flight,status,"
             "attempts,new_connection,tail,cache_references,cache_misses,"
             "dtlb_misses,kernel,unknown,work"]
    for n in range(10000):
        slow = n // 10 % 10 == 3
        references = 50 + value(n, 3)
        lines.append(row(n, [
            f"{references:.3f}", f"{references / 5:.3f}",
            f"{value(n, 5) + 30 * slow:.3f}" if n // 10 % 2 else ""],
            (5 if slow else 1) * MS + n % 97))
    path = tmp_path / "accounts.csv"
    path.write_text("\n".join(lines) + "\n")
    found = ctl("blame", "--impact", "--file", str(path)).out
    assert re.search(r"^value or cause.*\ndtlb_misses +50 % ", found,
                     re.M), found
    assert ("cache_misses is not listed: it is proportional to "
            "cache_references") in found
    assert not re.search(r"^cache_misses +\d", found, re.M)
    assert "No counter" not in found
    assert max(map(len, found.splitlines())) <= 80
    impacts = json.loads(ctl("-j", "blame", "--impact", "--file", str(path),
                             wide=True).out)["routes"][0]["impacts"]
    one = impacts[0]
    assert (one["code"], one["unit"], one["recorded"], one["seconds"]) == (
        "dtlb_misses", "per 1000 instructions", 0.5, 500)
    assert one["adjusted"] > 0.75 and one["seconds_high"] >= 100
    assert [i["code"] for i in impacts
            if i.get("included_in") == "cache_references"] == ["cache_misses"]
    # Without counters that is said.
    path.write_text("\n".join([
        lines[0].replace("cache_references,cache_misses,dtlb_misses,", ""),
        *(row(n, [], MS + n) for n in range(100))]) + "\n")
    found = ctl("blame", "--impact", "--file", str(path)).out
    assert "These accounts have no CPU counters: they need a PMU" in found
    assert "Counters cover" not in found
