#!/usr/bin/python3
"""Injects hazards into real servers behind a real tailor, and holds what
their timelines report against what was done.

    tests/hazards/hazards.py --build build [--times 20] [--seed N] [NAME...]

Each hazard is injected --times times at random moments among requests that
nothing is done to; the timelines of all the former and of some of the latter
are fetched and judged (rig/verdicts.py says how), and a table comes out: how
often the right cause was reported, and how far its time is off.

NAME, a shell pattern, is a hazard of a service (c/rt-hog, python/gil); without
any, all of our own services are done, or with --foreign all that others wrote.
With --calm each of these also gets so many requests that nothing is done to, of
which those at p50 and p99 are judged.

It needs root for the kernel's events, for real-time scheduling and for control
groups, two CPUs, a JDK for the JVM's part, and the packages of
`tools/install-deps foreign` for the services; what cannot be done here is
skipped with its reason.  Exit status 0 if at least 19 of 20 of each were named
right, and no request was given a cause it did not have.
"""

import fnmatch
import math
import os
import pathlib
import random as randoms
import signal
import sys
import textwrap
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import hazards_jvm  # noqa: E402
import hazards_network  # noqa: E402
import hazards_outside  # noqa: E402
import hazards_own  # noqa: E402
import hazards_requests  # noqa: E402
import hazards_waits  # noqa: E402
from hazard import Hazard  # noqa: E402
from rig import stage, suite  # noqa: E402
from rig.injector import Missed, Runner  # noqa: E402
from rig.suite import say  # noqa: E402
from rig.verdicts import CALM, middle  # noqa: E402
from services import OURS, SERVICES, World  # noqa: E402

HAZARDS = {f"{service}/{kind.kind}": kind for service in SERVICES for kind in (
    *hazards_own.HAZARDS, *hazards_requests.HAZARDS, *hazards_outside.HAZARDS,
    *hazards_waits.HAZARDS, *hazards_network.HAZARDS, *hazards_jvm.HAZARDS)
    if service in kind.services}
# For `make check-all`: a few that hold on a busy machine.
SHORT = [f"{service}/{hazard}" for service, row in {
    "tomcat": ("sleep", "lock-sleep", "gc-full"),
    "nginx": ("slow-reader", "slow-upload"),
    "gunicorn": ("slow-reader", "slow-upload"),
    "fpm": ("upstream",),
    "apache": ("sleep", "upstream", "slow-upload"),
    "python": ("sleep", "compute", "lock-sleep", "upstream", "quota"),
    "puma": ("sleep", "lock-sleep", "upstream"),
    "node": ("sleep", "compute", "busy"),
    "go": ("compute", "udp-timeout"),
}.items() for hazard in row]
EDGE = 4  # of so many one may be wrong where two causes are true
BLOCK = 100     # undisturbed requests between two choices of tales
WARM = 200


def options():
    p = suite.parser(__doc__)
    p.add_argument("--times", type=int, default=20)
    p.add_argument("--most", type=int, default=0, metavar="N",
                   help="go on to N times where one was not right")
    p.add_argument("--calm", type=int, default=0, metavar="N",
                   help="undisturbed requests of each foreign service, "
                   f"in steps of {BLOCK}")
    p.add_argument("--ordinary", action="store_true",
                   help="share the CPUs with other processes; "
                   "else all of the stage is scheduled before them")
    p.add_argument("--foreign", action="store_true",
                   help="services that others wrote")
    p.add_argument("--short", action="store_true",
                   help="a few hazards of these, twice each, twenty times "
                   "where one is not right")
    p.add_argument("name", nargs="*")
    given = p.parse_args()
    given.build = os.path.abspath(given.build)
    if given.short:
        given.times, given.most = 2, 20
    return given


def chosen(given):
    """The names of all that is to be done, in order."""
    found = []
    for name in given.name or (SHORT if given.short else [
            f"{service}/*" for service in SERVICES
            if (service in OURS) != given.foreign]):
        some = fnmatch.filter(HAZARDS, name)
        if not some:
            sys.exit(f"no hazard {name!r}; there are {', '.join(HAZARDS)}")
        found += [one for one in some if one not in found]
    return found


class Table:
    """All that was judged, by what was injected."""

    def __init__(self):
        self.rows = {}            # name -> [Finding]
        self.skipped = {}         # name -> why
        self.broken = {}          # name -> what went wrong in between

    def add(self, finding):
        self.rows.setdefault(finding.injected, []).append(finding)

    def bad(self, name):
        """Whether a row is short of the goal: 19 of 20 right, nothing false."""
        row = self.rows.get(name, [])
        wrong = sum(not f.right for f in row)
        if name == CALM:
            return wrong > 0
        return (not row or name in self.broken
                or wrong > len(row) // (EDGE if HAZARDS[name].edge else 20))

    def share(self, name):
        row = self.rows.get(name, ())
        return f"{sum(f.right for f in row)} of {len(row)} right"

    def wrong(self, name):
        """One line for each of a row that is not right."""
        if name in self.broken:
            yield self.broken[name]
        for f in self.rows.get(name, ()):
            if not f.right:
                sums = ", ".join(f"{code} {ns / 1e6:.1f}" for code, ns in
                                 sorted(f.causes.items(), key=lambda x: -x[1]))
                yield (f"{f.request}: {f.outcome}: {f.code}"
                       f"{' FALSE ' + ', '.join(f.false) if f.false else ''}"
                       f": {f.text} ({sums} ms)")

    def text(self):
        """A table of at most 80 columns."""
        lines = ["Named right, of all; medians of the time measured by the "
                 "injector, of the time",
                 "reported and of the error, and the largest one, ms; within "
                 "5 % or 0.1 ms.", ""]
        for name, row in self.rows.items():
            line = f"{name:22}{sum(f.right for f in row):4}/{len(row):<4}"
            timed = [f for f in row if f.harm_ns]
            errors = [f.error_ns for f in timed]
            if timed:
                line += "".join(f"{ns / 1e6:9.2f}" for ns in (
                    middle([f.harm_ns for f in timed]),
                    middle([f.reported_ns for f in timed]), middle(errors),
                    max(errors, key=abs)))
                line += f"{sum(f.exact for f in timed):7}/{len(timed)}"
            lines.append(line)
        for name, why in self.skipped.items():
            lines += textwrap.wrap(f"{name:22}skipped: {why}", 80,
                                   subsequent_indent=22 * " ")
        return lines


class House:
    """A service behind a tailor, or as many of it as a hazard needs."""

    def __init__(self, given, world, name, kind):
        self.name, self.services = name, []
        self.own = kind if kind.own_stage else None  # for that hazard alone
        self.stage = stage.Stage(given.build, kind.preload, **kind.sections())
        world.channels = self.stage.channels
        try:
            for _ in range(kind.servers):
                self.services.append(SERVICES[name](world))
            self.stage.start(*self.services)
            for _ in range(WARM):
                self.stage.client.get("/work?kind=none")
            for service in self.services:
                service.before_most()
        except BaseException:
            self.stop()
            raise

    def stop(self):
        self.stage.stop()
        for service in self.services:
            service.end()


class Town:
    """The service that runs now: one at a time, made anew when a hazard broke
    it or needs a tailor of its own."""

    def __init__(self, given, names, runner):
        self.given, self.runner = given, runner
        self.database = any(HAZARDS[name].database for name in names)
        self.world = self.house = None
        self.unable = {}  # service -> why it cannot run here

    def hazard(self, name):
        """One of a service that runs; or PermissionError."""
        service, kind = name.partition("/")[0], HAZARDS[name]
        if (self.house is None or self.house.name != service
                or self.house.own != (kind if kind.own_stage else None)):
            self.leave()
            try:
                self.enter(service, kind)
            except PermissionError as error:
                self.unable[service] = str(error)
            except (AssertionError, OSError) as error:
                self.unable[service] = "it does not start"
                raise error
        if service in self.unable:
            raise PermissionError(self.unable[service])
        if kind.database and not self.world.database:
            raise PermissionError(self.world.no_database)
        made = kind(self.house.services[0], self.house.stage)
        made.start()
        return made

    def enter(self, service, kind):
        if service in self.unable:
            return
        why = SERVICES[service].unable()
        if why:
            raise PermissionError(why)
        if self.world is None:
            world = World(self.given.build)
            try:
                world.start(self.database)
            except BaseException:
                world.stop()
                raise
            self.world = world
        self.house = House(self.given, self.world, service, kind)
        if self.given.calm and not kind.own_stage:
            self.undisturbed()

    def undisturbed(self):
        """Requests that nothing is done to; judges those at p50 and at p99."""
        calm = Hazard(self.house.services[0], self.house.stage)
        random = randoms.Random(f"{self.given.seed} {calm.service.name}")
        times = []
        for _ in range(math.ceil(self.given.calm / BLOCK)):
            block = []
            for _ in range(BLOCK):
                request, account = calm.calm(random)
                block.append((calm.got - calm.sent, request, account))
            times += [ns for ns, _, _ in block]
            block.sort(key=lambda one: one[0])
            for _, request, account in [*block[BLOCK // 2 - 1:BLOCK // 2 + 1],
                                        *block[-2:]]:
                self.runner.judge_calm(calm, request, account)
        times.sort()
        say(f"{calm.service.name}: undisturbed, ms: p50 "
            f"{middle(times) / 1e6:.2f}, p99 "
            f"{times[len(times) * 99 // 100] / 1e6:.2f}")

    def leave(self):
        if self.house:
            self.house.stop()
            self.house = None

    def end(self):
        self.leave()
        if self.world:
            self.world.stop()


def one_row(name, town, table):
    """All injections of one hazard."""
    began, why = time.monotonic(), ""
    try:
        if os.cpu_count() < 2:
            raise PermissionError("one CPU cannot be shared out")
        hazard = town.hazard(name)
        try:
            town.runner.row(hazard)
        finally:
            hazard.stop()
    except (PermissionError, Missed) as error:
        why = table.skipped[name] = str(error)
    except (AssertionError, OSError) as error:
        why = table.broken[name] = str(error)
        town.leave()
    say(f"{name:22} {table.share(name)}, {time.monotonic() - began:.1f} s"
        f"  {why}")


def main():
    given = options()
    names = chosen(given)
    os.sched_setaffinity(0, {stage.PROXY_CPU})
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # end the stage, too
    alone = not given.ordinary and stage.before_others()
    say(f"seed {given.seed}{'' if alone else ', sharing the CPUs'}")
    table = Table()
    runner = Runner(given, table)
    town = Town(given, names, runner)
    try:
        for name in names:
            one_row(name, town, table)
    finally:
        town.end()
    if len(table.skipped) == len(names):
        table.skipped[CALM] = "every hazard was skipped"
    if given.calm or any(name.partition("/")[0] in OURS for name in names):
        names.append(CALM)
    results = suite.Results(given.tap)
    for name in names:
        bad = name not in table.skipped and table.bad(name)
        results.add(name, [*table.wrong(name), table.share(name)] * bad,
                    table.skipped.get(name, ""))
    return results.end(table.text())


if __name__ == "__main__":
    sys.exit(main())
