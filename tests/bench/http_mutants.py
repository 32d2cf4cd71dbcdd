#!/usr/bin/python3
"""Damaged requests through Tailor, and what it lets through, through HAProxy and
nginx as well.

The corpus shows what a person thought of.  Here requests of it are changed at
random places, by bytes and lines that have fooled parsers before, and given to
a real tailor.  What it answers with 200 is given to the other two, and printed
is where one of them refuses, or sees another body: each line is a question
whether we are too lenient.  The same seed gives the same requests.

usage: http_mutants.py SECONDS [SEED]      (in the root of the sources)

Needs haproxy, nginx, and a build in $TAILOR_BUILD (build).
"""
import json
import os
import random
import sys
import time

import http_differential as differential

BUILD = os.path.abspath(os.environ.get("TAILOR_BUILD", "build"))
BITS = [b"\r", b"\n", b"\r\n", b" ", b"\t", b":", b",", b";", b"\0", b"\x0b",
        b"\x0c", b"\x80", b"\xff", b"0", b"1", b"-", b"+", b"/", b"\\", b"*",
        b"?", b"#", b"%", b"@", b'"', b"'", b"a", b"A", b"_", b"=", b"[",
        b"]", b"..", b"//", b"HTTP/1.0", b"HTTP/1.1",
        b"Content-Length: 3\r\n", b"Transfer-Encoding: chunked\r\n",
        b"Host: b\r\n", b"Connection: close\r\n", b"Connection: x\r\n",
        b"Upgrade: websocket\r\n", b"Expect: 100-continue\r\n",
        b"TE: trailers\r\n", b"X: \r\n", b"chunked", b"identity",
        b"0\r\n\r\n", b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"]
LONGEST = 600


def tailor(directory, port, server):
    """Write its configuration; its command."""
    path = os.path.join(directory, "tailor.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({
            "listen": f"127.0.0.1:{port}", "admin": "",
            "servers": [{"name": "a", "address": f"127.0.0.1:{server}",
                         "jvm": "none"}],
            "profiler": {"channel_socket": f"{directory}/channels",
                         "stream": "", "kernel": "off"},
            "slow": {"store": ""}, "hedging": {"mode": "watch"},
            "proxy": {"header_timeout": "1s", "client_timeout": "1s"}}, file)
    return [f"{BUILD}/tailor", "-c", path]


def mutant(dice, message):
    """One to three changes: a bit put in, put over or taken out, or a line
    that comes twice or stands where another did."""
    for _ in range(dice.choice([1, 1, 1, 2, 3])):
        at = dice.randrange(len(message) + 1)
        what = dice.randrange(5)
        if what < 2:
            message = message[:at] + dice.choice(BITS) + message[at + what:]
        elif what == 2:
            message = message[:at] + message[at + dice.choice([1, 1, 2]):]
        else:
            lines = message.split(b"\r\n")
            one, other = (dice.randrange(len(lines)) for _ in range(2))
            lines[other:other + what - 3] = [lines[one]]
            message = b"\r\n".join(lines)
    return message


def outcome(proxy, message, body):
    status, forwarded = proxy.ask(message)
    if status == 200:
        same = differential.payload(forwarded) == body
        return "passes" if same else "other body"
    return "silence" if status is None else str(status)


def main():
    seconds = float(sys.argv[1])
    dice = random.Random(sys.argv[2] if len(sys.argv) > 2 else "1")
    seeds = [c.message for c in
             differential.read_corpus(differential.CORPUS)
             if c.outcome.startswith("pass") and len(c.message) < LONGEST]
    ours, *others = [differential.Proxy(command)
                     for command in [tailor, *differential.PROXIES]]
    asked = passed = 0
    end = time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            message = mutant(dice, dice.choice(seeds))
            status, forwarded = ours.ask(message)
            asked += 1
            if status != 200:
                continue
            passed += 1
            body = differential.payload(forwarded)
            row = [outcome(p, message, body) for p in others]
            if any(r != "passes" for r in row):
                print(*row, message, sep="\t", flush=True)
    finally:
        for proxy in (ours, *others):
            proxy.close()
    print(f"{asked} requests, {passed} let through", file=sys.stderr)


main()
