"""Goal: what happens inside a real JVM is seen, acted on and survived."""

import json
import pathlib
import re

import pytest

from rig.ports import free_port
from rig.process import ROOT, output
from rig.wait import wait_until
from support import jvm as jvms
from support.launched import past

COLLECTORS = ["-XX:+UseSerialGC", "-XX:+UseParallelGC", "-XX:+UseG1GC"]


def launched(classes, name, options=("-Xmx64m", "-XX:+UseSerialGC"),
             java=None, **more):
    """A server that Tailor starts itself."""
    port = free_port()
    return {"name": name, "address": f"127.0.0.1:{port}",
            "launch": {"command": jvms.arguments(classes, port, options,
                                                 java),
                       **more}}


def wait_observer(t):
    """What one of its threads has found is looked at by the other one, too."""
    key = "tailor_profiler_samples_total"
    t.wait_metric(key, t.metrics()[key] + 3)


def find_agent(build):
    """A JVM cannot load a sanitizer's build: then the plain one is used."""
    agents = [d / "libtailor-jvm.so" for d in (build, ROOT / "build")]
    agent = next((a for a in agents if a.exists()), None)
    if agent is None:
        pytest.skip("no libtailor-jvm.so: make agent")
    return agent


@pytest.mark.parametrize("version", jvms.VERSIONS)
@pytest.mark.parametrize("collector", COLLECTORS)
@pytest.mark.parametrize("source", ["hsperfdata", "agent"])
def test_collections_are_seen(java_classes, build, tailor, scratch,
                              collector, source, version):
    # Goal: each collection of either kind of source is one hazard with a
    # beginning and an end, and moves the active server.
    options = ["-Xmx256m", collector]
    if source == "agent":
        options.append(f"-agentpath:{find_agent(build)}="
                       f"socket={scratch}/t0/channels.sock")
    java = jvms.java_of(version)
    a = launched(java_classes, "a", options, java)
    b = launched(java_classes, "b", options, java)
    t = tailor(a, b)
    t.wait_server("a", state="ready", source=source)
    t.wait_server("b", state="ready", source=source)
    wait_observer(t)
    key = 'tailor_pauses_total{server="a",kind="gc"}'
    for _ in range(3):
        wait_until(lambda: not t.server("a")["pauses"], "a is calm")
        before = t.metrics()[key]
        past(a, "/gc")
        # G1 may add pauses of its own (remark), never fewer.
        t.wait_metric(key, before + 1)
        wait_until(lambda: not t.server("a")["pauses"], "a is calm again")

    def moved():
        """A collection that Tailor sees before it is over."""
        if t.active() != "a":
            assert t.ask("/switch", "POST").status == 200
        past(a, "/gc")
        return t.metrics()[
            'tailor_swaps_by_reason_total{reason="gc"}'] >= 1
    wait_until(moved, "the active server is another")
    assert t.metrics()["tailor_pauses_dropped_total"] == 0


def java_names(ctl, t):
    """The names of Java threads in the stream, by thread."""
    parts = {}
    out = ctl("-a", t.admin, "log", "-dj", "-q", "event == jvm_thread",
              wide=True).out
    for event in map(json.loads, out.splitlines()):
        text = b"".join(int(event[k]).to_bytes(8, "little") for k in (
            "name_begin", "name_middle", "name_end"))
        parts.setdefault(event["of_tid"], {})[event["part"]] = text
    return {tid: b"".join(text for _, text in sorted(part.items())
                          ).rstrip(b"\0").decode()
            for tid, part in parts.items()}


def test_java_names_are_whole(java_classes, build, tailor, scratch, ctl):
    # Goal: with the agent the names of threads that the kernel cuts are in the
    # stream; and, where the kernel's events are permitted, in a timeline.
    a = launched(java_classes, "a", ("-Xmx64m", "-XX:+UseSerialGC",
        f"-agentpath:{find_agent(build)}=socket={scratch}/t0/channels.sock"))
    t = tailor(a, slow={"target": "0"})
    t.wait_server("a", state="ready", source="agent")
    assert t.get("/wait?ms=20").status == 200
    lead = "http-nio-8080-exec-of-the-tests-"
    wait_until(lambda: any(name.startswith(lead)
                           for name in java_names(ctl, t).values()),
               "the stream has it")
    if " kernel_off " in t.wait_log(" kernel_o"):
        return

    def in_a_timeline():
        t.get("/wait?ms=20", fields=[("X-Request-Id", "named")])
        tale = t.ask_json("/timeline/named?format=json")
        return any(thread.get("name", "").startswith(lead)
                   and thread["owner"] == "a" for thread in tale["threads"])
    wait_until(in_a_timeline, "a timeline has it")


def test_server_found_by_its_address(jvm, tailor):
    # Goal: a JVM that Tailor did not start is found and watched.
    a, b = jvm("-Xmx64m", "-XX:+UseSerialGC"), jvm("-Xmx64m",
                                                   "-XX:+UseSerialGC")
    t = tailor({"name": "a", "address": a.address},
               {"name": "b", "address": b.address})
    t.wait_server("a", state="ready", pid=a.pid, source="hsperfdata")
    assert re.search(r'server=a pid=\d+ program="java" sees="end, restart, '
                     r"collections \(hsperfdata of OpenJDK \S+, Serial(, polled)?\)",
                     t.wait_log("server_observed server=a"))
    assert ("-> a (active, collections visible), b (backup, "
            in t.wait_log(" ready route="))
    before = t.metrics()['tailor_pauses_total{server="a",kind="gc"}']
    a.collect()
    t.wait_metric('tailor_pauses_total{server="a",kind="gc"}', before + 1)


def agent_command(t, build):
    """What the log says to load the agent by."""
    line = t.wait_log("server_observed server=a")
    if not (build / "libtailor-jvm.so").exists():
        pytest.skip("no libtailor-jvm.so for the JVM: make agent")
    command = re.search(r'do="(jcmd \d+ JVMTI.agent_load \S+ \S+)[;"]', line)
    assert command, line
    return command[1].split()


def test_an_agent_that_is_loaded_again(build, jvm, tailor):
    # Goal: it goes to the tailor that it is loaded for then, from one that
    # runs, too.
    a = jvm("-Xmx64m", "-XX:+UseSerialGC", "-XX:+PerfDisableSharedMem")
    for _ in range(2):
        t = tailor({"name": "a", "address": a.address, "jvm": "agent"})
        output(*agent_command(t, build))
        t.wait_server("a", source="agent")
        before = t.metrics()['tailor_pauses_total{server="a",kind="gc"}']
        a.collect()
        t.wait_metric('tailor_pauses_total{server="a",kind="gc"}', before + 1)


def test_a_page_that_was_deleted(jvm, tailor):
    # Goal: what a cleaner of /tmp did is the reason that is given.
    a = jvm("-Xmx64m", "-XX:+UseSerialGC")
    pages = list(pathlib.Path("/tmp").glob(f"hsperfdata_*/{a.pid}"))
    assert pages
    for page in pages:
        page.unlink()
    t = tailor({"name": "a", "address": a.address, "jvm": "hsperfdata"})
    line = t.wait_log("server_observed server=a")
    assert 'misses="collections: its hsperfdata file was deleted' in line
    assert "restart it" in t.server("a")["detail"]


def test_a_jvm_without_a_page(build, jvm, tailor):
    # Goal: of a JVM that keeps no page, as Solr's, the log has the option and
    # a command; after that command its collections are seen, and logged.
    a = jvm("-Xmx64m", "-XX:+UseSerialGC", "-XX:+PerfDisableSharedMem")
    t = tailor({"name": "a", "address": a.address, "jvm": "agent"})
    line = t.wait_log("server_observed server=a")
    assert ('misses="collections: its JVM has '
            "-XX:+PerfDisableSharedMem") in line
    assert "(active, collections not visible)" in t.wait_log(" ready route=")
    output(*agent_command(t, build))
    t.wait_log('server_observed server=a .*sees="end, restart, '
               r"collections \(agent, no safepoints\)")
    t.wait_server("a", source="agent")
    assert not [m for m in t.server("a")["misses"]
                if m["signals"] == "collections"]
