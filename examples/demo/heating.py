"""JVMs warmed up, each to a known distance from its next collection."""

import pathlib
import re
import threading

from processes import Trouble

RATE = 700
BATCH = 100
# requests from one collection of the demonstration's JVMs to the next
GENERATION = 2200


class Pauses:
    """What JVMs' logs say of their pauses, from now on: all JVMs' whose logs
    are in the directory, or those of the one server of that name."""

    LINE = re.compile(
        r"(?:\[(\d+)ns\].*)?\] GC\(\d+\) Pause .* ([\d.]+)ms$")

    def __init__(self, directory, name="*"):
        self._directory = pathlib.Path(directory)
        self._pattern = f"{name}-gc-*.log"
        self._read = {path: path.stat().st_size for path in self._logs()}

    def _logs(self):
        return self._directory.glob(self._pattern)

    def since(self):
        """Their lengths in ms."""
        return [ms for _, ms in self.ends()]

    def ends(self):
        """[(end in ns of CLOCK_MONOTONIC, length in ms)]."""
        found = []
        for path in self._logs():
            with open(path, encoding="utf-8", errors="replace") as file:
                file.seek(self._read.get(path, 0))
                for line in file:
                    match = self.LINE.search(line.rstrip())
                    if match:
                        found.append((int(match[1] or 0), float(match[2])))
        return found


class _Job(threading.Thread):
    def __init__(self, work):
        super().__init__(daemon=True)
        self._work = work
        self.trouble = None

    def run(self):
        try:
            self._work()
        except Trouble as e:
            self.trouble = e


def all_at_once(works):
    """Call each in a thread of its own; the first Trouble when all ended."""
    jobs = [_Job(work) for work in works]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    for job in jobs:
        if job.trouble:
            raise job.trouble


def until_collected(generator, port, pauses):
    """Requests until the server behind port has collected; False if it does
    not, after more than should be needed."""
    for _ in range(2 * GENERATION // BATCH):
        if pauses.since():
            return True
        generator.warm_up(port, BATCH, RATE)
    return bool(pauses.since())


def heat_apart(generator, servers, directory, requests):
    """Warm servers ({name: port}, logs in directory) up, at the same time.

    Each gets so many requests and then more until it has collected, the
    second one half a generation beyond that.  Two JVMs that did the same
    work would collect at the same time, and then no proxy can help.  In
    service they do not: a backup does not fill its heap, so the two take
    turns, and half a generation is where they stand in the mean when one
    has been restarted.
    """
    def one(name, port, beyond):
        generator.warm_up(port, requests, RATE)
        if not until_collected(generator, port, Pauses(directory, name)):
            raise Trouble(f"server {name} has not collected, so that there "
                          f"would be nothing to see; its log is in "
                          f"{directory}")
        if beyond:
            generator.warm_up(port, beyond, RATE)

    all_at_once([
        lambda name=name, port=port, i=i: one(name, port, i * GENERATION // 2)
        for i, (name, port) in enumerate(servers.items())])
