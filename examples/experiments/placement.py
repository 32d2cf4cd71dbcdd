"""Which CPUs run what, by what the machine has.

Two CPUs: server a has the first, server b the second, all else runs where
there is time.  More: Tailor's own rules (base/topology.h) place it and its
servers, learned by starting a Tailor once; the set-ups without Tailor give
their servers the same CPUs.  With six CPUs or more the last core is kept for
the load generator, which in the thesis was another machine.
"""

import os
import pathlib

SYSTEM = pathlib.Path("/sys/devices/system/cpu")
ENOUGH_FOR_GENERATOR = 6


def parse(text):
    """The CPUs of a list like 0-3,8."""
    found = set()
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


def format_cpus(cpus):
    return ",".join(map(str, sorted(cpus)))


def siblings(cpu):
    """The lanes of a CPU's core."""
    path = SYSTEM / f"cpu{cpu}" / "topology" / "thread_siblings_list"
    try:
        return parse(path.read_text(encoding="ascii"))
    except OSError:
        return {cpu}


def generator_core(allowed, lanes=siblings):
    """CPUs to keep for the load generator, or none."""
    if len(allowed) < ENOUGH_FOR_GENERATOR:
        return set()
    return lanes(max(allowed)) & set(allowed)


class Placement:
    """Of this machine: servers {name: CPUs or "auto"} as Tailor is told,
    direct {name: set of CPUs} without it, generator a set or None (all)."""

    def __init__(self, allowed=None, ask=None):
        allowed = set(allowed or os.sched_getaffinity(0))
        self.cpus = len(allowed)
        own = generator_core(allowed)
        self.generator = own or None
        self.rest = allowed - own
        ordered = sorted(self.rest)
        if len(ordered) == 2:
            self.servers = {"a": str(ordered[0]), "b": str(ordered[1])}
            self.direct = {"a": {ordered[0]}, "b": {ordered[1]}}
        else:
            self.servers = {"a": "auto", "b": "auto"}
            self.direct = ask(self.rest) if ask else {}

    def words(self):
        if self.servers["a"] != "auto":
            return (f"server a on CPU {self.servers['a']}, server b on CPU "
                    f"{self.servers['b']}; Tailor, proxies and the load "
                    "generator on both, wherever there is time")
        text = "; ".join(f"server {name} on CPUs {format_cpus(cpus)}"
                         for name, cpus in self.direct.items())
        left = self.rest - set().union(*self.direct.values())
        if left:
            text += f"; Tailor on {format_cpus(left)} by its own rules"
        if self.generator:
            text += f"; load generator on {format_cpus(self.generator)}"
        return text
