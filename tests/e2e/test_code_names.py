"""Goal: stacks have the names of functions that a runtime compiled: Java's with
a stock JVM; else they have the command that gives names."""

import pathlib
import shutil

import pytest

from rig.ports import free_port
from rig.wait import wait_until
from support import jvm as jvms
from support.launched import need_kernel, past
from test_jvm import launched

MAPS = []
CALLERS = "(callers: -XX:+PreserveFramePointer)"


@pytest.fixture(autouse=True)
def maps():
    """Remove the maps of a test's processes."""
    MAPS.clear()
    yield
    for pid in MAPS:
        pathlib.Path(f"/tmp/perf-{pid}.map").unlink(missing_ok=True)


def service(tailor, a, **more):
    """A tailor before a server whose functions have been compiled."""
    t = tailor({**a, **more}, slow={"target": "0"})
    t.wait_server("a", state="ready")
    MAPS.append(t.server("a")["pid"])
    need_kernel(t)
    past(a, "/compute?ms=1000")
    return t


def java(tailor, classes, *options, version=None, **more):
    return service(tailor, launched(
        classes, "a", ("-Xmx64m", "-XX:+UseSerialGC", *options),
        version and jvms.java_of(version)), **more)


def until(t, target, shown):
    """Request until a timeline shows that in its evidence or in the stack of a
    wait; returns its name, and these."""
    tried = []

    def shows():
        name = f"r{len(tried)}"
        assert t.get(target, fields=[("X-Request-Id", name)]).status == 200
        tale = t.timeline(name)
        tried.append(" ".join(tale["verdict"]["evidence"] + [
            frame for piece in tale["path"]
            for frame in piece.get("stack", [])]))
        return shown(tried[-1]) and (name, tried[-1])
    return wait_until(shows, lambda: f"the names: {tried[-1]}")


@pytest.mark.parametrize("version", jvms.VERSIONS)
def test_java(tailor, java_classes, ctl, version):
    # Goal: the method that computes is named; the JVM is told to write its map
    # only now and then.
    t = java(tailor, java_classes, version=version)
    name, _ = until(t, "/compute?ms=30", lambda text: " in Server." in text)
    assert " in Server." in ctl("-a", t.admin, "why", name, wide=True).out
    t.wait_log(" code_map_written server=a ")
    assert t.metrics()["tailor_code_maps_failed_total"] == 0
    assert t.metrics()["tailor_code_maps_total"] <= 2


@pytest.mark.parametrize("kept", [False, True])
def test_java_callers(tailor, java_classes, kept):
    # Goal: without frame pointers the stack ends at the first compiled method,
    # and says what shows the rest; with them the callers are there.
    t = java(tailor, java_classes, *["-XX:+PreserveFramePointer"] * kept)
    for _ in range(1000):
        past(t.server("a"), "/wait?ms=0")
    # The map may be older than the code: it is written only now and then.
    caller = "Filter$Chain.doFilter"
    _, text = until(t, "/wait?ms=30", lambda text: "Thread.sleep" in text and
                    (caller if kept else CALLERS) in text)
    assert (caller in text, CALLERS in text) == (kept, not kept), text


@pytest.mark.parametrize("how", ["jvm", "key"])
def test_java_forbidden(tailor, java_classes, how):
    # Goal: a JVM that does not let others attach, or that its user excepts, is
    # left alone; the stack has the command.
    t = java(tailor, java_classes,
             *["-XX:+DisableAttachMechanism"] * (how == "jvm"),
             **{"jvm": "none"} if how == "key" else {})
    hint = f"? (jcmd {t.server('a')['pid']} Compiler.perfmap)"
    # In its first three seconds a JVM is not asked, so nothing is logged.
    until(t, "/compute?ms=30", lambda text: hint in text
          and " code_map_not_written server=a " in t.log)
    why = {"jvm": "DisableAttachMechanism", "key": "servers[].jvm"}[how]
    assert why in t.wait_log(" code_map_not_written server=a ")
    assert t.metrics()["tailor_code_maps_total"] == 0


NODE = """
require("http").createServer((request, response) => {
    const end = Date.now() + Number(request.url.split("=")[1] || 0);
    while (Date.now() < end)
        spinSlowly();
    response.end();
}).listen(process.argv[1], "127.0.0.1");
function spinSlowly() {
    let value = 1;
    for (let i = 0; i < 100000; i++)
        value = (value * 31 + i) | 0;
    return value;
}
"""


@pytest.mark.parametrize("options, shown", [
    (["--perf-basic-prof"], "spinSlowly"), ([], "? (node --perf-basic-prof)")])
def test_node(tailor, scratch, options, shown):
    # Goal: a map that Node writes is used; without one the stack has the option
    # that makes one.
    if shutil.which("node") is None:
        pytest.skip("no node (nodejs)")
    port = free_port()
    t = service(tailor, {"name": "a", "address": f"127.0.0.1:{port}", "launch": {
        "command": ["node", *options, "-e", " ".join(NODE.split()), str(port)],
        "directory": str(scratch)}})  # where Node writes a log, too
    until(t, "/compute?ms=30", lambda text: shown in text)
