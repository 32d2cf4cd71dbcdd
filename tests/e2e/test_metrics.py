"""Goal: metrics that any collector reads, with a help and a type each, and
numbers that are true."""

import json
import pathlib
import re
import shutil
import subprocess
import time

import pytest

from rig.message import response
from rig.wait import steady, wait_until
from support.pair import DRAINED

KERNEL_EVENTS = "off"

SAMPLE = re.compile(
    r'([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(.*)\})? (\S+)'
    r'( # \{(.*)\} (\S+)( \S+)?)?\Z')
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"')
SUFFIXES = {"histogram": ("_bucket", "_sum", "_count")}


def labels_of(text):
    """A sample's labels, strictly."""
    labels, rest = {}, text or ""
    while rest:
        m = LABEL.match(rest)
        assert m, f"labels {text!r}"
        assert m.group(1) not in labels, text
        labels[m.group(1)] = m.group(2)
        rest = rest[m.end():]
        assert not rest or rest.startswith(","), text
        rest = rest[1:]
    return labels


class Family:
    """One metric: its head and its samples."""

    def __init__(self, name, kind):
        self.name, self.kind = name, kind
        self.samples = {}
        self.exemplars = {}

    def add(self, name, labels, value, exemplar, openmetrics):
        base = self.name
        if self.kind in SUFFIXES:
            allowed = [base + s for s in SUFFIXES[self.kind]]
        elif openmetrics and self.kind == "counter":
            allowed = [base + "_total"]
        else:
            allowed = [base]
        assert name in allowed, f"{name} in family {base} ({self.kind})"
        if self.kind == "counter":
            assert name.endswith("_total"), name
            assert value >= 0
        key = (name, tuple(sorted(labels.items())))
        assert key not in self.samples, f"{key} twice"
        self.samples[key] = value
        if exemplar:
            assert openmetrics and name.endswith("_bucket"), name
            self.exemplars[key] = exemplar

    def check(self):
        """Histograms add up."""
        if self.kind != "histogram":
            return
        series = {}
        for (name, labels), value in self.samples.items():
            rest = tuple(x for x in labels if x[0] != "le")
            entry = series.setdefault(rest, {"buckets": []})
            if name.endswith("_bucket"):
                entry["buckets"].append((float(dict(labels)["le"]), value))
            else:
                entry[name.rsplit("_", 1)[1]] = value
        assert series, self.name
        for entry in series.values():
            buckets = entry["buckets"]
            assert buckets == sorted(buckets), self.name
            assert [v for _, v in buckets] == sorted(v for _, v in buckets)
            assert buckets[-1] == (float("inf"), entry["count"]), self.name


def parse(text, openmetrics=False):
    """Families by name; anything that is not the format fails."""
    families, current, helps = {}, None, set()
    lines = text.split("\n")
    assert lines.pop() == "", "the last line ends"
    if openmetrics:
        assert lines.pop() == "# EOF"
    for line in lines:
        assert "# EOF" not in line
        if line.startswith("# HELP "):
            name, words = line[7:].split(" ", 1)
            assert name not in helps, f"{name} has two heads"
            assert words.strip(), f"{name} has no help"
            helps.add(name)
        elif line.startswith("# TYPE "):
            name, kind = line[7:].split(" ")
            assert name in helps and name not in families
            current = families[name] = Family(name, kind)
        else:
            m = SAMPLE.match(line)
            assert m and current, f"line {line!r}"
            current.add(m.group(1), labels_of(m.group(3)),
                        float(m.group(4)),
                        (labels_of(m.group(6)), float(m.group(7)))
                        if m.group(5) else None, openmetrics)
    for family in families.values():
        family.check()
    return families


def scrape(t, accept=None):
    fields = [("Accept", accept)] if accept else []
    answer = t.ask("/metrics", fields=fields)
    assert answer.status == 200
    return answer, answer.body.decode()


OPENMETRICS = ("application/openmetrics-text;version=1.0.0,"
               "text/plain;version=0.0.4;q=0.5,*/*;q=0.1")
TRACEPARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def busy(upstream, tailor):
    """A tailor that has done a bit of everything."""
    active, backup = upstream("active").script(), upstream("backup").serve()
    t = tailor(active, backup)
    with t.client() as c:
        c.request("GET", "/hedged", fields=[("x-request-id", "the-one")])
        held = active.expect()
        t.hazard("active", "begin")
        assert c.response().body == b"backup"
        held.reply(200, b"active")
        t.wait_metric(DRAINED, 1)
        t.hazard("active", "end")
        c.request("POST", "/x", fields=[("x-request-id", "the-last"),
                                        ("traceparent", TRACEPARENT)],
                  body=b"1")
        assert c.response().status == 200
    with t.client() as c:
        c.send(b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n")
        assert c.response().status == 400
    return t


def test_every_family_is_described():
    """Also those that are written only now and then."""
    folder = pathlib.Path(__file__).resolve().parents[2] / "proxy"
    described = re.findall(r"^(\w+) (?:counter|gauge|histogram)$",
                           (folder / "admin/metrics.txt").read_text(), re.M)
    text = "".join(p.read_text() for p in [
        *folder.glob("admin/metrics_*.c"), folder / "stats/metrics.h"])
    named = {re.sub("_(bucket|sum|count)$", "", name)
             for name in re.findall(r'"((?:tailor|process)_\w+)[{" ]', text)}
    assert len(named) > 150 and named == set(described)
    assert len(described) == len(set(described))


def test_formats(upstream, tailor):
    # Goal: who asks for OpenMetrics gets it, with the request's id on the
    # bucket that it fell in; both formats have the same families.
    t = busy(upstream, tailor)
    answer, text = scrape(t, OPENMETRICS)
    assert answer.get("content-type").startswith(
        "application/openmetrics-text; version=1.0.0")
    families = parse(text, openmetrics=True)
    latency = families["tailor_request_duration_seconds"]
    hit = {x[0]["request_id"]: (dict(key[1])["le"], x[1])
           for key, x in latency.exemplars.items()}
    # A bucket shows the latest request that fell in it.
    le, value = hit.get("the-one") or hit["the-last"]
    assert 0 < value <= float(le)
    # A trace's id, of a request that had a valid one.
    traces = {x[0]["request_id"]: x[0].get("trace_id")
              for x in latency.exemplars.values()}
    assert traces["the-last"] == TRACEPARENT.split("-")[1]
    assert traces.get("the-one") is None
    # The default is Prometheus' text, without anything of the other.
    answer, text = scrape(t)
    assert answer.get("content-type").startswith("text/plain; version=0.0.4")
    plain = parse(text)
    assert len(plain) > 90
    assert "# {" not in text
    assert {n.removesuffix("_total") for n in plain} == set(families)
    assert t.get("/.talechain/timeline/the-one").status == 200


@pytest.mark.skipif(shutil.which("promtool") is None,
                    reason="no promtool (Debian: prometheus)")
def test_promtool(upstream, tailor):
    # Goal: Prometheus' own checker has nothing to say.
    t = busy(upstream, tailor)
    _, text = scrape(t)
    run = subprocess.run(["promtool", "check", "metrics"], input=text,
                         text=True, capture_output=True, check=False)
    assert (run.returncode, run.stdout + run.stderr) == (0, "")


def test_counters_are_there_from_the_start(upstream, tailor):
    # Goal: a counter is 0 before its first event, or rate() would miss that
    # one: each whose labels are known, with all that they can be.
    t = tailor(upstream("active").serve(), slow={"target": "1us"},
               analysis={"accounts": 10})
    before = t.metrics()
    corpus = pathlib.Path(__file__).resolve().parents[1] / "unit/http/corpus"
    for name, file in (("parse_errors", "requests"),
                       ("request_failures", "responses")):
        for reason in re.findall(r"^refuse \d+ (\w+)$",
                                 (corpus / f"{file}.txt").read_text(), re.M):
            assert before[f'tailor_{name}_total{{reason="{reason}"}}'] == 0
    for kind in ("quota", "stopped", "failure"):
        assert before[f'tailor_swaps_by_reason_total{{reason="{kind}"}}'] == 0
    for target, status in (("/", 200), ("/%zz", 400), ("/", 200)):
        assert t.get(target).status == status
    t.wait_metric("tailor_tales_kept_total", 2)
    assert {key for key in set(t.metrics()) - set(before)
            if "{class=" not in key} == set()
    # Without an event there is a sample of each family.
    text = scrape(t)[1]
    for family in re.findall(r"^# TYPE (\w+_total) counter$", text, re.M):
        assert re.search(rf"^{family}(\{{| )", text, re.M) \
            or family == "tailor_request_cause_seconds_total", family


def test_what_is_counted(upstream, tailor):
    # Goal: after a known history the numbers are these.
    t = busy(upstream, tailor)
    m = t.metrics()
    expected = {
        'tailor_requests_total{code_class="2xx"}': 2,
        'tailor_requests_by_method_total{method="GET"}': 1,
        'tailor_requests_by_method_total{method="POST"}': 1,
        'tailor_hedges_sent_total{trigger="gc",server="backup"}': 1,
        "tailor_hedges_won_total": 1, "tailor_hedges_lost_total": 0,
        "tailor_swaps_total": 1,
        'tailor_swaps_by_reason_total{reason="gc"}': 1,
        'tailor_swaps_by_reason_total{reason="operator"}': 0,
        'tailor_hazards_total{server="active",kind="gc"}': 1,
        'tailor_hazard_duration_seconds_count{kind="gc"}': 1,
        "tailor_hedge_saved_seconds_count": 1,
        "tailor_loser_duration_seconds_count": 1,
        "tailor_hedge_send_delay_seconds_count": 1,
        "tailor_swap_duration_seconds_count": 1,
        "tailor_request_duration_seconds_count": 2,
        'tailor_local_replies_total{code="400"}': 1,
        'tailor_server_state{server="active",state="ready"}': 1,
        'tailor_server_state{server="active",state="down"}': 0,
        'tailor_server_response_seconds_count{server="backup",hazard="no"}':
            2,
        'tailor_server_response_seconds_count{server="active",hazard="yes"}':
            0,
        'tailor_server_drained{server="active"}': 0,
        "tailor_config_reload_failures_total": 0,
        "tailor_both_hazard_seconds_total": 0,
        "tailor_log_dropped_total": 0,
    }
    assert {k: m.get(k) for k in expected} == expected
    t.ask("/switch", "POST")
    assert t.metrics()[
        'tailor_swaps_by_reason_total{reason="operator"}'] == 1
    assert m["process_resident_memory_bytes"] > 1 << 20
    assert m["process_open_fds"] > 2
    assert m["process_max_fds"] > m["process_open_fds"]
    assert m["tailor_uptime_seconds"] > 0


def test_both_in_a_hazard(upstream, tailor):
    # Goal: time that nothing could help is kept apart.
    active, backup = upstream("active").serve(), upstream("backup").serve()
    t = tailor(active, backup)
    for name in ("active", "backup"):
        t.hazard(name, "begin")
    t.wait_metric("tailor_both_hazard_seconds_total", 0.02)
    t.hazard("active", "end")
    steady(lambda: t.metrics()["tailor_both_hazard_seconds_total"])
    m = t.metrics()
    assert m['tailor_swap_refused_total{reason="standby_not_ready"}'] == 1


def test_ledger(upstream, tailor, build):
    # Goal: what hedging cost and was worth, and W f beside what was sent;
    # tailorctl shows the same.
    t = busy(upstream, tailor)
    ledger = t.ask_json("/ledger")
    assert ledger["schema"] == "tailor.ledger/1"
    assert (ledger["sent"], ledger["won"], ledger["lost"]) == (1, 1, 0)
    assert ledger["sent_by_trigger"]["gc"] == 1
    assert ledger["sent_to"] == {"active": 0, "backup": 1}
    assert ledger["losers"] == {"drained": 1, "failed": 0, "timeout": 0}
    assert ledger["saved"]["losers"] == 1
    assert 0 < ledger["saved"]["mean_ns"] == ledger["saved"]["total_ns"]
    load = ledger["extra_load"]
    assert load["predicted"] == pytest.approx(
        load["mean_latency_s"] * load["hazards_per_s"])
    assert load["hazards_per_s"] == pytest.approx(1 / load["seconds"])
    assert load["actual"] == pytest.approx(1 / 2)
    run = subprocess.run([build / "tailorctl", "-a", t.admin, "ledger"],
                         text=True, capture_output=True, check=True)
    assert "1 sent" in run.stdout and "1 won" in run.stdout
    assert all(len(x) <= 80 for x in run.stdout.splitlines())
    run = subprocess.run([build / "tailorctl", "-a", t.admin, "-j",
                          "ledger"], text=True, capture_output=True,
                         check=True)
    assert json.loads(run.stdout)["sent"] == 1


def test_rendering_is_bounded(upstream, tailor):
    # Goal: what a scrape costs does not grow with what was served: as many
    # lines after 500 requests and 50 connections as after none.
    server = upstream("active").serve(lambda r: response(200, b""))
    t = tailor(server, slow={"target": "600s", "keep_slowest": 0})
    t.get()
    before = len(scrape(t)[1].splitlines())
    clients = [t.client() for _ in range(50)]
    for i in range(500):
        assert clients[i % 50].get(f"/{i}").status == 200
    assert len(scrape(t)[1].splitlines()) == before
    print(f"{before} lines took "
          f"{t.metrics()['tailor_metrics_render_seconds'] * 1e6:.0f} us")
    for client in clients:
        client.close()


def hedged(pair_of, t, first, second, winner_first=True):
    """One request that both servers answer; raw responses, in parts."""
    active, backup = pair_of
    with t.client() as c:
        c.request()
        a = active.expect()
        t.hazard("active", "begin")
        b = backup.expect()
        before = sum(t.metrics()[f'tailor_losers_total{{result="{x}"}}']
                     for x in ("drained", "failed"))
        b.send(second)
        got = c.response()
        a.send(first)
        if first.endswith(b"CUT"):
            a.close()

        def drained():
            m = t.metrics()
            return sum(m[f'tailor_losers_total{{result="{x}"}}']
                       for x in ("drained", "failed")) > before
        wait_until(drained, "the loser is over")
    t.hazard("active", "end")
    t.ask("/switch", "POST")
    t.wait_server("active", active=True)
    return got


def differences(t):
    m = t.metrics()
    return [m["tailor_hedge_responses_compared_total"]] + [
        m[f'tailor_hedge_response_mismatch_total{{part="{x}"}}']
        for x in ("status", "length", "body")]


def chunked(*pieces):
    return (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
            + b"".join(b"%x\r\n%s\r\n" % (len(x), x) for x in pieces)
            + b"0\r\n\r\n")


def test_servers_out_of_step(upstream, tailor):
    # Goal: both answers to a hedged request are compared, whatever their
    # framing; what is not whole on both sides is not.
    both = upstream("active").script(), upstream("backup").script()
    t = tailor(*both)
    assert differences(t) == [0, 0, 0, 0]
    hedged(both, t, response(200, b"same"), response(200, b"same"))
    assert differences(t) == [1, 0, 0, 0]
    body = bytes(range(256)) * 200
    hedged(both, t, chunked(body[:7], body[7:20000], body[20000:]),
           response(200, body, [("X-Only", "here")]))
    assert differences(t) == [2, 0, 0, 0]
    hedged(both, t, response(404, b"same"), response(200, b"same"))
    assert differences(t) == [3, 1, 0, 0]
    hedged(both, t, response(200, b"longer"), chunked(b"short"))
    assert differences(t) == [4, 1, 1, 0]
    hedged(both, t, chunked(body[:-1], b"?"), response(200, body))
    assert differences(t) == [5, 1, 1, 1]
    t.wait_log("responses_differ request=[0-9a-f]{16} part=body")
    hedged(both, t, response(200, body)[:-9] + b"CUT", response(200, body))
    assert differences(t) == [5, 1, 1, 1]


def test_loser_that_ends_before_the_winner(upstream, tailor):
    # Goal: the same when the winner's response streams on after the loser's
    # end, and when half of the loser's had been kept before it lost.
    active, backup = upstream("active").script(), upstream("backup").script()
    t = tailor(active, backup)
    body = b"0123456789" * 2000
    for k in range(2):
        with t.client() as c:
            c.request()
            a = active.expect()
            answer = response(200, body)
            a.send(answer[:300])
            t.hazard("active", "begin")
            b = backup.expect()
            whole = chunked(body)
            b.send(whole[:-5])  # commits, and goes on
            head = c.response_head()
            assert head.status == 200
            a.send(answer[300:-1] + (answer[-1:] if k == 0 else b"!"))
            t.wait_metric(DRAINED, k + 1)
            assert differences(t) == [k, 0, 0, 0]
            b.send(whole[-5:])
            assert c.response_body(head) == body
        wait_until(lambda k=k: differences(t) == [k + 1, 0, 0, k], "compared")
        t.hazard("active", "end")
        t.ask("/switch", "POST")
        t.wait_server("active", active=True)


def test_how_far_the_stream_reaches_back(upstream, tailor):
    # Goal: nothing is overwritten at first; then what does not fit, and the
    # oldest event that there was is gone.
    server = upstream("active").serve(lambda r: response(200, b""))
    t = tailor(server, profiler={"stream_slots": 1024, "kernel": "off"})
    m = t.metrics()
    assert m["tailor_stream_overwritten_total"] == 0
    assert m["tailor_stream_bytes"] == 1024 * 96
    with t.client() as c:
        c.get()
        t.wait_metric("tailor_stream_events_total", 1)
        begun = time.monotonic()
        assert t.metrics()["tailor_stream_oldest_age_seconds"] > 0
        while t.metrics()["tailor_stream_overwritten_total"] < 1024:
            for _ in range(50):
                c.get()
        m = t.metrics()
    assert m["tailor_stream_events_total"] == \
        m["tailor_stream_overwritten_total"] + 1024
    assert 0 < m["tailor_stream_oldest_age_seconds"] < \
        time.monotonic() - begun
