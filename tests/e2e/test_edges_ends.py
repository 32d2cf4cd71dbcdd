"""Goal: the edges of hedging, each a bug that some other proxy once had; each
order of events is made by the test and not by luck.  Numbers 14 to 22; the
others are in test_edges.py.
"""

import ctypes
import os
import pathlib
import random
import resource
import select
import sys
import threading

import pytest

from rig.message import response
from rig.wait import PATIENCE_S, steady, wait_until
from support.pair import DRAINED, hedged, prove

CORPUS = pathlib.Path(__file__).parents[1] / "unit/http/corpus"
sys.path.insert(0, str(CORPUS))

from seeds import cases  # noqa: E402

KERNEL_EVENTS = "off"


# 14 --------------------------------------------------------------------------

def upload(t, pair, c, length, sent):
    c.send(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n" % length
           + b"x" * sent)


def in_a_body_in_a_file(t, pair, c):
    upload(t, pair, c, 900_000, 200_000)
    t.wait_metric("tailor_spool_bytes", 100_000)


def in_the_answer(t, pair, c):
    c.request(fields=[("X-Tailor-Hedge", "off")])  # so it is not held back
    pair.a.expect().send(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")
    c.response_head()
    assert c.exactly(4) == b"half"


def in_a_full_answer(t, pair, c):
    c.request()
    r = pair.a.expect()
    threading.Thread(target=r.send, daemon=True, args=(
        b"HTTP/1.1 200 OK\r\nContent-Length: 90000000\r\n\r\n"
        + b"x" * 90_000_000,)).start()
    c.response_head()
    steady(lambda: t.metrics()["tailor_response_bytes_total"])


LEAVES = {
    "before anything": lambda t, pair, c: c.send(b""),
    "in the head": lambda t, pair, c: (
        c.send(b"GET / HTTP/1.1\r\nHo"),
        t.wait_metric_is("tailor_connections_half_open", 1)),
    "in a kept body": lambda t, pair, c: (
        upload(t, pair, c, 9, 4),
        t.wait_metric_is("tailor_request_bytes_total", 4)),
    "in a body in a file": in_a_body_in_a_file,
    "while a file is sent": lambda t, pair, c: (
        upload(t, pair, c, 900_000, 900_000), pair.a.expect_head()),
    "while waiting": lambda t, pair, c: (c.request(), pair.a.expect()),
    "while hedged": hedged,
    "in the answer": in_the_answer,
    "in a full answer": in_a_full_answer,
}


@pytest.mark.parametrize("how", ["close", "reset"])
@pytest.mark.parametrize("phase", LEAVES)
def test_14_client_abort_at_every_phase(pair, phase, how):
    # Goal: nothing is left behind, whenever and however a client leaves; a
    # FIN after a whole request is no abort, so then the response is given.
    t = pair()
    c = t.client()
    LEAVES[phase](t, pair, c)
    getattr(c, how)()
    for server in (pair.a, pair.b):
        for r in server.requests:
            if phase != "in a full answer":
                r.send(response(200, b"late"))
    t.wait_settled()
    t.wait_metric_is("tailor_connections_current", 0)
    assert t.metrics()["tailor_spool_files"] == 0
    for server in (pair.a, pair.b):
        server.wait_read()
        server.errors.clear()  # of bodies that never became whole
        server.serve()
    assert t.get().status == 200


# 15, 16 ----------------------------------------------------------------------

def test_15_unsafe_on_an_unproven_connection(upstream, tailor):
    # Goal: while it is not known that the server keeps idle connections, one
    # that it may be about to close is no place for what must not be lost;
    # once it is, a connection is used again.
    server = upstream("active")
    t = tailor(server)
    with t.client() as c:
        for _ in range(3):
            c.request("POST", "/x", body=b"once")
            server.expect().reply()
            assert c.response().status == 200

        def reused():
            return t.metrics()[
                'tailor_server_connection_reuse_total{server="active"}']

        assert reused() == 0
        prove(server, t)
        before = reused()

        def used_again():  # it has not rested for a second
            c.request("POST", "/x", body=b"once")
            server.expect().reply()
            assert c.response().status == 200
            return reused() == before + 1

        wait_until(used_again, "a POST uses one that rested")


@pytest.mark.parametrize("how", ["close", "reset"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_15_stale_keep_alive(upstream, tailor, method, how):
    # Goal: a connection that the server gave up just as we used it: GET is
    # sent again on a new one, POST, which may have been done, is a 502.
    server = upstream("active")
    t = tailor(server)
    prove(server, t)
    with t.client() as c:
        def sent_on_a_kept_one():
            """Its request, if its connection was used before: a POST is not
            sent on one that rested for a second."""
            c.request()
            server.expect().reply()
            c.response()
            kept = [r.connection for r in server.requests]
            c.request(method, "/x", body=b"once" if method == "POST" else b"")
            r = server.expect()
            if r.connection in kept:
                return r
            r.reply()
            c.response()
            server.requests.remove(r)
            return None

        getattr(wait_until(sent_on_a_kept_one, "one is used again"), how)()
        if method == "GET":
            r = server.expect()
            assert r.get("tailor-attempt") == "1"  # not an attempt of its own
            r.reply(200, b"again")
            assert c.response().body == b"again"
        else:
            assert c.response().status == 502
    assert t.metrics()["tailor_stale_connections_total"] == 1
    assert [r.target for r in server.requests].count("/x") == \
        (2 if method == "GET" else 1)


# 17 --------------------------------------------------------------------------

def die(pair, t, held):
    pair.b.stop()
    t.hazard("b", "begin", "exit")
    assert t.get("/meanwhile").body == b"a"
    pair.b.listen()


def never_answer(pair, t, held):
    held.connection.wait_end()
    t.wait_metric('tailor_warmup_failures_total{server="b"}', 1)


@pytest.mark.parametrize("fail", [die, never_answer])
def test_17_warm_up_fails(pair, tailor, fail):
    # Goal: a server that dies again while it warms up, or never answers,
    # gets no client's request, keeps no connection for ever, and is ready
    # after a warm-up that was whole.
    # b is warm when it is about as fast as a, or after the maximum.
    over = threading.Event()
    pair.a.serve(lambda r: over.wait(0.2) or response(200, b"a"))
    pair.b.serve()
    t = tailor(pair.a, pair.b, ready="one",
               warmup={"requests": 3, "max": "60s"})
    t.wait_server("a", state="ready")
    with t.client() as c:
        for i in range(5):
            assert c.get(f"/{i}").status == 200
        t.wait_server("b", state="ready")
        pair.b.script()
        if fail is never_answer:
            t.reload(proxy={"request_timeout": "500ms"})
        t.hazard("b", "begin", "exit")
        t.wait_server("b", state="warming")
        held = pair.b.expect()
        assert held.get("tailor-warmup") == "1"
        fail(pair, t, held)
        warm = []
        pair.b.serve(lambda r: warm.append(r.get("tailor-warmup"))
                     or response(200, b"b"))
        t.wait_server("b", state="ready")
        assert len(warm) >= 3 and set(warm) == {"1"}
        if fail is never_answer:
            t.reload()
        t.hazard("a", "begin")
        assert c.get("/after").body == b"b"
    t.wait_settled()


# 18 --------------------------------------------------------------------------

class Frozen:
    """One thread of another process, stopped with ptrace."""

    SEIZE, INTERRUPT, DETACH = 0x4206, 0x4207, 17

    def __init__(self, pid, name):
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long,
                                      ctypes.c_void_p, ctypes.c_void_p]
        for tid in os.listdir(f"/proc/{pid}/task"):
            comm = f"/proc/{pid}/task/{tid}/comm"
            if name in pathlib.Path(comm).read_text(encoding="ascii"):
                self.tid = int(tid)

    def __enter__(self):
        if self._libc.ptrace(self.SEIZE, self.tid, None, None) < 0:
            pytest.skip("ptrace is not allowed here")
        self._libc.ptrace(self.INTERRUPT, self.tid, None, None)
        os.waitpid(self.tid, 0x40000000)  # __WALL
        return self

    def __exit__(self, *_):
        self._libc.ptrace(self.DETACH, self.tid, None, None)


def test_18_the_observer_stalls(pair):
    # Goal: without its observer Tailor is a plain proxy that can still be
    # notified of hazards, and recovers.
    t = pair()
    with t.client() as c, Frozen(t.pid, "observer"):
        for i in range(20):
            c.request("GET", f"/{i}")
            pair.a.expect().reply(200, b"a")
            assert c.response().body == b"a"
        first, second = hedged(t, pair, c)
        second.reply(200, b"b")
        assert c.response().body == b"b"
        first.reply()
        t.wait_metric(DRAINED, 1)
    with t.client() as c:
        c.request()
        pair.b.expect().reply(200, b"b")
        assert c.response().body == b"b"


# 19, 20 ----------------------------------------------------------------------

BYTE_BY_BYTE = [
    (b"POST /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n"
     b"\r\n3;a=b\r\nabc\r\n2\r\nde\r\n0\r\nT: v\r\n\r\n",
     b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
     b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nA: b\r\n\r\n"
     b"3\r\n123\r\n2;e\r\n45\r\n0\r\nT: v\r\n\r\n"),
    (b"POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nabcde",
     b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
     + response(200, b"12345", [("A", "b")])),
]


def test_19_one_byte_at_a_time_both_ways(pair):
    # Goal: every place at which a message can be cut, chunks included; in
    # watch mode nothing is held back.
    t = pair(hedging={"mode": "watch"})
    with t.client() as c:
        for request, answer in 2 * BYTE_BY_BYTE:
            for byte in request:
                c.send(bytes([byte]))
            r = pair.a.expect()
            assert r.message.body == b"abcde"
            for byte in answer:
                r.send(bytes([byte]))
            assert c.response(interim=True).status == 103
            final = c.response()
            assert (final.body, final.get("a")) == (b"12345", "b")


def test_20_descriptors_run_out(pair):
    # Goal: out of descriptors those who are in are served, the others wait
    # and are not lost.
    pair.a.serve()
    t = pair()
    with t.client() as inside:
        assert inside.get().body == b"a"
        was = resource.prlimit(t.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(t.pid, resource.RLIMIT_NOFILE, (3, was[1]))
        outside = t.client()
        outside.request()
        t.wait_log("accept_failed")
        assert inside.get().body == b"a"
        resource.prlimit(t.pid, resource.RLIMIT_NOFILE, was)
        assert outside.response().body == b"a"
        outside.close()
    assert t.metrics()[
        'tailor_connections_rejected_total{reason="descriptors"}'] >= 1


def test_20_no_descriptor_for_a_server(pair):
    # Goal: a connection to a server that cannot be made now is made when
    # there is a descriptor again.
    t = pair()
    with t.client() as c, t.client() as d:
        c.request()
        first = pair.a.expect()
        d.request("GET", "/warm")  # so that d's connection is accepted
        pair.a.expect().reply()
        d.response()
        d.request()  # takes the only idle connection
        second = pair.a.expect()
        with t.client() as e:
            e.send(b"GET /e HTTP/1.1\r\n")
            t.wait_metric_is("tailor_connections_half_open", 1)
            was = resource.prlimit(t.pid, resource.RLIMIT_NOFILE)
            resource.prlimit(t.pid, resource.RLIMIT_NOFILE, (3, was[1]))
            e.send(b"Host: h\r\n\r\n")
            first.reply(200, b"one")  # passed on without a new descriptor
            assert c.response().body == b"one"
            resource.prlimit(t.pid, resource.RLIMIT_NOFILE, was)
            pair.a.expect().reply(200, b"e")
            assert e.response().body == b"e"
        second.reply(200, b"two")
        assert d.response().body == b"two"


def test_20_eagain_storm(pair, faults):
    # Goal: each second call that could read or write cannot, and writes take
    # little: everything arrives all the same, whole and in order.
    faults(again=2, short=7)
    pair.a.serve(lambda r: response(200, r.wait_body() * 3))
    t = pair()
    with t.client() as c:
        for size in (1, 10, 1000, 20_000):
            body = os.urandom(size)
            c.request("POST", "/", body=body)
            assert c.response().body == body * 3


def test_20_no_memory(pair, faults):
    # Goal: where there is no memory a request fails, alone, and later ones
    # do not.
    faults(malloc=16384)
    pair.a.serve()
    t = pair()
    with t.client() as before:
        assert before.get().body == b"a"
        t.signal(12)  # SIGUSR2: from now on malloc of a block fails
        t.wait_log("^calls fail$")
        clients = [t.client() for _ in range(8)]
        for c in clients:
            c.send(b"GET / HTTP/1.1\r\nHost: h\r\n")  # each holds a block
        # One is closed, since there was none for it.
        refused = select.poll()
        for c in clients:
            refused.register(c.socket, select.POLLIN)
        assert refused.poll(PATIENCE_S * 1000)
        t.signal(12)
        t.wait_log("^calls work$")
        t.wait_metric('tailor_connections_rejected_total{reason="memory"}', 1)
        for c in clients:
            c.close()
        assert before.get().body == b"a"
        assert t.get().body == b"a"
    t.wait_settled()


# 21 --------------------------------------------------------------------------

def test_21_chaos_with_a_checker(pair):
    # Goal: servers pause, die and come back in a random but repeatable
    # order, while clients pipeline; each gets exactly one response to each
    # request, its own, whole, in order.
    t = pair(hedging={"budget_burst": 100_000},
             proxy={"queue_timeout": "600s"})
    running = {"a": threading.Event(), "b": threading.Event()}
    done = threading.Event()
    failures, answered = [], [0] * 4

    def answer(request):
        running[request.connection.origin.name].wait(PATIENCE_S)
        return response(200, request.target.encode() * 50)

    def ask(number):
        count = 0
        try:
            while not done.is_set():
                with t.client() as c:
                    batch = [f"/{number}/{count + i}" for i in range(5)]
                    count += 5
                    for target in batch:
                        c.request("GET", target)
                    for target in batch:
                        r = c.response()
                        if r.status in (502, 503):
                            break  # both were down: allowed, and ends it
                        if r.body != target.encode() * 50:
                            failures.append((target, r.body[:60]))
                        answered[number] += 1
        except Exception as error:  # pylint: disable=broad-except
            failures.append(repr(error))

    def all_go_on():
        goal = [n + 5 for n in answered]
        wait_until(lambda: all(n >= g for n, g in zip(answered, goal))
                   or failures, lambda: f"all go on: {answered}, {goal}")

    for server in (pair.a, pair.b):
        running[server.name].set()
        server.serve(answer)
    threads = [threading.Thread(target=ask, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    dice = random.Random(21)
    try:
        for _ in range(60):
            name = dice.choice("ab")
            server = pair.a if name == "a" else pair.b
            if dice.random() < 0.3:
                server.stop()
                t.hazard(name, "begin", "exit")
                server.listen()
                t.wait_server(name, state="ready")
                # Those that it had are at the other now, for the second time:
                # none of them is sent again in a pause of that one.
                all_go_on()
            else:
                running[name].clear()
                t.hazard(name, "begin")
                all_go_on()
                running[name].set()
                t.hazard(name, "end")
    finally:
        done.set()
        for event in running.values():
            event.set()
        for thread in threads:
            thread.join()
    assert not failures, failures[:5]
    t.wait_settled()


# 22 --------------------------------------------------------------------------

SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"
WHOLE_ONLY = 600  # a longer one is not sent byte by byte, as by its unit test


def test_22_the_table_of_cases_on_the_wire(pair):
    # Goal: what tests/unit/http/corpus proves of the gate holds of the
    # whole proxy: the same status whole and byte by byte, and nothing refused
    # reaches a server, nor what was smuggled behind it.
    pair.a.serve()
    t = pair(proxy={"header_timeout": "600s"})
    passed = refused = 0
    for name, (text, said) in cases(CORPUS / "requests.txt").items():
        if {"option", "more", "pass-any", "rest", "flags"} & set(said):
            continue  # a configuration of its own, or more than one request
        status = int(said["refuse"].split()[0]) if "refuse" in said else 200
        sent = text if status == 200 else text + SMUGGLED
        for pieces in [[sent], [bytes([b]) for b in sent]][
                :1 if len(sent) > WHOLE_ONLY else 2]:
            with t.client() as c:
                try:
                    for piece in pieces:
                        c.send(piece)
                except (BrokenPipeError, ConnectionResetError):
                    pass  # refused before its end, and closed
                answer = c.response(text.split(b" ")[0].decode("latin-1"))
                assert answer.status == status, name
                passed += status == 200
                if status != 200:
                    refused += 1
                    assert answer.get("connection") == "close", name
                    c.expect_end()
    assert passed > 100 and refused > 400
    assert len(pair.a.requests) == passed
    assert all(r.get("upgrade") is None for r in pair.a.requests)
