"""Responses, as they should be and spoilt.

A mode names one of KINDS or `any`; whether and how a request is hit follows
from the seed, the server's name and the request.
"""

import random
import socket
import struct
import time

import content

# Kinds that a proxy cannot hide when it has begun to pass the response on, or
# that make it ask again before that.
SPOILT = ("reset", "hangup-before", "head-cut", "body-cut", "body-reset",
          "garbage", "bad-chunk")
# Kinds that no client may notice.
HARMLESS = ("stall", "bits", "extra", "early", "hints", "hangup-after",
            "loose")
KINDS = SPOILT + HARMLESS
# How the checker itself is checked: responses that are wrong.
LIES = ("lie-byte", "lie-twice", "lie-swap")

GARBAGE = (
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200),
    b"nonsense\r\n\r\n",
    b"HTTP/1.1 2OO OK\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 099 No\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n"
    b"Connection: Upgrade\r\n\r\n",
    b"HTTP/1.1 200 OK\rContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n"
    b"Transfer-Encoding: gzip\r\n\r\n0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nX: " + b"y" * 20000 + b"\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nX\0: y\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\n" * 80,
    b"\r\n\r\n\r\n",
)
EXTRA = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nX-Nonce: poison\r\n\r\npoison"


def draw(mode, spec, salt):
    """The kind of fault that hits this request, or None."""
    dice = random.Random(f"{salt} {mode['kind']} {spec.method} {spec.name}")
    if dice.random() >= mode["share"]:
        return None
    if mode["kind"] == "any":
        return dice.choice(KINDS)
    return mode["kind"] if mode["kind"] in KINDS + LIES else None


def head(spec, nonce, digest, framing, close):
    lines = [f"HTTP/1.1 {spec.status} Of-Course", f"X-Nonce: {nonce}",
             f"X-Target: {spec.target}", f"X-Digest: {digest}"]
    if framing == "length" and spec.status != 204:
        lines.append(f"Content-Length: {spec.size}")
    elif framing == "chunked" and spec.status not in (204, 304):
        lines.append("Transfer-Encoding: chunked")
    if close:
        lines.append("Connection: close")
    return "\r\n".join(lines).encode() + b"\r\n\r\n"


def chunks(body, dice):
    out, at = [], 0
    while at < len(body):
        size = dice.choice((1, 7, 100, 4096, 30_000))
        part = body[at:at + size]
        out.append(b"%x\r\n%b\r\n" % (len(part), part))
        at += size
    return b"".join(out) + b"0\r\n\r\n"


def reset(sock):
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                    struct.pack("ii", 1, 0))


def respond(connection, spec, nonce, digest, fault):
    """Send the response; True if the connection may carry another request."""
    dice = random.Random(f"{spec.target} {fault}")
    body = spec.body_down(digest)
    framing = spec.framing
    if framing == "close" and (spec.bodiless or fault in LIES):
        framing = "length"
    if fault == "bad-chunk" and not spec.bodiless:
        framing = "chunked"
    close = framing == "close" or fault == "last"
    text = head(spec, nonce, digest, framing, close)
    payload = body
    if framing == "chunked" and not spec.bodiless:
        payload = chunks(body, dice)
    hints = spec.interim + (20 if fault == "hints" else 0)
    for i in range(hints):
        text = b"HTTP/1.1 103 Early Hints\r\nX-Hint: %d\r\n\r\n" % i + text
    spoil = _SPOIL.get(fault)
    if spoil is not None:
        return spoil(connection, spec, nonce, text, payload, dice)
    connection.send(text + payload)
    if framing == "close":
        connection.note("whole", nonce, spec)
    return not close and fault != "hangup-after"


def _cut(connection, spec, nonce, text, payload, dice, rude):
    """The first part of a response, then the end."""
    connection.note("fault", nonce, spec, "cut")
    # An orderly end of what has no length is no fault; and a whole response
    # is none either.
    rude |= b"Content-Length" not in text and b"chunked" not in text
    if rude:
        reset(connection.sock)
    part = payload[:dice.randrange(len(payload))] if payload else b""
    connection.send((text if payload else text[:-2]) + part)
    time.sleep(dice.choice((0, 0.001, 0.02)))
    return False


def _body_cut(*of):
    return _cut(*of, rude=False)


def _body_reset(*of):
    return _cut(*of, rude=True)


def _head_cut(connection, spec, nonce, text, _payload, dice):
    connection.note("fault", nonce, spec, "head-cut")
    connection.send(text[:dice.randrange(1, len(text) - 1)])
    if dice.random() < 0.5:
        reset(connection.sock)
    return False


def _reset(connection, spec, nonce, *_):
    connection.note("fault", nonce, spec, "reset")
    reset(connection.sock)
    return False


def _hangup_before(connection, spec, nonce, *_):
    connection.note("fault", nonce, spec, "hangup")
    return False


def _garbage(connection, spec, nonce, _text, _payload, dice):
    connection.note("fault", nonce, spec, "garbage")
    connection.send(dice.choice(GARBAGE))
    time.sleep(0.01)
    return dice.random() < 0.5


def _bad_chunk(connection, spec, nonce, text, payload, dice):
    connection.note("fault", nonce, spec, "bad-chunk")
    if spec.bodiless:
        text, payload = b"HTTP/1.1 200\x01\r\n\r\n", b""
    else:
        payload = payload[:-5]  # all whole chunks, without the last
    connection.send(text + payload)
    time.sleep(dice.choice((0, 0.005)))
    connection.send(dice.choice(
        (b"x\r\n", b"5 5\r\nhello\r\n", b"-1\r\n", b"\r\n",
         b"ffffffffffffffff1\r\n", b"0\r\nno field\r\n\r\n")))
    time.sleep(0.05)
    return False


def _loose(connection, spec, nonce, text, payload, _dice):
    """What is taken from a server, if not from a client."""
    connection.send(text.replace(b"\r\n", b"\n") + payload)
    return _ended(connection, spec, nonce, text)


def _stall(connection, spec, nonce, text, payload, dice):
    at = dice.randrange(len(text + payload))
    connection.send((text + payload)[:at])
    time.sleep(dice.choice((0.002, 0.02, 0.2, 0.4)))
    connection.send((text + payload)[at:])
    return _ended(connection, spec, nonce, text)


def _bits(connection, spec, nonce, text, payload, dice):
    data = text + payload
    for i in range(0, min(len(data), 300)):
        connection.send(data[i:i + 1])
    connection.send(data[300:])
    return _ended(connection, spec, nonce, text)


def _ended(connection, spec, nonce, text):
    if b"Content-Length" in text or b"chunked" in text or spec.bodiless:
        return True
    connection.note("whole", nonce, spec)
    return False


def _extra(connection, spec, nonce, text, payload, _dice):
    """Another response behind the response, in the same packet if it fits."""
    if not _framed(text):
        connection.send(text + payload)
        return _ended(connection, spec, nonce, text)
    connection.send(text + payload
                    + (EXTRA if len(payload) < 30_000 else b""))
    return True


def _framed(text):
    return b"Content-Length" in text or b"chunked" in text


def _lie_byte(connection, _spec, _nonce, text, payload, _dice):
    if payload:
        payload = payload[:-1] + bytes([payload[-1] ^ 1])
    connection.send(text + payload)
    return True


def _lie_twice(connection, _spec, _nonce, text, payload, _dice):
    """The same response again to the next request on this connection."""
    connection.send(text + payload)
    connection.stream.head()
    connection.send(text + payload)
    return False


def _lie_swap(connection, spec, nonce, _text, _payload, _dice):
    """The right response to another request."""
    other = content.parse(
        spec.method, spec.target.replace(spec.name, spec.name[::-1]))
    digest = other.digest()
    connection.send(head(other, nonce, digest, "length", False)
                    + other.body_down(digest))
    return True


_SPOIL = {
    "reset": _reset, "hangup-before": _hangup_before, "head-cut": _head_cut,
    "body-cut": _body_cut, "body-reset": _body_reset, "garbage": _garbage,
    "bad-chunk": _bad_chunk, "stall": _stall, "bits": _bits,
    "loose": _loose,
    "extra": _extra, "lie-byte": _lie_byte, "lie-twice": _lie_twice,
    "lie-swap": _lie_swap,
}
