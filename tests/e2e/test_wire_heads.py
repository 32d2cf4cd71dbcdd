"""Goal: a head within the limits is always passed on, whatever Tailor adds to
it, and one byte more is refused with the status that the manual names."""

import pytest

KERNEL_EVENTS = "off"
LIMIT = 16384  # of a head
HOST = ".".join(["h" * 63] * 3 + ["i" * 61])  # 253 bytes, the longest name
# The same in as few bytes as a client may take: each grows by one.
TERSE = "".join(f"a{i}:b\r\n" for i in range(90))


def filled(head, size):
    """The head with fields that make it so many bytes in all."""
    lines = []
    left = size - len(head) - 2
    while left > 0:
        n = left if left <= 4000 else min(4000, left - 10)
        lines.append(f"x-{len(lines)}: ".ljust(8))
        lines[-1] += "x" * (n - len(lines[-1]) - 2) + "\r\n"
        left -= n
    whole = (head + "".join(lines) + "\r\n").encode()
    assert len(whole) == size
    return whole


@pytest.mark.parametrize("begin", [
    "GET / HTTP/1.1\r\nHost: a\r\n",
    f"GET / HTTP/1.1\r\nHost:{HOST}:65535\r\n{TERSE}",
    f"GET http://{HOST} HTTP/1.1\r\nHost:{HOST}\r\n{TERSE}",
    f"GET / HTTP/1.1\r\nHost:{HOST}\r\nX-Forwarded-For:1\r\n"
    f"X-Forwarded-For:2\r\nX-Request-Id:{'r' * 65}\r\n{TERSE}",
], ids=["plain", "terse", "absolute", "forwarded"])
def test_request_heads_at_the_limit(one, begin):
    # Goal: exactly the limit passes, with all that Tailor can add.
    t = one(proxy={"add_fields": ["forwarded", "via"],
                   "trusted_proxies": ["127.0.0.1/32"]},
            hedging={"mode": "watch"})
    one.server.serve()
    for size, status in ((LIMIT - 1, 200), (LIMIT, 200), (LIMIT + 1, 431)):
        with t.client() as c:
            c.send(filled(begin, size))
            assert c.response().status == status, size


@pytest.mark.parametrize("begin", [
    "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n",
    f"HTTP/1.1 200\r\nX-Request-Id:1\r\nContent-Length:0\r\n{TERSE}",
], ids=["plain", "terse"])
def test_response_heads_at_the_limit(one, begin):
    # Goal: the same in the other direction.
    t = one(proxy={"add_fields": "server-timing"})
    one.server.serve(lambda r: filled(begin, int(r.target[1:])))
    for size, status in ((LIMIT - 2, 200), (LIMIT - 1, 200), (LIMIT, 200),
                         (LIMIT + 1, 502)):
        with t.client() as c:
            c.request("GET", f"/{size}", fields=[("X-Request-Id", "r" * 64)])
            assert c.response().status == status, size


def test_a_large_response_head_behind_a_large_interim_one(one):
    # Goal: what came before in the same read takes no room from it.
    t = one()
    early = filled("HTTP/1.1 103 Early Hints\r\n", LIMIT)
    final = filled("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n", LIMIT)
    one.server.serve(lambda r: early + final + b"ok")
    with t.client() as c:
        c.request()
        assert c.response(interim=True).status == 103
        assert c.response().body == b"ok"


def test_a_host_that_leaves_no_room(one):
    # Goal: what does not fit with what Tailor adds is the client's affair.
    t = one()
    one.server.serve()
    host = ".".join(["h" * 60] * 60)
    with t.client() as c:
        c.send(filled(f"GET / HTTP/1.1\r\nHost: {host}\r\n", LIMIT))
        answer = c.response()
        assert answer.status == 431
        assert answer.body == (b"431 Request Header Fields Too Large: "
                               b"head_too_large_forwarded\n")
    assert t.metrics()[
        'tailor_parse_errors_total{reason="head_too_large_forwarded"}'] == 1


def test_as_many_fields_as_there_may_be(one):
    # Goal: a hundred fields pass, and not one more.
    t = one()
    one.server.serve()
    for fields, status in ((99, 200), (100, 431)):
        with t.client() as c:
            c.request(fields=[(f"x-{i}", "y") for i in range(fields)])
            assert c.response().status == status


TAKEN = [
    "HTTP/1.1 200 OK\nContent-Length: 2\n\nhi",
    "HTTP/1.1 200 OK\r\nX-A: 1\nContent-Length: 2\r\n\r\nhi",
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nhi",
    "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n"
    "\r\n2\r\nhi\r\n0\r\n\r\n",
    "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n"
    "\r\n2\r\nhi\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
    "\r\n2   \r\nhi\r\n0   \r\n\r\n",
]


def test_what_other_proxies_take_from_a_server(one):
    # Goal: a response that nginx and HAProxy both take is no 502 here, and the
    # next one on the client's connection is not disturbed by it.
    t = one()
    one.server.serve(lambda r: TAKEN[int(r.target[1:])].encode())
    with t.client() as c:
        for i, raw in enumerate(TAKEN):
            for _ in range(2):
                c.request("GET", f"/{i}")
                response = c.response()
                assert (response.status, response.body) == (200, b"hi"), raw
