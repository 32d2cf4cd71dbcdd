"""Goal: root's rights meet no path of another user's, and no local user stops
a tailor: what one start leaves is judged as the next one sees it.

Each test has a mount namespace with /run, /var and /dev/shm of its own, so
that default paths are used."""

import fcntl
import json
import os
import pathlib
import pwd
import resource
import shutil
import signal
import socket
import subprocess

import pytest

from rig.client import Client
from rig.ports import free_port
from rig.process import SANITIZER, Process, ran
from rig.wait import wait_until
from support.launched import child_of, fields_of

KERNEL_EVENTS = "off"
OTHER = "daemon"
UID = pwd.getpwnam(OTHER).pw_uid
MALLORY = pwd.getpwnam("nobody").pw_uid

# A program with a thread sanitizer reads it.
SUPPRESSIONS = pathlib.Path(__file__).resolve().parents[1] / "tsan.supp"

PLACES = """
set -e
for place in /run /var /dev/shm; do mount -t tmpfs -o mode=755 none $place; done
chmod 1777 /dev/shm
mkdir -p /var/lib /var/log
echo made
exec sleep infinity
"""


def namespace_is_missing():
    if os.geteuid() != 0:
        return "only root can become another user"
    if subprocess.run(["unshare", "--mount", "mount", "-t", "tmpfs", "none",
                       "/run"], stderr=subprocess.DEVNULL,
                      check=False).returncode:
        return "unshare --mount is refused"
    return None


MISSING = namespace_is_missing()
pytestmark = pytest.mark.skipif(MISSING is not None, reason=str(MISSING))


class House:
    """Places of its own, as /proc/PID/root of a process in them shows them."""

    def __init__(self, public, server):
        self.public, self.server = public, server
        self.port = free_port()
        self._made = []
        self._holder = subprocess.Popen(
            ["unshare", "--mount", "sh", "-c", PLACES],
            stdout=subprocess.PIPE, text=True)
        # Before that the paths are those of this machine.
        assert self._holder.stdout.readline() == "made\n"

    def path(self, name):
        """A path in them."""
        return pathlib.Path(f"/proc/{self._holder.pid}/root{name}")

    def run(self, *argv, user=None, **more):
        """Run a program there to its end."""
        return ran(*self._inside(user), *argv, **more)

    def _inside(self, user):
        drop = ["setpriv", f"--reuid={user}", f"--regid={user}",
                "--clear-groups"] if user else []
        return ["nsenter", "-t", str(self._holder.pid), "-m", *drop]

    def arguments(self, *sets):
        """A tailor with default paths."""
        return [self.public / "tailor", "--listen", f"127.0.0.1:{self.port}",
                "--active", self.server.address,
                *(word for text in ("profiler.kernel=off",
                                           "proxy.connections_max=100", *sets)
                  for word in ("--set", text))]

    def start(self, *sets, user=None, env=None, argv=None, before=(), **more):
        """Start a tailor there."""
        env = {"HOME": "/nonexistent", "STATE_DIRECTORY": "",
               "XDG_RUNTIME_DIR": "", "XDG_STATE_HOME": "", **(env or {})}
        made = Process([*self._inside(user), *before,
                        *(argv or self.arguments(*sets))], env=env, **more)
        self._made.append(made)
        return made

    def up(self, *sets, **more):
        """Start one that serves."""
        t = self.start(*sets, **more)
        t.wait_log(" server_ready ")
        return t

    def get(self, target):
        """The status of one request through it."""
        with Client(("127.0.0.1", self.port)) as client:
            return client.get(target).status

    def end(self):
        """Kill what runs."""
        for process in self._made:
            process.kill()
            assert not SANITIZER.search(process.log), process.log
        self._holder.kill()
        self._holder.communicate()


@pytest.fixture(name="house")
def house_of_its_own(public, upstream):
    """Places of its own with a server."""
    made = House(public, upstream("active").serve())
    yield made
    made.end()


def worries(t):
    """Warnings and errors of its log, but that the server is root's."""
    return [x for x in t.lines if (" warning " in x or " error " in x)
            and " server_not_found " not in x]


def stop(t, how):
    """SIGTERM ends it well; SIGKILL leaves what it left."""
    t.signal(how)
    status = t.wait()
    assert status == (0 if how == signal.SIGTERM else -how), t.log


# --- one start after the other ------------------------------------------------

ROOT, BECOMES, AS_USER = ((), None), ((f"process.user={OTHER}",), None), \
    ((), OTHER)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_each_start_after_each(house, how):
    # Goal: as root, as root that becomes a user, and as that user, in every
    # order: it starts, keeps tales on disk, has its stream and its sockets,
    # and there is nothing to warn of.
    users = {"HOME": "/var/lib/home"}
    home = house.path("/var/lib/home")
    home.mkdir()
    os.chown(home, UID, UID)
    for sets, user in [BECOMES, BECOMES, ROOT, BECOMES, AS_USER, ROOT,
                       AS_USER, BECOMES]:
        t = house.up(*sets, user=user, env=users)
        assert not worries(t)
        info = house.run(house.public / "tailorctl", "-a", str(house.port),
                         "--json", "info", user=user, env=users)
        assert info.returncode == 0, info.err
        owner = UID if sets or user else 0
        mark = f"-{UID}" if owner else ""
        stream = house.path(f"/dev/shm/tailor{mark}-{house.port}.stream")
        assert stream.stat().st_uid == owner
        store = house.path(
            "/var/lib/tailor-daemon" if sets else
            "/var/lib/home/.local/state/tailor" if user else "/var/lib/tailor")
        assert {x.stat().st_uid for x in store.rglob("*")} == {owner}
        stop(t, how)


def test_a_reload_as_the_user(house):
    # Goal: with default paths and a file of root's that the user may read, a
    # reload works; nothing of it is another place.
    file = house.path("/var/lib/tailor.json")
    text = {"listen": [f"127.0.0.1:{house.port}"],
            "servers": [{"address": house.server.address}],
            "profiler": {"kernel": "off"}, "process": {"user": OTHER}}
    file.write_text(json.dumps(text))
    file.chmod(0o640)
    os.chown(file, 0, pwd.getpwnam(OTHER).pw_gid)
    tailor = [house.public / "tailor", "-c", "/var/lib/tailor.json"]
    done = house.run(*tailor, "-t")
    assert (done.returncode, done.err) == (0, "")
    t = house.up(argv=tailor)
    text["log"] = {"level": "info"}
    file.write_text(json.dumps(text))
    t.signal(signal.SIGHUP)
    assert 'keys="log.level"' in t.wait_log(" reload(ed|_failed) ")


def test_a_configuration_that_only_root_reads(house):
    # Goal: it is refused at the start, and by -t, with what to do: no reload
    # could read it.
    file = house.path("/var/lib/tailor.json")
    file.write_text(json.dumps(
        {"listen": [f"127.0.0.1:{house.port}"],
         "servers": [{"address": house.server.address}],
         "profiler": {"kernel": "off"}, "process": {"user": OTHER}}))
    file.chmod(0o600)
    for more in ((), ("-t",)):
        done = house.run(house.public / "tailor", "-c",
                         "/var/lib/tailor.json", *more)
        assert done.returncode == 1
        line = next(x for x in done.err.splitlines()
                    if "config_unreadable" in x)
        assert f"user={OTHER} " in line and "chmod g+r" in line


# --- a directory of the user's --------------------------------------------------

def logs_of(house, uid):
    logs = house.path("/var/log/tailor")
    logs.mkdir()
    os.chown(logs, uid, uid)
    return logs


@pytest.mark.parametrize("sets", [(), (f"process.user={OTHER}",)])
@pytest.mark.parametrize("link", ["file", "folder", "hard"])
def test_a_link_in_place_of_the_access_log(house, sets, link):
    # Goal: no file of root's is appended to, or given away, whether a link is
    # in the last part of the path or above, or is another name of the file.
    secret = house.path("/var/lib/secret")
    secret.mkdir()
    target = secret / "access.log"
    target.write_text("root's\n")
    target.chmod(0o600)
    logs = logs_of(house, UID)
    path = "sub/access.log" if link == "folder" else "access.log"
    if link == "hard":
        os.link(target, logs / path)
    else:
        (logs / path.split("/")[0]).symlink_to(
            "/var/lib/secret" + ("" if link == "folder" else "/access.log"))
        for each in logs.iterdir():
            os.lchown(each, UID, UID)
    t = house.start(f"access_log.path=/var/log/tailor/{path}", *sets)
    line = t.wait_log(" (access_log_unusable|server_ready) ")
    if "server_ready" in line:
        assert house.get("/") == 200
        stop(t, signal.SIGTERM)
    else:
        assert t.wait() == 1
    assert target.read_text() == "root's\n"
    assert target.stat().st_uid == 0
    assert "access_log_unusable" in t.log


@pytest.mark.parametrize("sets", [(), (f"process.user={OTHER}",)])
def test_a_link_of_roots_is_followed(house, sets):
    # Goal: what root has linked, and standard output, are logs as before.
    logs = logs_of(house, UID)
    (house.path("/var/log") / "t").symlink_to("tailor")
    t = house.up("access_log.path=/var/log/t/access.log", *sets)
    assert house.get("/seen") == 200
    wait_until(lambda: "/seen" in (logs / "access.log").read_text(),
               "the line is written")
    assert (logs / "access.log").stat().st_uid == (UID if sets else 0)
    stop(t, signal.SIGTERM)
    t = house.up("access_log.path=/dev/stderr", *sets)
    assert house.get("/there") == 200
    t.wait_log("/there")
    stop(t, signal.SIGTERM)


def test_a_link_in_place_of_an_output(house):
    # Goal: nor is what a launched program prints appended to one.
    target = house.path("/var/lib/secret")
    target.write_text("root's\n")
    logs = logs_of(house, MALLORY)
    (logs / "out").symlink_to("/var/lib/secret")
    os.lchown(logs / "out", MALLORY, MALLORY)
    t = house.start("servers[0].launch.command=/bin/echo printed",
                    "servers[0].launch.output=/var/log/tailor/out")
    t.wait_log(" launch_output ")
    t.wait_log(" server_exited ")
    assert target.read_text() == "root's\n"


def test_only_below_roots_a_directory_is_made(house):
    # Goal: root makes the user a directory where only root may, and follows
    # no link of the user's to do it.
    theirs = house.path("/var/lib/theirs")
    theirs.mkdir()
    os.chown(theirs, UID, UID)
    (theirs / "link").symlink_to("/var/log")
    os.lchown(theirs / "link", UID, UID)
    t = house.up(f"process.user={OTHER}",
                 "proxy.spool_directory=/var/lib/theirs/link/spool",
                 "slow.store=/var/lib/mine/deep/tales")
    assert "spool_unusable" in t.log
    assert not house.path("/var/log/spool").exists()
    for place in ("mine", "mine/deep", "mine/deep/tales"):
        assert house.path(f"/var/lib/{place}").stat().st_uid == UID


# --- another user of the machine ------------------------------------------------

@pytest.mark.parametrize("user", [None, OTHER])
@pytest.mark.parametrize("what", ["file", "link", "folder"])
def test_the_streams_name_is_taken(house, user, what):
    # Goal: a file of another user's, locked, at the stream's path does not
    # stop it: the stream is beside it, where tailorctl finds it.
    mark = f"-{UID}" if user else ""
    path = house.path(f"/dev/shm/tailor{mark}-{house.port}.stream")
    held = None
    if what == "file":
        held = open(path, "w", encoding="ascii")
        fcntl.flock(held, fcntl.LOCK_EX)
        fcntl.lockf(held, fcntl.LOCK_EX)
    elif what == "link":
        path.symlink_to("/var/lib/x")
    else:
        path.mkdir()
    os.lchown(path, MALLORY, MALLORY)
    t = house.up(user=user)
    line = t.wait_log(" stream_elsewhere ")
    assert "advice=" in line
    assert not house.path("/var/lib/x").exists()
    if held is not None:
        assert os.stat(path).st_size == 0
        held.close()
    env = {"XDG_RUNTIME_DIR": "", "TAILOR_ADMIN": ""}
    assert house.get("/") == 200
    log = house.run(house.public / "tailorctl", "-a", str(house.port), "log",
                    "--dump", user=user, env={**os.environ, **env})
    assert log.returncode == 0 and log.out, log.err
    stop(t, signal.SIGTERM)
    assert list(house.path("/dev/shm").iterdir()) == [path]


def test_a_lock_on_our_stream(house):
    # Goal: one who may read the stream can lock it only for reading: that
    # neither makes a dead tailor look alive nor stops the next.
    t = house.up()
    path = house.path(f"/dev/shm/tailor-{house.port}.stream")
    with open(path, "rb") as held:
        stop(t, signal.SIGKILL)
        fcntl.flock(held, fcntl.LOCK_EX)
        fcntl.lockf(held, fcntl.LOCK_SH)
        t = house.up()
        t.wait_log(" stream_elsewhere ")
        stop(t, signal.SIGKILL)
        fcntl.lockf(held, fcntl.LOCK_UN)
        t = house.up()
        assert not worries(t)


def test_the_directory_in_tmp_is_taken(house):
    # Goal: without a session's directory, a directory that another user has
    # made in /tmp is not used and does not stop it; tailorctl finds it.
    tmp = house.run("mount", "-t", "tmpfs", "-o", "mode=1777", "none", "/tmp")
    assert tmp.returncode == 0, tmp.err
    there = house.path(SUPPRESSIONS)
    if not there.exists():  # this tree is in /tmp
        there.parent.mkdir(parents=True)
        shutil.copy(SUPPRESSIONS, there)
    shutil.copytree(house.public, house.path("/var/bin"))
    house.public = pathlib.Path("/var/bin")
    taken = house.path(f"/tmp/tailor-{UID}")
    taken.mkdir()
    os.chown(taken, MALLORY, MALLORY)
    home = house.path("/var/lib/home")
    home.mkdir()
    os.chown(home, UID, UID)
    env = {"HOME": "/var/lib/home", "XDG_RUNTIME_DIR": ""}
    t = house.up(user=OTHER, env=env)
    assert not worries(t) and not list(taken.iterdir())
    info = house.run("/var/bin/tailorctl", "info", user=OTHER,
                     env={**os.environ, **env})
    assert info.returncode == 0, info.err + t.log
    # What decided is of the start: a reload finds the same.
    taken.rmdir()
    t.signal(signal.SIGHUP)
    t.wait_log(" reloaded ")


def test_roots_beside_that_of_a_unit(house):
    # Goal: root's has directories of its own where the service's user has the
    # usual ones; tailorctl finds it.
    for place in ("/run/tailor", "/var/lib/tailor"):
        house.path(place).mkdir()
        os.chown(house.path(place), UID, UID)
    t = house.up()
    assert not worries(t)
    assert house.path(f"/run/tailor-root/admin-{house.port}.sock").is_socket()
    assert house.path(f"/var/lib/tailor-root/tales-{house.port}").is_dir()
    info = house.run(house.public / "tailorctl", "-a", str(house.port), "info")
    assert info.returncode == 0, info.err
    t.signal(signal.SIGHUP)
    t.wait_log(" reloaded ")
    stop(t, signal.SIGTERM)
    assert not list(house.path("/run/tailor-root").iterdir())


def test_a_socket_in_place_of_ours(house):
    # Goal: that another user listens at the path of channels is no reason to
    # end; they are off, with what to do.
    shared = house.path("/var/shared")
    shared.mkdir()
    shared.chmod(0o1777)
    with socket.socket(socket.AF_UNIX) as theirs:
        theirs.bind(str(shared / "c.sock"))
        theirs.listen()
        os.chown(shared / "c.sock", MALLORY, MALLORY)
        t = house.up("profiler.channel_socket=/var/shared/c.sock")
        assert "channels_off" in t.log and "channels_taken" not in t.log


# --- what is left of a start's rights -------------------------------------------

@pytest.mark.parametrize("sets", [(), (f"process.user={OTHER}",)])
def test_every_thread_has_the_same_rights(house, sets):
    # Goal: the threads that log, too; with a user none has any, nor can gain
    # one by executing something.
    t = house.up("access_log.path=/dev/stderr", *sets)
    all_of_it = {}
    for thread in pathlib.Path(f"/proc/{t.pid}/task").iterdir():
        fields = fields_of(thread)
        all_of_it[fields["Name"]] = tuple(fields[x].strip() for x in (
            "CapEff", "CapPrm", "CapInh", "CapBnd", "NoNewPrivs"))
    assert {"log", "access"} <= set(all_of_it)
    assert len(set(all_of_it.values())) == 1, all_of_it
    if sets:
        none = "0" * 16
        assert all_of_it["log"] == (none, none, none, none, "1")
    else:
        assert int(all_of_it["log"][0], 16) & (1 << 21) == 0  # SYS_ADMIN


def test_a_low_port(house):
    # Goal: the user binds ports below 1024 at the start, with nothing else of
    # root's.
    low = f"127.83.{os.getpid() % 250 + 1}.{house.port % 250 + 1}"
    t = house.up(f"process.user={OTHER}", f"listen={low}:80",
                 f"metrics.listen={low}:81", "metrics.allow=127.0.0.0/8",
                 "admin=unix:{run}/a.sock")
    for port, path in ((80, "/"), (81, "/metrics")):
        with Client((low, port)) as client:
            assert client.get(path).status == 200
    assert house.path(f"/run/tailor-{OTHER}/a.sock").stat().st_uid == UID
    assert fields_of(pathlib.Path(f"/proc/{t.pid}"))["CapPrm"].strip() == "0" * 16


def test_what_a_launched_program_inherits(house):
    # Goal: no descriptor but three, and the limits of before the start.
    with open("/dev/null", "rb") as extra:
        os.set_inheritable(extra.fileno(), True)
        t = house.start(
            "servers[0].launch.command=/bin/sleep 600", close_fds=False,
            before=["prlimit", "--nofile=1000:4096", "--"])
        proc = child_of(t)
    # Its dynamic linker has one more for a moment.
    wait_until(lambda: sorted(os.listdir(proc / "fd")) == ["0", "1", "2"],
               "it has three descriptors")
    pid, nice = int(proc.name), 13  # RLIMIT_NICE
    assert resource.prlimit(pid, resource.RLIMIT_NOFILE) == (1000, 4096)
    assert resource.prlimit(pid, nice) == resource.prlimit(0, nice)


def test_a_launched_program_has_no_capability_of_ours(house):
    # Goal: what systemd gives Tailor (AmbientCapabilities) is not passed on.
    t = house.start(
        "servers[0].launch.command=/bin/sleep 600",
        before=["setpriv", f"--reuid={OTHER}", f"--regid={OTHER}",
                "--clear-groups", "--inh-caps=+sys_ptrace",
                "--ambient-caps=+sys_ptrace"])
    theirs, none = fields_of(child_of(t)), "0" * 16
    ours = fields_of(pathlib.Path(f"/proc/{t.pid}"))
    assert ours["CapAmb"].strip() != none
    assert {theirs[x].strip() for x in ("CapAmb", "CapEff", "CapPrm")} \
        == {none}


@pytest.mark.parametrize("closed", ["1>&- 2>&-", "0<&- 1>&- 2>&-", "2>&-"])
def test_without_standard_descriptors(house, closed):
    # Goal: what is closed at the start is not the first file that is opened:
    # no line of the log is in the stream.
    t = house.start(before=["sh", "-c", f'exec "$@" {closed}', "sh"])
    stream = house.path(f"/dev/shm/tailor-{house.port}.stream")

    def served():
        try:
            return house.get("/") == 200
        except OSError:
            return False
    wait_until(served, "it serves")
    for number in (0, 1, 2):
        if f"{number}<&" in closed or f"{number}>&" in closed:
            link = os.readlink(f"/proc/{t.pid}/fd/{number}")
            assert link == "/dev/null"
    assert b" notice " not in stream.read_bytes()
    stop(t, signal.SIGTERM)
