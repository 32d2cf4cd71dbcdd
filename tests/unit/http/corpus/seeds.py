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


def cases(corpus):
    """{name: [message, {the first word of each other line: its rest}]}"""
    found, case = {}, None
    with open(corpus, "rb") as lines:
        for line in lines:
            word, _, rest = line.strip().partition(b" ")
            if word == b"case":
                case = found[rest.decode()] = [b"", {}]
            elif word == b"in":
                case[0] += text(rest)
            elif word == b"fill":
                case[0] += text(rest) * int(rest.split(None, 1)[0])
            elif word and word != b"#":
                case[1][word.decode()] = rest.decode("latin-1")
    return found


def main():
    corpus, directory = sys.argv[1:]
    os.makedirs(directory, exist_ok=True)
    for name, (message, _) in cases(corpus).items():
        with open(os.path.join(directory, name), "wb") as out:
            out.write(message)


if __name__ == "__main__":
    main()
