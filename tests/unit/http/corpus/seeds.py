#!/usr/bin/python3
"""Write the corpus as seeds for the fuzz targets: one file for each message.

usage: seeds.py requests.txt DIRECTORY
"""
import os
import re
import sys

ESCAPE = re.compile(rb'\\(x[0-9a-fA-F]{2}|.)')
PLAIN = {b"r": b"\r", b"n": b"\n", b"t": b"\t", b"0": b"\0"}


def text(quoted):
    inner = quoted[quoted.index(b'"') + 1:quoted.rindex(b'"')]

    def one(match):
        escape = match.group(1)
        if escape[:1] == b"x":
            return bytes([int(escape[1:], 16)])
        return PLAIN.get(escape, escape)

    return ESCAPE.sub(one, inner)


def main():
    corpus, directory = sys.argv[1:]
    os.makedirs(directory, exist_ok=True)
    messages, name = {}, None
    with open(corpus, "rb") as lines:
        for line in lines:
            word = line.split(None, 1)
            if not word:
                continue
            if word[0] == b"case":
                name = word[1].strip().decode()
                messages[name] = b""
            elif word[0] == b"in":
                messages[name] += text(word[1])
            elif word[0] == b"fill":
                count = int(word[1].split(None, 1)[0])
                messages[name] += text(word[1]) * count
    for name, message in messages.items():
        with open(os.path.join(directory, name), "wb") as out:
            out.write(message)


main()
