"""Goal: connections to servers are few, are believed only for what they have
shown, and what ends one of them keeps no other request waiting."""

import os
import resource
import threading
import time

import pytest

from rig.message import response
from rig.wait import PATIENCE_S, wait_until
from support.pair import Workers, entry, is_proven, two_rest

CONNECTS = 'tailor_server_connects_total{server="%s"}'
TOKENS = "tailor_hedge_budget_tokens"
LARGE = 1_500_000  # a response of which a copy's connection is not kept


def idle(t, server):
    """How many idle connections of a server are kept."""
    return t.metrics()[f'tailor_server_connections_idle{{server="{server}"}}']


def inflight(t, count):
    t.wait_metric_is("tailor_requests_inflight", count)


def switch(t):
    """Make the backup the active one."""
    answer = t.ask("/switch", "POST")
    assert answer.status == 200, answer.body


def post(t, target="/", status=200):
    """One POST from a client of its own."""
    with t.client() as c:
        c.request("POST", target, body=b"q")
        assert c.response().status == status


# --- how many -----------------------------------------------------------------


@pytest.mark.long("a response that is 100 ms late is taken for a lack of "
                  "workers, and then no connection rests between POSTs")
def test_unsafe_requests_show_what_a_server_keeps(upstream, tailor):
    # Goal: those alone, one after the other, show that a server keeps idle
    # connections.
    a = upstream("a").serve()
    t = tailor(a)
    with t.client() as c:
        def post_again():
            c.request("POST", "/", body=b"q")
            return c.response().status == 200

        # Each on a new one, while it is not known that the server keeps any.
        wait_until(lambda: post_again() and is_proven(t, "a"),
                   "an idle connection was kept for a second")
        assert idle(t, "a") <= 2
        before = len(a.connections)
        assert all(post_again() for _ in range(200))
    # A pause of a second in between makes the next go out on a new one.
    assert idle(t, "a") <= 2
    assert len(a.connections) - before < 20


def test_a_connection_that_rests_since_before_a_silence(upstream, tailor):
    # Goal: it shows what the server keeps in the second after the silence: the
    # idle connection that rests longest is never used again where one is
    # enough, and a server that was the backup, or paused, was silent.
    a = upstream("a")
    t = tailor(a)
    with t.client() as c, t.client() as d:
        def proven():
            for _ in range(20):
                c.request()
                a.expect().reply()
                assert c.response().status == 200
            return is_proven(t, "a")

        two_rest(a, t, c, d)
        time.sleep(0.5)  # the silence
        wait_until(proven, "an idle connection was kept for a second")


def test_posts_at_a_server_that_says_how_long(upstream, tailor):
    # Goal: where a server says for how long it keeps a connection, POSTs are
    # sent on one without any other sign that it does.
    a = upstream("a").serve(lambda r: response(
        200, b"done", [("Keep-Alive", "timeout=75, max=1000")]))
    t = tailor(a)
    before = t.metrics()[CONNECTS % "a"]
    for _ in range(20):
        post(t)
    assert t.metrics()[CONNECTS % "a"] - before == 1


def test_unsafe_requests_and_few_workers(upstream, tailor):
    # Goal: a server whose few workers each stay with a connection until it
    # ends responds to unsafe requests, also where each needs a connection of
    # its own because the server has closed one early.
    workers = 3
    a = upstream("a").serve(Workers(workers, lambda _: response(200)))
    t = tailor(a)
    with t.client() as c:
        assert c.get().status == 200
    for connection in a.connections:
        connection.close()
    wait_until(lambda: idle(t, "a") == 0, "their ends are seen")
    for _ in range(4 * workers):
        post(t)
    assert idle(t, "a") <= 2  # one of them rests, to show that it is kept


def test_descriptors_run_out_with_idle_connections(pair):
    # Goal: where there is no descriptor for a connection that is needed, an
    # idle one of the other server gives up its own.
    pair.a.serve(lambda r: response(200, b"a", [("Connection", "close")]))
    pair.b.serve()
    t = pair()
    inside = [t.client()]
    assert inside[0].get().body == b"a"
    switch(t)
    assert inside[0].get().body == b"b"
    switch(t)
    assert inside[0].get().body == b"a"
    wait_until(lambda: idle(t, "a") == 0 and idle(t, "b") == 1,
               "only b has an idle connection")

    def descriptors():
        return [int(fd) for fd in os.listdir(f"/proc/{t.pid}/fd")]

    def without_gaps():
        fds = descriptors()
        if max(fds) >= len(fds):
            inside.append(t.client())
            inside[-1].get("/", host="gap")
        return max(descriptors()) < len(descriptors())

    wait_until(without_gaps, descriptors)
    was = resource.prlimit(t.pid, resource.RLIMIT_NOFILE)

    def given_up():  # again if a question's connection was counted, too
        resource.prlimit(t.pid, resource.RLIMIT_NOFILE,
                         (len(descriptors()), was[1]))
        assert inside[0].get().body == b"a"
        resource.prlimit(t.pid, resource.RLIMIT_NOFILE, was)
        return idle(t, "b") == 0

    wait_until(given_up, "b's idle connection gives up its descriptor")
    for c in inside:
        c.close()


def test_copies_that_keep_no_connection_do_not_repeat(pair):
    # Goal: a copy sent to the backup for a connection to keep, whose response
    # is too large to keep it, is not sent again and again.
    gate = threading.Event()

    def answer(request):
        if request.target != "/large":
            return response(200, b"small")
        if request.connection in pair.a.connections:
            gate.wait(PATIENCE_S)
        return response(200, b"x" * LARGE)

    def copies():
        return sum(r.target == "/large" for r in pair.b.requests)

    pair.a.serve(answer)
    pair.b.serve(answer)
    t = pair(warmup={"requests": 1, "max": "100ms"})
    switch(t)
    post(t)  # b keeps its connections
    switch(t)
    clients = [t.client() for _ in range(4)]
    for c in clients:
        c.request("GET", "/large")
    inflight(t, len(clients))
    gate.set()
    for c in clients:
        assert len(c.response().body) == LARGE
        c.close()
    wait_until(copies, "a first copy")
    begin = time.monotonic()
    wait_until(lambda: time.monotonic() - begin > 1.5, "time for more")
    assert copies() <= 2


# --- what they have shown -----------------------------------------------------

def test_exchanges_of_late_connections(upstream, tailor):
    # Goal: what is known of a connection that was made late counts from that
    # moment: that a kept one has ended at its next request is no error.
    a = upstream("a", backlog=1)

    def answer(request):
        if request.connection in seen:
            request.close()
            return b""
        seen.add(request.connection)
        return response(200, b"first")

    t = tailor(a)
    a.fill_backlog()
    clients = [t.client() for _ in range(8)]
    for c in clients:
        c.request()
    inflight(t, len(clients))
    t.wait_metric('tailor_server_connect_retries_total{server="a"}', 1)
    a.accept_again()
    requests = [a.expect() for _ in clients]
    seen = {request.connection for request in requests}
    t.pause()  # a late response beside an idle connection would close that
    for request in requests:
        request.reply(200, b"first")
    a.serve(answer)
    t.resume()
    for c in clients:
        assert c.response().status == 200
    wait_until(lambda: idle(t, "a") == len(clients), "all are kept")
    for c in clients:
        assert c.get().status == 200
        c.close()


def test_nothing_to_ask_an_unresponsive_server_with(pair):
    # Goal: a server taken for unresponsive that cannot be asked, since all its
    # requests are unsafe, is believed again, and can take over.
    hangs = threading.Event()

    def answer(request):
        if request.target == "/hangs":
            hangs.wait(PATIENCE_S)
        return response(200, b"done")

    pair.a.serve(answer)
    pair.b.serve(answer)
    t = pair()
    with t.client() as c:
        for _ in range(110):  # its usual response time is known
            c.request("POST", "/", body=b"q")
            assert c.response().status == 200
    clients = [t.client() for _ in range(3)]
    for c in clients:
        c.request("POST", "/hangs", body=b"q")
    t.wait_log(" server_unresponsive server=a")
    t.wait_server("b", active=True)
    for c in clients:
        c.reset()
    t.wait_log(" server_believed server=a")
    hangs.set()
    t.wait_server("a", pauses=[])
    t.hazard("b", "begin")
    t.wait_server("a", active=True)


# --- other requests -----------------------------------------------------------

def test_first_of_the_queue_waits_for_the_other_server(upstream, tailor):
    # Goal: a request that waits for a slot of the other server, since this one
    # has failed it, lets those behind it pass.
    a, b = upstream("a"), upstream("b")
    t = tailor(*(entry(s, connections_max=1, streams_max=0) for s in (a, b)))
    with t.client() as full, t.client() as failed, t.client() as slow, \
            t.client() as behind:
        switch(t)
        full.request("POST", "/full", body=b"q")
        hold = b.expect()
        switch(t)
        failed.request("GET", "/failed")
        a.expect().close()
        t.wait_metric("tailor_requests_queued", 1)
        slow.request("POST", "/slow", body=b"q")
        last = a.expect()
        behind.request("POST", "/behind", body=b"q")
        t.wait_metric("tailor_requests_queued", 2)
        last.reply()
        assert slow.response().status == 200
        a.expect().reply(200, b"behind")
        assert behind.response().body == b"behind"
        hold.reply()
        assert full.response().status == 200
        b.expect().reply(200, b"failed")
        assert failed.response().body == b"failed"


def test_hedges_that_were_not_written_cost_nothing(upstream, tailor):
    # Goal: a hedge that lost while it was connecting gives its token back.
    a, b = upstream("a"), upstream("b", backlog=0)
    t = tailor(a, b, hedging={"budget_ratio": 0, "budget_burst": 10})
    wait_until(lambda: all(c.ended for c in b.connections), "none is kept")
    b.fill_backlog()
    clients = [t.client() for _ in range(6)]
    for c in clients:
        c.request()
    requests = [a.expect() for _ in clients]
    t.hazard("a", "begin")
    t.wait_metric('tailor_hedges_sent_total{trigger="gc",server="b"}', 6)
    assert t.metrics()[TOKENS] == 4
    for r in requests:
        r.reply()
    for c in clients:
        assert c.response().status == 200
        c.close()
    t.wait_metric("tailor_hedges_cancelled_total", 6)
    assert t.metrics()[TOKENS] == 10
    assert not b.requests


def test_a_connection_that_cannot_be_watched(upstream, tailor, faults):
    # Goal: where the kernel refuses to report the end of a connect, Tailor
    # looks again from time to time, and serves all others.
    faults(watch=1)
    a = upstream("a", backlog=0).serve()
    t = tailor(a, proxy={"connect_timeout": "60s"})
    wait_until(lambda: all(c.ended for c in a.connections), "none is kept")
    a.fill_backlog()
    t.signal(12)  # SIGUSR2
    t.wait_log("^calls fail$")
    with t.client() as c:
        c.request()
        inflight(t, 1)
        assert t.ask("/healthz").status == 200
        a.accept_again()
        t.signal(12)
        t.wait_log("^calls work$")
        assert c.response().body == b"a"


# --- questions of Tailor's own ------------------------------------------------

def test_questions_hold_no_worker(upstream, tailor):
    # Goal: a server with a worker for each connection, and few of them, has
    # none held by a probe or a health check: each says that it is the only one
    # on its connection, and that is closed, also if the server keeps it.
    seen = []

    def handler(request):
        seen.append(request)
        return response(503 if len(seen) < 5 else 200, b"x")

    server = upstream("active", handler=handler)
    t = tailor(entry(server, health="/health", health_interval="10ms"))
    t.wait_metric('tailor_health_checks_total{server="active"}', 5)
    asked = seen[:10]
    assert {r.get("connection") for r in asked} == {"close"}
    assert len({r.connection for r in asked}) == 10
    for r in asked:
        r.connection.wait_end()
    assert t.metrics()['tailor_server_connections_idle{server="active"}'] == 0
