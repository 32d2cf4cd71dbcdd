"""The little HTTP the demonstration itself speaks."""

import http.client
import random
import socket

from processes import Trouble


class _Local(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def get(where, target, fields=None, timeout=10.0):
    """GET from a port of this machine, or a Unix socket's path.

    Returns (status, body as text); (0, "") if nobody answers.
    """
    if isinstance(where, int):
        link = http.client.HTTPConnection("127.0.0.1", where, timeout=timeout)
    else:
        link = _Local(str(where), timeout)
    try:
        link.request("GET", target,
                     headers={"Connection": "close", **(fields or {})})
        response = link.getresponse()
        return response.status, response.read().decode("utf-8", "replace")
    except (OSError, http.client.HTTPException):
        return 0, ""
    finally:
        link.close()


def free_port():
    """A port that is free, and that no outgoing connection can get.

    Not one of the kernel's choice: those are also given to outgoing
    connections, and a client that tries to reach a server which is just being
    restarted can then get the server's own port, connect to itself, and keep
    the server from starting.
    """
    with open("/proc/sys/net/ipv4/ip_local_port_range",
              encoding="ascii") as file:
        first, last = map(int, file.read().split())
    outside = [p for p in range(10240, 65536) if not first <= p <= last]
    for port in random.sample(outside, min(len(outside), 200)):
        if not port_in_use(port):
            return port
    raise Trouble("found no free port outside of the range for outgoing "
                  "connections")


def port_in_use(port):
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind(("127.0.0.1", port))
        except OSError:
            return True
    return False
