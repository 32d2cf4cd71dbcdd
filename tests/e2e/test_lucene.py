"""The search service of examples/lucene, by itself: no Tailor, no agent."""

import json
import pathlib
import re
import urllib.parse

import pytest

from rig.process import ROOT, ran
from rig.wait import wait_until
from support.lucene import Service, java

QUERIES = ROOT / "examples" / "lucene" / "queries.txt"


@pytest.fixture
def service(lucene):
    """service(*options) starts one; all are ended after the test."""
    started = []

    def start(*arguments, **kwargs):
        started.append(Service(lucene, *arguments, **kwargs))
        return started[-1]

    yield start
    for s in started:
        s.kill()


def search(client, query, **fields):
    target = "/search?" + urllib.parse.urlencode({"q": query, **fields})
    response = client.get(target)
    assert response.status == 200, response.body
    return response, json.loads(response.body)


@pytest.fixture(scope="module")
def shared(lucene):
    """A service for the tests that leave nothing behind in it; it wants events,
    but TaleChain's classes are not there."""
    s = Service(lucene, "--history", "2", "--name", "left", "--talechain")
    yield s
    s.kill()


def test_search(shared):
    """Goal: a known query answers with the synset it is known to mean, n and
    from cut out what they say, hits come best first; asked for events without
    TaleChain's classes, it says so and serves."""
    shared.wait_log(r"without TaleChain on the class path: no events")
    with shared.client() as client:
        response, found = search(client, '"domestic dog"')
        best = found["hits"][0]
        assert best["id"] == "n02084071"
        assert best["lemma"] == "dog, domestic dog, Canis familiaris"
        assert best["gloss"].startswith("a member of the genus Canis")
        assert int(response.get("Content-Length")) == len(response.body)
        _, whole = search(client, "water", n=40)
        scores = [hit["score"] for hit in whole["hits"]]
        assert len(scores) == 40 and whole["total"] > 40
        assert scores == sorted(scores, reverse=True)
        _, page = search(client, "water", n=5, **{"from": 7})
        assert page["hits"] == whole["hits"][7:12]


def test_what_it_remembers(shared):
    """Goal: a session's latest queries, and only its own; each POST counts once,
    by key; looking does not count.  Every response has Server-Timing and the
    server's name."""
    with shared.client() as client:
        for user, query in (("a", "one"), ("a", "two"), ("b", "other"),
                            ("a", "three")):
            client.get(f"/search?q={query}", fields=[("X-Session", user)])
        response = client.get("/history", fields=[("X-Session", "a")])
        assert [entry["query"] for entry in
                json.loads(response.body)["history"]] == ["two", "three"]
        for expected in (1, 2, 3):
            client.request("POST", "/visit?key=k", body=b"x=1")
            response = client.response("POST")
            assert json.loads(response.body) == {"key": "k",
                                                 "visits": expected}
        for key, count in (("k", 3), ("k", 3), ("other", 0)):
            response = client.get(f"/visits?key={key}")
            assert json.loads(response.body)["visits"] == count
        for target in ("/search?q=dog", "/health", "/nothing"):
            response = client.get(target)
            assert response.get("X-Server") == "left"
            assert re.fullmatch(r"app;dur=\d+\.\d{3}",
                                response.get("Server-Timing"))


@pytest.mark.parametrize("target, status", [
    ("/search", 400), ("/search?q=", 400), ("/search?q=%22open", 400),
    ("/search?q=" + "x" * 257, 400), ("/search?q=a&n=0", 400),
    ("/search?q=a&n=many", 400), ("/search?q=%zz", 400), ("/nothing", 404),
    ("/visit?key=k", 405),
])
def test_refusals(shared, target, status):
    """Goal: a request at fault gets the status that says so."""
    with shared.client() as client:
        assert client.get(target).status == status
    with shared.client() as client:
        assert client.get("/health").status == 200


def test_events_without_tailor(service, lucene, build):
    """Goal: with TaleChain's classes but no Tailor, events go nowhere and
    no client notices."""
    if not (build / "java" / "TaleChain.class").exists():
        pytest.skip("TaleChain.java is not built")
    s = service("--talechain", path=f"{lucene.path}:{build}/java")
    with s.client() as client:
        response = client.get("/search?q=dog", fields=[
            ("Tailor-Request", "00000000deadbeef")])
        assert response.status == 200
    assert "TaleChain" not in s.log


@pytest.mark.long("builds the index of WordNet twice")
def test_index_is_built_once(lucene, scratch):
    """Goal: a missing index is built, a complete one used as it is, one of
    another version replaced."""
    index = pathlib.Path(scratch) / "index"

    def ensure():
        return ran(*java(lucene.path, "--index", index,
                         "--build")).err.split()[-1]

    assert ensure() == "built"
    before = sorted((p.name, p.stat().st_mtime_ns, p.stat().st_ino)
                    for p in index.iterdir())
    assert ensure() == "reused"
    assert before == sorted((p.name, p.stat().st_mtime_ns, p.stat().st_ino)
                            for p in index.iterdir())
    next(index.glob("segments_*")).write_bytes(b"not an index")
    assert ensure() == "built"
    assert sorted(p.name for p in pathlib.Path(scratch).glob("index*")) \
        == ["index", "index.lock"]


def test_stops_on_sigterm(service):
    """Goal: SIGTERM ends the service and its port is free for the next."""
    s = service()
    port = s.port
    s.signal(15)
    s.wait()
    again = service("--listen", f"127.0.0.1:{port}")
    wait_until(again.running, "the next one runs")
    assert again.port == port
