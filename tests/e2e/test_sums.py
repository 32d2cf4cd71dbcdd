"""Goal: with profiler.kernel = sums the time that lies in pauses of the kernel's
events is divided among causes, by a request's story and by blame; with lite the
same time is "not observed"."""

import csv
from statistics import median

import pytest

from rig.wait import wait_until
from support.launched import need_kernel, script
from test_story import ONE_THREAD, story

pytestmark = pytest.mark.long(
    "compares shares of measured time, of requests that meet a pause")

MS = 1_000_000
SLEEP_MS = 20  # of the server, for /slow
SLOW = 10      # requests that sleep, of each Tailor
FILLING = 100  # short ones between two of these, so that events pause

def is_paused(tale):
    """Whether all of a request lies in a pause of the kernel's events."""
    types = {event["type"] for event in tale["events"]}
    return "meta_unsampled" in types and "schedule" not in types


@pytest.fixture
def measured(tailor, scratch):
    """What a Tailor with a profile reports of slow requests in pauses: sums of
    their causes, ns; accounts of slow ones; its metrics."""
    def run(kernel):
        t = tailor(
            script(scratch, ONE_THREAD, name="one"),
            profiler={"kernel": kernel, "kernel_events": 1000},
            analysis={"cpu": 1, "accounts": 1000},
            slow={"target": "10ms"})
        need_kernel(t)
        tales = []

        def enough():
            name = f"{kernel}-{len(tales)}"
            with t.client() as c:
                for _ in range(FILLING):
                    c.get("/quick")
                c.get("/slow", fields=[("X-Request-Id", name)])
                tales.append(story(c, name))
            return sum(map(is_paused, tales)) >= SLOW

        wait_until(enough, f"{SLOW} requests lie in pauses", 60)
        causes = [tale["causes"] for tale in tales if is_paused(tale)]

        def accounts():
            """Those of slow requests, as blame divides them: they are there
            once requests of a later second are."""
            t.get("/slow")
            rows = list(csv.DictReader(
                t.ask("/accounts").body.decode().splitlines()))
            rows = [row for row in rows if row["route"] == "GET /slow"]
            return rows if len(rows) >= SLOW else None

        rows = wait_until(accounts, "the slow requests have accounts", 60)
        return causes, rows, t.metrics()

    return run


def share(rows, cause):
    """The part of all time that a cause has."""
    return sum(int(row[cause]) for row in rows) / sum(
        int(row["total_ns"]) for row in rows)


def test_pauses_are_divided(measured, build):
    # A busy machine, and more so a sanitizer, has Tailor leave out sums.
    slowed = "san" in build.name
    lite, rows, metrics = measured("lite")
    assert metrics["tailor_kernel_unsampled_seconds_total"] > 0
    assert all("sleep" not in causes for causes in lite), lite
    # Of a few, part is Tailor's own lateness, on a busy machine.
    assert median(causes["not_observed"]
                  for causes in lite) >= SLEEP_MS * MS, lite
    dark = share(rows, "not_observed")
    assert dark > 0.3

    sums, rows, metrics = measured("sums")
    # Where the kernel does not report each switch, some have no sums.
    told = [causes for causes in sums if causes.get("sleep", 0) > 0]
    assert slowed or told, sums
    for causes in told:
        assert causes["sleep"] >= 0.95 * SLEEP_MS * MS, causes
        assert causes.get("not_observed", 0) < 0.2 * causes["sleep"], causes
        assert not {"disk", "lock", "network"} & set(causes), causes
    assert slowed or share(rows, "not_observed") < 0.95 * dark
    assert "tailor_kernel_sums_left_out_total" in metrics
