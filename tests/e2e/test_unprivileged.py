"""Goal: without any capability, as in a container, Tailor serves, says what is
off and what would switch it on, and still explains where a request's time
went as far as user space knows."""

import json
import pathlib
import shutil
import time

import pytest

from rig.ports import free_port

HELD_S = 3  # so long that no machine makes another cause larger


@pytest.fixture(name="build")
def build_fixture(build, tmp_path):
    """A directory whose tailor has no capability."""
    if shutil.which("setpriv") is None:
        pytest.skip("no setpriv (Debian: util-linux)")
    wrapper = tmp_path / "bin" / "tailor"
    wrapper.parent.mkdir()
    wrapper.write_text("#!/bin/sh\nexec setpriv --bounding-set=-all "
                       f"--inh-caps=-all '{build}/tailor' \"$@\"\n")
    wrapper.chmod(0o755)
    return wrapper.parent


def test_without_capabilities(upstream, tailor):
    # Goal: the kernel's events are off, with the reason and the remedy; a
    # slow request has a timeline that claims nothing it cannot know.
    server = upstream("active")
    t = tailor(server, slow={"target": "10ms"})
    status = pathlib.Path(f"/proc/{t.pid}/status").read_text()
    assert "CapEff:\t0000000000000000" in status
    line = t.wait_log("kernel_off")
    assert "CAP_BPF and CAP_PERFMON are missing" in line
    # The bounding set is empty: neither root nor setcap would help.
    assert "--cap-add BPF" in line
    assert "as root" not in line and "setcap" not in line
    info = t.ask_json("/info")
    assert info["kernel"]
    for signal in info["kernel"]:
        assert not signal["on"] and signal["why"]
    with t.client() as client:
        client.request("GET", "/slow")
        request = server.expect()
        time.sleep(HELD_S)
        request.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
        answer = client.response()

    tale = t.ask_json(f"/timeline/{answer.get('x-request-id')}?format=json")
    assert tale["total"] >= HELD_S * 1e9
    assert sum(p["e"] - p["b"] for p in tale["path"]) == tale["total"]
    # On a busy machine the observer may not have been there in time.
    said = {"unknown": "without kernel events",
            "not_observed": "observer thread was late"}
    assert said[tale["verdict"]["code"]] in tale["verdict"]["text"]
    assert json.dumps(tale["events"]).count('"proxy_receive"') == 1


def test_no_probes_without_capabilities(tailor):
    # Goal: that the collections of Node are not seen is logged once, with the
    # reason; requests are served.
    if shutil.which("node") is None:
        pytest.skip("no node (Debian: nodejs)")
    port = free_port()
    script = ("require('http').createServer((q, s) => s.end('here'))"
              f".listen({port}, '127.0.0.1')")
    t = tailor({"name": "a", "address": f"127.0.0.1:{port}",
                "launch": {"command": ["node", "-e", script]}})
    line = t.wait_log("runtime_off server=a")
    assert "runtime=V8" in line
    assert "CAP_BPF and CAP_PERFMON are missing" in line
    assert "collections are not seen" in line
    t.wait_server("a", state="ready", source="pidfd")
    assert t.get("/").body == b"here"
    assert t.log.count("runtime_off server=a") == 1
