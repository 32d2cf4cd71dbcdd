"""TCP ports of this machine."""

import collections
import errno
import fcntl
import os
import random
import socket
import tempfile

# Given to a program that may not have bound it yet.
given = collections.deque(maxlen=2000)

# Of tests that run side by side no two may be given the same port.  Each has
# its number's byte of this file locked until its process ends.
_claims = os.open(
    f"{tempfile.gettempdir()}/tailor-test-ports-{os.geteuid()}",
    os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)


def claimed(port):
    """Whether the port is now this process's, and no other test's."""
    try:
        fcntl.lockf(_claims, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EAGAIN):
            return False
        raise
    return True


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
        if port not in given and claimed(port):
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
