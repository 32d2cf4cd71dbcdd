"""Python programs that Tailor starts as its servers; a tailor by its command
line."""

import pathlib
import re
import sys

import pytest

from rig.client import Client
from rig.ports import free_port
from rig.wait import wait_until

HTTP = """
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        body = respond(self.path, self.headers) or b""
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *args):
        pass
class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128
server = Server(("127.0.0.1", int(sys.argv[1])), Handler)
"""


def http_server(respond):
    """A program that serves HTTP on the port that is its first argument, a
    thread for each connection; respond: what defines respond(path, headers),
    which gives the body."""
    return f"{respond}\n{HTTP}\nserver.serve_forever()\n"


def script(directory, text, *arguments, name="server"):
    """The configuration of a server that is a Python program; the first of its
    arguments is its port."""
    port = free_port()
    path = directory / f"{name}.py"
    path.write_text(text)
    path.chmod(0o644)
    return {"name": name, "address": f"127.0.0.1:{port}", "launch": {
        "command": [sys.executable, str(path), str(port), *arguments]}}


def past(server, target):
    """What a server responds itself, past Tailor; server: its configuration."""
    host, _, port = server["address"].rpartition(":")
    with Client((host, int(port))) as c:
        response = c.get(target)
        assert response.status == 200, response
        return response.body


def need_kernel(t):
    """Skip the rest of a test where the kernel's events are not permitted."""
    if " kernel_off " in t.wait_log(" kernel_o"):
        pytest.skip("BPF is not permitted")


def words(scratch, server, *keys):
    """The words of a command line for a tailor before a server, with files of
    its own and without the kernel's events; keys as KEY=VALUE."""
    return ["--active", server.address, *(word for key in (
        f"admin=unix:{scratch}/a.sock", "profiler.stream=",
        f"profiler.channel_socket={scratch}/c.sock", "profiler.kernel=off",
        *keys) for word in ("--set", key))]


def child_of(t, name="sleep"):
    """/proc/PID of the program that Tailor has launched, once it is that."""
    proc = pathlib.Path("/proc", re.search(
        r"pid=(\d+)", t.wait_log(" server_launched "))[1])
    wait_until(lambda: (proc / "comm").read_text() == f"{name}\n", "it runs")
    return proc


def fields_of(proc):
    """The fields of a process's or a thread's status."""
    return dict(line.split(":\t", 1) for line in
                (proc / "status").read_text().splitlines() if ":\t" in line)
