"""A control group of a test's own: CPU quota, freezer, memory, rate of its
disk; version 1 or 2."""

import os
import pathlib

from .wait import wait_until

ROOT = pathlib.Path("/sys/fs/cgroup")
PERIOD_US = 100_000


def _write(path, text):
    """Write a control file; PermissionError if the kernel refuses."""
    try:
        path.write_text(f"{text}\n", encoding="ascii")
    except OSError as error:
        raise PermissionError(f"{path}: {error.strerror}") from None


def _made(parent, name):
    """A new group in a hierarchy that is mounted at parent, or None."""
    path = parent / name
    try:
        path.mkdir()
    except OSError:
        return None
    return path


class Group:
    """A control group; what is missing on this machine is None.

    It is empty at first: a program joins with command().
    """

    def __init__(self, name):
        for controller in ("+cpu", "+io", "+memory"):
            try:
                _write(ROOT / "cgroup.subtree_control", controller)
            except PermissionError:
                pass  # version 1, or it is so already, or there is none
        old = [_made(ROOT / kind, name) for kind in
               ("cpu", "freezer", "blkio", "memory") if (ROOT / kind).is_dir()]
        new = _made(ROOT / "unified" if (ROOT / "unified").is_dir() else ROOT,
                    name)
        self.paths = [path for path in [new, *old] if path]
        self._frozen = new if new and (new / "cgroup.freeze").exists() else None
        self._cpu = next((path for path in self.paths if
                          (path / "cpu.max").exists()
                          or (path / "cpu.cfs_quota_us").exists()), None)
        # Version 1: joined only while there is a quota, since no real-time
        # thread may be in it.
        self._joined = [path for path in self.paths if path != self._cpu
                        or path == new]
        if not self.paths:
            raise PermissionError("no control group may be made here")

    def command(self, argv):
        """The command that runs another in the group."""
        files = [str(path / "cgroup.procs") for path in self._joined]
        enter = "".join(f"echo $$ > {file}; " for file in files)
        return ["sh", "-ec", f'{enter}exec "$@"', "sh", *argv]

    def processes(self):
        """The process ids in it."""
        return [int(word) for word in (self._joined[0] / "cgroup.procs")
                .read_text(encoding="ascii").split()]

    # --- CPU quota --------------------------------------------------------

    def limit(self, quota_us):
        """So much CPU time in each period of 100 ms, of threads that are not
        real-time; None: no limit.  Of what there is it gets most: else it
        would not come to its limit on a machine in use."""
        if self._cpu is None:
            raise PermissionError("no CPU quota can be set here")
        if self._cpu not in self._joined:
            there = self._cpu if quota_us else self._cpu.parent
            for pid in self.processes():
                _write(there / "cgroup.procs", pid)
        if (self._cpu / "cpu.max").exists():
            _write(self._cpu / "cpu.weight", 10_000)
            _write(self._cpu / "cpu.max", f"{quota_us or 'max'} {PERIOD_US}")
        else:
            _write(self._cpu / "cpu.shares", 262_144)
            _write(self._cpu / "cpu.cfs_period_us", PERIOD_US)
            _write(self._cpu / "cpu.cfs_quota_us", quota_us or -1)

    def throttled_ns(self):
        """How long it was throttled so far, by the kernel's account."""
        stat = dict(line.split() for line in (self._cpu / "cpu.stat")
                    .read_text(encoding="ascii").splitlines())
        if "throttled_usec" in stat:
            return int(stat["throttled_usec"]) * 1000
        return int(stat["throttled_time"])

    # --- disk -------------------------------------------------------------

    def slow_disk(self, folder, per_s):
        """So many reads, and writes, in a second of the disk with a folder;
        None: as many as it can.  The kernel lets a tenth pass at once, and
        then none until a tenth of a second is over."""
        number = os.stat(folder).st_dev
        disk = pathlib.Path(
            f"/sys/dev/block/{os.major(number)}:{os.minor(number)}").resolve()
        if (disk / "partition").exists():
            disk = disk.parent
        if not (disk / "dev").exists():
            raise PermissionError(f"{folder} is on no disk")
        device = (disk / "dev").read_text(encoding="ascii").strip()
        for path in self.paths:
            if (path / "io.max").exists():
                _write(path / "io.max", f"{device} riops={per_s or 'max'} "
                       f"wiops={per_s or 'max'}")
                return
            if (path / "blkio.throttle.read_iops_device").exists():
                for what in ("read", "write"):
                    _write(path / f"blkio.throttle.{what}_iops_device",
                           f"{device} {per_s or 0}")
                return
        raise PermissionError("no disk's rate can be limited here")

    # --- memory -----------------------------------------------------------

    def limit_memory(self, size):
        """So many bytes, page cache included."""
        for path in self.paths:
            for file in ("memory.max", "memory.limit_in_bytes"):
                if (path / file).exists():
                    _write(path / file, size)
                    return
        raise PermissionError("no memory can be limited here")

    # --- freezer ----------------------------------------------------------

    def freeze(self, frozen):
        """Freeze or thaw; returns when the kernel has."""
        if self._frozen is None:
            raise PermissionError("no control group can be frozen here")
        _write(self._frozen / "cgroup.freeze", int(frozen))
        wait_until(lambda: f"frozen {int(frozen)}" in
                   (self._frozen / "cgroup.events").read_text(), "it froze")

    def remove(self):
        """Remove it, when its processes have ended."""
        def removed():
            for path in list(self.paths):
                try:
                    os.rmdir(path)
                except OSError:
                    return False
                self.paths.remove(path)
            return True
        wait_until(removed, "the control group is empty")
