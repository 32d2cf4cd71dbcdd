"""Goal: tailorctl understands what a running tailor answers."""

import contextlib
import json
import re
import subprocess

from rig.client import Client
from rig.ports import free_port
from rig.wait import wait_until


def test_known_traffic(ctl, upstream, tailor):
    """Goal: every command understands what a tailor really answers; log -q and
    top count what was really asked."""
    active, backup = upstream("active").serve(), upstream("backup").serve()
    t = tailor(active, backup, slow={"target": "0"})
    t.wait_server("backup", state="ready")

    def ask(*arguments):
        result = ctl("-a", t.admin, *arguments, wide=True)
        assert result.returncode == 0, result.err
        return result.out

    def requests(query):
        return [json.loads(line)
                for line in ask("log", "-drj", "-q", query).splitlines()]

    with t.client() as client:
        for i in range(7):
            client.get(f"/a?{i}")
    assert re.search(r"^\* active +ready", ask("servers"), re.M)
    assert re.search(r"^  backup +ready", ask("servers"), re.M)
    assert ask("switch") == "active: backup\n"
    t.wait_server("backup", active=True)
    with t.client() as client:
        for i in range(4):
            client.get(f"/b?{i}")
        client.request("GET", "/%zz")
        client.response()
    wait_until(lambda: len(requests("total")) >= 11, "all are in the stream")
    mine = requests("total and bytes")
    assert len([r for r in mine if r["server"] == "active"]) == 7
    assert len(requests('server == "backup" and status == 200')) >= 4
    assert requests('server == "active" and total > 1m') == []
    middle = sorted(r["total"] for r in mine)[len(mine) // 2]
    assert {r["request"] for r in requests(f"bytes and total <= {middle}ns")} == {
        r["request"] for r in mine if r["total"] <= middle}
    lines = ask("log", "--dump", "--requests").splitlines()
    assert len([x for x in lines if " active " in x]) == 7
    for line in lines:
        assert len(line) <= 80

    rows = json.loads(ask("top", "-1", "-j", "--by", "latency"))["rows"]
    assert sum(row["count"] for row in rows) >= 11
    assert rows[0]["count"] > 0 and rows[-1]["count"] > 0
    assert "|" in ask("top", "-1", "--by", "latency")

    t.wait_metric("tailor_timelines", 11)
    rows = json.loads(ask("top", "-1", "-j", "--by", "path"))["rows"]
    paths = {row["name"]: row["count"] for row in rows}
    assert (paths["/a"], paths["/b"]) == (7, 4)
    rows = json.loads(ask("top", "-1", "-j"))["rows"]
    assert sum(row["count"] for row in rows) == sum(paths.values())
    costs = [row["cost_ns"] for row in rows]
    assert costs == sorted(costs, reverse=True)
    for by in ("cause", "path", "latency", "cpu", "waker"):
        text = ask("top", "-d", "--by", by)
        assert all(len(line) <= 80 for line in text.splitlines())
    one = json.loads(ask("slow", "-j", "--path", "/b", "-n", "1"))["slow"][0]
    assert one["target"].startswith("/b")
    assert "<svg " in ask("why", one["id"], "--svg")
    ask("why", one["id"], "--pin")
    assert "pinned" in ask("slow", "-j", "--path", "/b")
    assert one["id"] in ask("slow", "--path", "/b")
    assert "GET /b" in ask("why", one["id"])
    json.loads(ask("why", one["id"], "--json"))
    assert "tailor_connections_total" in ask("metrics", "tailor_conn")
    assert f"pid: {t.pid}" in ask("info")
    assert ask("servers")
    events = ask("log", "--dump")
    assert "proxy_receive" in events and "proxy_finish" in events
    result = ctl("-a", t.admin, "why", "no-such-request")
    assert result.returncode == 1
    assert '"tailorctl slow" lists the requests' in result.err
    assert "accepted only from those" in result.err


def test_a_page_for_a_browser(build, upstream, tailor):
    """Goal: the live page of an admin socket is reached by the printed
    address, with all that it fetches; without its secret nothing is, and
    nothing can be changed; a guest that says nothing keeps no other waiting."""
    t = tailor(upstream("active").serve(), slow={"target": "0"})
    with t.client() as client:
        client.get("/a", fields=[("X-Request-Id", "one")])
    t.wait_metric_is("tailor_timelines", 1)
    with subprocess.Popen([build / "tailorctl", "-a", t.admin, "live"],
                          text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as relay:
        try:
            url = relay.stdout.readline().strip()
            found = re.fullmatch(
                r"http://127\.0\.0\.1:(\d+)(/[0-9a-f]{32})/live", url)
            address, secret = ("127.0.0.1", int(found[1])), found[2]

            def get(target, method="GET"):
                with Client(address) as c:
                    c.request(method, target)
                    return c.response()

            with Client(address), Client(address) as half:
                half.send(b"GET " + secret.encode())
                page = get(f"{secret}/live")
                assert page.status == 200 and b"<title>Tailor" in page.body
            assert json.loads(get(f"{secret}/live.json").body)["servers"]
            assert get(f"{secret}/timeline/one?format=html").status == 200
            assert get(f"{secret}/timeline/two?format=html").status == 404
            for wrong in ("/live", "/", f"{secret[:-1]}x/live", secret,
                          f"/x{secret}/live"):
                refused = get(wrong)
                assert refused.status == 404, wrong
                assert b"tailorctl live" in refused.body
            assert get(f"{secret}/switch", "POST").status == 404
            with Client(address) as c, contextlib.suppress(OSError):
                c.send(b"x" * 10_000)
                c.expect_end()
            assert get(f"{secret}/live.json").status == 200
        finally:
            relay.kill()


def test_the_page_of_a_tcp_admin(ctl, upstream, tailor):
    """Goal: where a browser can open the page itself, that is its address."""
    port = free_port()
    t = tailor(upstream("active").serve(), ready=None,
               admin=f"127.0.0.1:{port}")
    result = ctl("-a", f"127.0.0.1:{port}", "--json", "live")
    assert json.loads(result.out) == {"url": f"http://127.0.0.1:{port}/live"}
    assert t.running()
