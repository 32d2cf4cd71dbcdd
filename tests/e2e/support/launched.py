"""Python programs that Tailor starts as its servers."""

import sys

import pytest

from rig.ports import free_port

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


def need_kernel(t):
    """Skip the rest of a test where the kernel's events are not permitted."""
    if " kernel_off " in t.wait_log(" kernel_o"):
        pytest.skip("BPF is not permitted")
