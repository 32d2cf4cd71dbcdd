"""The page of layer.h: which calls fail, and which paths to them there are."""

import mmap
import struct

KINDS = ["alloc", "accept", "connect", "write", "read", "event", "open"]
HEAD, ENTRY, PATHS = 120, 120, 8192


class Page:
    """The page, in a file that the layer maps too."""

    def __init__(self, path):
        self.path = path
        with open(path, "w+b") as file:
            file.truncate(HEAD + ENTRY * PATHS)
            self._map = mmap.mmap(file.fileno(), HEAD + ENTRY * PATHS)

    def _get(self, offset):
        return struct.unpack_from("<Q", self._map, offset)[0]

    def _set(self, offset, value):
        struct.pack_into("<Q", self._map, offset, value)

    def record(self):
        self._set(40, 1)

    def arm(self, kinds=(1 << len(KINDS)) - 1, path=0, skip=0, left=1):
        """Of the matching calls, skip go well and the next `left` fail."""
        self._set(24, 0)
        self._set(0, kinds)
        self._set(8, path)
        self._set(16, skip)
        self._set(24, left)

    def disarm(self):
        self._set(24, 0)

    @property
    def failed(self):
        return self._get(32)

    def paths(self):
        """{key: (kind, calls, failed, what, return addresses)}"""
        assert self._get(112) == 0, "the table of paths is full"
        found = {}
        for i in range(PATHS):
            one = struct.unpack_from("<QIIQQ16s9Q", self._map,
                                     HEAD + ENTRY * i)
            if one[0]:
                found[one[0]] = (KINDS[one[1]], one[3], one[4],
                                 one[5].rstrip(b"\0").decode(),
                                 [at for at in one[6:] if at])
        return found

    def close(self):
        self._map.close()
