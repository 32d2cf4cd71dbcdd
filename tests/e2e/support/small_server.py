"""A server with a small backlog, as a process of its own that can be stopped.

usage: small_server.py BACKLOG: prints its port; one thread a connection;
answers every request with 200 and what it was sent.
"""

import http.server
import sys


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers everything."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        """Send back the body, or the path."""
        length = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(length) or self.path.encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET

    def log_message(self, format, *args):  # pylint: disable=redefined-builtin
        """Nothing."""


class Server(http.server.ThreadingHTTPServer):
    """With the backlog of the command line."""

    request_queue_size = int(sys.argv[1])


if __name__ == "__main__":
    server = Server(("127.0.0.1", 0), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()
