"""Goal: requests meet no collection of a pair of stock JVMs (hedging.steer)."""

import os
import pathlib
import re
import shutil
import time

import pytest

from rig.client import Client
from rig.ports import free_port
from rig.process import output
from rig.wait import wait_until
from support import jvm as jvms
from test_jvm import find_agent

PROVOKED = "tailor_steer_collections_provoked_total"
KB_PER_S = 70_000
OWN_MS = 4000
YOUNG = ("-Xms300m", "-Xmx300m", "-Xmn200m")


def jcmd(jvm, *words):
    return output("jcmd", str(jvm.pid), *words)


def misses(metrics):
    return sum(v for k, v in metrics.items()
               if k.startswith("tailor_steer_misses_total"))


def can_be_steered(t):
    wait_until(lambda: all(t.server(n)["steer"]["missing"] == ""
                           for n in "ab"), "both can be steered")


@pytest.fixture
def steered(java_classes, tailor, scratch, build):
    """Two JVMs and a tailor that steers them; attached: without an agent in
    their command lines."""
    running = []

    def start(collector, attached, java=None, **server):
        agent = find_agent(build)
        options = [*YOUNG, collector]
        if server.get("collect") == "periodic":
            options.append(f"-XX:G1PeriodicGCInterval={OWN_MS}")
        if not attached and server.get("collect") != "periodic":
            options.append(f"-agentpath:{agent}=socket={scratch}/t0/"
                           "channels.sock")
        elif attached and "san" in build.name:
            pytest.skip("a JVM cannot load a sanitizer's agent")
        for _ in "ab":
            running.append(jvms.Jvm(java_classes, options, free_port(),
                                    java=java))
        if server.get("collect") == "periodic" and shutil.which("jcmd"):
            jcmd(running[0], "VM.set_flag", "G1PeriodicGCInterval", "1")
        t = tailor(*[{"name": n, "address": j.address, **server}
                     for n, j in zip("ab", running)],
                   hedging={"steer": True})
        return t, running

    yield start
    for jvm in running:
        jvm.kill()


@pytest.mark.long("real JVMs under traffic for seconds, and most collections "
                  "must be met by no request")
@pytest.mark.parametrize("collector, attached, server", [
    ("-XX:+UseSerialGC", False, {}), ("-XX:+UseParallelGC", True, {}),
    ("-XX:+UseG1GC", True, {}),
    ("-XX:+UseG1GC", False, {"collect": "periodic"}),
    ("-XX:+UseSerialGC", False, {"collect": "http:/gc"})])
def test_collections_come_when_nobody_is_there(steered, collector, attached,
                                               server):
    t, running = steered(collector, attached, **server)
    can_be_steered(t)
    # As much garbage a second on a fast machine as on a slow one: eden fills
    # in two seconds or more.
    last = time.monotonic()
    with Client(("127.0.0.1", t.port)) as c:
        for i in range(60000):
            now = time.monotonic()
            kb = min(2000, max(16, int((now - last) * KB_PER_S)))
            last = now
            assert c.get(f"/garbage?kb={kb}").status == 200
            # A machine that does not run us in time makes us late, too.
            if i % 100 == 0:
                m = t.metrics()
                if m[PROVOKED] >= 3 and misses(m) < m[PROVOKED]:
                    break
    m = t.metrics()
    assert m[PROVOKED] >= 3
    assert m['tailor_swaps_by_reason_total{reason="steer"}'] >= 1
    assert misses(m) < m[PROVOKED]
    assert m["tailor_steer_collections_unmet_total"] >= m[PROVOKED]
    # One that gets no CPU for three seconds does not collect in them.
    assert m["tailor_steer_unanswered_total"] < m[PROVOKED]
    if server.get("collect") == "periodic" and shutil.which("jcmd"):
        # It is as it was, though for a it was as a killed tailor leaves it.
        t.terminate()
        for jvm in running:
            flags = jcmd(jvm, "VM.flags", "-all")
            assert re.search(f"G1PeriodicGCInterval += {OWN_MS} ", flags)


@pytest.mark.parametrize("version", jvms.VERSIONS)
def test_both_collect_while_they_stand_by(steered, version):
    # Goal: however long it takes, and whatever else is collected, each of two
    # JVMs has its turn to collect as the backup, by the agent's order.
    t, _ = steered("-XX:+UseSerialGC", False, jvms.java_of(version))
    can_be_steered(t)
    with t.client() as c:
        def turns():
            for _ in range(20):
                assert c.get("/garbage?kb=500").status == 200
            m = t.metrics()
            return m[PROVOKED] >= 2 and m[
                'tailor_swaps_by_reason_total{reason="steer"}'] >= 1
        wait_until(turns, "two collections are provoked")


@pytest.mark.parametrize("version", jvms.VERSIONS)
@pytest.mark.parametrize("collector", ["-XX:+UseSerialGC",
                                       "-XX:+UseParallelGC"])
def test_a_heap_between_collections(jvm, tailor, scratch, build, collector,
                                    version):
    # Goal: what is used of eden grows as the server allocates, by the page or
    # by the agent; where neither shows it, it is said not to be visible.
    java = jvms.java_of(version)
    agent = f"-agentpath:{find_agent(build)}=socket={scratch}/t0/channels.sock"
    a = jvm(*YOUNG, collector, agent, java=java)
    b = jvm(*YOUNG, collector, java=java)
    t = tailor({"name": "a", "address": a.address, "jvm": "auto"},
               {"name": "b", "address": b.address, "jvm": "hsperfdata"},
               hedging={"steer": True})
    t.wait_server("a", state="ready", source="agent")
    t.wait_server("b", state="ready", source="hsperfdata")
    used = 'tailor_server_eden_used_bytes{server="%s"}'
    gc = 'tailor_pauses_total{server="%s",kind="gc"}'
    blind = "heap by the agent only" in t.server("b")["detail"]
    assert blind == (int(version) >= 25)
    for name, server in (("a", a), ("b", b)):
        if name == "b" and blind:
            assert used % name not in t.metrics()
            assert t.server("b")["steer"]["missing"] == \
                "its heap is not visible"
            continue
        t.wait_metric(used % name, 1)
        before = t.metrics()
        for _ in range(20):
            assert server.get("/garbage?kb=500").status == 200
        t.wait_metric(used % name, before[used % name] + (8 << 20))
        assert t.metrics()[gc % name] == before[gc % name]


@pytest.mark.parametrize("version", jvms.VERSIONS)
def test_no_thread_dump_by_an_attach(jvm, tailor, build, version):
    # Goal: a JVM that does not attach gets no signal, which it would answer by
    # a thread dump into its output; nor is a file that another user has left
    # taken for what says what the signal is for.
    if "san" in build.name:
        pytest.skip("a JVM cannot load a sanitizer's agent")
    find_agent(build)
    java = jvms.java_of(version)
    options = [*YOUNG, "-XX:+UseSerialGC", "-XX:+DisplayVMOutputToStderr"]
    a = jvm(*options, "-XX:+DisableAttachMechanism", java=java)
    b = jvm(*options, java=java)
    left = pathlib.Path(f"/tmp/.attach_pid{b.pid}")
    if os.geteuid() == 0:
        left.touch()
        os.chown(left, 1, 1)
    t = tailor({"name": "a", "address": a.address},
               {"name": "b", "address": b.address}, hedging={"steer": True})
    t.wait_log('agent_not_loaded server=a why="it has '
               '-XX:.DisableAttachMechanism"')
    t.wait_log("agent_loaded server=b")
    wait_until(lambda: not left.exists(), "nothing is left behind")
    assert "thread dump" not in a.log + b.log
