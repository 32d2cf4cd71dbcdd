"""The main job, small: two real search servers, real collections, hidden."""

import json
import threading
import urllib.parse

import pytest

from rig.crowd import Together
from rig.process import ROOT, output
from rig.wait import wait_until
from support.lucene import Service

QUERIES = (ROOT / "examples/lucene/queries.txt").read_text(
    encoding="utf-8").splitlines()[:50]
CLIENTS = 4


class Searches(Together):
    """Clients that search all the while, each over one connection.

    served   {id of a request: (query, response)}
    """

    def __init__(self, tailor):
        self.served, self.errors = {}, []
        self._tailor, self._lock, self._next = tailor, threading.Lock(), 0
        super().__init__([self._search] * CLIENTS)

    def _name(self):
        with self._lock:
            self._next += 1
            return f"search-{self._next}", QUERIES[self._next % len(QUERIES)]

    def _search(self):
        try:
            with self._tailor.client() as client:
                while not self.over.is_set():
                    name, query = self._name()
                    self.served[name] = (query, client.get(
                        target(query), fields=[("X-Request-Id", name)]))
        except Exception as error:  # pylint: disable=broad-except
            self.errors.append(repr(error))


def target(query):
    return "/search?" + urllib.parse.urlencode({"q": query})


def hits(response):
    """What was found, without what differs from server to server."""
    return json.loads(response.body)["hits"]


@pytest.fixture
def servers(lucene):
    """Both are on this machine and have no agent."""
    made = [Service(lucene, "--name", name) for name in ("left", "right")]
    for name, server in zip(("left", "right"), made):
        server.name = name
    yield made
    for server in made:
        server.kill()


def test_a_collection_is_hidden(servers, tailor):
    # Goal: when the active server's JVM collects, requests in flight are sent
    # to the other one, whose responses win; clients get what either server
    # would say, nothing fails, and the timeline of a request that was sent
    # again has the collection as its reason.
    left, right = servers
    with left.client() as client:
        known = {q: hits(client.get(target(q))) for q in QUERIES}
    with right.client() as client:
        assert known == {q: hits(client.get(target(q))) for q in QUERIES}
    t = tailor(left, right, ready="one",
               warmup={"requests": 20, "max": "60s"})
    with Searches(t) as searches:
        for server in servers:
            t.wait_server(server.name, state="ready", source="hsperfdata")

        def sent_again():
            """The timeline of a request that a collection found in flight, and
            that the other server was first to serve; None if there was none."""
            wait_until(lambda: not any(t.server(s.name)["pauses"]
                                       for s in servers), "both are calm")
            active = next(s for s in servers if s.name == t.active())
            before = len(searches.served)

            def swapped():
                output("jcmd", active.pid, "GC.run")
                return t.active() != active.name

            wait_until(swapped, "a collection swaps the servers")
            wait_until(lambda: len(searches.served) > before + 5 * CLIENTS,
                       "the other one serves")
            others = [name for name, (_, response)
                      in list(searches.served.copy().items())[before:]
                      if response.get("X-Server") != active.name]
            for name in others[:2 * CLIENTS]:
                tale = t.timeline(name)
                if len(tale["attempts"]) == 2:
                    return tale
            return None

        tale = wait_until(sent_again, "a request is sent again and served")
    assert not searches.errors
    for query, response in searches.served.values():
        assert response.status == 200
        assert hits(response) == known[query]
    m = t.metrics()
    assert m["tailor_swaps_total"] >= 1
    assert m["tailor_hedges_both_failed_total"] == 0
    assert sum(value for key, value in m.items() if key.startswith(
        "tailor_hedge_response_mismatch_total")) == 0
    first, second = tale["attempts"]
    assert second["trigger"] == "gc" and second["outcome"] == "won", tale
    assert first["name"] != second["name"] and first["outcome"] != "won", tale
    assert any(hazard["kind"] == "gc" for hazard in tale["pauses"]), tale
