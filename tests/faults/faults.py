#!/usr/bin/python3
"""Makes calls fail in a running tailor, one by one.

    tests/faults/faults.py --build build-asan [--seconds 10] [PART...]

Four parts, all of programs with the layer of layer.h:

  sweep  Parsers, stores and renderings, in a process of their own: sweep.c.
  warm   A tailor runs under traffic: requests, bodies, hedges, a tunnel, a
         reload, tales, the admin's pages.  Each path to a call that can fail
         is made to fail once, by the traffic that takes it, and then each
         time.
  cold   What is called at the start only, or the first time only: each in a
         process of its own, from its start, through all the traffic.
  storm  Calls fail at random, several in a row.

Warm and cold are done in each scene of scenes.py.

Each time: no wrong response, no silence, no crash, no sanitizer's report;
afterwards it serves again, and at its end nothing has leaked, memory or
descriptors.  A start may fail, with status 1.

With --seconds each part stops after so many, at paths of its choice (--seed)
and in the first scene, else nothing is left out.  With --list it says at the
end how many call sites of our sources have failed; one that did not is a
failure.  Speaks TAP.
"""

import argparse
import os
import pathlib
import random
import re
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from layer import KINDS  # noqa: E402
from rig.message import Closed  # noqa: E402
from rig.process import ROOT  # noqa: E402
from rig.wait import Late, wait_until  # noqa: E402
from scenes import SCENES  # noqa: E402
from stage import Stage, Wrong  # noqa: E402
from symbols import Symbols  # noqa: E402
from traffic import perform  # noqa: E402


def options():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--build", default=str(pathlib.Path(ROOT) / "build"))
    p.add_argument("--seconds", type=float, default=0,
                   help="for each part; 0: until all is done [0]")
    p.add_argument("--seed", type=int,
                   default=int(time.time()) % 1_000_000)
    p.add_argument("--only", default="", metavar="REGEX",
                   help="paths with a matching 'file:line function' only")
    p.add_argument("--list", action="store_true",
                   help="say which call sites did not fail")
    p.add_argument("part", nargs="*", choices=[*PARTS, []],
                   help=f"of {', '.join(PARTS)} [all]")
    given = p.parse_args()
    given.part = given.part or list(PARTS)
    return given


PARTS = ("sweep", "warm", "cold", "storm")

# Not ours to repair, and what it would need.
KNOWN = {
    ("read", "evsig_cb"): "libevent ends the process if it cannot read the "
    "socket pair in which it writes signals to itself",
}


# Functions whose calls may fail, but not for ever: what they are for cannot be
# had without.
NOT_FOR_EVER = {
    "fault_fill",  # memory in place of a page that the JVM cut off
}

# Where tailor was wrong once: always tried, and first.
FOUND = {"wake", "ring_take_slow", "watch", "listener_watch",
         "text_reserve"}


class Campaign:
    """What is known of paths, and what came out."""

    def __init__(self, given):
        self.given = given
        self.stage = Stage(given.build)
        self.scenes = [scene(self.stage) for scene in SCENES]
        if given.seconds:
            del self.scenes[1:]
        self.scene_of = {}  # key -> where it was met first
        self.swept = set()  # call sites that failed in the sweep
        self.random = random.Random(given.seed)
        self.failed = {}  # key -> (kind, what, addresses), failed once
        self.known = {}   # key -> (kind, what, addresses)
        self.calls = {}   # key -> how many in one process
        self.wrongs = []
        self.skipped = {}  # function of KNOWN -> [why, keys]
        self.deadline = None

    # --- bookkeeping ------------------------------------------------------
    def note(self, page, scene):
        for key, (kind, calls, failed, what, at) in page.paths().items():
            self.known[key] = (kind, what, at)
            self.calls[key] = max(calls, self.calls.get(key, 0))
            self.scene_of.setdefault(key, scene)
            if failed:
                self.failed[key] = (kind, what, at)

    def wanted(self, keys):
        """One of each class not made to fail yet, in an order of chance."""
        self.stage.symbols.look_up(
            {at for key in keys for at in self.known[key][2]})
        done = {self.class_of(k) for k in self.failed}
        # Of a class the path that is taken most: others may not come again.
        found = {self.class_of(k): k
                 for k in sorted(keys, key=self.calls.__getitem__)
                 if any(re.search(self.given.only, f) for f
                         in self.stage.symbols.frames(self.known[k][2]))
                 and not self.is_known_fault(k)}
        found = [k for name, k in found.items() if name not in done]
        self.random.shuffle(found)
        found = self.telling_first(found)
        print(f"# {len(found)} to try, of {len(keys)} paths", flush=True)
        return found

    def telling_first(self, keys):
        """Those where tailor was wrong once, then one of each call site."""
        places, seen = {}, set()
        for key in keys:
            site = self.stage.symbols.ours(self.known[key][2])
            places[key] = 2 if site in seen else 1
            if FOUND & self.functions(key):
                places[key] = 0
            seen.add(site)
        return sorted(keys, key=places.get)

    def class_of(self, key):
        """Paths are alike if the call, its three innermost functions and
        the four innermost of ours are: a buffer that grows has hundreds."""
        kind, what, at = self.known[key]
        ours = [f for f in self.stage.symbols.frames(at)
                if self.stage.symbols.OURS.match(f)]
        inner = [f.split()[1] for f in self.stage.symbols.frames(at)[:3]]
        return (kind, what, *inner, *ours[:1],
                *(f.split()[1] for f in ours[1:4]))

    def functions(self, key):
        """All that are on a path."""
        return {frame.split()[1] for frame
                in self.stage.symbols.frames(self.known[key][2])}

    def is_known_fault(self, key):
        """Whether it ends in one of KNOWN, which is reported once."""
        functions = self.functions(key)
        for (kind, function), why in KNOWN.items():
            if function in functions and self.known[key][0] == kind:
                self.skipped.setdefault(function, [why, set()])[1].add(key)
                return True
        return False

    def may_last(self, key):
        """Who is not accepted waits, as long as that lasts."""
        return (self.known[key][0] != "accept"
                and not NOT_FOR_EVER & self.functions(key))

    def late(self):
        return self.deadline is not None and time.monotonic() > self.deadline

    def begin(self):
        if self.given.seconds:
            self.deadline = time.monotonic() + self.given.seconds

    def wrong(self, key, error):
        kind, what, at = self.known.get(key, ("?", "?", []))
        place = "\n    ".join(self.stage.symbols.frames(at)[:10])
        self.wrongs.append(f"{kind} {what} {place}\n{error}")
        print(f"# wrong: {kind} {what}\n    {place}\n{error}".replace(
            "\n", "\n# "), flush=True)

    # --- the parts --------------------------------------------------------
    def sweep(self):
        """Another program, which counts for itself."""
        page = self.stage.page()
        program = str(self.stage.build / "faults" / "sweep")
        done = subprocess.run(
            [program, str(ROOT)], text=True, capture_output=True,
            check=False, env=os.environ | {"TAILOR_FAULTS": page.path})
        print("".join(f"# {x}\n" for x in done.stdout.splitlines()))
        symbols = Symbols(program)
        failed = [one[4][:1] for one in page.paths().values() if one[2]]
        symbols.look_up({a for at in failed for a in at})
        self.swept = {symbols.frames(at)[0] for at in failed if at}
        if done.returncode != 0:
            self.wrong(0, f"sweep: exit status {done.returncode}\n"
                       f"{done.stderr[-3000:]}")

    def ready(self, scene):
        t = self.stage.start(self.stage.page(), scene)
        if not t.wait_serving():
            raise Wrong(f"it does not start\n{t.log}")
        t.wait_ready()
        return t

    def discover(self, t, scene):
        """{path: the traffic that takes it}, of what is not first use."""
        takes = {}
        for round_ in range(3):
            for act in scene.acts:
                before = t.page.paths()
                perform(t, act)
                for key, one in t.page.paths().items():
                    if round_ and one[1] > before.get(key, (0, 0))[1]:
                        takes.setdefault(key, act)
        self.note(t.page, scene)
        return takes

    def strike(self, t, act, **armed):
        """One fault under this traffic; it must serve afterwards."""
        t.page.arm(**armed)
        perform(t, act)
        t.page.disarm()
        if not t.wait_serving():
            raise Wrong("it ended")

    def warm(self):
        self.begin()
        for scene in self.scenes:
            self.warm_in(scene)

    def warm_in(self, scene):
        t = self.ready(scene)
        takes = self.discover(t, scene)
        t.settle()
        before = t.descriptors()
        for key in self.wanted(takes):
            if self.late() and not FOUND & self.functions(key):
                break
            try:
                self.strike(t, takes[key], path=key)
                if self.may_last(key):
                    self.strike(t, takes[key], path=key, left=10 ** 9)
            except (Wrong, Late, OSError, Closed) as error:
                self.note(t.page, scene)
                self.wrong(key, f"{error}\n{t.log[-1500:]}")
                t.kill()
                t = self.ready(scene)
                before = None
        self.finish(t, scene, before)

    def finish(self, t, scene, before=None):
        """Nothing may be left over at its end."""
        self.note(t.page, scene)
        t.page.disarm()
        try:
            t.wait_serving()
            t.settle()
            if before is not None:
                wait_until(lambda: t.descriptors() <= before + 2,
                           lambda: f"{before} descriptors again, not "
                           f"{t.descriptors()}")
            self.stage.end(t, lambda: self.note(t.page, scene))
        except (Wrong, Late, OSError, Closed) as error:
            self.wrong(0, f"at the end: {error}")
            t.kill()

    def once_cold(self, key):
        page, scene = self.stage.page(), self.scene_of[key]
        page.arm(path=key)
        t = self.stage.start(page, scene)
        try:
            if t.wait_serving():
                for act in scene.acts:
                    if page.failed:
                        break
                    perform(t, act)
                if not t.wait_serving():
                    raise Wrong("it ended")
                t.settle()
            # Still armed: some calls are made at the end only.
            self.stage.end(t, lambda: self.note(page, scene), may_fail=True)
        except (Wrong, Late, OSError, Closed) as error:
            self.note(page, scene)
            self.wrong(key, f"{error}\n{t.log[-1500:]}")
            t.kill()

    def cold(self):
        self.begin()
        for scene in self.scenes:
            if scene not in self.scene_of.values():
                t = self.ready(scene)
                self.discover(t, scene)
                self.finish(t, scene)
        for key in self.wanted(self.known):
            if self.late():
                break
            self.once_cold(key)

    def storm(self):
        self.begin()
        scene = self.scenes[0]
        t = self.ready(scene)
        for _ in range(400):
            if self.late():
                break
            act = self.random.choice(scene.acts)
            armed = {"kinds": 1 << self.random.randrange(len(KINDS)),
                     "skip": self.random.randrange(40),
                     "left": self.random.randint(1, 20)}
            try:
                self.strike(t, act, **armed)
            except (Wrong, Late, OSError, Closed) as error:
                self.note(t.page, scene)
                said = t.log[-1500:]
                if "evsig_cb: recv" not in said:  # see KNOWN
                    self.wrong(0, f"{armed}: {error}\n{said}")
                t.kill()
                t = self.ready(scene)
        self.finish(t, scene)

    # --- what came out ----------------------------------------------------
    def report(self):
        print(f"# {len(self.failed)} of {len(self.known)} paths failed")
        for function, (why, keys) in self.skipped.items():
            print(f"# left out: {len(keys)} paths through {function}: {why}")
        if self.given.list:
            self.list_sites()

    def list_sites(self):
        """Which calls in tailor's sources failed, and which did not."""
        symbols = self.stage.symbols
        symbols.look_up({a for _, _, at in self.failed.values() for a in at})
        # The site of a path is its innermost frame, if that is ours, ...
        direct = {symbols.frames(at[:1])[0]
                  for _, _, at in self.failed.values()}
        # ... and where a library was called if it is in there.
        through = {symbols.ours(at) for _, _, at in self.failed.values()}
        sites = symbols.sites()
        print(f"# of {len(sites)} call sites {len(direct & sites)} failed in "
              f"tailor, {len(self.swept & sites - direct)} in the sweep only; "
              f"{len(through - sites)} that call libevent")
        for site in sorted(sites - direct - self.swept):
            print(f"# not failed: {site}")
            if not self.given.seconds:
                self.wrongs.append(f"{site} did not fail")


def main():
    given = options()
    campaign = Campaign(given)
    print(f"# seed {given.seed}\n1..{len(given.part)}", flush=True)
    try:
        for number, part in enumerate(given.part, 1):
            wrongs = len(campaign.wrongs)
            began = time.monotonic()
            getattr(campaign, part)()
            good = len(campaign.wrongs) == wrongs
            print(f"{'ok' if good else 'not ok'} {number} - {part}\n"
                  f"# {part} took {time.monotonic() - began:.0f} s, "
                  f"{len(campaign.failed)} paths so far", flush=True)
        campaign.report()
    finally:
        for scene in campaign.scenes:
            scene.close()
        campaign.stage.close()
    return 1 if campaign.wrongs else 0


if __name__ == "__main__":
    sys.exit(main())
