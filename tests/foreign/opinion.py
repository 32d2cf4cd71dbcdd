"""Second opinions: what bpftrace and perf sched saw a thread do.

For services whose one thread serves a request, and so has the number of its
process.  What these saw of the switches of that thread, within the times that
the service itself measured, is held against what the tale has of those times.
"""

import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading

from rig.process import Process
from rig.stage import NICER, may_schedule
from rig.verdicts import EXACT_NS, EXACT_SHARE
from rig.wait import wait_until

SERVICES = ("gunicorn", "node", "cluster")
END_S = 120  # the tool writes what it saw; its priority is an ordinary one
# What happens within the times that the service measured.
HAZARDS = ("sleep", "compute", "upstream", "database", "udp-timeout", "rt-hog",
           "stop-all", "stop-worker")
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
    "ran": ("work", "page_fault", "low_ipc", "slow_clock", "softirq", "gc",
            "steal"),
    "slept": ("sleep", "lock", "disk", "backend_queue", "network"),
    "ready": ("preempted", "runq", "idle_wakeup", "quota"),
    "stopped": ("stopped",),
}


class Opinion(Process):
    """Another tool, while some processes are disturbed."""
    tool = ""

    @classmethod
    def unable(cls):
        """Why there is none; None if there is."""
        program = cls.tool.split()[0]
        return None if shutil.which(program) else f"{program} is not installed"

    def __init__(self, argv, **more):
        super().__init__(
            [*NICER * may_schedule(), "unshare", "--mount", "sh", "-ec", MOUNT,
             "sh", *argv], **more)

    def switches(self):
        """End it; {thread: [(ns, class of time from then on)]}."""
        self.signal(signal.SIGINT)
        self.wait(END_S)
        found = {}
        self.read(lambda tid, ns, what:
                  found.setdefault(tid, []).append((ns, what)))
        for one in found.values():  # each CPU has a buffer of its own
            one.sort()
        return found

    def read(self, saw):
        """Call saw(thread, ns, class of time from then on) of each edge."""
        raise NotImplementedError


class Bpftrace(Opinion):
    tool = "bpftrace"

    def __init__(self, pids):
        words = " || ".join(f"args->prev_pid == {pid} || "
                            f"args->next_pid == {pid}" for pid in pids)
        super().__init__(["bpftrace", "-B", "line", "-e",
                          PROGRAM.format(filter=words)],
                         stdout=subprocess.PIPE)
        assert "Attaching" in self.stdout.readline(), self.log
        self._seen = []
        self._reading = threading.Thread(
            target=lambda: self._seen.extend(self.stdout), daemon=True)
        self._reading.start()

    @staticmethod
    def _state(number):
        if number & 0x0c:      # T, t
            return "stopped"
        return "slept" if number & 0x03 else "ready"

    def read(self, saw):
        self._reading.join()
        for line in self._seen:
            if re.match(r"\d+ \d+ \d+ \d+$", line):
                ns, before, number, after = map(int, line.split())
                saw(before, ns, self._state(number))
                saw(after, ns, "ran")


class PerfSched(Opinion):
    tool = "perf sched"
    # time [cpu] name[tid/pid] wait delay run state, of a thread that leaves
    LINE = re.compile(r"\s*(\d+)\.(\d{6}) +\[\d+\] .*?\[(\d+)(?:/\d+)?\] +"
                      r"[\d.]+ +([\d.]+) +([\d.]+) +(\S+)")
    STATES = {"R": "ready", "T": "stopped", "t": "stopped"}

    def __init__(self, pids):
        self._pids = pids
        self._folder = tempfile.mkdtemp(prefix="tailor-perf-", dir="/var/tmp")
        self._file = os.path.join(self._folder, "data")
        super().__init__(["perf", "sched", "record", "-BN", "-k",
                          "CLOCK_MONOTONIC", "-o", self._file],
                         stdout=subprocess.DEVNULL)
        wait_until(lambda: os.path.exists(self._file) or not self.running(),
                   lambda: f"perf sched records:\n{self.log}")

    def read(self, saw):
        try:
            done = subprocess.run(
                ["perf", "sched", "timehist", "-i", self._file, "--state",
                 "--tid", ",".join(map(str, self._pids))],
                capture_output=True, text=True, errors="replace", check=True)
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)
        for line in done.stdout.splitlines():
            row = self.LINE.match(line)
            if not row:
                continue
            left = int(row[1]) * 10**9 + int(row[2]) * 1000
            tid = int(row[3])
            delay, ran = (round(float(ms) * 1e6) for ms in row.group(4, 5))
            if delay:
                saw(tid, left - ran - delay, "ready")
            saw(tid, left - ran, "ran")
            saw(tid, left, self.STATES.get(row[6][0], "slept"))


TOOLS = (Bpftrace, PerfSched)


def covers(switches, begin, end):
    """Whether a tool saw a thread before, in and after an interval."""
    return bool(switches) and switches[0][0] < begin and end < switches[-1][0]


def spent(switches, begin, end):
    """{class: ns} of a thread within an interval."""
    sums = dict.fromkeys(CAUSES, 0)
    edges = [s for s in switches if s[0] < end]
    for (at, what), after in zip(edges, [*edges[1:], (end, "")]):
        sums[what] += max(0, min(after[0], end) - max(at, begin))
    return sums


def agrees(finding, sums):
    """Whether the largest class of time of a tale is the other's, and as
    long."""
    told = {name: sum(finding.within.get(code, 0) for code in codes)
            for name, codes in CAUSES.items()}
    most = max(sums, key=sums.get)
    return (max(told, key=told.get) == most and
            abs(told[most] - sums[most])
            <= max(EXACT_NS * 5, EXACT_SHARE * sums[most]))
