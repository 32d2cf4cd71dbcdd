"""Goal: what is sent again later, to warm a server up or keep a backup warm,
changes nothing, is sent in no client's name, and is left out where an operator
says so; hedging.repeatable permits what it names and nothing else."""

import pytest

from rig.message import response
from rig.wait import steady, wait_until

KERNEL_EVENTS = "off"
# A server is warm after so many requests when it is about as fast as the active
# one, which two scripted servers need not be; after the maximum in any case.
WARM = {"requests": 12, "max": "30s"}
REFUSED = 'tailor_copies_refused_total{reason="%s"}'


@pytest.fixture
def pair(upstream, tailor):
    """Two servers, of which the backup is down; start(**sections) puts a
    tailor before them, copies(t) starts the backup and gives what it is
    warmed up with."""
    a, b = upstream("a").serve(), upstream("b")
    b.stop()

    def start(warmup=None, **sections):
        return tailor(a, b, ready="one", warmup={**WARM, **(warmup or {})},
                      **sections)

    def copies(t):
        t.wait_settled()
        seen = []

        def note(r):
            seen.append(r)
            return response(200, b"")

        b.serve(note)
        b.listen()
        t.wait_server("b", state="ready")
        assert len(seen) >= WARM["requests"]
        assert {r.get("tailor-warmup") for r in seen} == {"1"}
        return seen

    start.a, start.b, start.copies = a, b, copies
    return start


def finish(t, *requests):
    """Each (method, target, fields, body...) is answered with 200."""
    with t.client() as c:
        for method, target, *more in requests:
            fields = more[0] if more else ()
            body = more[1] if len(more) > 1 else b""
            c.request(method, target, fields=fields, body=body)
            assert c.response(method).status == 200
    t.wait_settled()


def targets(copies):
    return {(r.method, r.target) for r in copies}


ALWAYS = {"host", "tailor-warmup", "x-forwarded-for", "x-forwarded-proto",
          "x-forwarded-host"}


def names(copies):
    return {name.lower() for r in copies for name, _ in r.message.fields}


def test_what_may_be_hedged_is_not_done_again(pair):
    # Goal: a rule permits a second copy now; it never makes a write happen
    # later, at a restarted server.
    t = pair(hedging={"repeatable": ["DELETE /item/*", "POST /orders/*/confirm",
                                "POST /*/_search"]})
    finish(t, ("DELETE", "/item/7"), ("POST", "/orders/5/confirm"),
           ("POST", "/i/_search", (), b"{}"), ("GET", "/item/7"),
           ("HEAD", "/head"), ("OPTIONS", "/options"))
    assert targets(pair.copies(t)) == {
        ("GET", "/item/7"), ("HEAD", "/head"), ("OPTIONS", "/options")}


def test_a_mirror_changes_nothing(pair):
    # Goal: the same for the copies that a warm backup gets, which are marked,
    # and none while it stands still.
    seen = []
    pair.b.serve(lambda r: seen.append(
        (r.method, r.target, r.get("tailor-warmup"))) or response(200, b""))
    pair.b.listen()
    t = pair({"requests": 0, "mirror": 1},
             hedging={"repeatable": ["DELETE /item/*", "POST /orders/*/confirm"]})
    t.wait_server("b", state="ready")
    for round_ in range(1, 6):
        finish(t, ("DELETE", "/item/7"), ("POST", "/orders/5/confirm"),
               ("GET", "/plain"))
        t.wait_metric('tailor_mirror_requests_total{server="b"}', round_)
        if round_ == 4:
            t.hazard("b", "begin")
            before = steady(lambda: len(seen))
            finish(t, ("GET", "/meanwhile"))
            assert steady(lambda: len(seen)) == before
            t.hazard("b", "end")
            wait_until(lambda: finish(t, ("GET", "/meanwhile"))
                       or ("GET", "/meanwhile", "1") in seen, "it goes on")
    assert {x[:1] + x[2:] for x in seen} == {("GET", "1")}
    assert {x[1] for x in seen} == {"/plain", "/meanwhile"}


@pytest.mark.parametrize("added", [[], ["X-Tenant", "X-Forwarded-Proto"]])
def test_fields_of_a_copy(pair, added):
    # Goal: a copy says what is asked for and not who asks: a few fields, and
    # those of warmup.fields; what carries a cookie, or is excluded, is not
    # copied.  (Which are: unit test_replay.)
    t = pair({"fields": added, "exclude": ["/admin/**"]},
             proxy={"add_fields": ["forwarded", "via"]})
    kept = [("Accept", "text/html"), ("accept-language", "de"),
            ("Accept-Encoding", "br"), ("Accept-Charset", "utf-8"),
            ("User-Agent", "browser"), ("Range", "bytes=0-1")]
    finish(t, ("GET", "/page?q=1", kept + [
        ("X-Api-Key", "s3cr3t"), ("X-Tenant", "t1"), ("Referer", "/s3cr3t"),
        ("X-Request-Id", "s3cr3t"), ("X-Forwarded-For", "192.0.2.7"),
        ("If-None-Match", '"x"'), ("Proxy-Authorization", "s3cr3t"),
        ("traceparent", "00-0af7651916cd43dd8448eb211c80319c-"
                        "b7ad6b7169203331-01")]),
           ("GET", "/mine", [("Cookie", "s=1")]), ("GET", "/%61dmin/run"),
           ("GET", "/x/../admin/run"), ("GET", "/body", (), b"x"),
           ("GET", "/" + "x" * 2048))
    copies = pair.copies(t)
    assert targets(copies) == {("GET", "/page?q=1")}
    assert names(copies) == ALWAYS | {
        name.lower() for name, _ in kept} | {n.lower() for n in added}
    for r in copies:
        assert r.get("host") == r.get("x-forwarded-host") == "test"
        assert r.get("x-forwarded-for") == "unknown"
        assert r.get("x-forwarded-proto") == "http"
        assert all(r.get(name) == value for name, value in kept)
        assert b"s3cr3t" not in r.raw
    assert [t.metrics()[REFUSED % why] for why in (
        "credentials", "excluded", "path", "body", "size")] == [1] * 5


def test_a_reload_forgets(pair):
    # Goal: what was remembered must be permitted when it is sent.
    t = pair({"fields": ["X-Tenant", "Cookie"]})
    finish(t, ("GET", "/old", [("X-Tenant", "t1")]), ("GET", "/admin"),
           ("GET", "/mine", [("Cookie", "s=1")]))
    t.reload(warmup={"fields": [], "exclude": ["/admin"]})
    copies = pair.copies(t)
    assert targets(copies) == {("GET", "/old")}
    assert names(copies) == ALWAYS


@pytest.mark.parametrize("kind", ["warmup", "mirror", "health"])
def test_large_responses(upstream, tailor, kind):
    # Goal: a response of which no byte is for a client counts by its head: the
    # backup becomes ready by its number of requests, however large they are.
    a, b = upstream("a"), upstream("b")
    for server in (a, b):
        server.serve(lambda r: response(200, bytes(2 << 20)))
    b.stop()
    servers = [{"name": s.name, "address": s.address,
                "health": "/up" if kind == "health" else "",
                "health_interval": "50ms"} for s in (a, b)]
    t = tailor(*servers, ready="one", warmup=dict(
        WARM, requests=12 if kind == "warmup" else 0,
        mirror=1 if kind == "mirror" else 0))
    finish(t, *[("GET", f"/{i}") for i in range(4)])
    b.listen()
    t.wait_server("b", state="ready")
    for i in range(4 if kind == "mirror" else 0):
        finish(t, ("GET", "/more"))
        t.wait_metric('tailor_mirror_requests_total{server="b"}', i + 1)
    if kind == "health":
        t.wait_metric('tailor_health_checks_total{server="b"}', 5)
    m = t.metrics()
    if kind == "warmup":
        assert m['tailor_warmup_requests_total{server="b"}'] >= 12
    # (A health check fails after a second without a response.)
    assert all(value == 0 for key, value in m.items()
               if "failures_total" in key and 'server="b"' in key
               and "health_check" not in key)
    t.wait_settled()


# --- rules --------------------------------------------------------------------

def test_rules_see_the_path(pair):
    # Goal: a rule names paths, however they are written; nothing that a client
    # adds to another path makes a rule match it.  (Which match at all: unit
    # test_path_pattern.)
    a, b = pair.a.script(), pair.b.script()
    b.listen()
    t = pair({"requests": 0},
             hedging={"repeatable": ["POST /*/_search", "DELETE /a/**/z"]})
    t.wait_server("b", state="ready")
    refused = 0
    with t.client() as c:
        for method, target, matched in [
                ("POST", "http://test/id%78/%5Fsearch?x=/orders", True),
                ("DELETE", "/a/b/z/c/z", True),
                ("DELETE", "/a/z/b", False), ("PATCH", "/a/z", False),
                ("POST", "/orders?x=/_search", False),
                ("POST", "/pay;x=/_search", False),
                ("POST", "/x/%2E./idx/_search", False)]:
            c.request(method, target, body=b"x")
            first = a.expect()
            t.hazard("a", "begin")
            if matched:
                second = b.expect()
                assert (second.method, second.message.body) == (method, b"x")
                second.reply(200, b"b")
            else:
                refused += 1
                t.wait_metric_is(
                    'tailor_hedges_refused_total{reason="method"}', refused)
                first.reply(200, b"a")
            assert c.response().body == (b"b" if matched else b"a"), target
            if matched:
                first.reply(200, b"a")
            t.wait_settled()
            t.hazard("a", "end")
            assert t.ask("/switch", "POST").status == 200
    assert [r.target for r in a.requests[:2]] == [r.target for r in b.requests]
