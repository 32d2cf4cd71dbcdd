"""TCP ports of this machine."""

import collections
import random
import socket

# Given to a program that may not have bound it yet.
given = collections.deque(maxlen=2000)


def free_port():
    """A port that is free, and that no outgoing connection can get.

    Not one of the kernel's choice: those are also given to outgoing
    connections, and a client that tries to reach a server which is just being
    restarted can then get the server's own port, connect to itself, and keep
    the server from starting.  Of one process it is another each time.
    """
    with open("/proc/sys/net/ipv4/ip_local_port_range",
              encoding="ascii") as file:
        first, last = map(int, file.read().split())
    outside = [p for p in range(10240, 65536) if not first <= p <= last]
    for port in random.sample(outside, min(len(outside), 200)):
        with socket.socket() as sock:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                sock.bind(("127.0.0.1", port))
            except OSError:
                continue
        if port not in given:
            given.append(port)
            return port
    raise AssertionError("no free port outside of the range for outgoing "
                         "connections")


def listens(address):
    """Whether a connection to HOST:PORT or unix:PATH is accepted."""
    try:
        if address.startswith("unix:"):
            with socket.socket(socket.AF_UNIX) as sock:
                sock.settimeout(1)
                sock.connect(address.removeprefix("unix:"))
        else:
            host, _, port = address.rpartition(":")
            socket.create_connection((host, int(port)), 1).close()
    except OSError:
        return False
    return True
