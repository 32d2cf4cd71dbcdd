"""Fixtures of the end-to-end tests.

The programs under test come from $TAILOR_BUILD (default: build/ of this
tree), so the same tests run against sanitizer builds:

    TAILOR_BUILD=build-asan /usr/bin/python3 -m pytest tests/e2e

Each fixture says below what a test gets of it; by hand a server's response is

    request = active.expect()
    request.send(b"HTTP/1.1 200 OK\\r\\nContent-")
    request.send(b"Length: 2\\r\\n\\r\\nhi")

KERNEL_EVENTS = "off" in a test file leaves the kernel's events out where nothing
needs them: to load and unload them is most of the work of a start and an end.

Nothing waits without a limit and nothing sleeps for luck: waiting is for a
condition (rig/wait.py), ordering is by events and by what the scripted
servers have seen.

    @pytest.mark.long("judges how long a sleep took")

marks a test whose verdict depends on how fast or how busy the machine is, or
that takes long, with the reason: `make check` leaves it to `make check-all`.
"""

import os
import pathlib
import shutil
import sys
import tempfile

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from rig import ports  # noqa: E402
from rig.origin import Origin  # noqa: E402
from rig.process import ROOT, output, ran  # noqa: E402
from rig.stub import Stub  # noqa: E402
from rig.tailor import Tailor, configuration  # noqa: E402
from support import jvm as jvms  # noqa: E402
from support import lucene as search  # noqa: E402
from support.admin import Admin  # noqa: E402
from support.load import Load  # noqa: E402

# Small and quick: no warm-up, connect-only health checks.
DEFAULTS = {
    "warmup": {"requests": 0},
    "proxy": {"stop_timeout": "5s"},
    "log": {"level": "debug"},
    "slow": {"keep_slowest": 0},
    # None of them is left out, and no others are examined.
    "analysis": {"cpu": 1, "accounts": 0},
    # The tests' clients may name their requests and read timelines.
    "talechain": {"allow": ["127.0.0.0/8", "unix"]},
}


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "long(reason): depends on the machine's speed, or takes "
        "long; a part of `make check-all` only")


@pytest.fixture(scope="session")
def build():
    """Where the programs under test are."""
    path = pathlib.Path(os.environ.get("TAILOR_BUILD", ROOT / "build"))
    return path if path.is_absolute() else ROOT / path


@pytest.fixture(scope="session")
def public(build):
    """Copies of programs that any user may run, wherever the build is: the
    home of root, say."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="tailor-"))
    path.chmod(0o755)
    for name in ("tailor", "tailorctl"):
        shutil.copy(build / name, path)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(scope="session", autouse=True)
def state_directory(tmp_path_factory):
    """What tailors with default paths keep is no other run's."""
    os.environ["STATE_DIRECTORY"] = str(tmp_path_factory.mktemp("state"))


@pytest.fixture
def scratch():
    """A temporary directory with a short name."""
    path = tempfile.mkdtemp(prefix="tailor-")
    yield pathlib.Path(path)
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def free_port():
    """Gives free TCP ports."""
    return ports.free_port


@pytest.fixture
def upstream():
    """upstream(name) is a scripted server (rig/origin.py), on a Unix socket if
    a path is given; it must have seen only well-formed input."""
    made = []

    def make(name="active", path=None, **more):
        made.append(Origin(name, path, **more))
        return made[-1]

    yield make
    for server in made:
        server.close()
    errors = [error for server in made for error in server.errors]
    assert not errors, errors


@pytest.fixture
def localhosts(scratch, upstream):
    """A scripted server at each address of localhost, and what precedes a
    command for which it has both."""
    hosts = scratch / "hosts"
    hosts.write_text("127.0.0.1 localhost\n::1 localhost\n")
    inside = ["unshare", "--mount", "sh", "-c",
              f'mount --bind {hosts} /etc/hosts && exec "$@"', "sh"]
    if ran(*inside, "true").returncode != 0:
        pytest.skip("unshare --mount is refused")
    try:
        return inside, [upstream("a", host=h) for h in ("127.0.0.1", "::1")]
    except OSError:
        pytest.skip("this machine has no ::1")


@pytest.fixture
def tailor(request, build, scratch):
    """tailor(*servers, **sections) is a tailor (rig/tailor.py) in front of
    them; sections are merged over the defaults above.  All servers are ready
    then; ready="one" waits for one, False for none, None not even for the admin
    socket.  When the test ends it must end cleanly by SIGTERM."""
    made = []
    kernel = getattr(request.module, "KERNEL_EVENTS", "lite")

    def start(*servers, ready=True, **sections):
        directory = scratch / f"t{len(made)}"
        directory.mkdir()
        process = Tailor(build, str(directory), configuration(
            directory, servers, DEFAULTS,
            {"proxy": {"spool_directory": f"{directory}/spool"},
             "profiler": {"kernel": kernel}}, sections))
        made.append(process)
        if ready is None:
            process.wait_log(" server_up ")
            return process
        if not ready:
            return process.wait_serving()
        process.wait_ready()
        for server in process.config["servers"] if ready != "one" else ():
            process.wait_server(server["name"], state="ready")
        return process

    yield start
    try:
        for process in made:
            process.stop()
    finally:
        for process in made:
            process.kill()


@pytest.fixture
def one(upstream, tailor):
    """One scripted server; start(**sections) puts a tailor before it."""
    server = upstream("active")

    def start(**sections):
        return tailor(server, **sections)

    start.server = server
    return start


@pytest.fixture
def pair(upstream, tailor):
    """Two scripted servers a and b; pair(**sections) puts a tailor before
    them, and pair.a and pair.b are they."""
    a, b = upstream("a"), upstream("b")

    def start(**sections):
        return tailor(a, b, **sections)

    start.a, start.b = a, b
    return start


@pytest.fixture
def faults(build, tmp_path, monkeypatch):
    """faults(**names) makes calls fail in what is started after it
    (support/faults.c)."""
    if "san" in build.name:
        pytest.skip("a sanitizer does not let its calls be replaced")
    library = tmp_path / "faults.so"
    output("gcc", "-shared", "-fPIC", "-O1", "-o", library,
           ROOT / "tests/e2e/support/faults.c", "-ldl")

    def inject(**names):
        monkeypatch.setenv("LD_PRELOAD", str(library))
        for name, value in names.items():
            monkeypatch.setenv("FAULT_" + name.upper(), str(value))
    return inject


@pytest.fixture(scope="session")
def java_classes(tmp_path_factory):
    """The compiled test server; skips where there is no JDK."""
    why = jvms.missing()
    if why:
        pytest.skip(why)
    return jvms.compile_server(str(tmp_path_factory.mktemp("classes")))


@pytest.fixture
def jvm(java_classes):
    """jvm(*options) is a Java server (support/Server.java) whose collections
    happen on command: j.collect()."""
    made = []

    def start(*options, **more):
        if options:
            more["options"] = options
        made.append(jvms.Jvm(java_classes, **more))
        return made[-1]

    yield start
    for process in made:
        process.kill()


@pytest.fixture(scope="session")
def lucene(build):
    """The search service of examples/lucene: `make lucene lucene-index`."""
    why = search.missing()
    if why:
        pytest.skip(why)
    made = search.made(build)
    assert made.index.exists(), "make lucene-index"
    return made


@pytest.fixture
def stub():
    """stub(handler) is a server for tailor-load (rig/stub.py)."""
    made = []

    def make(*arguments, **more):
        made.append(Stub(*arguments, **more))
        return made[-1]

    yield make
    for server in made:
        server.kill()
    errors = [error for server in made for error in server.errors]
    assert not errors, errors


@pytest.fixture
def load(build, scratch):
    """load(url, *options) runs tailor-load and gives its Result."""
    return Load(build, scratch)


# --- tailorctl ----------------------------------------------------------------

@pytest.fixture
def admin(scratch):
    """An admin socket whose responses the test writes."""
    server = Admin(scratch / "admin.sock")
    yield server
    server.stop()
    assert not server.errors, server.errors


@pytest.fixture
def ctl(build):
    """Runs tailorctl; no output may be wider than 80 columns."""
    def run(*arguments, env=None, wide=False, before=()):
        result = ran(*before, build / "tailorctl", *arguments,
                     env={**os.environ, "TZ": "UTC", **(env or {})})
        if not wide:
            for line in (result.out + result.err).splitlines():
                assert len(line) <= 80, line
        return result
    return run


@pytest.fixture
def ask(ctl, admin):
    """Runs tailorctl against the stub."""
    def run(*arguments, **more):
        return ctl("--admin", admin.path, *arguments, **more)
    return run
