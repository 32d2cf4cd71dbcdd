"""Goal: what is told of a real request is true, and in the promised form."""

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
    told = json.loads(
        client.get(f"/.talechain/timeline/{name}?format=json").body)
    schema.check(told, SCHEMA, where="timeline")
    at = 0
    for piece in told["path"]:
        assert piece["b"] == at < piece["e"], piece
        assert piece["l"] < len(told["lanes"])
        at = piece["e"]
    assert at == told["total"] == sum(told["causes"].values())
    dark = sum(told["causes"].get(code, 0)
               for code in ("unknown", "blind", "lost"))
    assert abs(told["coverage"] - (1 - dark / at)) < 1e-6
    verdict = told["verdict"]
    assert verdict["text"] and verdict["evidence"]
    return told


def test_form(one):
    # Goal: the JSON is what docs/timeline.schema.json says.
    server, t = one
    server.serve()
    with t.client() as c:
        c.get("/told", fields=[("X-Request-Id", "story-1")])
        told = story(c, "story-1")
    assert told["request"]["target"] == "/told"
    assert [a["outcome"] for a in told["attempts"]] == ["won"]


def test_text_answers_first(one):
    # Goal: the text begins with the same sentence, and says all of it.
    server, t = one
    server.serve()
    with t.client() as c:
        c.get("/told", fields=[("X-Request-Id", "story-2")])
        told = story(c, "story-2")
        text = c.get("/.talechain/timeline/story-2").body.decode()
    words = " ".join(text.split())
    assert words.startswith(told["verdict"]["text"])
    for line in told["verdict"]["evidence"] + told["verdict"]["advice"]:
        assert " ".join(line.split()) in words
    assert "where the time went" in text
