"""Goal: what packaging/ offers to Prometheus and Grafana works: the listener
for collectors, each alert after the fault that it is for, each query of the
dashboard."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading
import urllib.parse
import urllib.request

import pytest

from rig.client import Client
from rig.message import Closed, response
from rig.ports import free_port
from rig.process import ROOT, ran
from rig.wait import wait_until

KERNEL_EVENTS = "off"

RULES = ROOT / "packaging" / "prometheus" / "tailor.rules.yml"
DASHBOARD = ROOT / "packaging" / "grafana" / "tailor.json"

needs_promtool = pytest.mark.skipif(
    shutil.which("promtool") is None,
    reason="no promtool (Debian: prometheus)")


def address_of(text):
    host, _, port = text.rpartition(":")
    return host, int(port)


# --- the listener ---------------------------------------------------------------

def test_collectors_have_a_listener_of_their_own(upstream, tailor):
    # Goal: metrics and health for a collector that names this machine as it
    # likes; nothing that changes or shows anything else.
    at = f"127.0.0.1:{free_port()}"
    t = tailor(upstream("active").serve(), metrics={"listen": at})

    def ask(method, target):
        with Client(address_of(at)) as c:
            c.request(method, target, host="proxy7.example:9464")
            return c.response(method)

    text = ask("GET", "/metrics").body.decode()
    assert 'tailor_server_ready{server="active"} 1\n' in text
    assert ask("GET", "/healthz").status == 200
    assert ask("GET", "/readyz").status == 200
    assert ask("HEAD", "/metrics").status == 200
    for target in ("/", "/config", "/slow", "/requests", "/servers",
                   "/timeline/1", "/live"):
        assert ask("GET", target).status == 404, target
    for target in ("/switch", "/reload", "/drain?server=active"):
        assert ask("POST", target).status == 405, target
    assert t.metrics()["tailor_metrics_denied_total"] == 0


def test_only_collectors_that_are_allowed(upstream, tailor):
    # Goal: any other address gets 403 and is counted.
    at = f"127.0.0.1:{free_port()}"
    t = tailor(upstream("active").serve(),
               metrics={"listen": at, "allow": ["192.0.2.0/24"]})
    with Client(address_of(at)) as c:
        refused = c.get("/metrics")
    assert refused.status == 403
    assert b"metrics.allow" in refused.body
    assert t.metrics()["tailor_metrics_denied_total"] == 1


def test_a_collector_at_the_wrong_address(build, tmp_path):
    # Goal: an address that is used for something else is refused by -t.
    file = tmp_path / "c.json"
    for other in ({"listen": ":9464"}, {"listen": ":1", "admin": ":9464"}):
        file.write_text(json.dumps({
            "servers": [{"address": "127.0.0.1:1"}],
            "metrics": {"listen": ":9464"}, **other}))
        run = ran(build / "tailor", "-t", "-c", file)
        assert run.returncode == 1 and "metrics.listen" in run.err


# --- alerts -----------------------------------------------------------------------

STEP_S, BEFORE, AFTER = 15, 20, 80  # samples before and after the fault


def samples(t):
    """All metrics of a tailor, by their names with labels."""
    return {key: value for key, value in t.metrics().items()
            if not re.search(r"_bucket\{", key)}


def labelled(key):
    name, _, labels = key.partition("{")
    return f'{name}{{job="tailor",instance="t",{labels or "}"}'


def fired(tmp_path, before, after, up=True, lasting=False):
    """The alerts that a Prometheus would send, which saw before for five
    minutes, and then after; lasting: the same again and again."""
    series = [{"series": 'up{job="tailor",instance="t"}',
               "values": f"1x{BEFORE} {int(up)}x{AFTER}"}]
    for key, value in after.items() if up else ():
        first = before.get(key, 0)
        more = f"+{value - first!r}" if lasting and value > first else ""
        series.append({"series": labelled(key), "values":
                       f"{first!r}x{BEFORE} {value!r}{more}x{AFTER}"})
    names = re.findall(r"- alert: (\w+)", RULES.read_text())
    file = tmp_path / "test.json"  # JSON is YAML
    # promtool compares with what is expected: expect none, and read which
    # there were.  A page must come within two minutes, a ticket within 15.
    file.write_text(json.dumps({
        "rule_files": [str(RULES)], "evaluation_interval": f"{STEP_S}s",
        "tests": [{"interval": f"{STEP_S}s", "input_series": series,
                   "alert_rule_test": [
                       {"eval_time": f"{at}s", "alertname": name,
                        "exp_alerts": []}
                       for name in names
                       for at in range(0, STEP_S * (BEFORE + AFTER), 60)]}]}))
    run = ran("promtool", "test", "rules", file)
    text = run.out + run.err
    found = {name for name in names
             if re.search(rf"alertname: {name}\b", text)}
    assert run.returncode == bool(found), text
    return found


class Fault:
    """One fault: what leads to it, and the alerts that must come."""

    def __init__(self, tailor, upstream, scratch):
        self.tailor, self.upstream, self.scratch = tailor, upstream, scratch

    def servers(self, *answers):
        made = [self.upstream(name) for name in ("a", "b")]
        for server, answer in zip(made, answers or (None, None)):
            server.serve(*([answer] if answer else []))
        return made

    def start(self, *servers, **sections):
        t = self.tailor(*(servers or self.servers()), **sections)
        return t, samples(t)

    def gone(self, t, *names):
        """Wait until Tailor knows; a request shows it most quickly."""
        def all_gone():
            with t.client() as c, contextlib.suppress(OSError, Closed):
                c.get()
            m = t.metrics()
            return not any(m[f'tailor_server_ready{{server="{name}"}}']
                           for name in names)
        wait_until(all_gone, f"{names} are not ready")

    def no_server(self):
        a, b = self.servers()
        t, before = self.start(a, b)
        a.stop()
        b.stop()
        self.gone(t, "a", "b")
        return t, before

    def no_backup(self):
        a, b = self.servers()
        t, before = self.start(a, b)
        b.stop()
        self.gone(t, "b")
        return t, before

    def errors(self):
        t, before = self.start(*self.servers(
            lambda r: response(500, b"no"), lambda r: response(500, b"no")))
        with t.client() as c:
            for _ in range(20):
                assert c.get().status == 500
        return t, before

    def queue_slow(self):
        a = self.upstream("a")
        t, before = self.start(
            {"name": "a", "address": a.address, "connections_max": 1},
            proxy={"queue_timeout": "50ms"})
        with t.client() as c, t.client() as d:
            c.request()
            held = a.expect()
            assert d.get().status == 503
            held.reply()
            assert c.response().status == 200
        return t, before

    def address(self):
        header = b"PROXY TCP4 192.0.2.9 192.0.2.1 1 2\r\n"
        t, before = self.start(
            listen=[f"127.0.0.1:{free_port()} proxy_protocol"],
            proxy={"connections_per_address_max": 1, "trusted_proxies": "127.0.0.1"})
        with t.client() as c:
            c.send(header)
            assert c.get().status == 200
            with t.client() as d, contextlib.suppress(OSError, Closed):
                d.send(header)
                d.get()
            t.wait_metric(
                'tailor_connections_rejected_total{reason="per_address"}', 1)
        return t, before

    def restarts(self):
        program = self.scratch / "p.py"
        port = free_port()
        program.write_text("import sys\nsys.exit(1)\n")
        t = self.tailor({"name": "a", "address": f"127.0.0.1:{port}",
                         "jvm": "none", "launch": {
                             "command": [sys.executable, str(program)]}},
                        ready=False)
        before = samples(t)
        t.wait_metric('tailor_server_restarts_total{server="a"}', 3)
        return t, before

    def hedging_stopped(self):
        a, b = self.upstream("a"), self.upstream("b")
        t, before = self.start(a, b, hedging={
            "budget_burst": 1, "budget_ratio": 0})
        with t.client() as c, t.client() as d:
            c.request()
            d.request()
            held = [a.expect(), a.expect()]
            t.hazard("a", "begin")
            t.wait_metric('tailor_hedges_refused_total{reason="budget"}', 1)
            b.expect().reply(200, b"x")
            for request in held:
                with contextlib.suppress(OSError):
                    request.reply(200, b"x")
            c.response()
            d.response()
        return t, before

    def differ(self):
        a, b = self.upstream("a"), self.upstream("b")
        t, before = self.start(a, b)
        with t.client() as c:
            c.request()
            first = a.expect()
            t.hazard("a", "begin")
            b.expect().reply(200, b"one")
            assert c.response().body == b"one"
            first.reply(200, b"two")
        t.wait_metric_is(
            'tailor_hedge_response_mismatch_total{part="body"}', 1)
        t.wait_log("responses_differ request=[0-9a-f]{16} part=body")
        return t, before

    def both_paused(self):
        t, before = self.start()
        t.hazard("a", "begin")
        t.hazard("b", "begin")
        t.wait_metric("tailor_both_pause_seconds_total", 1.5)
        return t, before

    def reload_failed(self):
        t, before = self.start()
        (pathlib.Path(t.directory) / "tailor.json").write_text("{")
        assert t.ask("/reload", "POST").status == 422
        return t, before

    def log_lost(self):
        t, before = self.start(access_log={"path": "/dev/full"})
        t.get()
        t.wait_metric('tailor_access_log_lines_total{result="failed"}', 1)
        return t, before


FAULTS = {
    "TailorNoServer": Fault.no_server,
    "TailorNoBackup": Fault.no_backup,
    "TailorErrors": Fault.errors,
    "TailorRequestsRefused": Fault.queue_slow,
    "TailorConnectionsRefused": Fault.address,
    "TailorServerRestarts": Fault.restarts,
    "TailorHedgingStopped": Fault.hedging_stopped,
    "TailorServersDiffer": Fault.differ,
    "TailorBothPaused": Fault.both_paused,
    "TailorReloadFailed": Fault.reload_failed,
    "TailorLogLost": Fault.log_lost,
}
# What else a fault brings with it; a server that has ended pauses, and how long
# three starts take depends on the machine.
ALSO = {"TailorNoServer": {"TailorErrors", "TailorRequestsRefused"},
        "TailorRequestsRefused": {"TailorErrors"},
        "TailorServerRestarts": {"TailorNoServer", "TailorBothPaused"}}


@needs_promtool
@pytest.mark.parametrize("alert", FAULTS)
def test_an_alert_fires(alert, tailor, upstream, scratch, tmp_path):
    # Goal: after a real fault the alert for it is sent, and no other.
    t, before = FAULTS[alert](Fault(tailor, upstream, scratch))
    found = fired(tmp_path, before, samples(t),
                  lasting=alert == "TailorErrors")
    assert alert in found
    assert found - {alert} <= ALSO.get(alert, set())


@needs_promtool
def test_alerts_of_a_tailor_that_is_well(tailor, upstream, scratch, tmp_path):
    # Goal: requests, and a pause that hedging covered: no alert.
    a, b = upstream("a"), upstream("b")
    t, before = Fault(tailor, upstream, scratch).start(a, b)
    with t.client() as c:
        c.request()
        held = a.expect()
        t.hazard("a", "begin")
        b.expect().reply(200, b"x")
        assert c.response().status == 200
        held.reply(200, b"x")
        t.hazard("a", "end")
    assert fired(tmp_path, before, samples(t)) == set()
    assert fired(tmp_path, before, {}, up=False) == {"TailorDown"}
    names = set(re.findall(r"- alert: (\w+)", RULES.read_text()))
    assert names == {*FAULTS, "TailorDown"}


# --- the dashboard -----------------------------------------------------------------

class Namespace:
    """A network namespace with one link to this one."""

    def __init__(self):
        pid = os.getpid()
        self.name, self.link = f"tailor-{pid}", f"tl{pid}"
        self.here = f"10.{213 + pid % 40}.{pid // 40 % 250}.1"
        self.there = self.here[:-1] + "2"

    def __enter__(self):
        for command in (
                f"netns add {self.name}",
                f"link add {self.link} type veth peer name eth0 "
                f"netns {self.name}",
                f"addr add {self.here}/30 dev {self.link}",
                f"link set {self.link} up",
                f"-n {self.name} addr add {self.there}/30 dev eth0",
                f"-n {self.name} link set eth0 up",
                f"-n {self.name} link set lo up"):
            done = ran("ip", *command.split())
            if done.returncode != 0:
                self.__exit__()
                pytest.skip(f"no network namespace: ip {command}: {done.err}")
        return self

    def __exit__(self, *_):
        ran("ip", "netns", "del", self.name)

    def run(self, *command):
        return ["ip", "netns", "exec", self.name, *command]


@pytest.fixture
def namespace():
    if os.geteuid() != 0:
        pytest.skip("no network namespace without root")
    with Namespace() as made:
        yield made


def queries():
    """(title, expression) of each query of the dashboard."""
    board = json.loads(DASHBOARD.read_text())
    for panel in board["panels"]:
        for target in panel["targets"]:
            yield panel["title"], target["expr"]
    for note in board["annotations"]["list"]:
        yield note["name"], note["expr"]


def test_the_dashboard_sums_nothing_but_counts():
    # Goal: over several tailors a share is a sum divided by a sum; sums of
    # shares, quantiles and the like mean nothing.
    counts = "_(total|bucket|bytes|inflight|queued|ready|active)"
    for title, query in queries():
        for metric in re.findall(r"sum(?: by \([^)]*\))? ?\("
                                 r"(?:(?:rate|increase|changes)\()?(\w+)", query):
            assert re.search(counts + "$", metric), (title, metric)


@pytest.mark.long("rates of a real Prometheus take many seconds")
@pytest.mark.skipif(shutil.which("prometheus") is None,
                    reason="no prometheus (Debian: prometheus)")
def test_the_dashboard(upstream, tailor, scratch, namespace):
    # Goal: Debian's Prometheus collects from another network namespace, and
    # each query of the dashboard gets data.
    port = free_port()
    a, b = upstream("a").serve(), upstream("b").serve()
    t = tailor(a, b, metrics={"listen": f"{namespace.here}:{port}",
                              "allow": [f"{namespace.there}/32"]},
               slow={"target": "1us"})
    config = scratch / "prometheus.json"  # JSON is YAML
    config.write_text(json.dumps({
        "global": {"scrape_interval": "1s"}, "rule_files": [str(RULES)],
        "scrape_configs": [{"job_name": "tailor", "static_configs": [
            {"targets": [f"{namespace.here}:{port}"]}]}]}))
    done = threading.Event()

    def traffic():
        with t.client() as c:
            while not done.wait(0.05):
                assert c.get().status == 200
                assert t.get("/%zz").status == 400
                name = t.active()
                t.hazard(name, "begin")
                t.hazard(name, "end")

    def ask(expression):
        for old, new in (("$job", "tailor"), ("$instance", ".*"),
                         ("$__rate_interval", "10s")):
            expression = expression.replace(old, new)
        query = urllib.parse.urlencode({"query": expression})
        with contextlib.suppress(OSError), urllib.request.urlopen(
                f"http://{namespace.there}:9090/api/v1/query?{query}",
                timeout=10) as answer:
            return json.load(answer)["data"]["result"]
        return []

    with subprocess.Popen(
            namespace.run("prometheus", f"--config.file={config}",
                          f"--storage.tsdb.path={scratch}/tsdb",
                          "--log.level=warn"),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        busy = threading.Thread(target=traffic)
        busy.start()
        try:
            missing = dict.fromkeys(queries())

            def all_answered():
                for query in [*missing]:
                    if ask(query[1]):
                        del missing[query]
                return not missing

            wait_until(all_answered, lambda: f"no data: {[*missing]}", 60)
            value = float(ask(next(e for t, e in queries() if t == "p99"))
                          [0]["value"][1])
            assert 0 < value < 60
        finally:
            done.set()
            busy.join()
            server.terminate()
