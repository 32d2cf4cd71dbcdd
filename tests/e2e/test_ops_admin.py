"""Goal: only those who may can command a tailor."""

import os

from rig.client import Client
from rig.ports import free_port
from rig.wait import wait_until

KERNEL_EVENTS = "off"

ACTIONS = ("/switch", "/reload", "/pause?server=a&kind=gc&state=begin")


HOSTS = {
    "localhost": 200, "LOCALHOST:8080": 200, "127.0.0.1": 200,
    "127.1.2.3:80": 200, "[::1]": 200, "[::1]:9": 200,
    "127.0.0.1.example.com": 403, "localhost.example.com": 403,
    "127.example.com:80": 403, "example.com": 403, "10.0.0.1": 403,
    "[::1:0]": 403, "127.0.0.1" + 64 * "0": 403,
    "[::1].example.com": 400, "localhost:80.example.com": 400,
    "[::1": 400}


def test_host_of_a_tcp_admin(upstream, tailor):
    # Goal: a name that a browser resolved to 127.0.0.1 (DNS rebinding) is
    # refused, as is what is none; the machine's own names are not.
    server = upstream("active").serve()
    port = free_port()
    t = tailor(server, admin=f"127.0.0.1:{port}", ready=None)
    found = {}
    for host in HOSTS:
        with Client(("127.0.0.1", port)) as c:
            c.request("GET", "/servers", host=host,
                      fields=[("Connection", "close")])
            found[host] = c.response().status
    assert found == HOSTS
    assert t.running()


def test_what_is_refused(pair):
    # Goal: whatever a page's script sends carries an Origin: no; any other
    # method than POST changes nothing; what is too long, or not known, is not
    # there.  Others cannot open the socket.
    pair.a.serve()
    t = pair()
    for target in ("/servers", "/metrics"):
        assert t.ask(target, fields=[("Origin", "http://x")]).status == 403
    for target in ACTIONS:
        answer = t.ask(target, "POST", fields=[("Origin", "null")])
        assert answer.status == 403
        for method in ("GET", "HEAD", "PUT", "DELETE"):
            answer = t.ask(target, method)
            if target == "/reload" and method in ("GET", "HEAD"):
                assert answer.status == 200  # only asks
                continue
            assert answer.status == 405, method
            assert answer.get("allow").endswith("POST"), method
    answer = t.ask("/servers", "POST")
    assert (answer.status, answer.get("allow")) == (405, "GET, HEAD")
    for target, status in (
            ("/nothing", 404), ("/requests?n=x", 200), ("/slow?n=0&cause=gc", 200),
            ("/slow?cause=%67%63&path=%2fa+b", 200), ("/slow?cause=%6", 400),
            ("/slow?cause=" + 4000 * "x", 200)):
        assert t.ask(target).status == status, target
    servers = t.ask_json("/servers")
    assert servers["swaps"] == 0 and servers["active"] == "a"
    assert servers["servers"][0]["pauses"] == []
    assert os.stat(t.admin).st_mode & 0o777 == 0o660


def test_long_responses(upstream, tailor):
    # Goal: what a client does not take waits for it, whole and in order, and
    # holds up no other.
    t = tailor(upstream("active").serve())
    with Client(t.admin) as slow:
        for _ in range(20):
            slow.request("GET", "/metrics")
            slow.request("HEAD", "/metrics")
        assert t.ask("/servers").status == 200
        for _ in range(20):
            text = slow.response()
            assert text.body.endswith(b"\n") and len(text.body) > 50000
            head = slow.response(to_method="HEAD")
            assert head.body == b"" and int(head.get("content-length")) > 50000


def test_client_that_ends(upstream, tailor):
    # Goal: a client that has said all gets what it waits for; one that is gone
    # leaves nothing behind.
    t = tailor(upstream("active").serve(), slow={"target": "0"})
    t.get(fields=[("X-Request-Id", "told")])
    told = "/timeline/told?format=html"
    wait_until(lambda: t.ask(told).status == 200, "it is filed")
    for target in ("/live", "/live.json", "/slow", told, "/timeline/none"):
        expected = t.ask(target).status
        with Client(t.admin) as c:
            c.request("GET", target)
            c.shutdown()
            assert c.response().status == expected
            c.expect_end()
        for _ in range(20):
            with Client(t.admin) as c:
                c.request("GET", target)
        assert t.ask(target).status == expected
