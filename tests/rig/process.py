"""A program under watch.

What still runs when this process ends is killed.
"""

import atexit
import os
import pathlib
import re
import signal
import subprocess
import threading
import typing

from .ports import listens
from .wait import PATIENCE_S, Late, wait_until

ROOT = pathlib.Path(__file__).resolve().parents[2]
SANITIZER = re.compile(
    r"ERROR: (Address|Leak|Thread)Sanitizer|WARNING: ThreadSanitizer"
    r"|runtime error:|DEADLYSIGNAL")
SUPP = ROOT / "tests" / "tsan.supp"
SANITIZER_ENV = {
    "ASAN_OPTIONS": "detect_leaks=1:exitcode=99",
    "UBSAN_OPTIONS": "print_stacktrace=1:exitcode=99",
    "TSAN_OPTIONS": f"exitcode=99:second_deadlock_stack=1:suppressions={SUPP}",
}

_starting = threading.Lock()
_running = set()
_ending = False


@atexit.register
def end_all():
    """Kill all that run; a thread that is about to start another fails."""
    global _ending
    with _starting:
        _ending = True
    for process in list(_running):
        process.kill()


def state_of(pid):
    """The letter of a process or thread in ps: R, S, T, Z, ...; None if it
    has ended."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return stat.rpartition(") ")[2][0]


def children(pid):
    """The processes that a process has started and not outlived."""
    return [int(pid) for task in pathlib.Path(f"/proc/{pid}/task").iterdir()
            for pid in (task / "children").read_text().split()]


class Ran(typing.NamedTuple):
    """How a program ended, and what it said."""
    returncode: int
    out: str
    err: str


def ran(*argv, **more):
    """Run a program to its end; more is for subprocess.run."""
    done = subprocess.run([str(a) for a in argv], **{
        "text": True, "stdin": subprocess.DEVNULL, "capture_output": True,
        "timeout": PATIENCE_S, "check": False, **more})
    assert not SANITIZER.search(done.stderr or ""), done.stderr
    return Ran(done.returncode, done.stdout, done.stderr)


def output(*argv, **more):
    """What a program prints that ends well."""
    done = ran(*argv, **more)
    assert done.returncode == 0, (argv, done.err)
    return done.out


class Process:
    """A child whose standard error is collected line by line.

    env     merged over the environment
    copy    path of a file to which its lines are appended as well
    group   it leads a process group, which is paused and killed as one, and
            which the kernel ends when this process is killed
    more    for Popen: stdin (default: none), stdout, pass_fds, ...
    """

    @property
    def last_signal(self):
        """What the kernel sends it; nginx ends its workers at SIGTERM only."""
        return "TERM" if "nginx" in self.argv[0] else "KILL"

    def __init__(self, argv, env=None, copy=None, group=False, **more):
        self.argv = [str(a) for a in argv]
        self.lines = []
        self._copy, self._group = copy, group
        self._changed = threading.Condition()
        first = (["setpriv", "--pdeathsig", self.last_signal, "--"] if group
                 else [])
        with _starting:
            assert not _ending, "no process is started at the end"
            self._child = subprocess.Popen(
                first + self.argv, stderr=subprocess.PIPE, text=True,
                errors="replace", start_new_session=group,
                env={**os.environ, **SANITIZER_ENV, **(env or {})},
                **{"stdin": subprocess.DEVNULL, **more})
            _running.add(self)
        self.stdin, self.stdout = self._child.stdin, self._child.stdout
        self._reader = threading.Thread(target=self._collect, daemon=True)
        self._reader.start()

    def _collect(self):
        for line in self._child.stderr:
            with self._changed:
                self.lines.append(line.rstrip("\n"))
                self._changed.notify_all()
            if self._copy:
                with open(self._copy, "a", encoding="utf-8") as file:
                    file.write(line)

    @property
    def pid(self):
        return self._child.pid

    @property
    def log(self):
        return "\n".join(self.lines)

    def running(self):
        return self._child.poll() is None

    def resident_kib(self):
        """Its resident memory."""
        with open(f"/proc/{self.pid}/status", encoding="utf-8") as file:
            return int(file.read().partition("VmRSS:")[2].split()[0])

    def cpu_s(self):
        """CPU time that it has used, user and system."""
        with open(f"/proc/{self.pid}/stat", encoding="utf-8") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def descriptors(self):
        """How many it has open."""
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def wait_log(self, pattern, timeout_s=PATIENCE_S):
        """Wait for a line of standard error that matches; returns it."""
        def found():
            return next((x for x in self.lines if re.search(pattern, x)),
                        None)
        with self._changed:
            if not self._changed.wait_for(found, timeout_s):
                raise Late(f"no {pattern!r} in the log:\n{self.log}")
            return found()

    def wait_listens(self, address, timeout_s=PATIENCE_S):
        """Wait until it accepts connections there (HOST:PORT, unix:PATH);
        AssertionError if it ends instead."""
        def there():
            assert self.running(), (f"{self.argv[0]} ended:\n"
                                    f"{self.log[-3000:]}")
            return listens(address)
        wait_until(there, lambda: f"{self.argv[0]} listens at {address}:\n"
                   f"{self.log[-3000:]}", timeout_s)

    def signal(self, number):
        """Send a signal to it, or to its group."""
        if self._group:
            os.killpg(self.pid, number)
        else:
            self._child.send_signal(number)

    def pause(self):
        """SIGSTOP; on return none of its threads runs."""
        self.signal(signal.SIGSTOP)
        tasks = pathlib.Path(f"/proc/{self.pid}/task")
        wait_until(lambda: all(state_of(task.name) in ("t", "T")
                               for task in tasks.iterdir()),
                   "all its threads are stopped")

    def resume(self):
        """SIGCONT, the end of pause()."""
        self.signal(signal.SIGCONT)

    def wait(self, timeout_s=PATIENCE_S):
        """Wait for its end; returns the exit status."""
        try:
            status = self._child.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise Late(f"{self.argv[0]} does not end:\n{self.log}") from None
        _running.discard(self)
        self._reader.join(timeout_s)
        return status

    def terminate(self):
        """SIGTERM, if it runs; returns the exit status."""
        if self.running():
            self.signal(signal.SIGTERM)
        return self.wait()

    def kill(self):
        """SIGKILL; it is gone on return."""
        try:
            self.signal(signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.wait()


class MemoryGauge(threading.Thread):
    """Samples a process's resident memory, in KiB, from now until stop()."""

    def __init__(self, process, period_s):
        super().__init__(daemon=True)
        self.kib = [process.resident_kib()]
        self._process, self._period_s = process, period_s
        self._over = threading.Event()
        self.start()

    def run(self):
        while not self._over.wait(self._period_s) and self._process.running():
            self.kib.append(self._process.resident_kib())

    def stop(self):
        """Its samples."""
        self._over.set()
        self.join()
        return self.kib
