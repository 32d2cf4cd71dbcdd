"""Injects a scenario's hazard many times, and judges each.
"""

import json
import os
import random as randoms

from . import stage, verdicts
from .suite import say
from .verdicts import MS
from .wait import Late

HIT_NS = MS // 2  # less harm than this has missed its request
STRIKES = 16  # an injection that misses its request is tried again


class Missed(Exception):
    """By the injector's own account there was no harm to report."""


class Runner:
    """Runs scenarios and judges what comes of them.

    given    options: seed, times, most, keep
    results  has rows: scenario -> [Finding]; and add(finding)
    """

    def __init__(self, given, results):
        self.given, self.results = given, results

    def keep(self, finding, tale):
        """Report one that is not right at once, with its tale."""
        if finding.right and finding.exact:
            return
        say(f"    {finding.injected}: {finding.code}: reported "
            f"{finding.reported_ns / 1e6:.2f} ms of "
            f"{(finding.harm_ns or 0) / 1e6:.2f} {finding.false or ''} "
            f"{finding.text}")
        if self.given.keep:
            os.makedirs(self.given.keep, exist_ok=True)
            name = finding.injected.replace("/", "-")
            path = os.path.join(self.given.keep,
                                f"{name}-{finding.request}.json")
            with open(path, "w", encoding="utf-8") as file:
                json.dump({**tale, "harm_ns": finding.harm_ns}, file, indent=1)

    def calm(self, scenario, random, look):
        request, account = scenario.calm(random)
        if look:
            self.judge_calm(scenario, request, account)

    def judge_calm(self, scenario, request, account):
        """A request that nothing was done to."""
        tale = scenario.stage.tale(request)
        finding = verdicts.judge_calm(
            scenario, request, tale,
            scenario.witness(tale, account))
        self.results.add(finding)
        self.keep(finding, tale)

    def strike(self, scenario, random):
        """Inject until it hits; (injection, tale)."""
        for _ in range(STRIKES):
            injection = scenario.inject(random)
            tale = scenario.stage.tale(injection.request, injection.stamps)
            if scenario.hit(tale, injection.harm_ns):
                return injection, tale
        if scenario.may_miss:
            raise Missed(f"{scenario.may_miss}, {STRIKES} times in a row")
        raise Late("the injection keeps missing its request")

    def due(self, name):
        """Whether there is to be one more of that row."""
        row = self.results.rows.get(name, [])
        doubt = any(not finding.right for finding in row)
        return len(row) < max(self.given.times, self.given.most * doubt)

    def row(self, scenario):
        """All injections of a scenario, among requests it does nothing to."""
        random = randoms.Random(f"{self.given.seed} {scenario.name}")
        while self.due(scenario.name):
            for _ in range(random.randint(1, 4)):
                self.calm(scenario, random, random.random() < 0.3)
                stage.sleep_us(random.randint(0, 3000))
            injection, tale = self.strike(scenario, random)
            finding = verdicts.judge_injected(scenario, injection, tale)
            self.results.add(finding)
            self.keep(finding, tale)
