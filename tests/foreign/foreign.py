#!/usr/bin/python3
"""Injects hazards into services that others wrote, behind a real tailor, and
holds what their timelines report against the truth.

    tests/foreign/foreign.py --build build [--times 20] [NAME...]

NAME is a service (tomcat), a hazard (gil), or both (python/gil); without any,
all are done.  A table comes out: which were named right, wrong or not at all,
and how far the times are off.  Each service also gets --calm requests that
nothing is done to, whose tales at p50 and p99 must report no cause that
was not there.

It needs root for the kernel's events, for real-time scheduling and for control
groups, and the packages of `tools/install-deps foreign`; what cannot be done
here is skipped with its reason.  Exit status 0 if at most --wrong of the
names are wrong and no undisturbed request was given a false cause.
"""

import argparse
import json
import os
import pathlib
import platform
import random as randoms
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import opinion  # noqa: E402
from hazards import HAZARDS  # noqa: E402
from rig import stage, verdicts  # noqa: E402
from rig.injector import Missed, Runner, say  # noqa: E402
from rig.process import ROOT  # noqa: E402
from services import SERVICES, World  # noqa: E402
from table import Results  # noqa: E402

# For `make check-all`: a few that hold on a busy machine.
SHORT = [f"{service}/{hazard}" for service, row in {
    "tomcat": ("sleep", "lock-sleep", "gc-full"),
    "nginx": ("slow-reader", "slow-upload"),
    "gunicorn": ("slow-reader", "slow-upload"),
    "apache": ("sleep", "upstream", "slow-upload"),
    "python": ("sleep", "compute", "lock-sleep", "upstream", "quota"),
    "puma": ("sleep", "lock-sleep", "upstream"),
    "node": ("sleep", "compute", "busy"),
    "go": ("compute", "udp-timeout"),
}.items() for hazard in row]
BLOCK = 100     # undisturbed requests between two choices of tales
WARM = 200


def options():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--build", default=str(ROOT / "build"))
    p.add_argument("--times", type=int, default=20)
    p.add_argument("--most", type=int, default=0, metavar="N",
                   help="go on to N times where one was not right")
    p.add_argument("--calm", type=int, default=1000, metavar="N",
                   help="undisturbed requests of each service")
    p.add_argument("--wrong", type=float, default=0.5, metavar="PERCENT")
    p.add_argument("--seed", type=int,
                   default=int(time.time()) % 1_000_000)
    p.add_argument("--ordinary", action="store_true",
                   help="share the CPUs with other processes; "
                   "else all of the stage is scheduled before them")
    p.add_argument("--json", metavar="FILE", help="everything, as JSON")
    p.add_argument("--tales", metavar="DIRECTORY",
                   help="keep each timeline that is not right")
    p.add_argument("--second", action="store_true",
                   help="hold the tales of some against bpftrace and perf "
                   "sched as well")
    p.add_argument("--tap", action="store_true",
                   help="one line of TAP for each service")
    p.add_argument("--short", action="store_true",
                   help="a few hazards, twice each, twenty times where one "
                   "is not right; no undisturbed requests")
    p.add_argument("name", nargs="*")
    given = p.parse_args()
    given.build = os.path.abspath(given.build)
    if given.short:
        given.times, given.most, given.calm = 2, 20, 0
        given.name = given.name or SHORT
    return given


def chosen(names):
    """{service: [hazard, ...]} of what was asked for."""
    for name in names:
        parts = name.split("/")
        if not all(part in SERVICES or part in HAZARDS for part in parts):
            sys.exit(f"no service or hazard {name!r}; there are "
                     f"{', '.join([*SERVICES, *HAZARDS])}")

    def wanted(service, hazard):
        return not names or any(
            name in (service, hazard, f"{service}/{hazard}")
            for name in names)
    plan = {service: [hazard for hazard, kind in HAZARDS.items()
                      if service in kind.services and wanted(service, hazard)]
            for service in SERVICES}
    return {service: row for service, row in plan.items()
            if row or service in names}


def undisturbed(hazard, results, runner, count):
    """Requests that nothing is done to; judges those at p50 and at p99."""
    name = hazard.service.name
    random = randoms.Random(f"{runner.given.seed} {name}")
    results.latency[name], results.calm[name] = [], []
    for _ in range(count // BLOCK):
        block = []
        for _ in range(BLOCK):
            request, account = hazard.calm(random)
            block.append((hazard.got - hazard.sent, request, account))
        results.latency[name] += [ns for ns, _, _ in block]
        block.sort(key=lambda one: one[0])
        for _, request, account in [*block[BLOCK // 2 - 1:BLOCK // 2 + 1],
                                    *block[-2:]]:
            tale = hazard.stage.tale(request)
            finding = verdicts.judge_calm(hazard, request, tale,
                                          hazard.witness(tale, account))
            results.calm[name].append(finding)
            runner.keep(finding, tale)


def one_row(kind, service, theatre, runner, results):
    """One hazard of one service."""
    began = time.monotonic()
    hazard = kind(service, theatre, results.seen)
    try:
        hazard.start()
        try:
            runner.row(hazard)
        finally:
            hazard.finish()
    except (PermissionError, Missed) as error:
        results.skipped[hazard.name] = str(error)
    except (AssertionError, OSError) as error:
        results.broken[hazard.name] = str(error)
        say(f"{hazard.name}: {error}")
        return False
    row = results.rows.get(hazard.name, [])
    say(f"{hazard.name:22}{sum(f.right for f in row):3}/{len(row)}"
        f"  {time.monotonic() - began:5.1f} s"
        f"  {results.skipped.get(hazard.name, '')}")
    return True


class House:
    """A service behind a tailor, made anew when a hazard broke it."""

    def __init__(self, given, world, name):
        self.service = SERVICES[name](world)
        self.stage = stage.Stage(given.build)
        try:
            self.stage.start(self.service)
            for _ in range(WARM):
                self.stage.client.get("/work?kind=none")
            self.service.before_most()
        except BaseException:
            self.stop()
            raise

    def stop(self):
        self.stage.stop()
        self.service.end()


def second_opinions(given, service, results):
    """Other tools beside a service, if they were asked for and know its
    threads."""
    if not given.second or service.name not in opinion.SERVICES:
        return []
    for tool in opinion.TOOLS:
        if tool.unable():
            results.skipped[tool.tool] = tool.unable()
    return [tool(service.serving()) for tool in opinion.TOOLS
            if not tool.unable()]


def compare(service, results, other):
    """Hold the tales of a service against another tool's account."""
    switches = other.switches()
    for name, row in results.rows.items():
        of, _, hazard = name.partition("/")
        if of != service or hazard not in opinion.HAZARDS:
            continue
        agreed = []
        for finding in row:
            tid, begin, end = results.seen.get(finding.request, (0, 0, 0))
            seen = switches.get(tid)
            if (finding.right and finding.within
                    and opinion.covers(seen, begin, end)):
                agreed.append(opinion.agrees(
                    finding, opinion.spent(seen, begin, end)))
        results.opinions.setdefault(name, {})[other.tool] = (
            sum(agreed), len(agreed))


def one_service(given, world, name, hazards, results):
    """All hazards of a service."""
    runner = Runner(given, results)
    house = House(given, world, name)
    others = []
    try:
        others = second_opinions(given, house.service, results)
        if given.calm:
            undisturbed(HAZARDS["sleep"](house.service, house.stage,
                                         results.seen),
                        results, runner, given.calm)
        for hazard in hazards:
            kind = HAZARDS[hazard]
            if kind.database and not world.database:
                results.skipped[f"{name}/{hazard}"] = world.no_database
            elif not one_row(kind, house.service, house.stage, runner,
                             results):
                house.stop()
                house = House(given, world, name)
        for other in others:
            compare(name, results, other)
    finally:
        house.stop()


def tap(results, plan, given):
    """The result as tools/check reads it; whether it is good."""
    print(f"1..{len(plan)}")
    passed = True
    for number, service in enumerate(plan, 1):
        rows = {name: row for name, row in results.rows.items()
                if name.startswith(f"{service}/")}
        findings = [f for row in rows.values() for f in row]
        broken = [name for name in results.broken
                  if name.split("/")[0] == service]
        if not findings and not broken:
            print(next((why for name, why in results.skipped.items()
                        if name.split("/")[0] == service), "nothing to do"))
            print(f"ok {number} # SKIP {service}")
            continue
        bad = [name for name, row in rows.items()
               if sum(not f.right for f in row) > len(row) // 20]
        bad += broken
        for name in bad:
            print(f"# {name}: {results.broken.get(name, '')}")
            for f in rows.get(name, []):
                if not f.right:
                    print(f"# {f.outcome}: {f.code}: {f.text}")
        print(f"# {sum(f.right for f in findings)} of {len(findings)} right")
        print(f"{'not ' if bad else ''}ok {number} - {service}")
        passed = passed and not bad
    return passed


def run(given, plan, results):
    """All services of a plan."""
    world = World(given.build)
    try:
        try:
            world.start(any(HAZARDS[hazard].database for row in plan.values()
                            for hazard in row))
        except PermissionError as error:
            results.skipped.update(dict.fromkeys(plan, str(error)))
            return
        for name, hazards in plan.items():
            why = SERVICES[name].unable()
            if why:
                results.skipped[name] = why
                say(f"{name}: skipped: {why}")
                continue
            try:
                one_service(given, world, name, hazards, results)
            except PermissionError as error:
                results.skipped[name] = str(error)
                say(f"{name}: skipped: {error}")
            except (AssertionError, OSError) as error:
                results.broken[name] = str(error)
                say(f"{name}: {error}")
    finally:
        world.stop()


def main():
    given = options()
    plan = chosen(given.name)
    os.sched_setaffinity(0, {stage.PROXY_CPU})
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # end the stage, too
    alone = not given.ordinary and stage.before_others()
    results = Results({
        "seed": given.seed, "times": given.times, "alone": alone,
        "machine": f"{platform.system()} {platform.release()}, "
                   f"{os.cpu_count()} CPUs"}, list(plan), list(HAZARDS))
    say(f"seed {given.seed}")
    if os.cpu_count() < 2:
        results.skipped.update(dict.fromkeys(
            plan, "one CPU cannot be shared out"))
    else:
        run(given, plan, results)
    if given.json:
        with open(given.json, "w", encoding="utf-8") as file:
            json.dump(results.json(), file, indent=1)
    if given.tap:
        return 0 if tap(results, plan, given) else 1
    print(results.text())
    print("\n".join(["", *results.misses()]))
    sums = results.sums()
    false = sum(bool(f.false) for row in results.calm.values() for f in row)
    return 1 if (false or results.broken or
                 sums["wrong"] * 100 > given.wrong * sum(sums.values())) else 0


if __name__ == "__main__":
    sys.exit(main())
