"""A connection that loses segments, without privileges: the receiving socket
drops them, as a lossy link would."""

import contextlib
import ctypes
import socket
import struct

SO_ATTACH_FILTER, SO_DETACH_FILTER, SO_MEMINFO = 26, 27, 55
DROPS = 8  # word of SO_MEMINFO: what the socket dropped

# Accept segments without data: ip's length is that of the two headers.
DATA = [(0x30, 0, 0, 12), (0x74, 0, 0, 2), (0x54, 0, 0, 0x3c),
        (0x07, 0, 0, 0), (0x80, 0, 0, 0), (0x2d, 0, 1, 0),
        (0x06, 0, 0, 0), (0x06, 0, 0, 0xffffffff)]
ALL = [(0x06, 0, 0, 0)]


def drops(sock):
    """How many packets a socket has lost."""
    return struct.unpack("9I", sock.getsockopt(
        socket.SOL_SOCKET, SO_MEMINFO, 36))[DROPS]


@contextlib.contextmanager
def dropping(sock, code=DATA):
    """While it lasts the socket loses all data that comes, or ALL segments;
    yields a function that says how many it has lost."""
    text = b"".join(struct.pack("HBBI", *one) for one in code)
    buffer = ctypes.create_string_buffer(text)
    program = struct.pack("HP", len(code), ctypes.addressof(buffer))
    before = drops(sock)
    sock.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, program)
    try:
        yield lambda: drops(sock) - before
    finally:
        sock.setsockopt(socket.SOL_SOCKET, SO_DETACH_FILTER, 0)
