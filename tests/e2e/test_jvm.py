"""Goal: what happens inside a real JVM is seen, acted on and survived."""

import json
import os
import pathlib
import re
import signal
import subprocess

import pytest

from rig.client import Client
from rig.crowd import Crowd
from rig.ports import free_port
from rig.wait import PATIENCE_S, wait_until
from support import jvm as jvms
from support.launched import need_kernel

ROOT = pathlib.Path(__file__).resolve().parents[2]
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
    key = 'tailor_hazards_total{server="a",kind="gc"}'
    port = int(a["address"].rpartition(":")[2])
    for i in range(3):
        wait_until(lambda: not t.server("a")["hazards"], "a is calm")
        before = t.metrics()[key]
        with Client(("127.0.0.1", port)) as c:
            assert c.get("/gc").status == 200
        # G1 may add pauses of its own (remark), never fewer.
        t.wait_metric(key, before + 1)
        wait_until(lambda: not t.server("a")["hazards"], "a is calm again")

    def moved():
        """A collection that Tailor sees before it is over."""
        if t.active() != "a":
            assert t.ask("/switch", "POST").status == 200
        with Client(("127.0.0.1", port)) as c:
            assert c.get("/gc").status == 200
        return t.metrics()[
            'tailor_swaps_by_reason_total{reason="gc"}'] >= 1
    wait_until(moved, "the active server is another")
    assert t.metrics()["tailor_hazards_dropped_total"] == 0


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


def test_requests_in_flight_survive_a_long_collection(java_classes, tailor):
    # Goal: while one server collects for long, clients are served by the
    # other; nothing fails.
    a = launched(java_classes, "a", ("-Xmx512m", "-XX:+UseSerialGC"))
    b = launched(java_classes, "b", ("-Xmx512m", "-XX:+UseSerialGC"))
    t = tailor(a, b)
    for s in (a, b):
        t.wait_server(s["name"], state="ready", source="hsperfdata")
    port = int(a["address"].rpartition(":")[2])
    # A JVM's first responses may take longer than the collection.
    with Client(("127.0.0.1", int(b["address"].rpartition(":")[2]))) as c:
        for _ in range(20):
            assert c.get("/wait?ms=5").status == 200
    with Client(("127.0.0.1", port)) as c:
        assert c.get("/fill?mb=150").status == 200

    def hedged():
        """One collection; where Tailor or the JVM was not let run in time,
        nothing was in flight or all of it came first."""
        wait_until(lambda: not t.server("a")["hazards"], "a is calm")
        if t.active() != "a":
            assert t.ask("/switch", "POST").status == 200
        with Client(("127.0.0.1", port)) as c:
            assert c.get("/gc").status == 200
        return (len(crowd.bodies()) == 2 and t.metrics()[
            'tailor_hedges_sent_total{trigger="gc",server="b"}'] >= 1)

    with Crowd(t, 8, lambda *_: "/wait?ms=5") as crowd:
        wait_until(lambda: hedged() or crowd.errors, "b helps")
    assert crowd.statuses() == {200}
    assert t.metrics()["tailor_hedges_both_failed_total"] == 0


def test_kill_of_the_active_under_load(java_classes, tailor):
    # Goal: kill -9 is invisible to GET clients; the server is started again,
    # warmed up, and only then ready.
    roomy = ("-Xmx512m", "-Xmn256m", "-XX:+UseSerialGC")  # none collects
    t = tailor(launched(java_classes, "a", roomy),
               launched(java_classes, "b", roomy),
               ready="one", warmup={"requests": 20, "max": "30s"})

    def back(old):
        now = t.server("a")
        if now["state"] != "ready":
            assert not now["active"]
        return now["state"] == "ready" and now["pid"] != old

    # The second one is warmed with what clients ask the first.
    with Crowd(t, 8, lambda *_: "/wait?ms=2") as crowd:
        t.wait_server("a", state="ready")
        t.wait_server("b", state="ready")
        if t.active() != "a":
            assert t.ask("/switch", "POST").status == 200
        before = t.metrics()['tailor_warmup_requests_total{server="a"}']
        pid = t.server("a")["pid"]
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: t.server("a")["restarts"] == 1, "restarted")
        wait_until(lambda: back(pid), "warm again")
        # It was not ready before.
        assert t.metrics()['tailor_warmup_requests_total{server="a"}'] >= \
            before + 20
    assert crowd.statuses() == {200}


def test_post_during_a_pause_is_done_once(java_classes, tailor):
    # Goal: with a real collection a POST reaches one server, once; and the
    # servers end with Tailor.
    a = launched(java_classes, "a", ("-Xmx512m", "-XX:+UseSerialGC"))
    b = launched(java_classes, "b", ("-Xmx512m", "-XX:+UseSerialGC"))
    t = tailor(a, b)
    for s in (a, b):
        t.wait_server(s["name"], state="ready", source="hsperfdata")
    first = t.active()
    port = int((a if first == "a" else b)["address"].rpartition(":")[2])
    with Client(("127.0.0.1", port)) as c:
        assert c.get("/fill?mb=100").status == 200
        before = t.metrics()
        with t.client() as client:
            c.request("GET", "/gc")
            for _ in range(50):
                client.request("POST", "/count", body=b"x")
                assert client.response().status == 200
        assert c.response().status == 200
    counted = 0
    for s in (a, b):
        with Client(("127.0.0.1",
                     int(s["address"].rpartition(":")[2]))) as c:
            counted += int(c.get("/counted").body)
    assert counted == 50
    after = t.metrics()
    key = 'tailor_hedges_sent_total{trigger="gc",server="%s"}'
    assert all(after[key % s] == before[key % s] for s in "ab")
    pids = [s["pid"] for s in t.ask_json("/servers")["servers"]]
    t.stop()
    for pid in pids:
        assert not os.path.exists(f"/proc/{pid}")


@pytest.mark.long("counts the pauses of a JVM that are short")
def test_short_safepoints_are_waited_out(java_classes, tailor):
    # Goal: with safepoint among the triggers, a JVM that makes ten short ones
    # a second causes no storm, and hardly a swap; a collection swaps.
    options = ("-Xmx256m", "-XX:+UseSerialGC",
               "-XX:+UnlockDiagnosticVMOptions", "-XX:+SafepointALot",
               "-XX:GuaranteedSafepointInterval=100")
    t = tailor(launched(java_classes, "a", options),
               launched(java_classes, "b", options),
               hedging={"triggers": ["gc", "safepoint", "exit"]})
    for name in "ab":
        t.wait_server(name, state="ready", source="hsperfdata")
    waited = 'tailor_pauses_waited_out_total{kind="safepoint"}'
    swaps = 'tailor_swaps_by_reason_total{reason="%s"}'
    with Crowd(t, 4, lambda *_: "/wait?ms=2") as crowd:
        wait_until(lambda: t.metrics()[waited] >= 30, "30 are waited out", 60)
        m = t.metrics()
        with t.client() as c:
            wait_until(lambda: c.get("/gc").status == 200
                       and t.metrics()[swaps % "gc"] >= 1, "a real pause")
    assert m["tailor_storms_total"] == 0
    # A machine that does not run the JVM makes some of them long.
    assert m[swaps % "safepoint"] < m[waited] / 2
    assert crowd.statuses() == {200}


def test_jvm_without_perfdata(java_classes, tailor):
    # Goal: its collections are seen by the probes of libjvm, not by a
    # change of the JVM; where these are not permitted, what to do is shown.
    without = {"a": "-XX:-UsePerfData", "b": "-XX:+PerfDisableSharedMem"}
    servers = [launched(java_classes, name, (
        "-Xmx64m", "-XX:+UseSerialGC", option))
        for name, option in without.items()]
    t = tailor(*servers)
    if " kernel_off " in t.wait_log(" kernel_o"):
        for name, option in without.items():
            t.wait_server(name, state="ready", source="pidfd")
            assert option[4:] in t.server(name)["detail"]
        return
    for name in without:
        t.wait_server(name, state="ready", source="probes")
        assert t.server(name)["detail"].startswith("probes of HotSpot in ")
    for name, server in zip(without, servers):
        key = f'tailor_hazards_total{{server="{name}",kind="gc"}}'
        before = t.metrics()[key]
        port = int(server["address"].rpartition(":")[2])
        with Client(("127.0.0.1", port)) as c:
            assert c.get("/gc").status == 200
        t.wait_metric(key, before + 1)
        wait_until(lambda n=name: not t.server(n)["hazards"],
                   f"{name} is calm again")
    assert "runtime_off" not in t.log


def test_a_pause_that_only_the_kernel_shows(java_classes, tailor):
    # Goal: a wait that the VM Thread ends is no lock.
    t = tailor({**launched(java_classes, "a"), "jvm": "none"},
               slow={"target": "0"})
    need_kernel(t)
    t.wait_server("a", state="ready")

    def code():
        with t.client() as c:
            c.get("/gc", fields=[("X-Request-Id", "paused")])
            tale = c.get("/.talechain/timeline/paused?format=json")
            return json.loads(tale.body)["verdict"]["code"]

    wait_until(lambda: code() == "safepoint", "a collection is named")


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
    assert ("-> a (active, collections visible), b (standby, "
            in t.wait_log(" ready route="))
    before = t.metrics()['tailor_hazards_total{server="a",kind="gc"}']
    a.collect()
    t.wait_metric('tailor_hazards_total{server="a",kind="gc"}', before + 1)


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
        subprocess.run(agent_command(t, build), check=True,
                       capture_output=True, timeout=PATIENCE_S)
        t.wait_server("a", source="agent")
        before = t.metrics()['tailor_hazards_total{server="a",kind="gc"}']
        a.collect()
        t.wait_metric('tailor_hazards_total{server="a",kind="gc"}', before + 1)


def test_the_page_of_another_container(jvm, tailor):
    # Goal: of two containers that share /tmp both JVMs are process 1, and one
    # has the page of that name: its collections are not those of the other.
    alone = ("unshare", "--pid", "--mount", "--fork", "--kill-child",
             "--mount-proc")
    if subprocess.run([*alone, "true"], capture_output=True).returncode:
        pytest.skip("unshare --pid is refused")
    running = [jvm("-Xmx64m", "-XX:+UseSerialGC", before=alone)
               for _ in "ab"]
    t = tailor(*({"name": name, "address": j.address, "jvm": "hsperfdata"}
                 for name, j in zip("ab", running)), warmup={"requests": 0})
    t.wait_server("a", state="ready", source="hsperfdata")
    wait_until(lambda: "is another JVM's" in t.server("b")["detail"],
               "b has none")
    key = 'tailor_hazards_total{server="%s",kind="gc"}'
    for i in range(3):
        running[0].collect()
        t.wait_metric(key % "a", i + 1)
    assert t.metrics()[key % "b"] == 0


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


def test_a_helper_of_the_server(java_classes, build, jvm, tailor, scratch):
    # Goal: a JVM that the server has started, and that does not listen, has
    # an agent, too (JAVA_TOOL_OPTIONS); its collections are no hazards.
    options = ("-Xmx64m", "-XX:+UseSerialGC",
               f"-agentpath:{find_agent(build)}="
               f"socket={scratch}/t0/channels.sock")
    own = launched(java_classes, "a", options)
    found = jvm(*options)
    t = tailor(own, {"name": "b", "address": found.address})
    hazards = 'tailor_hazards_total{server="%s",kind="gc"}'
    for name, port in (("a", int(own["address"].rpartition(":")[2])),
                       ("b", found.port)):
        t.wait_server(name, state="ready", source="agent")
        with Client(("127.0.0.1", port)) as c:
            pid = int(c.get("/helper?gc=1").body)
            t.wait_log(rf"channel_opened .*pid={pid} server=-1")
            before = t.metrics()[hazards % name]
            assert c.get("/helper?gc=3").status == 200
            wait_observer(t)
            assert t.metrics()[hazards % name] == before
            assert c.get("/gc").status == 200
        t.wait_metric(hazards % name, before + 1)
        # It is the server's own, and the only one of it.
        wait_observer(t)
        assert t.metrics()[hazards % name] == before + 1


def test_a_jvm_without_a_page(build, jvm, tailor):
    # Goal: of a JVM that keeps no page, as Solr's, the log has the option and
    # a command; after that command its collections are seen, and logged.
    a = jvm("-Xmx64m", "-XX:+UseSerialGC", "-XX:+PerfDisableSharedMem")
    t = tailor({"name": "a", "address": a.address, "jvm": "agent"})
    line = t.wait_log("server_observed server=a")
    assert ('misses="collections: its JVM has '
            "-XX:+PerfDisableSharedMem") in line
    assert "(active, collections not visible)" in t.wait_log(" ready route=")
    subprocess.run(agent_command(t, build), check=True,
                   capture_output=True, timeout=PATIENCE_S)
    t.wait_log('server_observed server=a .*sees="end, restart, '
               r"collections \(agent, no safepoints\)")
    t.wait_server("a", source="agent")
