"""Processes of the demonstration: started here, ended here, by pid.

Whatever happens (an error, Ctrl-C, a proxy that dies and leaves its servers
behind), end_all() leaves nothing running: the demonstration makes itself the
parent of its descendants' orphans, and ends every descendant it finds.
"""

import ctypes
import os
import signal
import subprocess
import time

PR_SET_CHILD_SUBREAPER = 36


class Trouble(Exception):
    """Something the person at the terminal can do something about."""


def adopt_orphans():
    """Become the parent of descendants whose parent dies."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def in_background():
    """Go on in a child of its own session; call what is returned when there
    is nothing more to print.  The parent lasts until then, or as long as the
    child, passes signals on, and exits with the child's status."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        os.setsid()
        return lambda: _detach(write)
    os.close(write)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda n, _: os.kill(pid, n))
    if os.read(read, 1):
        os._exit(0)
    os._exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


def _detach(write):
    nothing = os.open(os.devnull, os.O_RDWR)
    for fd in range(3):
        os.dup2(nothing, fd)
    os.write(write, b"1")


def _stat(pid):
    """What /proc/PID/stat has after the name; None: it has ended."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8",
                  errors="replace") as file:
            return file.read().rpartition(")")[2].split()
    except OSError:
        return None


def _parents():
    """{pid: parent's pid} of all processes."""
    found = {}
    for name in os.listdir("/proc"):
        after_name = _stat(name) if name.isdigit() else None
        if after_name and after_name[0] != "Z":
            found[int(name)] = int(after_name[1])
    return found


def descendants(*roots):
    """Pids of all processes that come from these, or from this one."""
    parents = _parents()
    found = []
    level = list(roots) or [os.getpid()]
    while level:
        level = [pid for pid, parent in parents.items() if parent in level]
        found += level
    return found


def cpu_ticks():
    """CPU time of this process and its descendants, and of those that were
    waited for, in clock ticks."""
    return sum(sum(map(int, stat[11:15])) for stat in
               map(_stat, [os.getpid(), *descendants()]) if stat)


def _signal_all(pids, number):
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


def end_all(patience_s=5.0):
    """End every descendant: politely, then not."""
    _signal_all(descendants(), signal.SIGTERM)
    deadline = time.monotonic() + patience_s
    while descendants() and time.monotonic() < deadline:
        time.sleep(0.05)
    while True:
        # again: one may have been born while the others were ended
        _signal_all(descendants(), signal.SIGKILL)
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.05)
        except ChildProcessError:
            return  # none is left


def _reset_child(cpus):
    """Runs in the child: default signals, its CPUs."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for us
    if cpus:
        os.sched_setaffinity(0, cpus)


class Process:
    """A child whose output goes to a file."""

    def __init__(self, argv, output, cpus=None):
        self.argv = [str(a) for a in argv]
        self.output = output
        with open(output, "ab") as file:
            self.child = subprocess.Popen(
                self.argv, stdin=subprocess.DEVNULL, stdout=file,
                stderr=file, preexec_fn=lambda: _reset_child(cpus))

    @property
    def pid(self):
        return self.child.pid

    def running(self):
        return self.child.poll() is None

    def said(self, lines=12):
        """The end of its output, for a message."""
        with open(self.output, encoding="utf-8", errors="replace") as file:
            return "".join("    " + line for line in
                           file.readlines()[-lines:])

    def stop(self, patience_s=15.0):
        """SIGTERM, then SIGKILL; returns the exit status."""
        if self.running():
            self.child.terminate()
        try:
            return self.child.wait(patience_s)
        except subprocess.TimeoutExpired:
            self.child.kill()
            return self.child.wait()


def wait_until(reached, process, what, patience_s=60.0):
    """Wait for reached(); Trouble if the process ends or time does."""
    deadline = time.monotonic() + patience_s
    while not reached():
        if not process.running():
            raise Trouble(f"{process.argv[0]} ended before {what}; it said:\n"
                          f"{process.said()}  ({process.output})")
        if time.monotonic() > deadline:
            raise Trouble(f"waited {patience_s:.0f} s in vain until {what}; "
                          f"see {process.output}")
        time.sleep(0.05)
