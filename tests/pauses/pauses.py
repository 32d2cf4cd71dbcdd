#!/usr/bin/python3
"""Tailor, nginx and HAProxy side by side through pauses, kills, bursts and
slow clients: no request that nginx or HAProxy answer at their defaults may be
failed by Tailor.

    tests/pauses/pauses.py --build build [--minutes 30] [--seed N]
                           [--only NUMBER] [--plot NAME] [--short] [--lanes 2]

scenes.py says what is played, servers.py and proxies.py are the programs,
client.py the clients, verdict.py what counts as a fault.  Each scene has
servers and proxies of its own.  The seed is printed; with --only a scene is
played again.  Exit status 0 if there was no fault.
"""

import concurrent.futures
import itertools
import pathlib
import shutil
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import scenes  # noqa: E402
from client import Clients  # noqa: E402
from proxies import NAMES, REFERENCES  # noqa: E402
from rig import suite  # noqa: E402
from rig.process import end_all  # noqa: E402
from servers import compile_java, missing, prepare  # noqa: E402
from stage import Stage  # noqa: E402
from verdict import Fault, Judge, swapped  # noqa: E402

SETTLE_S = 0.3
FULL_TEXTS = 3  # faults of a scene that are printed in full


def options():
    p = suite.parser(__doc__)
    p.add_argument("--minutes", type=float, default=1)
    p.add_argument("--only", type=int, metavar="NUMBER",
                   help="play this scene alone")
    p.add_argument("--plot", choices=list(scenes.PLOTS),
                   help="scenes of this plot only")
    p.add_argument("--lanes", type=int, default=2,
                   help="scenes at one time")
    p.add_argument("--short", action="store_true",
                   help="a fixed set, for make check-all")
    return p.parse_args()


class Played:
    """What came of one scene."""

    def __init__(self, scene):
        self.scene = scene
        self.outcomes, self.faults, self.notes = {}, [], []
        self.excused, self.late_s = 0, 0.0

    def ok(self, proxy):
        return sum(out.ok for out in self.outcomes.get(proxy, {}).values())


def send_all(scene, clients, start, played):
    """All requests to all proxies, each when it is due."""
    futures = []
    for plan in scene.plans:
        wait_s = start + plan.at_s - time.monotonic()
        if wait_s > 0:
            time.sleep(wait_s)
        else:
            played.late_s = max(played.late_s, -wait_s)
        for proxy, of in clients.items():
            futures.append((proxy, plan.ident, of.start(plan)))
    for proxy, ident, future in futures:
        played.outcomes.setdefault(proxy, {})[ident] = future.result()


def play(scene, given, directory, names, classes):
    """One scene, from its processes' start to the verdict."""
    played = Played(scene)
    stage = Stage(scene, directory, names, classes, given.build)
    stop = threading.Event()
    # The kernel ends what a thread has started when the thread ends.
    starter = concurrent.futures.ThreadPoolExecutor(1)
    try:
        stage.open()
        clients = {name: Clients(stage.address(name)) for name in names}
        start = time.monotonic() + SETTLE_S
        hazards = starter.submit(stage.hazards, start, stop)
        send_all(scene, clients, start, played)
        stop.set()
        hazards.result()
        for of in clients.values():
            of.close()
        time.sleep(SETTLE_S)
        judge(stage, played)
    except (AssertionError, OSError) as error:
        played.faults.append(Fault("broken", "-",
                                   f"{type(error).__name__}: {error}"))
    finally:
        stop.set()
        stage.close()
        starter.shutdown()
        if not given.keep:
            shutil.rmtree(directory, ignore_errors=True)
    return played


def judge(stage, played):
    scene, ours = stage.scene, stage.proxies["tailor"]
    played.faults += [Fault("broken", "-", text) for text in stage.errors]
    if not ours.running():
        played.faults.append(Fault("ended", "-", "tailor ended:\n"
                                   + "\n".join(ours.lines[-40:])))
    away = {k: [tuple(p) for p in v] for k, v in stage.away.items()}
    verdict = Judge(scene.plans, played.outcomes, stage.executed(),
                    stage.kills(), away,
                    sent_twice=stage.sent_twice(),
                    logs=scene.kind != "nginx" or not any(away.values()),
                    cookies=stage.cookies_since(), hung=scene.plot == "hung")
    played.faults += verdict.faults()
    if scene.plot == "swap" and ours.running():
        played.faults += swapped(scene.plans, played.outcomes, stage.pauses,
                                 ours.metrics(), ours.log)
    played.excused = verdict.excused()
    if played.faults:
        played.notes += ["the end of Tailor's log:",
                         *("  " + line for line in stage.end_of_log())]


def report(played):
    """The faults of a scene: some in full, the others counted."""
    if not played.faults:
        return []
    lines = [f"FAULTS: {len(played.faults)} in {played.scene}"]
    alike = {}
    for fault in played.faults:
        out = played.outcomes.get("tailor", {}).get(fault.ident)
        key = (fault.rule, out and f"{out.kind} {out.text}"[:60])
        alike.setdefault(key, []).append(fault)
    for (rule, said), faults in sorted(alike.items(),
                                       key=lambda x: -len(x[1])):
        lines.append(f"  {len(faults)} x {rule}"
                     f"{': tailor ' + said if said else ''}")
        lines += [f"    {fault.text}" for fault in faults[:FULL_TEXTS]]
    return lines + ["  " + note for note in played.notes]


class Run:
    """All scenes of one run."""

    def __init__(self, given, directory, lacking):
        self.given, self.directory = given, directory
        self.names = [name for name in NAMES if name not in lacking]
        self.kinds = [kind for kind, needs in (
            ("jdk", ("java", "javac")), ("nginx", ("nginx",)),
            ("python", ())) if not set(needs) & set(lacking)]
        self.classes = f"{directory}/classes"
        self.played, self.begun, self.lock = [], 0, threading.Lock()

    def scene(self, number, plot=None, kinds=None):
        fronts = [name for name in REFERENCES if name in self.names]
        return scenes.Author(self.given.seed, number, kinds or self.kinds,
                             fronts, plot).scene()

    def numbered(self):
        """Scenes, until time is over."""
        if self.given.only is not None:
            yield self.scene(self.given.only, self.given.plot)
            return
        until = time.monotonic() + self.given.minutes * 60
        for number in itertools.count(1):
            if time.monotonic() > until:
                return
            yield self.scene(number, self.given.plot)

    def short(self):
        """The fixed ones, the longest first."""
        for number, plot, kind in scenes.SHORT:
            if kind in self.kinds:
                yield self.scene(number, plot, [kind])

    def lane(self, source):
        """Scenes one after the other, until there are no more."""
        while True:
            with self.lock:
                scene = next(source, None)
                self.begun += 1
                directory = f"{self.directory}/{self.begun}"
            if scene is None:
                return
            began = time.monotonic()
            played = play(scene, self.given, directory, self.names,
                          self.classes)
            self.played.append(played)
            suite.say(f"# {scene} ({time.monotonic() - began:.0f} s)"
                      + "".join("\n# " + x for x in report(played)))

    def all(self):
        if "jdk" in self.kinds:
            compile_java(self.classes)
        source = self.short() if self.given.short else self.numbered()
        with concurrent.futures.ThreadPoolExecutor() as lanes:
            for lane in [lanes.submit(self.lane, source)
                         for _ in range(self.given.lanes)]:
                lane.result()


def table(run):
    """What was played and what came of it."""
    lines = [f"{'plot':16}{'scenes':>7}{'requests':>9}"
             + "".join(f"{name:>9}" for name in NAMES)
             + f"{'excused':>9}{'faults':>8}"]
    for plot in [*scenes.PLOTS, "all"]:
        some = [p for p in run.played if plot in (p.scene.plot, "all")]
        if not some:
            continue
        cells = [sum(p.ok(name) for p in some) for name in NAMES]
        lines.append(
            f"{plot:16}{len(some):7}"
            f"{sum(len(p.scene.plans) for p in some):9}"
            + "".join(f"{c:9}" for c in cells)
            + f"{sum(p.excused for p in some):9}"
            f"{sum(len(p.faults) for p in some):8}")
    late = max((p.late_s for p in run.played), default=0)
    return lines + [f"requests were sent {late:.2f} s late at most"]


def main():
    given = options()
    if given.short:
        given.seed, given.lanes = scenes.SHORT_SEED, 3
    lacking = missing(("nginx", "haproxy", "java", "javac"))
    suite.say(f"# seed {given.seed}")
    results = suite.Results(given.tap)
    for name in lacking:
        results.add(f"scenes with {name}", skip=f"{name} is not installed")
    if set(REFERENCES) <= set(lacking):
        return results.end()
    prepare()
    with suite.workplace(given, "pauses") as directory:
        try:
            run = Run(given, directory, lacking)
            run.all()
        finally:
            end_all()
    for played in sorted(run.played, key=lambda p: str(p.scene)):
        scene = played.scene
        results.add(f"{scene.plot}, {scene.kind}, scene {scene.number}",
                    report(played))
    return results.end(table(run))


if __name__ == "__main__":
    sys.exit(main())
