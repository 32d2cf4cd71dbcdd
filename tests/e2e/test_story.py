"""Goal: what explains a real request is true, and in the promised form."""

import json
import pathlib

import pytest

from support import schema

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "docs" / "timeline.schema.json").read_text())


@pytest.fixture
def one(upstream, tailor):
    server = upstream("active")
    return server, tailor(server)


def story(client, name):
    """The timeline of a request, checked against the schema and itself."""
    found = json.loads(
        client.get(f"/.talechain/timeline/{name}?format=json").body)
    schema.check(found, SCHEMA, where="timeline")
    at = 0
    for piece in found["path"]:
        assert piece["b"] == at < piece["e"], piece
        assert piece["l"] < len(found["lanes"])
        at = piece["e"]
    assert at == found["total"] == sum(found["causes"].values())
    dark = sum(found["causes"].get(code, 0)
               for code in ("unknown", "blind", "lost"))
    assert abs(found["coverage"] - (1 - dark / at)) < 1e-6
    verdict = found["verdict"]
    assert verdict["text"] and verdict["evidence"]
    return found


def test_form(one):
    # Goal: the JSON is what docs/timeline.schema.json says.
    server, t = one
    server.serve()
    with t.client() as c:
        c.get("/explained", fields=[("X-Request-Id", "story-1")])
        found = story(c, "story-1")
    assert found["request"]["target"] == "/explained"
    assert [a["outcome"] for a in found["attempts"]] == ["won"]


def test_text_answers_first(one):
    # Goal: the text begins with the same sentence, and says all of it.
    server, t = one
    server.serve()
    with t.client() as c:
        c.get("/explained", fields=[("X-Request-Id", "story-2")])
        found = story(c, "story-2")
        text = c.get("/.talechain/timeline/story-2").body.decode()
    words = " ".join(text.split())
    assert words.startswith(found["verdict"]["text"])
    for line in found["verdict"]["evidence"] + found["verdict"]["advice"]:
        assert " ".join(line.split()) in words
    assert "where the time went" in text
