"""Experiments as files: what is measured, in which size, and where it is kept.

A cell is one set-up in one round.  Its directory's name has a hash of all
that decides what is measured, so a finished cell is found again by any later
run of the same plan, and the medium size is a part of the full one: its cells
are not measured twice.
"""

import hashlib
import json
import shutil

import measure
from setups import Running
from shared import RATE, Generator, Trouble

ORDER = ("thesis", "instead", "slow-queries", "restart", "delay",
         "scale-rate", "scale-heap")
SIZES = ("short", "medium", "full")
# A first look.  The young generation is small, or there would be no
# collection in so few requests.
SHORT = {"requests": 400, "iterations": 3, "post": 3, "rounds": 1,
         "heat": 500}
SHORT_YOUNG_MB = 128
START_S = 8  # to start and stop a set-up, for the forecast
TAILOR_START_S = 3  # and with Tailor's own warm-up
EPSILON_START_S = 6  # and touches a large heap
# of a plan and of a set-up: what decides the measurement
PLAN_KEYS = ("rate_per_s", "requests", "iterations", "post", "heat")
WORDS = ("title", "thesis", "line", "x")


def load_plan(directory, name, size, only=()):
    """An experiment's file in a size; only names set-ups."""
    path = directory / f"{name}.json"
    if not path.exists():
        raise Trouble(f"there is no experiment {name}; there are: "
                      f"{', '.join(ORDER)}")
    plan = json.loads(path.read_text(encoding="utf-8"))
    sized = plan.pop("sizes").get(size, {})
    keys = only or sized.get("setups")
    if keys:
        plan["setups"] = [s for s in plan["setups"] if s["key"] in keys]
    plan["rounds"] = sized.get("rounds", plan["rounds"])
    if size == "short":
        shorten(plan)
    return plan


def shorten(plan):
    plan.update({k: min(v, plan[k]) for k, v in SHORT.items() if k in plan})
    for setup in plan["setups"]:
        if "heat" in setup:
            setup["heat"] = min(setup["heat"], SHORT["heat"])
        setup.setdefault("young_mb", SHORT_YOUNG_MB)


def identity(plan, setup, seed):
    """Names what was measured: another plan is another cell."""
    what = {k: plan[k] for k in PLAN_KEYS if k in plan}
    what.update(setup={k: v for k, v in setup.items() if k not in WORDS},
                seed=seed, mixed=plan.get("mixed", False))
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()) \
        .hexdigest()[:12]


class Cell:
    """One set-up in one round."""

    def __init__(self, o, name, plan, setup, number):
        self.plan, self.setup, self.number = plan, setup, number
        # the same arrivals for all set-ups of a round
        self.seed = o.seed + 1000 * number
        key = identity(plan, setup, self.seed)
        self.directory = o.out / "cells" / name / \
            f"{setup['key']}-{number + 1}-{key}"
        self.path = self.directory / "cell.json"
        self.failed = self.directory / "failed.txt"
        self.name = f"{name}: {setup['title']}, round {number + 1}"

    def done(self):
        return self.path.exists()

    def rate(self):
        return self.setup.get("rate_per_s", self.plan["rate_per_s"])

    def seconds(self):
        """About how long it takes."""
        heat = self.setup.get("heat", self.plan["heat"])
        start = START_S
        if self.setup["front"] == "tailor":
            start += TAILOR_START_S
        if self.setup.get("collector") == "epsilon":
            start += EPSILON_START_S
        return start + 1.5 * heat / RATE + \
            (self.plan["iterations"] + self.plan.get("post", 0)) * (
                self.plan["requests"] / self.rate() + measure.PAUSE_MS / 1000)

    def run(self, environment):
        shutil.rmtree(self.directory, ignore_errors=True)
        self.directory.mkdir(parents=True)
        generator = Generator(
            environment.build,
            environment.targets[self.plan.get("mixed", False)],
            self.rate(), self.seed, environment.place.generator,
            self.setup.get("fields", ()))
        running = Running(self.setup, environment, self.directory)
        try:
            found = measure.measure(running, generator, self.plan,
                                    self.directory)
        finally:
            running.stop()
        # the file is there whole or not at all
        part = self.path.with_suffix(".part")
        part.write_text(json.dumps(found), encoding="utf-8")
        part.rename(self.path)
        (self.directory / "requests.ndjson").unlink()
        return found

    def why_not(self):
        """Why it could not be measured, or ""."""
        if self.done() or not self.failed.exists():
            return ""
        return f"{self.name}: not measured: " \
            f"{self.failed.read_text(encoding='utf-8').strip()}"

    def read(self):
        return json.loads(self.path.read_text(encoding="utf-8"))


def cells_of(o, name, plan):
    """All cells, round by round; the order changes from round to round."""
    found = []
    for number in range(plan["rounds"]):
        setups = plan["setups"]
        first = number % len(setups)
        found += [Cell(o, name, plan, setup, number)
                  for setup in setups[first:] + setups[:first]]
    return found


def reported(o, name, plan, setup):
    """The cells of a set-up that count: the first invocation of some plans
    only warms the machine up, as in the thesis."""
    first = plan.get("left_out", 0) if plan["rounds"] > 1 else 0
    return [Cell(o, name, plan, setup, number)
            for number in range(first, plan["rounds"])]
