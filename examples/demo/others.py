"""How much of this machine's CPU time others took meanwhile.

The figures of a busy machine show its other work, too, and then the report
says so.
"""

import os
import time

from processes import cpu_ticks

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
# Of the CPUs: what an idle machine's own services never take.
BUSY_SHARE = 0.1
# /proc/stat: user, nice, system, irq, softirq; guests are part of user
RAN = (0, 1, 2, 5, 6)
STOLEN = 7


def machine_ticks(line):
    """What the CPUs ran, and the hypervisor kept, of the first line of
    /proc/stat."""
    ticks = [int(word) for word in line.split()[1:]]
    return (sum(ticks[i] for i in RAN), ticks[STOLEN])


class Others:
    """From now on."""

    def __init__(self):
        self._begin = self._read()

    @staticmethod
    def _read():
        with open("/proc/stat", encoding="ascii") as file:
            ran, stolen = machine_ticks(file.readline())
        return time.monotonic(), ran - cpu_ticks(), stolen

    def cpus(self):
        """(CPUs that other programs used, CPUs that the hypervisor did not
        give) in the mean since."""
        now = self._read()
        s = now[0] - self._begin[0]
        # ticks are samples: a difference of nothing may be less than none
        return tuple(max(0.0, (end - begin) / TICKS_PER_S / s)
                     for begin, end in zip(self._begin[1:], now[1:]))


def busy(found, cpus):
    """Why the figures show other work too, or "".  found: of Others.cpus(),
    one for each measurement, with the name of its set-up; the worst is
    told."""
    key, (programs, stolen) = max(found, key=lambda f: sum(f[1]))
    if programs + stolen < BUSY_SHARE * cpus:
        return ""
    words = [f"other programs used {programs:.1f}"]
    if stolen >= 0.05:
        words.append(f"the hypervisor kept {stolen:.1f}")
    return (f"The machine was busy: {', '.join(words)} of {cpus} CPUs "
            f"({key}).")
