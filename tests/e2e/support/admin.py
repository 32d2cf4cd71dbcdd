"""An admin socket whose responses a test writes, good ones and hostile ones."""

from rig.message import Closed
from rig.origin import Origin

SERVERS = {
    "schema": "tailor.servers/1", "mode": "act", "active": "north",
    "servers": [
        {"name": "north", "address": "127.0.0.1:9001", "pid": 812,
         "program": "java", "processes": 3,
         "state": "ready", "active": True, "pauses": ["gc", "safepoint"],
         "source": "agent", "detail": "OpenJDK 17", "inflight": 3,
         "draining": 1, "connections": {"idle": 5, "busy": 4},
         "p50_ns": 813000, "p95_ns": 41200000, "restarts": 2, "errors": 7,
         "responses_per_s": 812.4, "errors_per_s": 0.23},
        {"name": "a-backup-with-quite-a-long-name", "address": "unix:/s",
         "pid": 0, "state": "down", "active": False, "pauses": [],
         "source": "none", "detail": "x" * 300},
    ]}


def http(status, body, length=None):
    """A response as the admin server sends it."""
    data = body if isinstance(body, bytes) else body.encode()
    size = len(data) if length is None else length
    return (f"HTTP/1.1 {status} X\r\nContent-Type: text/plain\r\n"
            f"Content-Length: {size}\r\nConnection: close\r\n\r\n"
            ).encode() + data


class Admin(Origin):
    """Responds to every connection from a table: method and target -> bytes,
    or a function that gets the socket."""

    def __init__(self, path):
        super().__init__("admin", str(path))
        self.answers = {}
        self.asked = []
        self.serve(self._respond)

    def _respond(self, request):
        asked = f"{request.method} {request.target}"
        self.asked.append(asked)
        answer = self.answers.get(asked, http(404, '{"error":"unknown"}'))
        try:
            if callable(answer):
                answer(request.connection.socket)
            else:
                request.send(answer)
        except OSError:
            pass  # tailorctl had enough
        request.close()
        raise Closed
