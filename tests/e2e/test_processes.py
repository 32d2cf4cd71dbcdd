"""Goal: a server is a set of processes: its workers are watched, also those
that come later, and each story is about the worker that had the request.

Truth is what the worker itself says: its process number, and its thread's CPU
clock before and after.
"""

import json
import os
import re
import shutil
import signal
import sys
import time

import pytest

from rig import other_proxies
from rig.message import response
from rig.ports import listens
from rig.process import Process, children, state_of
from rig.wait import wait_until
from support.launched import need_kernel

HELD_S = 0.3

measures = pytest.mark.long("measures how long a worker computed or waited")

GUNICORN = """
import os, time

def app(environ, start_response):
    begin = time.thread_time()
    if environ["PATH_INFO"] == "/compute":
        while time.thread_time() - begin < 0.1:
            pass
    cpu = time.thread_time() - begin
    start_response("200 OK", [("Content-Length", "2"),
                              ("X-Pid", str(os.getpid())),
                              ("X-Cpu-Ns", str(int(cpu * 1e9)))])
    return [b"hi"]
"""

CLUSTER = """
const cluster = require("node:cluster");
if (cluster.isPrimary) {
    cluster.fork();
    cluster.fork();
} else require("node:http").createServer((request, response) => {
    const begin = process.cpuUsage();
    let cpu = 0;
    while (request.url === "/compute" && cpu < 1e5) {
        const now = process.cpuUsage(begin);
        cpu = now.user + now.system;
    }
    response.setHeader("X-Pid", process.pid);
    response.setHeader("X-Cpu-Ns", cpu * 1000);
    response.end("hi");
}).listen(+process.argv[2], "127.0.0.1");
"""


class Service:
    """A program that listens on a port: its process, its workers."""

    def __init__(self, name, port, process):
        self.address = f"127.0.0.1:{port}"
        self.name, self.process = name, process
        wait_until(lambda: listens(self.address), f"{name} listens")

    def workers(self):
        return set(children(self.process.pid))

    def wait_workers(self, count, but=()):
        """Wait until it has so many workers, none of these."""
        wait_until(lambda: len(self.workers()) == count
                   and not self.workers() & set(but), f"{count} workers")
        return self.workers()


@pytest.fixture
def service(scratch, free_port):
    """Starts services; each has ended when the test has."""
    made = []

    def start(name, argv, port, **more):
        if shutil.which(str(argv[0])) is None:
            pytest.skip(f"{argv[0]} is not installed")
        made.append(Process(argv, stdout=sys.stderr, **more))
        return Service(name, port, made[-1])

    def nginx(upstream, workers=2):
        if other_proxies.find("nginx") is None:
            pytest.skip("nginx is not installed")
        port = free_port()
        directory = scratch / "nginx"
        directory.mkdir()
        argv = other_proxies.nginx(directory, f"""
	keepalive_requests 100000;
	server {{
		listen 127.0.0.1:{port};
		add_header X-Pid $pid;
		proxy_set_header X-Pid $pid;
		location / {{ proxy_pass http://{upstream.address}; }}
		location /own {{ return 200; }}
	}}""", main=f"worker_processes {workers};")
        return start("nginx", argv, port)

    def gunicorn(workers=2):
        port = free_port()
        (scratch / "app.py").write_text(GUNICORN)
        return start("gunicorn", [
            "gunicorn", "--chdir", scratch, "-w", workers, "-b",
            f"127.0.0.1:{port}", "--log-level", "warning", "app:app"], port)

    def node():
        port = free_port()
        (scratch / "cluster.js").write_text(CLUSTER)
        return start("node", ["node", scratch / "cluster.js", port], port)

    start.nginx, start.gunicorn, start.node = nginx, gunicorn, node
    yield start
    for process in made:
        process.signal(signal.SIGCONT)
        process.terminate()


@pytest.fixture
def before(tailor):
    """A tailor before a service; it has found all its processes."""
    def start(server, processes, **sections):
        t = tailor(server, **sections)
        t.wait_server(server.name, processes=processes)
        return t
    return start


def is_whole(tale):
    """On a busy machine the observer may be so late that a story lacks its
    end, or that events are lost.  It then says that it does not know, which
    is no answer here; that a thread is not watched would be a wrong one."""
    return (tale["loss"]["channels"] == 0
            and tale["verdict"]["code"] not in ("unknown", "lost", "blind"))


def whole(request):
    """The first result of request(name) with a whole story."""
    for i in range(30):
        *result, tale = request(f"request-{i}")
        if is_whole(tale):
            return *result, tale
    raise AssertionError(f"no whole story: {tale['verdict']}, {tale['loss']}")


def ask(t, target, name="asked"):
    """One request; returns its response and its story."""
    answer = t.get(target, fields=[("X-Request-Id", name)])
    assert answer.status == 200, answer
    return answer, t.timeline(name)


def ask_whole(t, target):
    return whole(lambda name: ask(t, target, name))


def worker_of(tale):
    """The one process that read the request from its socket."""
    readers = {e["pid"] for e in tale["events"]
               if e["type"] == "sock_recv" and e["server"] == 0}
    assert len(readers) == 1, readers
    return readers.pop()


def check_worker(service, answer, tale):
    """The story is of the process that responded; returns its number."""
    pid = int(answer.get("X-Pid"))
    assert pid in service.workers() and worker_of(tale) == pid
    assert "not watched" not in json.dumps(tale)
    return pid


def check_waited(tale, pid):
    """It slept while another service had the request."""
    causes = tale["causes"]
    assert causes["sleep"] >= 0.9e9 * HELD_S, causes
    assert causes.get("work", 0) < 0.3e9 * HELD_S, causes
    if tale["verdict"]["code"] == "sleep":
        assert re.search(rf"(\[|thread ){pid}\]? slept",
                         tale["verdict"]["text"]), tale["verdict"]


def check_computed(answer, tale):
    """It computed as long as its own clock says: no load changes that."""
    cpu = int(answer.get("X-Cpu-Ns"))
    causes = tale["causes"]
    ran = sum(causes.get(code, 0) for code in
              ("work", "low_ipc", "slow_clock", "page_fault", "softirq"))
    assert ran >= 0.9 * cpu >= 0.08e9, (cpu, causes)
    assert causes["work"] <= 1.25 * cpu + 20e6, (cpu, causes)


def check_never_gone(t, server):
    assert t.metrics()[
        f'tailor_hazards_total{{server="{server.name}",kind="exit"}}'] == 0


def held(request):
    """Another service that takes its time."""
    time.sleep(HELD_S)
    return response(200, request.target.encode())


def test_the_worker_is_named(service, before):
    # Goal: the story is of the worker that had the request, also of those
    # that replace killed ones.
    server = service.gunicorn()
    t = before(server, 3)
    need_kernel(t)
    old = server.wait_workers(2)
    check_worker(server, *ask_whole(t, "/"))
    for pid in old:
        os.kill(pid, signal.SIGKILL)
    server.wait_workers(2, but=old)
    check_worker(server, *ask_whole(t, "/"))
    t.wait_server("gunicorn", processes=3)
    check_never_gone(t, server)


@measures
def test_a_worker_waits_for_another_service(upstream, service, before, ctl):
    # Goal: of two workers the one that has the request is named, and slept
    # while the service behind it, which is not watched, worked; also after a
    # reload has replaced both.
    server = service.nginx(upstream("behind").serve(held))
    t = before(server, 3)
    out = ctl("--admin", t.admin, "servers").out
    assert "(nginx, 3 processes)" in out
    assert t.metrics()['tailor_server_processes{server="nginx"}'] == 3
    need_kernel(t)
    old = server.wait_workers(2)
    answer, tale = ask_whole(t, "/first")
    check_waited(tale, check_worker(server, answer, tale))
    server.process.signal(signal.SIGHUP)
    server.wait_workers(2, but=old)
    answer, tale = ask_whole(t, "/second")
    check_waited(tale, check_worker(server, answer, tale))
    t.wait_server("nginx", processes=3)
    check_never_gone(t, server)


@measures
def test_a_worker_is_stopped(upstream, service, before):
    # Goal: the stop of one worker is that of its requests, not of others'.
    behind = upstream("behind")
    server = service.nginx(behind)
    t = before(server, 3)
    need_kernel(t)

    def stop(name):
        """Two requests, the first one's worker is stopped meanwhile."""
        with t.client() as client:
            client.request("GET", "/", fields=[("X-Request-Id", name)])
            request = behind.expect()
            pid = int(request.get("X-Pid"))
            os.kill(pid, signal.SIGSTOP)
            try:
                wait_until(lambda: state_of(pid) == "T", "it is stopped")
                request.reply()
                other = ask(t, "/own", f"other-{name}")
                time.sleep(HELD_S)
            finally:
                os.kill(pid, signal.SIGCONT)
            assert client.response().status == 200
        return pid, *other, t.timeline(name)

    pid, answer, other, tale = whole(stop)
    if is_whole(other):
        assert check_worker(server, answer, other) != pid
    assert "stopped" not in other["causes"]
    assert worker_of(tale) == pid
    assert tale["causes"]["stopped"] >= 0.9e9 * HELD_S, tale["causes"]
    if tale["verdict"]["code"] == "stopped":
        assert re.search(rf"(\[|thread ){pid}\]? was stopped",
                         tale["verdict"]["text"]), tale["verdict"]
    check_never_gone(t, server)


@measures
def test_a_forked_worker_computes(service, before):
    # Goal: computing of a pre-forking server's worker is the worker's, as
    # long as its clock says; also of workers that replace killed ones.
    server = service.gunicorn()
    t = before(server, 3)
    need_kernel(t)
    old = server.wait_workers(2)
    answer, tale = ask_whole(t, "/compute")
    check_worker(server, answer, tale)
    check_computed(answer, tale)
    for pid in old:
        os.kill(pid, signal.SIGKILL)
    server.wait_workers(2, but=old)
    answer, tale = ask_whole(t, "/compute")
    check_worker(server, answer, tale)
    check_computed(answer, tale)
    t.wait_server("gunicorn", processes=3)
    check_never_gone(t, server)


@measures
def test_a_cluster_computes(service, before):
    # Goal: so of a cluster whose workers do not hold the listening socket.
    server = service.node()
    t = before(server, 3)
    need_kernel(t)
    answer, tale = ask_whole(t, "/compute")
    check_worker(server, answer, tale)
    check_computed(answer, tale)


def test_without_the_kernel(service, before):
    # Goal: without the kernel's events the processes are known, new ones too,
    # and no story says what they did.
    server = service.gunicorn()
    t = before(server, 3, profiler={"kernel": "off"})
    answer, tale = ask(t, "/compute")
    assert int(answer.get("X-Pid")) in server.workers()
    assert tale["verdict"]["code"] == "unknown"
    assert "without kernel events" in json.dumps(tale)
    assert "work" not in tale["causes"]
