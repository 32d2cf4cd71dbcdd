"""Goal: metrics that any collector reads, with a help and a type each, and
numbers that are true."""

import json
import pathlib
import re
import shutil
import time

import pytest

from rig.message import response
from rig.process import ran
from rig.wait import steady, wait_until
from support.pair import DRAINED

KERNEL_EVENTS = "off"

FAMILY = re.compile(r"^# TYPE (\w+?)(?:_total)? (\w+)$", re.M)


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
    assert text.endswith("# EOF\n")
    families = FAMILY.findall(text)
    shown = {request: (float(le), trace, float(value))
             for le, request, trace, value in re.findall(
                 r'^tailor_request_duration_seconds_bucket{le="([^"]+)"} \d+ '
                 r'# {request_id="([^"]+)"(?:,trace_id="([^"]+)")?} (\S+) ',
                 text, re.M)}
    # A bucket shows the latest request that fell in it.
    le, _, value = shown.get("the-one") or shown["the-last"]
    assert 0 < value <= le
    # A trace's id, of a request that had a valid one.
    assert shown["the-last"][1] == TRACEPARENT.split("-")[1]
    assert not shown.get("the-one", ("", ""))[1]
    # The default is Prometheus' text, without anything of the other.
    answer, text = scrape(t)
    assert answer.get("content-type").startswith("text/plain; version=0.0.4")
    assert "# {" not in text and len(families) > 90
    assert sorted(FAMILY.findall(text)) == sorted(families)
    samples = [line.rpartition(" ")[0] for line in text.splitlines()
               if not line.startswith("#")]
    assert len(set(samples)) == len(samples)
    assert t.get("/.talechain/timeline/the-one").status == 200


@pytest.mark.skipif(shutil.which("promtool") is None,
                    reason="no promtool (Debian: prometheus)")
def test_promtool(upstream, tailor):
    # Goal: Prometheus' own checker has nothing to say.
    t = busy(upstream, tailor)
    _, text = scrape(t)
    assert ran("promtool", "check", "metrics", input=text, stdin=None) == (
        0, "", "")


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
    t.wait_metric("tailor_timelines_kept_total", 2)
    assert {key for key in set(t.metrics()) - set(before)
            if "{class=" not in key} == set()
    # Without an event there is a sample of each family.
    text = scrape(t)[1]
    for family in re.findall(r"^# TYPE (\w+_total) counter$", text, re.M):
        assert re.search(rf"^{family}(\{{| )", text, re.M) \
            or family == "tailor_request_cause_seconds_total", family


def test_what_is_counted(upstream, tailor):
    # Goal: after a known history the numbers are these; time that nothing could
    # help is kept apart.
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
        'tailor_pauses_total{server="active",kind="gc"}': 1,
        'tailor_pause_duration_seconds_count{kind="gc"}': 1,
        "tailor_hedge_saved_seconds_count": 1,
        "tailor_loser_duration_seconds_count": 1,
        "tailor_hedge_send_delay_seconds_count": 1,
        "tailor_swap_duration_seconds_count": 1,
        "tailor_request_duration_seconds_count": 2,
        'tailor_local_replies_total{code="400"}': 1,
        'tailor_server_state{server="active",state="ready"}': 1,
        'tailor_server_state{server="active",state="down"}': 0,
        'tailor_server_response_seconds_count{server="backup",paused="no"}':
            2,
        'tailor_server_response_seconds_count{server="active",paused="yes"}':
            0,
        'tailor_server_drained{server="active"}': 0,
        "tailor_config_reload_failures_total": 0,
        "tailor_both_pause_seconds_total": 0,
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
    for name in ("active", "backup"):
        t.hazard(name, "begin")
    t.wait_metric("tailor_both_pause_seconds_total", 0.02)
    t.hazard("active", "end")
    steady(lambda: t.metrics()["tailor_both_pause_seconds_total"])
    assert t.metrics()[
        'tailor_swap_refused_total{reason="backup_not_ready"}'] == 1


def test_ledger(upstream, tailor, ctl):
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
        load["mean_latency_s"] * load["pauses_per_s"])
    assert load["pauses_per_s"] == pytest.approx(1 / load["seconds"])
    assert load["actual"] == pytest.approx(1 / 2)
    shown = ctl("-a", t.admin, "gain").out
    assert "1 sent" in shown and "1 won" in shown
    assert json.loads(ctl("-a", t.admin, "-j", "gain",
                          wide=True).out)["sent"] == 1


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


def differences(t):
    m = t.metrics()
    return [m["tailor_hedge_responses_compared_total"]] + [
        m[f'tailor_hedge_response_mismatch_total{{part="{x}"}}']
        for x in ("status", "length", "body")]


def chunked(body):
    return (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body))


def test_loser_that_ends_before_the_winner(upstream, tailor):
    # Goal: both responses to a hedged request are compared (unit test_compare),
    # also when the winner's streams on after the loser's end, and when half of
    # the loser's had been kept before it lost.
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
