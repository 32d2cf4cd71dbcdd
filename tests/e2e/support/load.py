"""Running tailor-load, and checks of what it reports."""

import json
import math
import os
import subprocess

from rig.process import SANITIZER, SANITIZER_ENV

RUN_S = 120


class Result:
    """A finished run: status, output, run.json and requests.ndjson."""

    def __init__(self, child, directory):
        try:
            self.out, self.err = child.communicate(timeout=RUN_S)
        finally:
            child.kill()  # if it hangs; an ended one is not touched
        self.status = child.returncode
        assert not SANITIZER.search(self.err), self.err
        self.run, self.lines = None, []
        if (directory / "run.json").exists():
            text = (directory / "run.json").read_text()
            self.run = json.loads(text) if text else None
            self.lines = [json.loads(line) for line in
                          (directory / "requests.ndjson").open()]

    @property
    def verdict(self):
        assert self.run, (self.status, self.err)
        return self.run["generator"]["verdict"]

    def assert_done(self, status=0):
        """It ended with status, or with 4 because this machine is busy."""
        expected = 4 if self.verdict == "bad" else status
        assert self.status == expected, (self.status, self.out, self.err)

    def iteration(self, index):
        """The requests of one iteration."""
        return [line for line in self.lines if line["i"] == index]


class Load:
    """Runs tailor-load: load(url, *options); start=True does not wait."""

    def __init__(self, build, scratch):
        self._program = str(build / "tailor-load")
        self._scratch = scratch
        self._count = 0

    def __call__(self, url, *options, start=False):
        self._count += 1
        directory = self._scratch / f"out{self._count}"
        child = subprocess.Popen(
            [self._program, "--cpu", "none", "--pause", "0", "-o",
             str(directory), *map(str, options), url],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, **SANITIZER_ENV})
        return (child, directory) if start else Result(child, directory)


def nearest_rank(values, percent):
    """The percentile, independently of the program."""
    rank = math.ceil(round(percent * len(values) / 100, 9))
    return sorted(values)[rank - 1]


def check_distribution(reported, values):
    """A distribution of run.json is exactly that of these values."""
    assert reported["count"] == len(values)
    assert reported["min_ns"] == min(values)
    assert reported["max_ns"] == max(values)
    assert abs(reported["mean_ns"] - sum(values) / len(values)) <= 1
    for key, percent in (("p50", 50), ("p90", 90), ("p99", 99),
                         ("p999", 99.9)):
        assert reported[f"{key}_ns"] == nearest_rank(values, percent), key


def trust(least, reported):
    """What a figure is worth, by the rule of tailor-load(1)."""
    apart = reported - least
    if apart < 50000 or apart * 20 < reported:
        return "good"
    return "within" if apart * 2 <= reported else "doubtful"


def check_figures(result):
    """The verdict on each figure follows from requests.ndjson."""
    figures = {(f["statistic"], f["scope"]): f
               for f in result.run["generator"]["figures"]}
    count = len(result.run["iterations"])
    assert len(figures) == 10
    for name, percent in (("p50", 50), ("p90", 90), ("p99", 99),
                          ("p99.9", 99.9), ("max", 100)):
        for key, field in (("least_ns", "least"), ("reported_ns", "lat")):
            each = [nearest_rank([x[field] for x in result.iteration(i + 1)],
                                 percent) for i in range(count)]
            assert figures[name, "median"][key] == nearest_rank(each, 50)
            assert figures[name, "pooled"][key] == nearest_rank(
                [x[field] for x in result.lines], percent)
    for f in figures.values():
        assert f["trust"] == trust(f["least_ns"], f["reported_ns"]), f
    assert (result.verdict == "good") == all(
        f["trust"] == "good" for f in figures.values())
    assert (result.verdict == "approximate") == (
        {f["trust"] for f in figures.values()} - {"good"} == {"within"})
    assert (result.verdict == "bad") == any(
        f["trust"] == "doubtful" and f["scope"] == "median"
        and f["statistic"] in ("p50", "p90", "p99")
        for f in figures.values())
