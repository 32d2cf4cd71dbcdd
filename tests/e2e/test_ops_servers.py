"""Goal: an operator takes servers out, brings them back and restarts them,
and no request notices; what is not well is found."""

import ctypes
import json
import os
import pathlib
import re
import signal
import struct
import subprocess
import sys
import threading
import time

import pytest

from rig.crowd import Crowd
from rig.message import response
from rig.ports import free_port
from rig.process import children, state_of
from rig.wait import PATIENCE_S, wait_until
from support.pair import entry
from support.wire import AGREED, UPGRADE

KERNEL_EVENTS = "off"

PROGRAM = pathlib.Path(__file__).parent / "support" / "server.py"


def launched(name, scratch, *more, **launch):
    """The configuration of a server that Tailor starts itself."""
    port = free_port()
    return {"name": name, "address": f"127.0.0.1:{port}", "jvm": "none",
            "launch": {"command": [sys.executable, "-B", str(PROGRAM),
                                   str(port), "128", f"hold={scratch}/go",
                                   *more],
                       "cpus": "", **launch}}


def post(t, target, status=200):
    answer = t.ask(target, "POST")
    assert answer.status == status, answer.body
    return answer


def test_drain_and_return(upstream, tailor):
    # Goal: the active server hands over, finishes what it has, rests; it
    # gets nothing until it is brought back, not even a probe.
    active, backup = upstream("active").script(), upstream("backup").serve()
    t = tailor(active, backup)
    with t.client() as c, t.client() as d:
        c.request()
        held = active.expect()
        post(t, "/drain?server=active")
        t.wait_server("active", state="draining", active=False)
        assert d.get().body == b"backup"
        held.reply(200, b"held")
        assert c.response().body == b"held"
        t.wait_server("active", state="drained")
        t.wait_log("server_drained server=active")
        assert len(active.requests) == 1
        connections = len(active.connections)
        assert d.get().body == b"backup"
        assert len(active.connections) == connections
        active.serve()
        post(t, "/undrain?server=active")
        t.wait_server("active", state="ready")
        post(t, "/switch")
        assert d.get().body == b"active"
    # Nothing was sent a second time because of it.
    assert sum(v for k, v in t.metrics().items()
               if k.startswith("tailor_hedges_sent_total")) == 0


def test_a_drain_sends_nothing_again(pair):
    # Goal: requests of a server that is drained finish there, though the other
    # one pauses meanwhile; but a pause of their own is no reason to wait.
    t = pair()
    with t.client() as c:
        c.request()
        held = pair.a.expect()
        post(t, "/switch")
        post(t, "/drain?server=a")
        t.wait_server("a", state="draining")
        for state in "begin", "end":
            t.hazard("b", state)
        assert sum(v for k, v in t.metrics().items()
                   if k.startswith("tailor_hedges_sent_total")) == 0
        pair.b.expect_nothing()
        t.hazard("a", "begin")
        second = pair.b.expect()
        assert second.get("tailor-hedge") == "gc"
        second.reply(200, b"b")
        assert c.response().body == b"b"
        held.reply()
    t.wait_server("a", state="drained")


def test_drain_has_an_end(upstream, tailor, build, ctl):
    # Goal: a drain says what it waits for, and ends: at drain_timeout a
    # tunnel and a response under way are cut, a GET without a response is
    # sent to the other server, a POST is answered 502; all are counted.
    a, b = upstream("a").script(), upstream("b").serve()
    t = tailor({"name": "a", "address": a.address, "drain_timeout": "6s"}, b,
               proxy={"websocket": True})
    with t.client() as ws, t.client() as begun, t.client() as get, \
            t.client() as post_:
        ws.request(target="/chat", fields=UPGRADE)
        a.expect().send(AGREED)
        assert ws.response_head().status == 101
        begun.request(target="/stream")
        a.expect().send(
            b"HTTP/1.1 200 OK\r\nContent-Length: 90000\r\n\r\nhal")
        assert begun.response_head().status == 200
        get.request(target="/get")
        a.expect()
        post_.request("POST", "/post", body=b"x")
        a.expect()
        drain = subprocess.Popen(
            [build / "tailorctl", "-a", t.admin, "drain", "a"], text=True,
            stdout=subprocess.PIPE)
        t.wait_server("a", state="draining")
        waits = t.server("a")["waits"]
        assert (waits["requests"], waits["tunnels"]) == (3, 1)
        assert (waits["method"], waits["target"]) == ("GET", "/chat")
        assert 0 < waits["cut_in_ns"] <= 6_000_000_000
        shown = ctl("-a", t.admin, "servers").out
        assert re.search(r"waits for 3 requests, 1 WebSocket, cut in [0-6]s; "
                         r"oldest \d+s: GET /chat", shown), shown
        ws.expect_end()
        assert get.response().body == b"b"
        assert post_.response().status == 502
        assert begun.exactly(3) == b"hal"
        begun.expect_end()
        t.wait_server("a", state="drained")
        said, _ = drain.communicate(timeout=PATIENCE_S)
        assert drain.returncode == 0
        assert re.match(r"draining\n(  waits for 3 requests, 1 WebSocket, .*\n"
                        r")+drained\n$", said), said
    t.wait_log("drain_cut server=a requests=3 tunnels=1 ")
    assert t.metrics()['tailor_drain_cut_total{server="a"}'] == 4
    assert "waits" not in t.server("a")


def test_drain_waits_for_a_pause_of_the_other(upstream, tailor):
    # Goal: while the other one collects, the server stays active; then the
    # drain goes on by itself.
    active, backup = upstream("active").serve(), upstream("backup").serve()
    t = tailor(active, backup)
    t.hazard("backup", "begin")
    post(t, "/drain?server=active")
    assert t.server("active")["state"] == "leaving"
    with t.client() as c:
        assert c.get().body == b"active"
        t.hazard("backup", "end")
        t.wait_server("active", state="drained")
        assert c.get().body == b"backup"


def test_refusals(upstream, tailor):
    # Goal: what cannot be done is 409 with its reason, no server 400, an
    # unknown one 404, and the last server goes only by force.
    active, backup = upstream("active").serve(), upstream("backup").serve()
    t = tailor(active, backup, proxy={"server_wait": "300ms"})
    for action in ("/drain", "/undrain", "/restart"):
        post(t, action, 400)
        post(t, f"{action}?server=nobody", 404)
        assert t.ask(f"{action}?server=active").status == 405
    post(t, "/undrain?server=active", 409)
    assert b"did not launch" in post(t, "/restart?server=active", 409).body
    post(t, "/drain?server=backup")
    t.wait_server("backup", state="drained")
    post(t, "/drain?server=backup", 409)
    last = post(t, "/drain?server=active", 409)
    assert json.loads(last.body)["forceable"] is True
    with t.client() as c:
        assert c.get().status == 200
        post(t, "/drain?server=active&force=1")
        t.wait_server("active", state="drained")
        assert c.get().status == 503
        post(t, "/undrain?server=backup")
        t.wait_server("backup", state="ready", active=True)
        assert c.get().body == b"backup"


def test_drained_server_that_dies_stays_out(tailor, scratch):
    # Goal: a launched server that ends while it is drained is started again
    # but gets no requests before it is brought back.
    t = tailor(launched("a", scratch), launched("b", scratch))
    post(t, "/drain?server=a")
    t.wait_server("a", state="drained")
    before = t.server("a")["pid"]
    os.kill(before, 9)
    t.wait_server("a", restarts=1)
    wait_until(lambda: t.server("a")["pid"] not in (0, before),
               "it runs again")
    assert t.server("a")["state"] == "drained"
    post(t, "/undrain?server=a")
    t.wait_server("a", state="ready")


def test_a_restart_that_fails_is_reported(tailor, ctl, scratch):
    # Goal: a program that ends after each start is named with its status;
    # tailorctl does not wait for it.
    server = launched("a", scratch)
    program = scratch / "program"
    program.write_text("#!/bin/sh\nexec \"$@\"\n", encoding="ascii")
    program.chmod(0o755)
    command = server["launch"]["command"]
    server["launch"]["command"] = [str(program), *command]
    t = tailor(server, launched("b", scratch))
    program.write_text("#!/bin/sh\nexit 3\n", encoding="ascii")
    run = ctl("-a", t.admin, "restart", "a")
    assert run.returncode == 1
    assert re.search(r"a does not start: it ended \d times \(status 3\);",
                     run.err)
    assert re.search(r"^    ended \d+ times soon after a start: status 3$",
                     ctl("-a", t.admin, "servers").out, re.M)
    program.write_text("#!/bin/sh\nexec \"$@\"\n", encoding="ascii")
    t.wait_server("a", state="ready")


def test_rolling_restart_without_a_failed_request(tailor, ctl, scratch):
    # Goal: both servers are restarted, one after the other and twice, under
    # load: each gets a new process, and every response is a 200.
    t = tailor(launched("a", scratch), launched("b", scratch),
               warmup={"requests": 5, "target": "/"})
    seen = []
    with Crowd(t, 3, lambda me, _: f"/{me}") as crowd:
        for name in ("a", "b", "a", "b"):
            before = t.server(name)["pid"]
            run = ctl("-a", t.admin, "restart", name)
            assert run.returncode == 0, run.err
            assert run.out.splitlines()[-1] == "ready"
            after = t.server(name)["pid"]
            assert after not in (0, before)
            seen.append(before)
            count = len(crowd.responses)
            wait_until(lambda: len(crowd.responses) > count + 10
                       or crowd.errors, "load goes on")
    assert crowd.statuses() == {200}, crowd.errors
    pids = set(map(int, crowd.bodies()))
    assert pids & set(seen) and len(pids) >= 3
    # The log is read by another thread, and may be a little behind.
    wait_until(lambda: t.log.count(" server_restarted ") == 4, "all are logged")


def test_deploy(tailor, ctl, scratch):
    # Goal: one command gives both servers a new process, under load, each
    # warmed before it serves; every response is a 200, and the figures say so.
    t = tailor(launched("a", scratch), launched("b", scratch),
               warmup={"requests": 5, "target": "/"})
    before = {t.server(name)["pid"] for name in "ab"}
    with Crowd(t, 3, lambda me, _: f"/{me}") as crowd:
        run = ctl("-a", t.admin, "deploy", "--hold", "0.5", wide=True)
    assert run.returncode == 0, run.err
    assert crowd.statuses() == {200}, crowd.errors
    assert not before & {t.server(name)["pid"] for name in "ab"}
    # As README shows it.
    assert re.search(r"^deployed: \d+ s, \d+ requests, 0 failed, "
                     r"slowest (at most )?[\d.]+m?s", run.out, re.M), run.out
    assert sorted(re.findall(r"^server ([ab]):$", run.out, re.M)) == ["a", "b"]


def deployment(upstream, scratch):
    """Two servers that Tailor did not launch; the second one's new version
    responds with 500 to all."""
    new = scratch / "new-b"
    return (upstream("a").serve(lambda _: response(200, b"old")),
            upstream("b").serve(lambda _: response(500 if new.exists() else 200)),
            f"touch {scratch}/new-$SERVER")


def test_deploy_stops_at_a_worse_version(upstream, tailor, ctl, scratch):
    # Goal: if the new version fails, the old one serves again and stays.
    a, b, command = deployment(upstream, scratch)
    t = tailor(a, b)
    with Crowd(t, 3, lambda me, _: f"/{me}"):
        run = ctl("-a", t.admin, "deploy", "--with", command, "--hold", "2",
                  wide=True)
    assert run.returncode == 1, run.out
    assert ": more requests fail\n" in run.out
    assert "server a, with the old version, serves again" in run.err
    assert (scratch / "new-b").exists() and not (scratch / "new-a").exists()
    assert t.active() == "a"
    assert t.server("a")["state"] == "ready"


def test_deploy_that_cannot_begin_or_go_on(upstream, tailor, ctl, scratch):
    # Goal: both servers have to be ready; a command that fails ends it, and
    # the way back is said.
    a, b, _ = deployment(upstream, scratch)
    t = tailor(a, b)
    run = ctl("-a", t.admin, "deploy", wide=True)
    assert run.returncode == 1 and "--with" in run.err, run.err
    run = ctl("-a", t.admin, "deploy", "--with", "exit 3", wide=True)
    assert run.returncode == 1
    assert "--with ended with status 3" in run.err
    assert "tailorctl undrain b" in run.err
    run = ctl("-a", t.admin, "deploy", "--with", "exit 3", wide=True)
    assert run.returncode == 1 and "two servers that are ready" in run.err
    assert t.get().body == b"old"


def collect(t, name, *states):
    for state in states:
        t.hazard(name, state)


def ready_pair(tailor, scratch, **launch):
    t = tailor(*(launched(name, scratch, **launch) for name in "ab"))
    if t.active() != "a":
        post(t, "/switch")
    return t


def test_restart_waits_until_the_other_has_collected(tailor, scratch):
    # Goal: one that collects now and then is not left alone before it has:
    # it serves, with the one to be restarted ready behind it.
    t = ready_pair(tailor, scratch)
    a, b = (t.server(name)["pid"] for name in "ab")
    collect(t, "b", "begin", "end")
    post(t, "/restart?server=a")
    t.wait_log("server_waits server=a")
    with t.client() as c:
        assert c.get().body == str(b).encode()
        assert t.server("a")["state"] == "leaving"
        collect(t, "b", "begin")
        assert c.get().body == str(a).encode()
        collect(t, "b", "end")
        t.wait_log("server_restarted server=a")
        assert c.get().body == str(b).encode()
    assert t.server("a")["pid"] != a


@pytest.mark.parametrize("known, force", [
    (False, ""), (True, "&force=1"), pytest.param(
        True, "", marks=pytest.mark.long("waits for ten seconds"))])
def test_restart_does_not_wait(tailor, scratch, known, force):
    # Goal: not for one that was never seen to collect, not by force, nor for
    # more than ten seconds.
    t = ready_pair(tailor, scratch)
    if known:
        collect(t, "b", "begin", "end")
    post(t, f"/restart?server=a{force}")
    t.wait_log("server_restarted server=a")


def test_restart_kills_a_stubborn_server(tailor, scratch):
    # Goal: one that ignores SIGTERM is killed after launch.stop_timeout.
    t = tailor(launched("a", scratch, "stubborn", stop_timeout="100ms"),
               launched("b", scratch))
    if t.active() != "a":
        post(t, "/switch")
    before = t.server("a")["pid"]
    with t.client() as c:
        c.request(target="/hold")  # so that the restart is not over yet
        t.wait_metric('tailor_server_connections_busy{server="a"}', 1)
        post(t, "/restart?server=a")
        post(t, "/restart?server=a", 409)
        (scratch / "go").touch()
        assert c.response().status == 200
    t.wait_log("server_killed server=a")
    t.wait_log("server_restarted server=a")
    assert t.server("a")["pid"] != before


def scripted(server, script):
    """A launched server whose command is a script; "$@" starts it."""
    server["launch"]["command"] = ["/bin/sh", "-c", script, "sh",
                                   *server["launch"]["command"]]
    return server


def test_a_script_that_does_not_exec(tailor, scratch):
    # Goal: a restart ends what the script started, and a stop does: else the
    # old server would keep the port and look ready.
    t = tailor(scripted(launched("a", scratch), '"$@" & wait'),
               launched("b", scratch))
    (old,) = children(t.server("a")["pid"])
    post(t, "/restart?server=a")
    t.wait_log("server_restarted server=a")
    assert not pathlib.Path(f"/proc/{old}").exists()
    (new,) = children(t.server("a")["pid"])
    assert "launch_failed" not in t.log
    t.stop()
    assert not pathlib.Path(f"/proc/{new}").exists()


def test_what_outlives_its_command(tailor, scratch):
    # Goal: it is ended before the command is started again, with a word about
    # it; orphans of the command are reaped.
    t = tailor(scripted(launched("a", scratch),
                        '(sleep 0 &); "$@" & sleep 0.2; exit 3'),
               ready=False)
    line = t.wait_log("server_left_processes server=a")
    group = int(re.search(r"group=(\d+)", line)[1])
    wait_until(lambda: t.log.count("server_launched") > 1, "it is started again")
    with pytest.raises(ProcessLookupError):
        os.killpg(group, 0)
    wait_until(lambda: "Z" not in map(state_of, children(t.pid)),
               "all are reaped")


def scheduled(pid):
    """How the threads of a process are scheduled, and of its children."""
    of = {os.sched_getscheduler(int(task))
          for task in os.listdir(f"/proc/{pid}/task")}
    return of.union(*map(scheduled, children(pid)))


@pytest.mark.skipif(os.geteuid() != 0, reason="not root, who may end it")
def test_starts_in_idle_time(tailor, scratch):
    # Goal: a server that starts while the other one serves leaves the CPUs to
    # all else until it is ready, or the other one has ended.
    may = scratch / "may"
    may.touch()
    t = tailor(*(scripted(launched(name, scratch),
                          f'(until [ -e {may} ]; do sleep 0.02; done); "$@" & '
                          'wait') for name in "ab"))
    t.wait_server("b", state="ready")

    def restarted(name):
        """The new process of a server that was killed, and may not start."""
        may.unlink()
        old = t.server(name)["pid"]
        os.killpg(old, signal.SIGKILL)
        pid = wait_until(lambda: t.server(name)["pid"] not in (0, old) and
                         t.server(name)["pid"], "it is started again")
        wait_until(lambda: children(pid), "it waits")
        return pid

    assert scheduled(t.server("a")["pid"]) == {os.SCHED_OTHER}
    pid = restarted("b")
    assert scheduled(pid) == {os.SCHED_IDLE}
    may.touch()
    t.wait_server("b", state="ready")
    wait_until(lambda: scheduled(pid) == {os.SCHED_OTHER}, "it is as usual")
    pid = restarted("b")
    assert scheduled(pid) == {os.SCHED_IDLE}
    os.killpg(t.server("a")["pid"], signal.SIGKILL)
    wait_until(lambda: scheduled(pid) == {os.SCHED_OTHER}, "it is needed")


def halted_child(t, before=0):
    """The child that faults(exec=1) has stopped, after so many others."""
    def halted():
        pids = re.findall(r" server_launched server=\S+ pid=(\d+)", t.log)
        for pid in map(int, pids[before:]):
            return pid if state_of(pid) == "T" else None
    return wait_until(halted, "a child is stopped")


def test_signals_of_a_child_are_its_own(faults, tailor, scratch):
    # Goal: a child that gets SIGTERM before it has become its program ends,
    # and Tailor does not take that for a signal of its own.
    faults(exec=1)
    t = tailor(launched("a", scratch), ready=False)
    child = halted_child(t)
    os.kill(child, signal.SIGTERM)
    os.kill(child, signal.SIGCONT)
    assert 'how="signal 15"' in t.wait_log(" server_exited ")
    os.kill(halted_child(t, 1), signal.SIGCONT)
    t.wait_server("a", state="ready")
    assert " stopping " not in t.log


def slice_ns(pid):
    """How long the scheduler lets it run at a time; 0 before Linux 6.12, and
    where the number of sched_getattr is not known here."""
    number = {"x86_64": 315, "aarch64": 275}.get(os.uname().machine)
    if number is None:
        return 0
    out = (ctypes.c_char * 56)()
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.syscall(number, pid, out, len(out), 0) == 0
    return struct.unpack_from("=Q", out, 24)[0]


def test_a_child(tailor, scratch):
    # Goal: what makes Tailor quick is not its servers'; the end of one process
    # is one line.
    t = tailor(launched("a", scratch))
    t.wait_log(" server_ready server=a")
    pid = t.server("a")["pid"]
    assert slice_ns(pid) == slice_ns(os.getpid())
    if os.sched_getscheduler(0) == os.SCHED_OTHER and slice_ns(pid) > 0:
        assert slice_ns(t.pid) < slice_ns(pid)
    if os.geteuid() == 0:  # only root may see another's
        slack = pathlib.Path(f"/proc/{pid}/timerslack_ns")
        assert slack.read_text() == "50000\n"
    os.kill(pid, 9)
    wait_until(lambda: sum(" server_ready " in x for x in t.lines) == 2,
               "it is ready again")
    lines = [x for x in t.lines if " server_exited " in x]
    assert len(lines) == 1 and "signal 9" in lines[0]


def policies(pid, names):
    """The scheduling policies of these threads."""
    def found():
        of = {(task / "comm").read_text().strip(): int(task.name)
              for task in pathlib.Path(f"/proc/{pid}/task").iterdir()
              if int(task.name) != pid}
        return [os.sched_getscheduler(of[n]) for n in names if n in of]
    return wait_until(lambda: len(found()) == len(names) and found(),
                      "all threads")


def test_what_is_not_urgent_takes_no_cpu_from_servers(
        upstream, tailor, scratch):
    # Goal: threads that write and explain let a server go on that runs when
    # they wake up; those that serve and observe do not.
    t = tailor(upstream("a").serve(), access_log={"path": f"{scratch}/access"})
    # The analysis thread has its process's name.
    wait_until(lambda: policies(t.pid, ["tailor", "access", "log"]) ==
               3 * [os.SCHED_BATCH], "their policies")
    ours = os.sched_getscheduler(0)
    assert policies(t.pid, ["observer", "attach"]) == 2 * [ours]
    assert os.sched_getscheduler(t.pid) & ~os.SCHED_RESET_ON_FORK == ours


# --- health checks in service -------------------------------------------------


def health_server(up, well):
    """Answers /health by a flag, everything else with its name."""
    up.serve(lambda r: response(
        200 if r.target != "/health" or well.is_set() else 500,
        up.name.encode()))
    return {"name": up.name, "address": up.address, "health": "/health",
            "health_interval": "20ms"}


def test_servers_that_are_unwell(upstream, tailor):
    # Goal: a ready backup that fails its checks is taken out, and comes
    # back when it is well; one or two failures are none.  So is the active
    # one; and the last one stays whatever it says.
    well_a, well_b = threading.Event(), threading.Event()
    well_a.set()
    well_b.set()
    a, b = upstream("active"), upstream("backup")
    t = tailor(health_server(a, well_a), health_server(b, well_b))
    if t.active() != "active":  # whichever came first
        post(t, "/switch")
    wait_until(lambda: sum(r.target == "/health" for r in b.requests) > 3,
               "checks go on in service")
    well_b.clear()
    t.wait_log("server_lost server=backup")
    before = "\n".join(t.lines).partition("server_lost server=backup")[0]
    failed = re.findall(r"health_failed server=backup .*in_a_row=(\d)", before)
    assert failed[-1] == "3"
    t.wait_server("backup", state="connecting")
    well_b.set()
    t.wait_server("backup", state="ready")
    assert t.server("active")["active"]
    well_a.clear()
    t.wait_server("backup", active=True)
    well_b.clear()
    t.wait_log("unhealthy_but_last server=backup")
    assert t.get().body == b"backup"


def test_pauses_are_no_illness(upstream, tailor):
    # Goal: checks that fail while the server collects do not count.
    well = threading.Event()
    well.set()
    a, b = upstream("active").serve(), upstream("backup")
    t = tailor(a, health_server(b, well))
    t.hazard("backup", "begin")
    well.clear()
    count = len(b.requests)
    wait_until(lambda: len(b.requests) > count + 6, "checks go on")
    well.set()
    t.hazard("backup", "end")
    assert t.server("backup")["state"] == "ready"
    assert "server_lost" not in t.log


@pytest.mark.parametrize("interval", [0, "20ms"])
def test_no_target_no_checks(upstream, tailor, interval):
    # Goal: without a health target, or with interval 0, no server is asked.
    a = upstream("active").serve()
    server = {"name": "active", "address": a.address,
              "health_interval": interval}
    if interval == 0:
        server["health"] = "/health"
    t = tailor(server)

    def checks():
        return sum(r.target == "/health" for r in a.requests)

    before = checks()  # the one that made it ready, if that was quick
    assert (before > 0) == (interval == 0)
    with t.client() as c:
        for _ in range(20):
            assert c.get().status == 200
    assert checks() == before


def asked_of(t, name):
    return t.metrics()[f'tailor_server_exchanges_total{{server="{name}"}}']


def test_checks_begin_and_end_with_a_reload(upstream, tailor):
    # Goal: a server in service is checked once it has a health target and an
    # interval, and not any more when it has none.
    a, b = upstream("a").serve(), upstream("b").serve()
    checked = {"health": "/up", "health_interval": "50ms"}
    t = tailor(entry(a, health_interval="50ms"), entry(b, **checked))

    def reload(**keys):
        t.reload(servers=[entry(a, **keys), entry(b, **checked)])

    def wait_checks(server):
        count = len(server.requests)
        wait_until(lambda: len(server.requests) > count + 2, "checks go on")

    def rests():
        """Assert that a gets nothing for longer than the interval."""
        asked = asked_of(t, "a")
        wait_checks(b)
        assert asked_of(t, "a") == asked

    reload(**checked)
    wait_checks(a)
    reload(health_interval="50ms")
    rests()
    reload(health="/up", health_interval=0)
    rests()
    reload(**checked)
    wait_checks(a)


HOST = "w" * 245 + ".local:443"
RESULT = 'tailor_health_check_result{server="a",result="%s"}'
STATUS = 'tailor_health_check_status{server="a"}'


def test_a_server_that_checks_host(upstream, tailor, ctl):
    # Goal: what a server responds to its probe is in the log, in tailorctl and
    # in metrics; with servers[].host it is good, and requests without Host are.
    a = upstream("a").serve(lambda r: response(
        200 if r.get("Host") == HOST else 400))
    server = {"name": "a", "address": a.address, "health": "/up"}
    t = tailor(server, ready=False, proxy={"server_wait": 0})
    why = f"GET /up got 400, not 200-399 (Host: {a.address})"
    line = t.wait_log("probe_failed")
    assert f'server=a result=status status=400 why="{why}"' in line
    assert (f'waits_for="a to pass its probe at {a.address} ({why})"'
            in t.wait_log("not_ready"))
    assert t.server("a")["health"] == {
        "result": "status", "status": 400, "detail": why}
    shown = ctl("--admin", t.admin, "servers").out
    assert "health: " + why in " ".join(shown.split())
    m = t.metrics()
    assert (m[STATUS], m[RESULT % "status"], m[RESULT % "ok"]) == (400, 1, 0)
    t.reload(servers=[{**server, "host": HOST}])
    t.wait_server("a", state="ready")
    assert t.server("a")["health"]["detail"] == "GET /up got 200"
    assert t.log.count("probe_failed") == 1
    with t.client() as c:
        c.send(b"DELETE / HTTP/1.0\r\nContent-Length: 1\r\n\r\nx")
        assert c.response().status == 200


def test_a_slow_health_target(upstream, tailor):
    # Goal: a health target that takes longer than a second may serve, and what
    # takes longer than health_timeout is called that.
    def slow(_):
        time.sleep(1.2)
        return response(200)

    a, b = upstream("a").serve(slow), upstream("b").script()
    t = tailor({"name": "a", "address": a.address, "health": "/up",
                "health_timeout": "60s"},
               {"name": "b", "address": b.address, "health": "/up",
                "health_timeout": "50ms"}, ready=False)
    assert ('server=b result=timeout status=0 why="GET /up got no response '
            'within 50 ms"') in t.wait_log("probe_failed")
    t.wait_server("a", state="ready")
    assert "health_failed" not in t.log


def test_what_makes_a_server_up_and_down(upstream, tailor):
    # Goal: only health_status is good; health_rise good ones in a row are
    # needed, and health_fall bad ones.
    a, b = upstream("a").script(), upstream("b").serve()
    t = tailor({"name": "a", "address": a.address, "health": "/up",
                "health_status": ["204", "401-403"], "health_rise": 3,
                "health_fall": 2, "health_interval": "10ms"}, b, ready="one")
    for status in (204, 200, 204, 401, 404, 403, 204, 204):
        request = a.expect()
        assert t.server("a")["state"] == "connecting"
        request.reply(status)
    t.wait_server("a", state="ready")
    for status in (500, 204, 200, 503):
        a.expect().reply(status)
    t.wait_log("server_lost server=a")
    assert re.findall(r" (\w+) health_failed server=a .*status=(\d+) "
                      r".*in_a_row=(\d)", t.log) == [
        ("info", "500", "1"), ("info", "200", "1"), ("warning", "503", "2")]
    a.serve(lambda r: response(204))
