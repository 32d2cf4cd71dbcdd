"""Goal: several tailors of one user keep out of each other's way, and an
operator reaches the one that is meant."""

import functools
import os
import pathlib
import shutil
import signal
import socket

import pytest

from rig.client import Client
from rig.ports import free_port
from rig.process import Process
from rig.wait import wait_until
from test_tailorctl_usage import other_tailors_are_not_seen  # noqa: F401

OTHERS = [*pathlib.Path(f"/tmp/tailor-{os.geteuid()}").glob("admin*.sock")]
BLUE = f"blue-{os.getpid()}"  # no other test's, which runs beside
alone = pytest.mark.skipif(bool(OTHERS), reason="other tailors run here")


class Instance(Process):
    """A tailor with default paths, below the directory run of its test."""

    def __init__(self, build, run, server, *more, listen=None):
        self.port = free_port()
        self.name = str(self.port)
        self.run = run
        self.admin = run / f"admin-{self.name}.sock"
        user = "" if os.geteuid() == 0 else f"-{os.geteuid()}"
        self.stream = pathlib.Path(f"/dev/shm/tailor{user}-{self.name}.stream")
        super().__init__(
            [build / "tailor", "--listen", listen or f"127.0.0.1:{self.port}",
             "--active", server.address, "--set", "profiler.kernel=off",
             *more],
            env={"RUNTIME_DIRECTORY": str(run),
                 "STATE_DIRECTORY": str(run.parent / "state" / "deeper")})

    def up(self):
        """Wait until it serves."""
        self.wait_log(" server_ready ")
        return self

    def get(self, target):
        """One request through it."""
        with Client(("127.0.0.1", self.port)) as client:
            return client.get(target)

    def end(self):
        """Stop it; it must end well."""
        self.signal(signal.SIGTERM)
        assert self.wait() == 0, self.log


@pytest.fixture(name="instance")
def instance_maker(build, scratch, upstream):
    """Starts tailors of one user, in front of one server."""
    server = upstream("active").serve()
    made = []
    (scratch / "tailor").mkdir()

    def start(*more, **options):
        made.append(Instance(build, scratch / "tailor", server, *more,
                             **options))
        return made[-1]

    yield start
    for process in made:
        process.kill()
        process.stream.unlink(missing_ok=True)


@pytest.fixture(name="operator")
def tailorctl_of_the_user(ctl, scratch):
    """tailorctl as the user of those tailors runs it."""
    def run(*arguments, before=(), **env):
        return ctl(*arguments, before=before, env={
            "XDG_RUNTIME_DIR": str(scratch), "TAILOR_ADMIN": "",
            "TAILOR_INSTANCE": "", **env}, wide="log" in arguments)
    return run


def finished(operator, t):
    """How many requests are in its stream."""
    log = operator("--admin", t.name, "log", "--dump", "--requests").out
    return len(log.splitlines())


def test_each_has_its_own(instance, operator):
    # Goal: what one does is in its own stream, and in no other.
    one, two = instance().up(), instance().up()
    assert one.stream.exists() and two.stream.exists()
    one.get("/")
    two.get("/")
    two.get("/")
    for t, requests in (one, 1), (two, 2):
        assert t.admin.is_socket()
        assert (t.run / f"channels-{t.name}.sock").is_socket()
        assert (t.run.parent / f"state/deeper/tales-{t.name}").is_dir()
        wait_until(lambda t=t, n=requests: finished(operator, t) == n,
                   f"{requests} in its stream")
    one.end()
    assert not one.stream.exists() and two.stream.exists()
    assert two.get("/").status == 200


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may write to /run")
def test_that_of_a_unit_is_found(build, upstream, operator):
    # Goal: one of tailor@USER.service, whose sockets are in /run/tailor-USER.
    run = pathlib.Path(f"/run/tailor-test{os.getpid()}")
    run.mkdir()
    t = Instance(build, run, upstream("active").serve(), "--set",
                 "slow.store=")
    try:
        t.up()
        assert "* a " in operator("--admin", t.name, "servers").out
        t.end()
    finally:
        t.kill()
        t.stream.unlink(missing_ok=True)
        shutil.rmtree(run)


def test_that_of_the_unit_is_asked(instance, operator):
    # Goal: within a unit tailorctl asks its process alone, if others run, too,
    # and fails if it has no admin socket.
    one, two = instance().up(), instance().up()
    for t in one, two:
        result = operator("reload", MAINPID=str(t.pid))
        assert (result.returncode, result.out) == (0, "nothing has changed\n")
        assert t.wait_log(" reloaded ")
    result = operator("reload", MAINPID=str(os.getpid()))
    assert result.returncode == 1
    assert f"to process {os.getpid()}" in " ".join(result.err.split())


@alone
def test_which_one_is_asked(instance, operator, unseen):
    # Goal: the only one is found; of several, tailorctl says which there are
    # and takes a name, a port, a path, and both variables.
    operator = functools.partial(operator, before=unseen)
    one = instance().up()
    assert f"127.0.0.1:{one.port}" in operator("info").out
    two = instance().up()
    result = operator("info")
    assert result.returncode == 1 and not result.out
    assert "2 tailors run" in result.err
    for t in one, two:
        assert f"--admin {t.name}\n" in result.err
        asked = [operator("-a", t.name, "info"),
                 operator("-a", f":{t.port}", "info"),
                 operator("-a", str(t.admin), "info"),
                 operator("info", TAILOR_INSTANCE=t.name),
                 operator("info", TAILOR_ADMIN=f"unix:{t.admin}"),
                 operator("info", TAILOR_ADMIN=str(t.admin))]
        assert all(f"- 127.0.0.1:{t.port}\n" in a.out for a in asked), asked
    result = operator("-a", "none-such", "info")
    assert result.returncode == 1 and f"--admin {one.name}\n" in result.err
    # One that was killed leaves its socket, and does not count.
    one.kill()
    assert one.admin.is_socket()
    assert f"127.0.0.1:{two.port}" in operator("info").out


def test_a_name_is_taken_once(instance, operator):
    # Goal: the second of a name does not start, says why, and takes nothing
    # from the first.
    one = instance("--set", f"instance={BLUE}").up()
    inode = (one.run / f"admin-{BLUE}.sock").stat().st_ino
    two = instance("--set", f"instance={BLUE}")
    assert two.wait() == 1
    line = two.wait_log("instance_taken")
    assert f"instance={BLUE} pid={one.pid} " in line and "advice=" in line
    assert (one.run / f"admin-{BLUE}.sock").stat().st_ino == inode
    one.get("/still")
    assert operator("-a", BLUE, "log", "--dump").out
    one.end()


@pytest.mark.parametrize("key, file, event", [
    ("admin", "admin-%s.sock", "listen_failed"),
    ("profiler.channel_socket", "channels-%s.sock", "channels_taken"),
    ("slow.store", "../state/deeper/tales-%s", "store_taken"),
])
def test_a_path_is_taken_once(instance, key, file, event):
    # Goal: so it is with each single path that is another tailor's.
    one = instance().up()
    path = os.path.normpath(one.run / (file % one.name))
    two = instance("--set", f"{key}={path}")
    assert two.wait() == 1
    line = two.wait_log(event)
    assert path in line and "advice=" in line
    assert one.get("/").status == 200
    one.end()


def test_what_a_killed_one_left_is_taken_over(instance):
    # Goal: files without an owner are no obstacle, none is left at the end.
    name = ("--set", f"instance={BLUE}")
    one = instance(*name).up()
    one.kill()
    left = sorted(p.name for p in one.run.iterdir())
    assert left == [f"admin-{BLUE}.sock", f"channels-{BLUE}.sock",
                    "channels.sock"]
    two = instance(*name).up()
    assert sorted(p.name for p in one.run.iterdir()) == left
    assert os.readlink(one.run / "channels.sock") == f"channels-{BLUE}.sock"
    two.end()
    assert not list(one.run.iterdir())


def connects(path):
    """Whether a process listens on a UNIX socket."""
    with socket.socket(socket.AF_UNIX) as s:
        return s.connect_ex(str(path)) == 0


def test_the_usual_channel_socket(instance):
    # Goal: what knows no other path finds the first tailor, the second says
    # that it is not the one, and the next start takes the path over.
    one = instance().up()
    usual = one.run / "channels.sock"
    assert connects(usual)
    assert os.readlink(usual) == f"channels-{one.name}.sock"
    two = instance().up()
    line = two.wait_log("channels_not_default")
    assert f"TALECHAIN_SOCKET={two.run}/channels-{two.name}.sock" in line
    assert os.readlink(usual) == f"channels-{one.name}.sock"
    two.end()
    assert connects(usual)
    one.kill()
    three = instance().up()
    assert connects(usual)
    assert os.readlink(usual) == f"channels-{three.name}.sock"


def test_ports_of_the_kernels_choice(instance):
    # Goal: two with ports of the kernel's choice are two as well, and leave
    # nothing.
    tailors = [instance("--set", "proxy.queue_timeout=1s",
                        listen="127.0.0.1:0").up() for _ in range(2)]
    for t in tailors:
        assert (t.run / f"admin-pid-{t.pid}.sock").is_socket()
    for t in tailors:
        t.end()
    assert not list(tailors[0].run.iterdir())
    state = tailors[0].run.parent / "state"
    assert not [file for file in state.rglob("*") if not file.is_dir()]


def test_a_name_outlives_its_listener(build, upstream, scratch):
    # Goal: another first listener after a reload is no other tailor.
    server = upstream("active").serve()
    (scratch / "tailor").mkdir()
    file = scratch / "tailor.json"
    ports = [free_port(), free_port()]
    text = '{"listen": "127.0.0.1:%d", "servers": [{"address": "%s"}]}'
    file.write_text(text % (ports[0], server.address))
    t = Process([build / "tailor", "-c", file], env={
        "RUNTIME_DIRECTORY": f"{scratch}/tailor",
        "STATE_DIRECTORY": str(scratch)})
    try:
        t.wait_log(" server_ready ")
        file.write_text(text % (ports[1], server.address))
        t.signal(signal.SIGHUP)
        assert 'keys="listen"' in t.wait_log(" reload(ed|_failed) ")
        with Client(("127.0.0.1", ports[1])) as client:
            assert client.get("/").status == 200
        assert (scratch / f"tailor/admin-{ports[0]}.sock").is_socket()
    finally:
        t.signal(signal.SIGTERM)
        assert t.wait() == 0
