"""Goal: a reload adds a server, takes one away, and moves one to another address
or program, and no request notices."""

import sys

import pytest

from rig.crowd import Crowd
from rig.ports import free_port
from rig.process import Process
from rig.wait import wait_until
from support.launched import http_server
from support.pair import entry

KERNEL_EVENTS = "off"
SERVER = http_server("""
import sys
def respond(path, headers):
    return b"x" * (12 << 20) if path == "/large" else sys.argv[2].encode()
""")


def reload(t, *servers):
    """The keys that have changed."""
    return t.reload(servers=list(servers))


def names(t):
    return [s["name"] for s in t.ask_json("/servers")["servers"]]


def wait_names(t, *wanted):
    wait_until(lambda: names(t) == list(wanted), f"servers {wanted}")


def asked_of(t, name):
    return t.metrics()[f'tailor_server_exchanges_total{{server="{name}"}}']


def answered_by(t, name):
    return sum(value for key, value in t.metrics().items() if key.startswith(
        f'tailor_server_response_seconds_count{{server="{name}"'))


def test_a_backup_is_added(upstream, tailor):
    # Goal: from one server to two, which then are a pair; its process is
    # followed, and the first one may go away.
    a, b = upstream("a").serve(), upstream("b").serve()
    t = tailor(entry(a))
    with Crowd(t, 2, lambda *_: "/") as crowd:
        assert reload(t, entry(a), entry(b)) == ["servers"]
        t.wait_server("b", state="ready", active=False)
        t.wait_log("server_observed server=b pid=")
        assert t.server("a")["active"]
        a.stop()
        t.wait_server("b", active=True)
        served = list(crowd.served)
        wait_until(lambda: all(now > before for now, before in
                               zip(crowd.served, served)), "b serves")
    assert crowd.statuses() == {200}
    assert crowd.bodies() == {b"a", b"b"}


def test_servers_are_taken_away_and_replaced(upstream, tailor):
    # Goal: one that leaves finishes what it has, though it was the first of the
    # file and active; what is counted of it is not its successor's; in the end
    # both are others.
    a, b, c = upstream("a").script(), upstream("b").serve(), upstream("c")
    d = upstream("d").serve()
    c.serve()
    t = tailor(entry(a), entry(b))
    with t.client() as kept:
        kept.request()
        a.expect().reply()
        kept.response()
        kept.request()
        request = a.expect()
        assert answered_by(t, "a") == 1
        reload(t, entry(b))
        t.wait_server("a", state="draining", active=False)
        with Crowd(t, 2, lambda *_: "/") as crowd:
            assert names(t) == ["a", "b"]
            wait_until(lambda: sum(crowd.served) > 4, "b serves")
            request.reply(200, b"last")
            assert kept.response().body == b"last"
            wait_names(t, "b")
            t.wait_log("server_replaced server=a by=none")
            assert not any('server="a"' in key for key in t.metrics())
            reload(t, entry(b), entry(c))
            t.wait_server("c", state="ready", active=False)
            assert answered_by(t, "c") == 0
            assert answered_by(t, "b") > 4
            reload(t, entry(d), entry(c))
            wait_names(t, "c", "d")
            t.wait_server("d", state="ready")
            t.wait_server("c", active=True)
        assert crowd.statuses() == {200}
        assert crowd.bodies() <= {b"b", b"c"}
        assert kept.get().body == b"c"
    assert "reload_error" not in t.log


@pytest.mark.parametrize("ready", [True, False])
def test_the_active_one_is_dead_and_taken_away(upstream, tailor, ready):
    # Goal: in watch mode, too, the server that is left serves, as soon as it is
    # ready.
    a, b = upstream("a").serve(), upstream("b").serve()
    t = tailor(entry(a), entry(b), hedging={"mode": "watch"},
               proxy={"server_wait": "10ms"})
    assert t.active() == "a"
    if not ready:
        b.stop()
        t.wait_server("b", state="connecting")
    a.stop()
    wait_until(lambda: t.get().status == 503, "a has refused")
    reload(t, entry(b))
    wait_names(t, "b")
    if not ready:
        b.listen()
    t.wait_server("b", state="ready", active=True)
    assert t.get().body == b"b"


def test_the_only_server_moves(upstream, tailor):
    # Goal: its requests in flight finish where they are; those after them go to
    # its new address, on no connection to the old one.
    old, new = upstream("a").script(), upstream("new").serve()
    t = tailor(entry(old))
    with t.client() as c, t.client() as d:
        c.request()
        request = old.expect()
        d.request()
        old.expect().reply(200, b"old")
        assert d.response().body == b"old"
        before = asked_of(t, "a")
        assert reload(t, entry(new, "a")) == ["servers[0].address"]
        assert d.get().body == b"new"
        request.reply(200, b"finished")
        assert c.response().body == b"finished"
        for connection in old.connections:
            connection.wait_end()
        assert c.get().body == b"new"
    assert asked_of(t, "a") > before
    assert t.server("a")["address"] == new.address


def test_the_active_one_moves(upstream, tailor):
    # Goal: the backup serves meanwhile, and nothing fails.
    a, b, new = (upstream(name).serve() for name in ("a", "b", "new"))
    t = tailor(entry(a), entry(b))
    with Crowd(t, 3, lambda *_: "/") as crowd:
        reload(t, entry(new, "a"), entry(b))
        t.wait_log("server_returned server=a")
        t.wait_server("a", state="ready", active=False)
        assert t.ask("/switch", "POST").status == 200
        wait_until(lambda: b"new" in crowd.bodies(), "it serves there")
    assert crowd.statuses() == {200}
    assert b"b" in crowd.bodies()


def test_one_that_cannot_leave(upstream, tailor):
    # Goal: the active server stays until there is another, and for good if the
    # configuration has it again.
    a, b = upstream("a").serve(), upstream("b")
    b.refuse()
    t = tailor(entry(a), entry(b), ready="one")
    with t.client() as c:
        reload(t, entry(b))
        t.wait_server("a", state="leaving", active=True)
        assert c.get().body == b"a"
        assert t.ask("/undrain?server=a", "POST").status == 409
        reload(t, entry(a), entry(b))
        t.wait_server("a", state="ready", active=True)
        reload(t, entry(b))
        b.listen()
        b.serve()
        wait_names(t, "b")
        assert c.get().body == b"b"


def test_both_are_replaced(upstream, tailor):
    # Goal: one after the other: the active one serves until what replaces the
    # backup is ready.
    a, b = upstream("a").serve(), upstream("b").serve()
    moved = {name: upstream(f"new {name}") for name in "ab"}
    for server in moved.values():
        server.refuse()
    t = tailor(entry(a), entry(b))
    with t.client() as c:
        reload(t, *(entry(moved[name], name) for name in "ab"))
        t.wait_log("server_replaced server=b")
        assert c.get().body == b"a"
        t.wait_server("a", state="leaving", active=True)
        for name in "ba":
            moved[name].listen()
            moved[name].serve()
            t.wait_server(name, state="ready", address=moved[name].address)
            t.wait_server("b", active=True)
            assert c.get().body == b"new b"
    assert "no_server" not in t.log


def test_the_active_one_leaves_and_the_other_moves(upstream, tailor):
    # Goal: the one without a successor serves until the other one is ready.
    a, b, new = upstream("a").serve(), upstream("b").serve(), upstream("new")
    new.refuse()
    t = tailor(entry(a), entry(b))
    with t.client() as c:
        reload(t, entry(new, "b"))
        t.wait_log("server_replaced server=b")
        assert c.get().body == b"a"
        new.listen()
        new.serve()
        wait_names(t, "b")
        assert c.get().body == b"new"
    assert "no_server" not in t.log


def test_both_are_down_and_replaced(upstream, tailor):
    # Goal: neither waits for the other: one of the new ones serves.
    a, b, c, d = (upstream(name).serve() for name in "abcd")
    d.refuse()
    t = tailor(entry(a), entry(b))
    for server in a, b:
        server.stop()
    with t.client() as client:
        client.request()
        t.wait_log("no_server")
        reload(t, entry(d), entry(c))
        assert client.response().body == b"c"
        assert sorted(names(t)) == ["c", "d"]


def test_a_moved_process_is_followed(tailor):
    # Goal: the end of the process at the old address is nothing to the server,
    # that of the one at the new address is.
    ports = [free_port(), free_port()]
    running = [Process([sys.executable, "-c", SERVER, port, f"at{port}"])
               for port in ports]
    at = [{"name": "a", "address": f"127.0.0.1:{port}"} for port in ports]
    t = tailor(at[0])
    t.wait_log(f"server_observed server=a pid={running[0].pid}")
    reload(t, at[1])
    t.wait_log(f"server_observed server=a pid={running[1].pid}")
    running[0].kill()
    running[0].wait()
    assert t.get().body == f"at{ports[1]}".encode()
    assert "server_lost" not in t.log[t.log.index("server_replaced"):]
    running[1].kill()
    running[1].wait()
    t.wait_log(f"server_exited server=a pid={running[1].pid}")
    t.wait_server("a", state="connecting")


def programs(scratch):
    """program(PORT) is a launched server there."""
    (scratch / "server.py").write_text(SERVER)

    def program(port, name="b"):
        return {"name": name, "address": f"127.0.0.1:{port}", "launch": {
            "command": [sys.executable, f"{scratch}/server.py", str(port),
                        f"{name}{port}"]}}
    return program


def test_a_program_starts_after_the_end(tailor, scratch):
    # Goal: a program at the address of one that leaves, by another name, or of
    # the server that stays, begins when that one has ended.
    program = programs(scratch)
    ports = [free_port(), free_port()]
    t = tailor(program(ports[0], "a"), proxy={"server_wait": "600s"})
    with Crowd(t, 2, lambda *_: "/") as crowd:
        reload(t, program(ports[0], "b"))
        wait_names(t, "b")
        t.wait_server("b", state="ready")
        reload(t, program(ports[0], "b"), program(ports[1], "c"))
        t.wait_server("c", state="ready")
        reload(t, program(ports[0], "c"))
        wait_names(t, "c")
        wait_until(lambda: f"c{ports[0]}".encode() in crowd.bodies(), "c serves")
    assert crowd.statuses() == {200}
    for before, after, count in ("a", "b", 1), ("b", "c", 2):
        assert t.log.count(f"server_launched server={after}") == count
        assert t.log.index(f"server_exited server={before}") < \
            t.log.rindex(f"server_launched server={after}")


def test_a_launched_server_comes_and_goes(upstream, tailor, scratch):
    # Goal: a program is started with its server, ended with it, and replaced by
    # another when its address is another.
    a = upstream("a").serve()
    ports = [free_port(), free_port()]
    program = programs(scratch)
    t = tailor(entry(a))
    with Crowd(t, 2, lambda *_: "/") as crowd:
        reload(t, entry(a), program(ports[0]))
        t.wait_server("b", state="ready")
        reload(t, entry(a), program(ports[1]))
        t.wait_log("server_replaced server=b by=b")
        t.wait_server("b", state="ready")
        assert t.ask("/switch", "POST").status == 200
        wait_until(lambda: f"b{ports[1]}".encode() in crowd.bodies(),
                   "the new program serves")
        reload(t, entry(a))
        wait_names(t, "a")
        served = sum(crowd.served)
        wait_until(lambda: sum(crowd.served) > served + 2, "a serves")
    assert crowd.statuses() == {200}
    assert t.log.count("server_launched server=b") == 2
    assert t.log.count("server_exited server=b") == 2


def test_one_that_is_drained_already(upstream, tailor):
    # Goal: its place is not another's while a request that it has responded to
    # is not over: that has its name.
    a, b = upstream("a").script(), upstream("b").serve()
    t = tailor(entry(a), entry(b))
    body = b"x" * (12 << 20)
    with t.client() as slow, t.client() as c:
        slow.request()
        a.expect().reply(200, body)
        head = slow.response_head()
        assert t.ask("/drain?server=a", "POST").status == 200
        t.wait_server("a", state="drained")
        assert t.ask_json("/requests")["requests"]
        reload(t, entry(b))
        assert c.get().body == b"b"
        assert names(t) == ["a", "b"]
        assert t.ask_json("/requests")["requests"][0]["servers"] == ["a"]
        assert slow.response_body(head) == body
        wait_names(t, "b")


def test_one_that_comes_back_late(upstream, tailor, scratch):
    # Goal: if the configuration has a server again before its place is free,
    # though its program has ended, that is started again.
    a, port = upstream("a").serve(), free_port()
    b = programs(scratch)(port)
    t = tailor(entry(a), b)
    assert t.ask("/switch", "POST").status == 200
    with t.client() as slow:
        slow.request(target="/large")
        head = slow.response_head()
        reload(t, entry(a))
        t.wait_server("b", state="drained")
        t.wait_log("server_exited server=b")
        reload(t, entry(a), b)
        t.wait_server("b", state="ready")
        assert len(slow.response_body(head)) == 12 << 20
    assert t.ask("/switch", "POST").status == 200
    assert t.get().body == f"b{port}".encode()


def test_a_program_that_is_drained_already(upstream, tailor, scratch):
    # Goal: one that an operator has drained runs on; taken away, or replaced,
    # it is ended first.
    a = upstream("a").serve()
    ports = [free_port(), free_port()]
    program = programs(scratch)
    t = tailor(entry(a), program(ports[0]))
    for count, (servers, left) in enumerate((
            ([program(ports[1])], "ab"), ([], "a")), 1):
        t.wait_server("b", state="ready")
        assert t.ask("/drain?server=b", "POST").status == 200
        t.wait_server("b", state="drained")
        assert t.log.count("server_exited server=b") == count - 1
        reload(t, entry(a), *servers)
        wait_until(lambda n=count: t.log.count("server_exited server=b") == n,
                   "its program has ended")
        wait_names(t, *left)
    assert t.get().body == b"a"
