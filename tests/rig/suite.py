"""What the programs of all suites have: options, a directory, results."""

import argparse
import contextlib
import os
import shutil
import sys
import tempfile
import time

from .process import ROOT


def parser(doc):
    """The options that all have; doc: of the program."""
    p = argparse.ArgumentParser(description=doc.split("\n\n")[0])
    p.add_argument("--build", default=str(ROOT / "build"))
    p.add_argument("--seed", type=int, default=int(time.time()) % 1_000_000)
    p.add_argument("--tap", action="store_true", help="results as TAP")
    p.add_argument("--keep", metavar="DIRECTORY", help="work here, and leave "
                   "all files and logs")
    return p


def say(text):
    """How it goes, at once."""
    print(text, file=sys.stderr, flush=True)


@contextlib.contextmanager
def workplace(given, name, parent=None):
    """A directory to work in, which is removed unless it is to be kept."""
    directory = given.keep or tempfile.mkdtemp(prefix=f"{name}-", dir=parent)
    os.makedirs(directory, exist_ok=True)
    try:
        yield directory
    finally:
        if not given.keep:
            shutil.rmtree(directory, ignore_errors=True)


class Results:
    """A suite's tests, as TAP if that is asked for."""
    MOST = 40  # lines of each that are shown, in 600 columns

    def __init__(self, tap):
        self._tap, self._count, self.failed = tap, 0, 0

    def add(self, name, faults=(), skip=""):
        """One test; it failed if there are faults, and why is in them."""
        self._count += 1
        self.failed += bool(faults)
        for line in list(faults)[:self.MOST]:
            print("# " + line[:600].replace("\n", "\n# "))
        if not self._tap:
            return
        if skip:
            print(skip)
        print(f"{'not ok' if faults else 'ok'} {self._count} - {name}"
              f"{' # SKIP' if skip else ''}", flush=True)

    def end(self, lines=()):
        """Print a table, too.  The status to exit with."""
        if self._tap:
            print(f"1..{self._count}")
        print("\n".join(("# " if self._tap else "") + x for x in lines))
        return 1 if self.failed else 0
