"""An admin socket whose answers a test writes, good ones and hostile ones."""

import socket
import threading

from .wait import PATIENCE_S

SERVERS = {
    "schema": "tailor.servers/1", "mode": "act", "active": "north",
    "servers": [
        {"name": "north", "address": "127.0.0.1:9001", "pid": 812,
         "state": "ready", "active": True, "hazards": ["gc", "safepoint"],
         "source": "agent", "detail": "OpenJDK 17", "inflight": 3,
         "draining": 1, "connections": {"idle": 5, "busy": 4},
         "p50_ns": 813000, "p95_ns": 41200000, "restarts": 2, "errors": 7},
        {"name": "a-backup-with-quite-a-long-name", "address": "unix:/s",
         "pid": 0, "state": "down", "active": False, "hazards": [],
         "source": "none", "detail": "x" * 300},
    ]}


def http(status, body, length=None):
    """A reply as the admin server sends it."""
    data = body if isinstance(body, bytes) else body.encode()
    size = len(data) if length is None else length
    return (f"HTTP/1.1 {status} X\r\nContent-Type: text/plain\r\n"
            f"Content-Length: {size}\r\nConnection: close\r\n\r\n"
            ).encode() + data


class Admin:
    """Answers every connection from a table: request line -> bytes or a
    function that gets the socket."""

    def __init__(self, path):
        self.path = str(path)
        self.answers = {}
        self.asked = []
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(self.path)
        self._socket.listen()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self):
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                head = b""
                while b"\r\n\r\n" not in head:
                    head += connection.recv(4096) or b"\r\n\r\n"
                asked = b" ".join(head.split(b" ")[:2]).decode()
                self.asked.append(asked)
                answer = self.answers.get(
                    asked, http(404, '{"error":"unknown"}'))
                try:
                    if callable(answer):
                        answer(connection)
                    else:
                        connection.sendall(answer)
                except OSError:
                    pass  # tailorctl had enough

    def close(self):
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(PATIENCE_S)
