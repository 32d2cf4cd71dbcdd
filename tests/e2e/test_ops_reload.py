"""Goal: a running tailor takes a new configuration on without losing a
request, or keeps the one it has and says why."""

import json
import os
import pathlib
import signal
import socket

import pytest

from rig.client import Client
from rig.crowd import Crowd
from rig.message import response
from rig.ports import free_port
from rig.wait import PATIENCE_S
from test_ops_servers import halted_child, launched

KERNEL_EVENTS = "off"


def test_reload_changes_keys(upstream, tailor):
    # Goal: what is reloadable changes and is named, by SIGHUP and by POST
    # /reload; the rest is untouched.
    server = upstream("active").serve()
    t = tailor(server)
    with t.client() as c:
        assert c.get().get("server-timing") is not None
        t.rewrite(proxy={"add_fields": []}, slow={"target": "7ms"})
        t.signal(signal.SIGHUP)
        t.wait_metric('tailor_config_reload_total{result="done"}', 1)
        line = t.wait_log(" reloaded ")
        assert 'changed=2 keys="proxy.add_fields,slow.target"' in line
        # The same connection goes on.
        assert c.get().get("server-timing") is None
    assert t.ask_json("/slow")["target_ns"] == 7_000_000
    assert t.ask("/reload", "PUT").status == 405
    for changed in ["warmup.max"], []:
        assert t.reload(proxy={"add_fields": []}, slow={"target": "7ms"},
                        warmup={"max": "7s"}) == changed


def test_wrong_configuration_is_kept_out(upstream, tailor):
    # Goal: every error is logged and counted, and nothing changes: values that
    # cannot be, keys that want a restart, an address that is taken, a file that
    # is gone.  Then it can be put right.
    t = tailor(upstream("active").serve())
    free = free_port()

    def nothing_changed():
        assert t.get().get("server-timing") is not None

    t.rewrite(proxy={"add_fields": [], "websocket": "perhaps"},
              hedging={"mode": "sometimes"})
    t.signal(signal.SIGHUP)
    t.wait_log("reload_failed .*errors=2")
    assert "proxy.websocket" in t.log and "hedging.mode" in t.log
    nothing_changed()
    metrics = t.metrics()
    assert metrics["tailor_config_reload_failures_total"] == 1
    assert metrics['tailor_config_reload_total{result="failed"}'] == 1

    t.rewrite(proxy={"add_fields": []}, slow={"history": 77},
              profiler={"stream_slots": 2048})
    answer = t.ask("/reload", "POST")
    assert answer.status == 422
    errors = "\n".join(json.loads(answer.body)["errors"])
    for key in ("slow.history", "profiler.stream_slots"):
        assert f"{key}: a reload cannot change it" in errors
    assert "add_fields" not in errors
    nothing_changed()

    t.rewrite(servers=[*t.config["servers"], {
        "name": "new", "address": "127.0.0.1:1",
        "launch": {"command": ["no-such-program"]}}])
    answer = t.ask("/reload", "POST")
    assert answer.status == 422
    assert b"servers[1].launch.command: no program no-such" in answer.body

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        t.rewrite(proxy={"add_fields": []},
                  listen=[f"127.0.0.1:{free}", f"127.0.0.1:{port}"])
        assert (f"listen: 127.0.0.1:{port} cannot be used: Address already in "
                "use") in str(t.ask("/reload", "POST").body)
    nothing_changed()
    with socket.socket() as s:
        assert s.connect_ex(("127.0.0.1", free)) != 0

    (pathlib.Path(t.directory) / "tailor.json").unlink()
    t.signal(signal.SIGHUP)
    t.wait_log("reload_error .*cannot be read")
    nothing_changed()

    t.reload(proxy={"add_fields": []})
    assert t.get().get("server-timing") is None


def test_a_question_changes_nothing(upstream, tailor):
    # Goal: GET /reload names what a POST would change, or what needs a restart,
    # and changes, counts and logs nothing.
    t = tailor(upstream("active").serve())

    def asked(**sections):
        t.rewrite(**sections)
        answer = t.ask("/reload")
        found = json.loads(answer.body)
        at = os.stat(f"{t.directory}/tailor.json")
        assert (found["device"], found["inode"]) == (at.st_dev, at.st_ino)
        assert not found["reloaded"]
        return answer.status, found["changed"], found["errors"]

    assert asked() == (200, [], [])
    assert asked(proxy={"add_fields": []}) == (200, ["proxy.add_fields"], [])
    status, changed, (error,) = asked(slow={"history": 77})
    assert (status, changed) == (422, [])
    assert error.startswith("slow.history: a reload cannot change it; restart")
    assert t.get().get("server-timing") is not None
    assert t.metrics()['tailor_config_reload_total{result="done"}'] == 0
    assert "reload" not in t.log


def test_the_listener_of_metrics(upstream, tailor):
    # Goal: it is opened, moved, closed, and given to other clients; the old
    # one stays if the new one cannot be.
    one, two = (f"127.0.0.1:{free_port()}" for _ in range(2))

    def asked(at):
        host, _, port = at.rpartition(":")
        with Client((host, int(port))) as c:
            return c.get("/healthz").status

    t = tailor(upstream("active").serve())
    assert t.reload(metrics={"listen": one}) == ["metrics.listen"]
    assert asked(one) == 200
    assert t.reload(metrics={"listen": two}) == ["metrics.listen"]
    assert asked(two) == 200
    with pytest.raises(ConnectionRefusedError):
        asked(one)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        at = f"127.0.0.1:{taken.getsockname()[1]}"
        t.rewrite(metrics={"listen": at})
        answer = t.ask("/reload", "POST")
    assert answer.status == 422
    assert f"metrics.listen: {at} cannot be used".encode() in answer.body
    assert asked(two) == 200
    assert t.reload(metrics={"listen": two, "allow": ["192.0.2.0/24"]}) == [
        "metrics.allow"]
    assert asked(two) == 403
    t.reload()
    with pytest.raises(ConnectionRefusedError):
        asked(two)
    assert t.get().status == 200


def test_the_form_of_the_log(upstream, tailor):
    # Goal: log.format is in force for the line that says so.
    t = tailor(upstream("active").serve())
    assert t.reload(log={"format": "json"}) == ["log.format"]
    assert '"event":"reloaded"' in t.wait_log('"keys":"log.format"')
    t.reload()
    t.wait_log(' reloaded .*keys="log.format"')


def test_requests_finish_under_the_old_one(upstream, tailor):
    # Goal: a request in flight keeps its deadline and its fields; the next
    # one on the same connection has the new.
    server = upstream("active").script()
    t = tailor(server)
    with t.client() as c:
        c.request()
        request = server.expect()
        t.reload(proxy={"add_fields": [], "request_timeout": "1ms"})
        request.reply(200, b"old")
        answer = c.response()
        assert (answer.status, answer.body) == (200, b"old")
        assert answer.get("server-timing") is not None
        # Under the new one a millisecond is the deadline, which may be over
        # before the server has the request.
        c.request()
        assert c.response().status == 504


def test_listeners(upstream, tailor):
    # Goal: a new address is opened, one that stays keeps its connections; of one
    # that is closed connections in its queue are served, however many there are.
    server = upstream("active").serve()
    t = tailor(server)
    with t.client() as c:
        assert c.get().status == 200
        port = free_port()
        t.reload(listen=[f"127.0.0.1:{t.port}", f"127.0.0.1:{port}"])
        with Client(("127.0.0.1", port)) as other:
            assert other.get().body == b"active"
        t.pause()
        waiting = [t.client() for _ in range(500)]
        for one in waiting:
            one.request()
        t.rewrite(listen=[f"127.0.0.1:{port}"])
        t.signal(signal.SIGHUP)
        t.resume()
        t.wait_metric('tailor_config_reload_total{result="done"}', 2)
        for one in waiting:
            with one:
                assert one.response().body == b"active"
        assert c.get().status == 200
    with pytest.raises(ConnectionRefusedError):
        t.client()


def test_a_reload_waits_for_no_other_process(upstream, tailor, scratch):
    # Goal: neither a process that hangs, and listens where a new listener would
    # be, nor a configuration that is a pipe stops the proxy.
    t = tailor(upstream("active").serve())
    taken = f"{scratch}/taken"
    with socket.socket(socket.AF_UNIX) as hung, \
            socket.socket(socket.AF_UNIX) as last:
        hung.bind(taken)
        hung.listen(0)
        last.connect(taken)  # its queue is full
        t.rewrite(listen=[*t.config["listen"], f"unix:{taken}"])
        answer = t.ask("/reload", "POST")
        assert answer.status == 422 and b"taken" in answer.body
        assert pathlib.Path(taken).exists()
    path = pathlib.Path(t.directory) / "tailor.json"
    path.unlink()
    os.mkfifo(path)
    answer = t.ask("/reload", "POST")
    assert answer.status == 422 and b"not a plain file" in answer.body
    assert t.get().status == 200


def test_hedging_is_switched_on(pair):
    # Goal: the policy follows: a hazard in force is acted upon once the mode
    # allows it, and hedging.repeatable is in force for the next request.
    pair.b.serve()
    t = pair(hedging={"mode": "watch"})
    t.hazard("a", "begin")
    with t.client() as c:
        c.request()
        pair.a.expect().reply(200, b"a")
        assert c.response().body == b"a"
        t.reload(hedging={"mode": "act", "repeatable": ["POST /search"]})
        t.wait_server("b", active=True)
        assert c.get().body == b"b"
        pair.b.script()
        t.hazard("a", "end")
        c.request("POST", "/search", body=b"q")
        request = pair.b.expect()
        assert request.wait_body() == b"q"
        t.hazard("b", "begin")
        pair.a.expect().reply(200, b"two")
        assert c.response().body == b"two"
        request.reply(200, b"one")


def test_no_request_is_lost_in_many_reloads(upstream, tailor):
    # Goal: with clients at work all the while, 50 reloads (good and bad by
    # turns) cost not one response and not one connection.
    server = upstream("active").serve(
        lambda r: response(200, r.target.encode()))
    t = tailor(server)
    with Crowd(t, 4, lambda me, n: f"/{me}/{n}") as crowd:
        for i in range(50):
            if i % 2:
                t.rewrite(hedging={"mode": "never"})
            else:
                t.rewrite(proxy={"request_timeout": f"{10 + i}s",
                                 "idle_timeout": f"{100 + i}s"})
            status = t.ask("/reload", "POST").status
            assert status == (422 if i % 2 else 200)
    assert not crowd.errors and all(crowd.served)
    assert all((r.status, r.body) == (200, target.encode())
               for target, r in crowd.responses)


def test_a_listener_closed_while_a_child_begins(faults, tailor, scratch):
    # Goal: a child has all descriptors until it has become its program; a
    # listener that is closed meanwhile takes no connections all the same.
    faults(exec=1)
    first, second = (f"127.0.0.1:{free_port()}" for _ in range(2))
    t = tailor(launched("a", scratch), ready=False, listen=[first, second])
    child = halted_child(t)
    t.rewrite(listen=[first])
    t.signal(signal.SIGHUP)
    t.wait_log(" listener_closed ")
    host, _, port = second.partition(":")
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((host, int(port)), PATIENCE_S).close()
    os.kill(child, signal.SIGCONT)
    t.wait_server("a", state="ready")
