"""What a request asks for, and so what its response must be.

A target says everything:

    /RULE/NAME?s=STATUS&b=BYTES&f=FRAMING&q=UPLOAD&d=DELAY&i=INTERIM

RULE is `safe` for GET, HEAD and OPTIONS, `again` for others that the
configuration allows to be sent twice, `once` for those that may reach a server
once at most.  NAME is unique in a run.  STATUS, BYTES and FRAMING are the
response's, UPLOAD is the length of the request's own body, DELAY how many
milliseconds the server takes, INTERIM how many 103 come before.

Both bodies are random bytes that follow from the target; the response's from
the method and from the body that the server has seen as well.  So the client
can check every byte, and so can the server.
"""

import dataclasses
import hashlib
import random
import re

TARGET = re.compile(
    r"/(safe|again|once)/([0-9a-z-]+)\?s=(\d{3})&b=(\d+)"
    r"&f=(length|chunked|close)&q=(\d+)&d=(\d+)&i=(\d)\Z")
EARLY = "early"  # the digest of a body that was not waited for
# The names under which the configuration knows the rule `again`.
ALLOW = ["POST /again/**", "PUT /again/**"]
# A longer upload is passed on as it comes, and so never sent twice
# (hedging.body_max).
KEPT_MAX = 60_000


@dataclasses.dataclass(frozen=True)
class Spec:
    """One request."""
    method: str
    rule: str
    name: str
    status: int = 200
    size: int = 0
    framing: str = "length"
    upload: int = 0
    delay_ms: int = 0
    interim: int = 0

    @property
    def target(self):
        return (f"/{self.rule}/{self.name}?s={self.status}&b={self.size}"
                f"&f={self.framing}&q={self.upload}&d={self.delay_ms}"
                f"&i={self.interim}")

    @property
    def bodiless(self):
        return self.method == "HEAD" or self.status in (204, 304)

    @property
    def repeatable(self):
        """May reach a server more than once."""
        return self.rule != "once" and self.upload <= KEPT_MAX

    def body_up(self):
        return _bytes(f"up {self.target}", self.upload)

    def digest(self):
        return digest(self.body_up())

    def body_down(self, seen):
        """The response's body, for a server that has seen that digest."""
        if self.bodiless:
            return b""
        return _bytes(f"down {self.method} {self.target} {seen}", self.size)


def parse(method, target):
    """The Spec of a target, or None."""
    found = TARGET.match(target)
    if found is None:
        return None
    rule, name, status, size, framing, upload, delay, interim = found.groups()
    return Spec(method, rule, name, int(status), int(size), framing,
                int(upload), int(delay), int(interim))


def digest(body):
    return hashlib.sha256(body).hexdigest()[:16]


def _bytes(key, count):
    return random.Random(key).randbytes(count)
