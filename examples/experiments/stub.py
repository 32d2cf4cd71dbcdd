#!/usr/bin/python3
"""A server for the experiments' self-test: answers, and pauses now and then.

    stub.py NAME PORT

Every 200th request it stops for 30 ms, as a collection would.
"""

import socketserver
import sys
import threading
import time

PAUSE_EVERY, PAUSE_S = 200, 0.03
_gate = threading.Lock()
_count = 0


class Handler(socketserver.StreamRequestHandler):
    """One connection."""

    disable_nagle_algorithm = True

    def handle(self):
        global _count
        while True:
            line = self.rfile.readline()
            if not line:
                return
            while self.rfile.readline() not in (b"\r\n", b"\n", b""):
                pass
            with _gate:
                _count += 1
                if _count % PAUSE_EVERY == 0:
                    time.sleep(PAUSE_S)
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"
                             b"Server-Timing: app;dur=0.1\r\n\r\nok")


class Server(socketserver.ThreadingTCPServer):
    """A thread for each connection."""

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 1024


if __name__ == "__main__":
    with Server(("127.0.0.1", int(sys.argv[2])), Handler) as server:
        server.serve_forever()
