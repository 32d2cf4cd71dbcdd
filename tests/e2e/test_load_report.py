"""tailor-load: what is made of a run: schema, page, comparison, causes."""

import html.parser
import json
import re
import xml.etree.ElementTree

import pytest

from rig.message import response
from rig.process import ROOT, ran
from rig.stub import OK
from rig.wait import wait_until
from support import schema

UNITS = {"us": 1e3, "ms": 1e6, "s": 1e9}
SCHEMA = json.loads((ROOT / "docs" / "load.schema.json").read_text())


@pytest.fixture
def tool(build):
    """Runs tailor-load with these arguments, without a run's defaults."""
    def run(*arguments):
        return ran(build / "tailor-load", *arguments)
    return run


def test_schema(stub, load):
    """Goal: run.json is what docs/load.schema.json says, errors and all."""
    unfinished = []

    def answer(request):
        if request.get("x-request-id").endswith("13"):
            return b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"
        if request.get("x-request-id").endswith("17") and not unfinished:
            unfinished.append(request)  # one, which takes the whole timeout
            return b"HTTP/1.1 2"
        return OK.replace(b"\r\n\r\n", b"\r\nServer-Timing: app;dur=1\r\n\r\n")
    server = stub(answer)
    result = load(server.url, "-i", 6, "-n", 60, "-r", 400, "--timeout",
                  "6s", "--fail", "errors<1%", "--fail", "p99<1s",
                  "--fail", "rate>1", "--fail", "errors<=99",
                  "--percentiles", "10,12.5,99.99")
    assert result.run, (result.status, result.err)
    schema.check(result.run, SCHEMA)
    closed = load(server.url, "-i", 1, "-n", 30, "--arrivals", "closed:2",
                  "--timeout", "6s")
    schema.check(closed.run, SCHEMA)
    schema.check(load(server.url, "-i", 1, "-n", 5, "--expect-status", "201",
                      "--timeout", "6s").run, SCHEMA)
    # and it can fail
    for spoil in ({"schema": "x"}, {"more": 1}, {"iterations": {}}):
        with pytest.raises(AssertionError):
            schema.check({**result.run, **spoil}, SCHEMA)


class Page(html.parser.HTMLParser):
    """Elements, links and the balance of tags of a page."""

    VOID = {"meta", "img", "br"}

    def __init__(self, text):
        super().__init__()
        self.open, self.seen, self.links, self.policy = [], [], [], ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.seen.append(tag)
        if tag == "a":
            self.links.append(attrs["href"])
        if attrs.get("http-equiv") == "Content-Security-Policy":
            self.policy = attrs["content"]
        assert "src" not in attrs and "onload" not in attrs
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_page(stub, load, scratch):
    """Goal: report.html needs nothing, shows every request and says first
    whether it can be believed."""
    def answer(request):
        return b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n" \
            if request.get("x-request-id").endswith("-0007") else OK
    server = stub(answer)
    result = load(server.url, "-i", 3, "-n", 100, "-r", 400)
    directory = scratch / "out1"
    text = (directory / "report.html").read_text()
    page = Page(text)
    assert page.policy.startswith("default-src 'none';")
    assert "script" not in page.seen and page.seen.count("svg") == 3
    assert f"Figures: <b>{result.verdict}</b>" in text
    assert "3 of 300 failed" in text
    run = json.loads((directory / "run.json").read_text())
    slowest = max(i["latency"]["max_ns"] for i in run["iterations"])
    shown = re.search(r"slowest <b>([\d.]+)(us|ms|s)</b>", text)
    assert float(shown[1]) * UNITS[shown[2]] == pytest.approx(slowest, rel=0.01)
    # a dot for each place; failed requests are strokes
    time_svg = text.split("<svg")[1]
    assert time_svg.split('class="failed" d="')[1].split('"')[0].count(
        "M") == 3
    assert 30 < time_svg.split('class="dots" d="')[1].split('"')[0].count(
        "M") <= 297
    for svg in re.findall("<svg.*?</svg>", text, re.S):
        xml.etree.ElementTree.fromstring(svg)


def test_nothing_to_draw(stub, load, scratch):
    """Goal: the page of a run in which nothing succeeded."""
    server = stub(lambda request: b"HTTP/1.1 500 No\r\n"
                  b"Content-Length: 0\r\n\r\n")
    result = load(server.url, "-i", 2, "-n", 10, "-r", 200)
    assert result.status == 1
    assert "nothing to draw" in (scratch / "out1/report.html").read_text()


def test_ab(stub, tool, scratch):
    """Goal: pairs have the same schedules, and what is compared is what the
    runs have.  (Which differences are shown: unit test_shift.)"""
    out = scratch / "ab"
    done = tool("ab", "--a", stub().url, "--b", stub().url, "-o", out, "-i", 8,
                "-n", 15, "--warmup", 3, "--pause", 0, "--cpu", "none", "-q",
                "-r", 200)
    assert done.returncode in (0, 4), done.err
    compared = json.loads((out / "compare.json").read_text())
    lines = [[json.loads(line) for line in
              (out / side / "requests.ndjson").open()] for side in "ab"]
    for k in range(1, 9):
        due = [[x["sched"] for x in side if x["i"] == k] for side in lines]
        gaps = [[b - a for a, b in zip(d, d[1:])] for d in due]
        assert gaps[0] == gaps[1] and len(due[0]) == 15
    # the order within a pair is not always the same
    begun = [[min(x["sched"] for x in side if x["i"] == k)
              for k in range(1, 9)] for side in lines]
    assert len({a < b for a, b in zip(*begun)}) == 2
    p50 = [[i["latency"]["p50_ns"] for i in
            json.loads((out / side / "run.json").read_text())["iterations"]]
           for side in "ab"]
    found, = (d for d in compared["differences"] if d["statistic"] == "p50")
    assert found["iterations"] == 8
    assert found["lower"] == sum(b < a for a, b in zip(*p50))
    assert found["difference_ns"] == sorted(
        b - a for a, b in zip(*p50))[3]


def test_ab_has_files_for_both(stub, build):
    """Goal: connections of one target that stay open take no descriptors from
    the other one's."""
    done = ran("sh", "-c", 'ulimit -S -n 200 && exec "$@"', "sh",
               build / "tailor-load", "ab", "--a", stub().url, "--b",
               stub().url, "-c", 100, "--max-connections", 100, "-i", 1, "-n",
               10, "-r", 100, "--warmup", 0, "--pause", 0, "--cpu", "none")
    assert done.returncode in (0, 4), done.err


def test_token(tailor, upstream, load, scratch):
    """Goal: where addresses are not allowed the token is, and only it; the
    message names the option."""
    token = scratch / "token"
    token.write_text("0123456789abcdef" * 2 + "\n")
    token.chmod(0o600)
    t = tailor(upstream("active").serve(),
               proxy={"trusted_proxies": ["127.0.0.0/8"]}, slow={"target": 0},
               profiler={"kernel": "off"},
               talechain={"allow": [], "token_file": str(token)})
    run = (f"http://127.0.0.1:{t.port}/x", "-i", 1, "-n", 60, "-r", 300,
           "--slow", 2)
    refused = load(*run)
    assert refused.run["talechain"]["analyzed"] == 0
    assert "--token-file" in refused.run["talechain"]["given_up"]
    assert load(*run, "--token-file", token).run["talechain"][
        "analyzed"] == 2
    token.write_text("two words\n")
    wrong = load(*run, "--token-file", token)
    assert wrong.status == 2 and "--token-file" in wrong.err


def test_busy_tailor(stub, load):
    """Goal: a Tailor that stays busy is given up, with the status it gave."""
    busy = stub(lambda _: b"HTTP/1.1 429 Busy\r\nContent-Length: 0\r\n\r\n")
    asked = load(stub().url, "-i", 1, "-n", 20, "-r", 400, "--analyze",
                 busy.url).run["talechain"]
    assert asked["analyzed"] == 0 and asked["failed"] == 3
    assert asked["given_up"] == "it responds with status 429"


def test_check(tool):
    """Goal: check measures this machine and says good, doubtful or bad."""
    done = tool("check", "-d", "300ms", "--cpu", "none")
    assert done.returncode in (0, 4), done.err
    assert re.search(r"^late by p50 \S+, p99", done.out)
    word = re.search(r"^(GOOD|DOUBTFUL|BAD):", done.out, re.M)[1]
    assert (word == "BAD") == (done.returncode == 4)


def test_causes_from_tailor(tailor, upstream, load, scratch):
    """Goal: slow requests through a Tailor are pinned while the iteration
    runs and explained after it, with timelines beside the report."""
    log = scratch / "access.log"

    def answer(request):
        """The last of an iteration comes when four have been pinned."""
        if request.get("x-request-id").endswith("-01-0150"):
            wait_until(lambda: log.read_text().count("/.talechain/pin") >= 4,
                       "four are pinned")
        return response(200, b"ok")

    # all are slow: what Tailor explains unasked must not come first
    t = tailor(upstream().serve(answer), proxy={"trusted_proxies": ["127.0.0.0/8"]},
               slow={"target": 0}, access_log={"path": str(log)})
    result = load(f"http://127.0.0.1:{t.port}/x", "-i", 2, "-n", 150, "-r",
                  300, "--slow", 4)
    asked = result.run["talechain"]
    assert asked["analyzed"] == 8 and asked["failed"] == 0
    assert asked["pinned"] >= 4
    assert sum(v["count"] for v in result.run["verdicts"]) == 8
    schema.check(result.run, SCHEMA)
    slow = [s for i in result.run["iterations"] for s in i["slowest"]]
    page = Page((scratch / "out1/report.html").read_text())
    for one in slow:
        path = scratch / "out1" / one["timeline"]
        assert path.stat().st_size > 100
        assert one["timeline"] in page.links and one["text"]
        tale = json.loads(
            (path.with_suffix(".json")).read_text())
        assert tale["request"]["external_id"] == one["id"]
        # the client's own stamps were understood: all its time is there
        # (and what the proxy did after the client's last byte)
        assert 0 <= tale["total"] - one["latency_ns"] < 60e9
    assert {x["n"] for x in result.lines if "verdict" in x and x["i"] == 1} \
        == {s["seq"] for s in slow if s["iteration"] == 1}
    off = load(f"http://127.0.0.1:{t.port}/x", "-i", 1, "-n", 50, "-r", 300,
               "--analyze", "off")
    assert "talechain" not in off.run and not (scratch / "out2/slow").exists()
