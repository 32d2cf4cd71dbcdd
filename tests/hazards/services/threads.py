"""Python's threaded HTTP server.

    threads.py PORT
"""

import http.server
import sys

import kinds


class Handler(http.server.BaseHTTPRequestHandler):
    """A thread for each connection."""
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # head and body in one piece

    def do_GET(self):
        length = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(length)
        truth, body = kinds.work(self.path.partition("?")[2], body)
        self.send_response(200)
        self.send_header("Truth", truth)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET

    def log_message(self, format, *args):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128


Server(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
