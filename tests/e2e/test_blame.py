"""Goal: tailorctl blame says what a route's p99 consists of, from the accounts
that the running tailor keeps or from a file, and refuses what it cannot read."""

import decimal
import importlib.util
import json
import math
import re
import sqlite3
import sys
import time

import pytest

from rig.message import response
from rig.process import ROOT, output
from rig.wait import wait_until

CAUSES = ["unknown", "work", "gc", "disk"]
HEAD = ("number,id,end_ns,total_ns,weight,route,server,in_flight,status,"
        "attempts,new_connection,tail,kernel,") + ",".join(CAUSES)
MS = 1_000_000


def line(n, at_s, work, gc=0, disk=0, unknown=0, kernel=1, weight=1):
    """An account; times in ms."""
    times = [round(t * MS) for t in (unknown, work, gc, disk)]
    return ",".join(map(str, [
        n, f"id-{n}", round(1_700_000_000e9 + at_s * 1e9), sum(times), weight,
        "GET /search", "a", 1, 200, 1, 0, 0, kernel, *times]))


def table(tmp_path, *lines):
    path = tmp_path / "accounts.csv"
    path.write_text("\n".join([HEAD, *lines]) + "\n")
    return path


@pytest.fixture
def paused(tmp_path):
    """100 s of 50 requests/s; each second a pause hits two of them."""
    return table(tmp_path, *(
        line(n, n / 50, 1 + n % 7 / 10, gc=30 + n % 9 if n % 50 < 2 else 0)
        for n in range(5000)))


def test_text(ctl, paused):
    """Goal: the cause of p99 is first, with what p99 is without it."""
    found = ctl("blame", "--file", str(paused))
    assert found.returncode == 0, found.err
    assert re.search(r"^GET /search +about 5000 requests, 5000 accounts",
                     found.out), found.out
    assert re.search(r"^ 1 garbage collection +3\d\.\dms +1\.60ms \(",
                     found.out, re.M), found.out
    assert re.search(r"explained: 100 % of p99 - p50", found.out)
    assert re.search(r"^   garbage collection +id-\d+ id-\d+", found.out, re.M)
    assert "not observed" not in found.out
    assert max(map(len, found.out.splitlines())) <= 80


def test_few_requests_get_few_words(ctl, tmp_path):
    """Goal: how many there are and how many a percentile needs; no figures,
    and no more episodes than requests."""
    path = str(table(tmp_path, line(0, 0, 16, gc=5)))
    assert ctl("blame", "--file", path).out == (
        "GET /search: about 1 request: p99 needs at least 100 of them, and a "
        "ranking of\ncauses 3000. tailorctl why explains the slowest.\n"
        "(estimates from accounts: the latencies of the other requests are not "
        "known)\n")
    found = json.loads(ctl("blame", "-j", "--file", path, wide=True).out)
    assert {c["episodes"] for c in found["routes"][0]["causes"]} <= {0, 1}
    path = str(table(tmp_path, *(line(n, n, 1) for n in range(99))))
    assert " 99 requests: p99 needs at least 100" in ctl(
        "blame", "--file", path).out
    assert "about 99 requests, 99 accounts" in ctl(
        "blame", "--percentile", "90", "--file", path).out


def test_json(ctl, paused):
    """Goal: shares add up to the percentile, excesses to p99 - p50."""
    found = json.loads(ctl("-j", "blame", "--percentile", "98.5", "--file", str(paused),
                           wide=True).out)
    assert found["schema"] == "tailor.blame/1"
    route, = found["routes"]
    causes = {c["cause"]: c for c in route["causes"]}
    assert sum(c["share_ns"] for c in causes.values()) == route["q_ns"]
    assert sum(c["excess_ns"] for c in causes.values()) == \
        route["q_ns"] - route["p50_ns"]
    assert causes["gc"]["rank"] == 1
    # The tail has a part of the 100 pauses, each of them once.
    assert 40 <= causes["gc"]["episodes"] <= 100
    low, high = causes["gc"]["excess_interval_ns"]
    assert 25 * MS < low <= causes["gc"]["excess_ns"] <= high < 40 * MS


def test_other_questions(ctl, paused):
    """Goal: percentiles without a cause, two periods, the paper's table."""
    file = ("--file", str(paused))
    assert re.search(r"^p99 +3\d\.\dms +1\.60ms",
                     ctl("blame", "--without", "gc", *file).out, re.M)
    found = ctl("blame", "--since", "40s", "--against", "50s", *file)
    assert re.search(r"^Since then p99 has changed by [+-]", found.out, re.M)
    assert re.search(r"^gc +100 %", ctl("blame", "--impact", *file).out, re.M)
    for option, key in (("--without=gc", "percentiles"),
                        ("--impact", "impacts"), ("--against=50s", "changes")):
        found = json.loads(ctl("-j", "blame", option, *file, wide=True).out)
        assert found["routes"][0][key], found


@pytest.mark.long("needs pandas and statsmodels, 300 MB")
@pytest.mark.skipif(not importlib.util.find_spec("statsmodels"),
                    reason="no python3-statsmodels")
def test_pandas_and_regression_agree(ctl, paused):
    """Goal: the exported accounts give the same figures in pandas, and by
    quantile regression."""
    route, = json.loads(ctl("-j", "blame", "--file", str(paused),
                            wide=True).out)["routes"]
    gc, = (c for c in route["causes"] if c["cause"] == "gc")
    program = ROOT / "examples" / "blame" / "percentile.py"
    found = json.loads(output(sys.executable, program, paused, "GET /search",
                              "gc"))
    assert found["was"] * MS == pytest.approx(route["q_ns"])
    assert found["without"] * MS == pytest.approx(gc["without_ns"])
    assert found["excess"]["gc"] * MS == pytest.approx(gc["excess_ns"], abs=2)
    assert found["regression"]["was"] == pytest.approx(found["was"], rel=1e-3)
    assert found["regression"]["without"] == pytest.approx(
        found["without"], rel=1e-2)


def test_page(ctl, paused, tmp_path):
    """Goal: one file that loads nothing: sentence, stack, table, curves."""
    path = tmp_path / "page.html"
    found = ctl("blame", "--html", "-o", str(path), "--file", str(paused))
    assert found.returncode == 0 and found.out == "", found.err
    text = path.read_text()
    assert re.search(r"<h2>GET /search</h2>\n<p class=\"big\">p99 is <b>3\d",
                     text)
    assert re.search(r"of the difference <b>3\d\.\dms</b> is garbage", text)
    assert text.count("<svg xmlns") == 2
    assert text.count('<rect class="c0') > 10
    assert "without garbage collection" in text
    assert not re.search(r"<script|https?://(?!www\.w3\.org/2000/svg)", text)
    assert text == ctl("blame", "-H", "--file", str(paused), wide=True).out
    found = ctl("blame", "--html", "--since", "40s", "--against", "50s",
                "--file", str(paused), wide=True).out
    assert "<h3>Change of p99 since then</h3>" in found
    found = ctl("blame", "--html", "--without", "gc", "--file", str(paused))
    assert found.returncode == 2 and "no other form" in found.err
    found = ctl("blame", "-o", str(tmp_path / "page"), "--file", str(paused))
    assert found.returncode == 2 and "needs --html" in found.err


def test_where(ctl, tmp_path):
    """Goal: the route, the server and the time that most of the tail is of are
    named, with their part of all requests; none, if there is none."""
    lines = [line(n, n / 10, 1 + n % 13 / 10) for n in range(12000)]
    even = table(tmp_path, *lines)
    found = ctl("blame", "--file", str(even)).out
    assert "All routes:" not in found and "Where p99" not in found
    for n in range(0, 12000, 60):
        lines[n] = line(n, n / 10, 50 + n // 60 % 11 / 10).replace(",a,", ",b,")
    for n in range(30, 12000, 70):
        lines[n] = line(n, n / 10, 90 + n // 70 % 11 / 10).replace("/search", "/report")
    found = ctl("blame", "--file", str(table(tmp_path, *lines))).out
    assert re.search(r"^All routes: p99 9\d\.\dms. GET /report is 1.4 % of "
                     r"requests and \d+ % of\s+the slower\s+ones", found,
                     re.M), found
    assert re.search(r"^   server b +100 % \(100 to 100\) +[12] % +5\d\.\dms$",
                     found, re.M), found
    route = json.loads(ctl("-j", "blame", "--route", "GET /search", "--file",
                           str(tmp_path / "accounts.csv"), wide=True).out)
    where, = route["routes"][0]["where"]
    assert (where["field"], where["value"]) == ("server", "b")
    assert where["tail"] == 1 and where["requests"] < 0.02
    assert where["tail_interval"] == [1, 1]


def test_what_is_too_uncertain(ctl, tmp_path):
    """Goal: where the interval of p99 without a cause is wider than the effect,
    it stands instead of a figure."""
    path = table(tmp_path, *(
        line(n, n / 50, 1, disk=10 + n * 7919 % 997 / 10 if n % 40 == 0 else 0,
             gc=2 if n % 40 == 0 else 0) for n in range(5000)))
    found = ctl("blame", "--file", str(path)).out
    assert re.search(r"^ . garbage collection +\S+ms +too uncertain "
                     r"\(\S+ to \S+ms\)  \d+$", found, re.M), found
    assert re.search(r"^ 1 waiting for disk +\S+ms +3\.00ms \(", found,
                     re.M), found
    assert max(map(len, found.splitlines())) <= 80
    route, = json.loads(ctl("blame", "-j", "--file", str(path),
                            wide=True).out)["routes"]
    certain = {c["cause"]: c["certain"] for c in route["causes"]}
    assert certain["disk"] and not certain["gc"]
    assert "<td>too uncertain <span" in ctl(
        "blame", "--html", "--file", str(path), wide=True).out
    found = ctl("blame", "--without", "gc", "--file", str(path)).out
    assert re.search(r"^p99 +\S+ms +\? \(\S+ to \S+ms\)$", found,
                     re.M), found
    assert max(map(len, found.splitlines())) <= 80


def test_no_cause_is_no_rank(ctl, tmp_path):
    """Goal: what is not explained stands below the causes, without a rank, even
    if it is more than each of them; on the page it tops the stack."""
    path = table(tmp_path, *(
        line(n, n / 50, 1 + n % 7 / 10, gc=9 + n % 3 if n % 50 < 2 else 0,
             unknown=30 + n % 9 if n % 50 < 2 else 0)
        for n in range(5000)))
    found = ctl("blame", "--file", str(path)).out
    assert re.search(r"^ 1 garbage collection .*\n(?: .*\n)*"
                     r"   not explained +3\d\.\dms  no cause is known$", found,
                     re.M), found
    assert re.search(r"^   not explained +id-\d+", found, re.M), found
    route, = json.loads(ctl("-j", "blame", "--file", str(path),
                            wide=True).out)["routes"]
    assert [(c["cause"], c["rank"]) for c in route["causes"]][-1] == (
        "unknown", 0)
    page = ctl("blame", "--html", "--file", str(path), wide=True).out
    assert re.search(r"is garbage collection, <b>3\d\.\dms</b> is not "
                     r"explained\.</p>", page)
    assert '<rect class="u"' in page and "<td>no cause is known</td>" in page


def test_sleep_is_not_the_end(ctl, tmp_path, paused):
    """Goal: of a server that sleeps, text and page say that it waits for
    something, and where to look."""
    path = tmp_path / "asleep.csv"
    path.write_text(paused.read_text().replace("gc,disk", "sleep,disk"))
    for option in ((), ("--html",)):
        found = ctl("blame", *option, "--file", str(path), wide=True).out
        assert "until a timer, another service or a pool wakes it" in found
        assert "wakes it" not in ctl("blame", *option, "--file", str(paused),
                                     wide=True).out


def test_what_is_not_observed(ctl, tmp_path):
    """Goal: without kernel events it names what cannot be seen, and gives no
    cause the time that nothing explains."""
    path = table(tmp_path, *(
        line(n, n / 50, 1, unknown=40 if n % 30 == 0 else 0, kernel=0)
        for n in range(3000)))
    found = ctl("blame", "--file", str(path)).out
    assert "explained: 0 % of p99 - p50" in found, found
    assert re.search(r"^   not explained +40\.0ms  no cause is known$", found,
                     re.M)
    assert ("Without kernel events in 100 % of the tail; not observed there: "
            "disk.") in found
    assert "Never seen: gc: they did not occur, or cannot be" in found
    assert "Without kernel events in 100 % of the tail" in ctl(
        "blame", "--html", "--file", str(path), wide=True).out


@pytest.mark.parametrize("arguments, text, why", [
    ((), "nothing\n", r"line 1: no column \"id\""),
    ((), HEAD + "\n1,2\n", r"line 2: not as many fields"),
    ((), HEAD + "\n" + line(1, 1, 1)[:-1] + "5\n",
     r"line 2: times do not add up"),
    ((), HEAD + "\n", r"no account yet"),
    ((), HEAD + "\n\0", r"a zero byte"),
    (("--without", "gc,nonsense"), None,
     r'"nonsense": no cause has that code; the codes:\n    .*\bgc\b'),
    (("--without", "unknown"), None, r"no cause has that code"),
    (("--percentile", "40"), None, r"above 50 and below 100"),
    (("--impact", "--without", "gc"), None, r"not both"),
    (("--route", "GET /other"), None, 
     r'no account of GET /other; .*:\n    --route "GET /search"\n'),
], ids=["head", "fields", "sum", "empty", "zero", "code", "unknown", "percentile",
        "both", "route"])
def test_bad_input(ctl, tmp_path, arguments, text, why):
    """Goal: one message that says what is wrong, and where."""
    path = tmp_path / "accounts.csv"
    path.write_text(text if text is not None
                    else HEAD + "\n" + line(1, 1, 1) + "\n")
    found = ctl("blame", *arguments, "--file", str(path))
    assert found.returncode != 0
    assert re.search(why, found.err), found.err


def accounts(t):
    return t.ask("/accounts").body.decode().splitlines()


def test_a_running_tailor_keeps_accounts(ctl, pair):
    """Goal: of all requests of a quiet service, and of slow ones; they are in
    the metrics, by class."""
    pair.a.serve(lambda r: response(200))
    t = pair(analysis={"cpu": 1, "accounts": 1000},
             slow={"target": "1us", "keep_slowest": 0})
    with t.client() as c:
        for k in range(20):
            assert c.get(f"/{'ab'[k % 2]}/x").status == 200
    wait_until(lambda: len(accounts(t)) == 21, "20 accounts")
    names, *rows = (row.split(",") for row in accounts(t))
    for row in rows:
        one = dict(zip(names, row))
        first = names.index("kernel") + 1
        assert sum(map(int, row[first:])) == int(one["total_ns"]) > 0
        assert one["route"] in ("GET /a", "GET /b")
        assert (one["server"], one["status"], one["tail"]) == ("a", "200", "1")
        assert float(one["weight"]) == 1
    wait_until(lambda: 'request_cause_seconds_total{class="GET /a"'
               in t.ask("/metrics").body.decode(), "the metric")
    found = t.ask_json("/blame?percentile=90")
    assert found["schema"] == "tailor.blame/1"
    assert [r["route"] for r in found["routes"]] == ["GET /a", "GET /b"]
    assert found["routes"][0]["accounts"] == 10
    found = t.ask_json("/blame?route=GET%20/b&since=60")["routes"]
    assert [r["route"] for r in found] == ["GET /b"]
    assert t.ask_json("/blame?until=3600")["routes"] == []
    page = t.ask("/blame?format=html")
    assert page.get("content-type") == "text/html; charset=utf-8"
    assert b"<h2>GET /a</h2>" in page.body and b'href="timeline/' in page.body
    assert b"No request of this time has an account" in t.ask(
        "/blame?format=html&until=3600").body
    assert t.ask("/blame?percentile=40").status == 400
    assert ",GET /a," in ctl("-a", t.admin, "blame", "--accounts",
                             wide=True).out.splitlines()[1]


def test_accounts_stand_for_no_earlier_requests(pair):
    """Goal: analysis.accounts = 0 keeps none, of slow requests neither; those
    that are wanted from now on do not weigh as much as all requests since the
    start."""
    pair.a.serve(lambda r: response(200))
    t = pair(analysis={"cpu": 1, "accounts": 0},
             slow={"target": "1us", "keep_slowest": 0})
    with t.client() as c:
        for _ in range(40):
            assert c.get().status == 200
        wait_until(lambda: t.ask_json("/slow")["slow"] != [], "a slow one")
        assert len(accounts(t)) == 1
        t.reload(analysis={"accounts": 1000})
        assert c.get().status == 200
    wait_until(lambda: len(accounts(t)) >= 2, "an account")
    names, one = (row.split(",") for row in accounts(t)[:2])
    assert float(one[names.index("weight")]) < 3


def test_accounts_survive_a_restart(ctl, pair, scratch):
    """Goal: tailorctl blame reads over restarts; the period is the last hour,
    and another one can be asked for; sqlite3 reads them meanwhile; a bad row
    costs itself."""
    store = scratch / "tales"
    pair.a.serve(lambda r: response(200))

    def run(first):
        t = pair(analysis={"cpu": 1, "accounts": 1000},
                 slow={"target": "1us", "keep_slowest": 0,
                       "store": str(store)})
        with t.client() as c:
            for k in range(70):
                assert c.get("/a", fields=[
                    ("X-Request-Id", f"id-{first + k}")]).status == 200
        wait_until(lambda: len(accounts(t)) == first + 71,
                   "70 more accounts")
        return t

    t = run(0)
    t.stop()
    assert (store / "accounts.db").stat().st_mode & 0o777 == 0o600
    t = run(70)
    ids = [line.split(",")[1] for line in accounts(t)[1:]]
    assert sorted(ids) == sorted(f"id-{k}" for k in range(140))
    assert accounts(t)[0] == t.ask("/accounts?since=3600").body.decode() \
        .splitlines()[0]
    assert len(t.ask("/accounts?since=3600").body.splitlines()) == 141
    assert len(t.ask("/accounts?since=7200&until=3600").body.splitlines()) == 1
    found = ctl("-a", t.admin, "blame")
    assert re.search(r"^GET /a +about \d+ requests, 140 accounts", found.out)
    found = ctl("-a", t.admin, "blame", "--until", "1h")
    assert found.returncode == 1 and "no account yet" in found.err
    found = ctl("-a", t.admin, "blame", "--against", "yesterday")
    assert "No accounts of that time to compare with." in found.out
    with sqlite3.connect(store / "accounts.db") as db:
        total, = db.execute("SELECT sum(total_ns) FROM accounts").fetchone()
        parts, = db.execute("SELECT sum(value) FROM accounts, "
                            "json_each(causes)").fetchone()
    db.close()
    assert total == parts > 0
    t.stop()
    with sqlite3.connect(store / "accounts.db") as db:
        db.execute("UPDATE accounts SET causes = '{' WHERE id = 'id-7'")
    db.close()
    t = pair(analysis={"cpu": 1, "accounts": 1000},
             slow={"store": str(store)})
    assert len(accounts(t)) == 140
    assert t.metrics()["tailor_accounts_corrupt_total"] == 1
    assert t.metrics()["tailor_accounts"] == 139


def rank(values, p):
    """The nearest-rank quantile."""
    return sorted(values)[max(math.ceil(round(p * len(values), 6)), 1) - 1]


@pytest.mark.parametrize("by_client", [False, pytest.param(
    True, marks=pytest.mark.long("compares the client's clock"))])
def test_percentiles_are_of_all_requests(ctl, pair, scratch, by_client):
    """Goal: p50, p99 and p99.9 are those of all requests, to the width of a
    bucket, by what the access log and the client measured of each and what the
    server slept, even where hardly any request has an account; over a restart,
    too."""
    def slept_ms(k):
        return 40 + k % 10 if k % 25 == 7 else 6 + k % 3

    def serve(request):
        time.sleep(slept_ms(int(request.target.split("k=")[1])) / 1e3)
        return response(200)

    pair.a.serve(serve)
    log = scratch / "access.log"
    waited, sent = [], 0

    def run(n):
        nonlocal sent
        t = pair(analysis={"cpu": 1, "accounts": 1},
                 access_log={"path": str(log)},
                 slow={"target": "10s", "keep_slowest": 0,
                       "store": str(scratch / "tales")})
        with t.client() as c:
            for k in range(sent, sent + n):
                began = time.perf_counter()
                assert c.get(f"/a?k={k}").status == 200
                waited.append(time.perf_counter() - began)
            assert c.get("/b?k=0").status == 200
        sent += n
        wait_until(lambda: log.read_text().count('"path":"/a"') >= sent,
                   "the access log")
        wait_until(lambda: "GET /a" in t.ask("/accounts").body.decode(),
                   "an account")
        return t

    t = run(150)
    t.stop()
    t = run(120)
    # The last request is counted as it ends, its line is written later.
    took_us = [line["t_total_us"] for line in
               map(json.loads, log.read_text().splitlines())
               if line["path"] == "/a"]
    assert len(took_us) == sent
    found, = json.loads(ctl("-a", t.admin, "-j", "blame", "--route", "GET /a",
                            wide=True).out)["routes"]
    exact = found["exact"]
    assert (exact["requests"], exact["unnamed"]) == (sent, 0)
    assert exact["resolution"] == 1 / 128
    assert found["accounts"] < sent / 2, found
    for key, p in (("p50_ns", .5), ("q_ns", .99), ("p999_ns", .999),
                   ("max_ns", 1)):
        us = rank(took_us, p)
        assert us * 1000 <= exact[key] <= (us + 1) * 1000 * (1 + 1 / 128), key
        assert exact[key] >= rank([slept_ms(k) for k in range(sent)], p) * MS
    # The client waits longer than Tailor sees, on a busy machine much longer.
    assert not by_client or (
        exact["p50_ns"] <= rank(waited, .5) * 1e9 * (1 + 1 / 128))
    assert exact["from_ns"] < exact["to_ns"]
    page = t.ask_json("/blame?route=GET%20/a")["routes"][0]["exact"]
    assert page["q_ns"] == exact["q_ns"] and page["requests"] == sent
    out = ctl("-a", t.admin, "blame", "--route", "GET /a").out
    assert re.search(rf"^all {sent} requests, .*\n   p50 .* p99 .*"
                     r"   p99.9 .* slowest .* exact to 0.8 %$", out,
                     re.M), out
    assert max(map(len, out.splitlines())) <= 80
    # Of a time of which no whole minute is counted there is none, and a file
    # has only accounts.
    for path in ("/latencies?since=x", "/accounts?until=-1s",
                 "/slow?since=1.5", "/blame?since=1h"):
        refused = t.ask(path)
        assert refused.status == 400 and b"whole numbers" in refused.body
    assert t.ask("/latencies?since=7200&until=3600").body.decode() == \
        "route,from_ns,to_ns,unnamed,le_ns,requests\n"
    path = scratch / "accounts.csv"
    path.write_bytes(t.ask("/accounts").body)
    assert "(estimates from accounts: the latencies of the other requests are " \
        "not known)" in ctl("blame", "--file", str(path)).out


def by_class(t):
    """The time of each class in the metrics; the sum is exact."""
    found = {}
    for name, value in re.findall(
            r'^tailor_request_cause_seconds_total{class="(.*)",cause=".*"} '
            r'(.*)$', t.ask("/metrics").body.decode(), re.M):
        found[name] = found.get(name, 0) + decimal.Decimal(value)
    return found


def test_places_of_routes(ctl, pair):
    """Goal: paths that are not found take no place, however many come first;
    requests of classes without one are counted in "other", which says so.
    Where all places are taken a route that is used gets one of them: the series
    of the other ends, and no sum ever falls."""
    pair.a.serve(lambda r: response(404 if "scan" in r.target else 200))
    t = pair(analysis={"cpu": 1, "accounts": 1000},
             slow={"target": "1us", "keep_slowest": 0})
    sums = []

    def named():
        sums.append(sum(by_class(t).values()))
        assert c.get("/real").status == 200
        return "GET /real" in by_class(t)

    with t.client() as c:
        for k in range(68):
            assert c.get(f"/scan{k}").status == 404
        for k in range(36):
            assert c.get(f"/{k}").status == 200
        wait_until(lambda: len(accounts(t)) == 105, "104 accounts")
        assert t.metrics()["tailor_latencies_unnamed_total"] == 72
        found, = json.loads(ctl("-a", t.admin, "-j", "blame", "--route", "other",
                                wide=True).out)["routes"]
        assert found["exact"]["requests"] == found["exact"]["unnamed"] == 72
        assert "72 of them are in classes that are not counted" in ctl(
            "-a", t.admin, "blame", "--route", "other").out
        wait_until(lambda: len(by_class(t)) == 33, "all places are taken")
        first = set(by_class(t))
        wait_until(named, "a series of its own")
    assert sums == sorted(sums)
    then = set(by_class(t))
    assert (len(first - then), then - first) == (1, {"GET /real"})
    assert t.metrics()["tailor_routes_lost_total"] == 1
