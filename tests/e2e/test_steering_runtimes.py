"""Goal: servers whose heaps Tailor cannot see are steered by what they say of
them (Tailor-Heap) and by an order over HTTP: Go, Node."""

import os
import shutil
import time

import pytest

from rig.message import response
from rig.ports import free_port
from rig.process import output
from rig.wait import wait_until
from support.pair import entry
from test_steering import PROVOKED, misses

LONG_S = 120  # for what is slow on a busy machine
KB_PER_S = 60_000

# Go collects only when it is ordered to: GOGC=off.
GO = """
package main

import (
	"fmt"
	"net/http"
	"os"
	"runtime"
	"runtime/metrics"
	"strconv"
)

const full = 48 << 20

var latest []byte

func heap(w http.ResponseWriter) {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/gc/cycles/total:gc-cycles"}}
	metrics.Read(s)
	w.Header().Set("Tailor-Heap", fmt.Sprintf("%d %d %d",
		s[0].Value.Uint64(), full, s[1].Value.Uint64()))
}

func main() {
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		kb, _ := strconv.Atoi(r.URL.Query().Get("kb"))
		for i := 0; i < kb; i += 16 {
			latest = make([]byte, 16<<10)
		}
		heap(w)
		fmt.Fprintln(w, os.Getpid())
	})
	http.HandleFunc("/gc", func(w http.ResponseWriter, r *http.Request) {
		runtime.GC()
		heap(w)
	})
	http.ListenAndServe("127.0.0.1:"+os.Args[1], nil)
}
"""

# What is kept for 16 MiB of others survives V8's young generation of 1 MiB, and
# dies in the old one.
NODE = """
const v8 = require('v8');
const {PerformanceObserver, constants} = require('perf_hooks');
const FULL = 64 << 20, kept = Array(1000);
let majors = 0, turn = 0;
new PerformanceObserver(list => {
  for (const one of list.getEntries())
    majors += one.detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR;
}).observe({entryTypes: ['gc']});
function heap(response) {
  let used = 0;
  for (const space of v8.getHeapSpaceStatistics())
    if (/old|large_object/.test(space.space_name))
      used += space.space_used_size;
  response.setHeader('Tailor-Heap', `${used} ${FULL} ${majors}`);
}
require('http').createServer((request, response) => {
  const before = majors;
  function end() {
    if (request.url === '/gc' && majors === before)
      return setImmediate(end);
    heap(response);
    response.end(`${process.pid}\\n`);
  }
  if (request.url === '/gc')
    gc();
  const kb = Number(request.url.split('kb=')[1] || 0);
  for (let i = 0; i < kb; i += 16)
    kept[turn++ % kept.length] = Array.from({length: 16},
        (_, k) => Array(128).fill(k));
  end();
}).listen(Number(process.argv[2]), '127.0.0.1');
"""


@pytest.fixture(name="go", scope="module")
def go_fixture(tmp_path_factory, build):
    if shutil.which("go") is None:
        pytest.skip("no go (Debian: golang-go)")
    if "san" in build.name:
        pytest.skip("compiled once, in the plain build")
    directory = tmp_path_factory.mktemp("go")
    (directory / "server.go").write_text(GO)
    output("go", "build", "-o", directory / "server", directory / "server.go",
           env={**os.environ, "GO111MODULE": "off", "GOFLAGS": "",
                "GOCACHE": str(directory / "cache")})
    return [str(directory / "server")], {"GOGC": "off"}


@pytest.fixture(name="node", scope="module")
def node_fixture(tmp_path_factory):
    if shutil.which("node") is None:
        pytest.skip("no node (Debian: nodejs)")
    server = tmp_path_factory.mktemp("node") / "server.js"
    server.write_text(NODE)
    # By itself it collects only at 100 MiB and more.
    return ["node", "--expose-gc", "--max-semi-space-size=1",
            "--initial-heap-size=256", "--heap-growing-percent=400",
            "--no-memory-reducer", str(server)], {}


@pytest.mark.long("real runtimes under traffic for seconds, and most "
                  "collections must be met by no request")
@pytest.mark.parametrize("runtime", ["go", "node"])
def test_is_steered_by_what_it_says(request, tailor, runtime):
    argv, environment = request.getfixturevalue(runtime)
    servers = []
    for name in "ab":
        port = free_port()
        servers.append({
            "name": name, "address": f"127.0.0.1:{port}", "jvm": "none",
            "health": "/", "collect": "http:/gc",
            "launch": {"command": [*argv, str(port)],
                       "environment": environment}})
    t = tailor(*servers, hedging={"steer": True})
    wait_until(lambda: all(t.server(n)["steer"]["missing"] == ""
                           for n in "ab"), "both can be steered", LONG_S)
    last, end = time.monotonic(), time.monotonic() + LONG_S
    pids = set()
    with t.client() as c:
        m = t.metrics()
        while m[PROVOKED] < 3 or misses(m) >= m[PROVOKED]:
            assert time.monotonic() < end, m
            for _ in range(20):
                now = time.monotonic()
                kb = min(2000, max(16, int((now - last) * KB_PER_S)))
                last = now
                answer = c.get(f"/?kb={kb}")
                assert answer.status == 200
                assert answer.get("tailor-heap") is None
                pids.add(answer.body)
            m = t.metrics()
    assert len(pids) == 2
    assert m['tailor_swaps_by_reason_total{reason="steer"}'] >= 1
    assert m["tailor_steer_collections_unmet_total"] >= m[PROVOKED]


@pytest.fixture
def filling(upstream, tailor):
    """filling(status, **server): a tailor that steers two servers whose heaps
    fill, as they say themselves, and how often each has collected; status(request)
    is that of an order to collect, which 200 carries out."""
    def start(status, **more):
        full, used, collected = 64 << 20, [0, 0], [0, 0]

        def heap(i):
            def respond(request):
                ordered = request.target == "/gc"
                used[i] = min(full, used[i] + (full >> 10))
                code = status(request) if ordered else 200
                if ordered and code == 200:
                    used[i] = 0
                    collected[i] += 1
                return response(code, b"x", [
                    ("Tailor-Heap", f"{used[i]} {full} {collected[i]}")])
            return respond

        servers = [upstream(name).serve(heap(i))
                   for i, name in enumerate("ab")]
        return tailor(*(entry(o, jvm="none", health="/", collect="http:/gc",
                              **more) for o in servers),
                      hedging={"steer": True}), collected
    return start


def test_a_scripted_heap(filling):
    # Goal: a server whose heap is nearly full, as it says itself, is ordered to
    # collect by a request; each one has its turn.
    t, collected = filling(lambda _: 200)
    with t.client() as c:
        def turns():
            for _ in range(20):
                answer = c.get("/")
                assert answer.status == 200
                assert answer.get("tailor-heap") is None
            return min(collected) >= 1 and t.metrics()[PROVOKED] >= 2
        wait_until(turns, "both were ordered to collect")
    assert t.metrics()['tailor_swaps_by_reason_total{reason="steer"}'] >= 1


def test_an_order_that_is_not_carried_out(filling):
    # Goal: the log has the status of the response to an order to collect, which
    # has the server's Host.
    t, _ = filling(lambda r: 404 if r.get("Host") == "h:1" else 500, host="h:1")
    with t.client() as c:
        wait_until(lambda: c.get("/").status == 200
                   and " collect_failed " in t.log, "an order failed")
    assert "target=/gc why=status status=404" in t.wait_log(" collect_failed ")
