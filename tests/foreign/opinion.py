"""A second opinion: bpftrace's account of what a thread did.

For services whose one thread serves a request, and so has the number of its
process.  What bpftrace saw of the switches of that thread, within the times
that the service itself measured, is held against the causes of the tale.
"""

import re
import shutil
import signal
import subprocess
import threading

from rig.process import Process
from rig.stage import may_schedule
from rig.verdicts import EXACT_NS, EXACT_SHARE

SERVICES = ("gunicorn", "node")
# What happens within the times that the service measured.
HAZARDS = ("sleep", "compute", "upstream", "database", "udp-timeout", "rt-hog",
           "stop-all", "stop-worker", "quota")
PROGRAM = """tracepoint:sched:sched_switch
/{filter}/
{{ printf("%llu %d %d %d\\n", nsecs, args->prev_pid, args->prev_state,
	args->next_pid); }}
"""
# Of its own: what is mounted elsewhere does not change.
MOUNT = ("mount -t debugfs none /sys/kernel/debug || true; "
         "mount -t tracefs none /sys/kernel/tracing || true; "
         'exec "$@"')
# A class of time: the causes of a tale that are of it.
CAUSES = {
    "ran": ("work", "page_fault", "low_ipc", "slow_clock", "softirq", "gc"),
    "slept": ("sleep", "lock", "disk", "backend_queue", "network"),
    "ready": ("preempted", "runq", "idle_wakeup", "quota"),
    "stopped": ("stopped",),
}


def state(number):
    """The class of time that follows a switch with this state."""
    if number & 0x0c:      # T, t
        return "stopped"
    return "slept" if number & 0x03 else "ready"


class Opinion(Process):
    """bpftrace, while some processes are disturbed."""

    @staticmethod
    def unable():
        """Why there is none; None if there is."""
        if not shutil.which("bpftrace"):
            return "bpftrace is not installed"
        return None

    def __init__(self, pids):
        words = " || ".join(f"args->prev_pid == {pid} || "
                            f"args->next_pid == {pid}" for pid in pids)
        super().__init__(
            [*["chrt", "-o", "0"] * may_schedule(), "unshare", "--mount", "sh", "-ec", MOUNT, "sh",
             "bpftrace", "-B", "line", "-e", PROGRAM.format(filter=words)],
            stdout=subprocess.PIPE)
        assert "Attaching" in self.stdout.readline(), self.log
        self._seen = []
        self._reading = threading.Thread(
            target=lambda: self._seen.extend(self.stdout), daemon=True)
        self._reading.start()

    def switches(self):
        """End it; {thread: [(ns, class of time from then on)]}."""
        self.signal(signal.SIGINT)
        self.wait()
        self._reading.join()
        found = {}
        for line in self._seen:
            if not re.match(r"\d+ \d+ \d+ \d+$", line):
                continue
            ns, before, number, after = map(int, line.split())
            found.setdefault(before, []).append((ns, state(number)))
            found.setdefault(after, []).append((ns, "ran"))
        for one in found.values():  # each CPU has a buffer of its own
            one.sort()
        return found


def spent(switches, begin, end):
    """{class: ns} of a thread within an interval."""
    sums = dict.fromkeys(CAUSES, 0)
    edges = [s for s in switches if s[0] < end]
    for (at, what), after in zip(edges, [*edges[1:], (end, "")]):
        sums[what] += max(0, min(after[0], end) - max(at, begin))
    return sums


def agrees(finding, sums):
    """Whether the largest class of time of a tale is bpftrace's, and as
    long."""
    told = {name: sum(finding.causes.get(code, 0) for code in codes)
            for name, codes in CAUSES.items()}
    most = max(sums, key=sums.get)
    return (max(told, key=told.get) == most and
            abs(told[most] - sums[most])
            <= max(EXACT_NS * 5, EXACT_SHARE * sums[most]))
