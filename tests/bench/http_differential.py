#!/usr/bin/python3
"""The request corpus through HAProxy and nginx, beside the outcome of our gate.

Each request of tests/unit/http/corpus/requests.txt is sent to both, in
front of a server that keeps the bytes it is given.  Our own outcome is the one
written in the corpus, which test_corpus checks.  Printed, as tables for
docs/http.md: how often each refuses, and every case that we let pass though
one of the others refuses it, or forwards something else as its body.

The whole is done ROUNDS times, with the proxies started anew each time: one
outcome of HAProxy 2.6.12 (a space before the colon of a trailer) was seen to be
the same for the life of a process and to differ between processes; we do not
know why.  Outcomes that differ are all listed, the most frequent first, and a
case counts as passed if it passed once.

usage: http_differential.py [--all] [CORPUS]      (in the root of the sources)

Needs haproxy and nginx.  Ports are the kernel's choice, loopback only; takes
some minutes, because silence is an outcome here and has to be waited for.
"""
import collections
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from rig import other_proxies  # noqa: E402
from rig.ports import free_port, listens  # noqa: E402
from rig.process import Process  # noqa: E402
from rig.wait import wait_until  # noqa: E402

CORPUS = "tests/unit/http/corpus/requests.txt"
ROUNDS = 8
QUIET_S = 0.08  # nothing more comes: the server answers
ANSWER_S = 4.0  # no response: the proxy waits for more
ESCAPE = re.compile(rb'\\(x[0-9a-fA-F]{2}|.)')
INTERIM = re.compile(rb"^HTTP/1\.1 100 [^\n]*\n\r?\n")
PLAIN = {b"r": b"\r", b"n": b"\n", b"t": b"\t", b"0": b"\0"}

HAPROXY = """
global
    maxconn 100
    tune.bufsize 20480  # heads of 16 KiB, as ours, and its own reserve
defaults
    mode http
    timeout client 5s
    timeout server 5s
    timeout connect 1s
    timeout http-request 5s
frontend f
    bind 127.0.0.1:{port}
    default_backend b
backend b
    server s 127.0.0.1:{server}
"""

NGINX = """
    access_log off;
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://127.0.0.1:{server};
            proxy_http_version 1.1;
            proxy_set_header Host $http_host;
            proxy_set_header Connection "";
        }}
    }}"""


def haproxy(directory, port, server):
    return other_proxies.haproxy(directory, HAPROXY.format(
        port=port, server=server))


def nginx(directory, port, server):
    return other_proxies.nginx(
        directory, NGINX.format(port=port, server=server),
        main="master_process off; worker_processes 1;")


# Each writes its files and returns its command.
PROXIES = [haproxy, nginx]


def unquote(line):
    def one(match):
        escape = match.group(1)
        if escape[:1] == b"x":
            return bytes([int(escape[1:], 16)])
        return PLAIN.get(escape, escape)

    return ESCAPE.sub(one, line[line.index(b'"') + 1:line.rindex(b'"')])


class Case:
    def __init__(self, name):
        self.name, self.message, self.outcome = name, b"", None
        self.body, self.cut, self.options = b"", False, False


def read_corpus(path):
    cases = []
    with open(path, "rb") as lines:
        for line in lines:
            word, _, rest = line.strip().partition(b" ")
            if word == b"case":
                cases.append(Case(rest.decode()))
            elif word == b"in":
                cases[-1].message += unquote(rest)
            elif word == b"fill":
                count, _, text = rest.partition(b" ")
                cases[-1].message += unquote(text) * int(count)
            elif word == b"option":
                cases[-1].options = True
            elif word == b"refuse":
                cases[-1].outcome = rest.decode()
            elif word in (b"pass", b"pass-any", b"more"):
                cases[-1].outcome = word.decode()
            elif word == b"body":
                cases[-1].body = unquote(rest)
            elif word == b"flags":
                cases[-1].cut = b"cut" in rest
    # a limit of our own says nothing about the others, nor does half a message
    return [c for c in cases
            if not c.options and not c.cut and c.outcome != "more"]


class Server(threading.Thread):
    """Keeps what it is given and answers when nothing more comes."""

    def __init__(self):
        super().__init__(daemon=True)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.taken = []
        self.changed = threading.Condition()
        self.active = 0

    def run(self):
        while True:
            connection, _ = self.listener.accept()
            threading.Thread(
                target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        taken = b""
        connection.settimeout(QUIET_S)
        with connection:
            try:
                while True:
                    try:
                        piece = connection.recv(65536)
                        if not piece:
                            return
                        if not taken:  # it may be kept for later
                            with self.changed:
                                self.active += 1
                        taken += piece
                    except socket.timeout:
                        if taken:
                            break
                # a body, for that is all an HTTP/0.9 client is shown
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"
                                   b"Connection: close\r\n\r\nok")
            except OSError:
                pass
            finally:
                if taken:
                    with self.changed:
                        self.taken.append(taken)
                        self.active -= 1
                        self.changed.notify()

    def take(self):
        """What was given since the last call, once nothing is under way."""
        with self.changed:
            self.changed.wait_for(lambda: self.active == 0, timeout=10)
            taken, self.taken = b"".join(self.taken), []
            return taken


class Proxy:
    """A proxy before a server that keeps the bytes it is given."""

    def __init__(self, command):
        self.directory = tempfile.mkdtemp(prefix="differential-")
        self.server, self.port = Server(), free_port()
        self.server.start()
        self.process = Process(
            command(self.directory, self.port, self.server.port),
            stdout=subprocess.DEVNULL)
        wait_until(lambda: listens(f"127.0.0.1:{self.port}"),
                   lambda: f"{command.__name__} listens: {self.process.log}")

    def close(self):
        self.process.terminate()
        shutil.rmtree(self.directory)

    def ask(self, message):
        """(status of the first response, 0 if it has none, None if none came;
        bytes the server was given)"""
        self.server.take()  # left over by a client that went away
        answer = b""
        with socket.create_connection(("127.0.0.1", self.port)) as s:
            s.settimeout(ANSWER_S)
            try:
                s.sendall(message)
                while not INTERIM.sub(b"", answer):
                    piece = s.recv(65536)
                    if not piece:
                        break
                    answer += piece
            except OSError:
                pass
        match = re.match(
            rb"HTTP/1\.[01] (\d+)", INTERIM.sub(b"", answer))
        status = int(match.group(1)) if match else 0 if answer else None
        return status, self.server.take()


def payload(forwarded):
    """The body in what a proxy wrote, which is well formed."""
    head, _, rest = forwarded.partition(b"\r\n\r\n")
    if re.search(rb"(?im)^transfer-encoding: *chunked", head):
        body = b""
        while rest:
            size, _, rest = rest.partition(b"\r\n")
            size = int(size.split(b";")[0] or b"0", 16)
            if size == 0:
                break
            body += rest[:size]
            rest = rest[size + 2:]
        return body
    match = re.search(rb"(?im)^content-length: *(\d+)", head)
    return rest[:int(match.group(1))] if match else b""


def describe(status, case, forwarded):
    if status == 200:
        if case.outcome == "pass" and payload(forwarded) != case.body:
            return "other body"
        return "passes"
    if status == 0:  # HTTP/0.9, or HTTP/2 after its preface
        return "passes" if forwarded else "another protocol"
    return "silence" if status is None else str(status)


def one_round(cases):
    """For each case the outcomes of the proxies, started for this round."""
    proxies = []
    try:
        for command in PROXIES:
            proxies.append(Proxy(command))
        return [[describe(status, case, forwarded) for status, forwarded in
                 (proxy.ask(case.message) for proxy in proxies)]
                for case in cases]
    finally:
        for proxy in proxies:
            proxy.close()


def together(seen):
    """All that was seen, the most frequent first, as one text."""
    counted = collections.Counter(seen).most_common()
    return " or ".join(what for what, _ in counted)


def passed(outcome):
    return "passes" in outcome or "other body" in outcome


def main():
    arguments = [a for a in sys.argv[1:] if a != "--all"]
    show_all = len(arguments) < len(sys.argv) - 1
    cases = read_corpus(arguments[0] if arguments else CORPUS)
    rounds = [one_round(cases) for _ in range(ROUNDS)]
    rows = [(case, [together(r[i][p] for r in rounds)
                    for p in range(len(PROXIES))])
            for i, case in enumerate(cases)]
    report(rows, [command.__name__ for command in PROXIES], show_all)


def report(rows, names, show_all):
    ours = [case.outcome.startswith("pass") for case, _ in rows]
    print(f"{len(rows)} requests\n")
    print("| | gate | " + " | ".join(names) + " |")
    print("|---|---|" + "---|" * len(names))
    print("| passes | %d |" % sum(ours), " | ".join(
        str(sum(passed(row[i]) for _, row in rows))
        for i in range(len(names))), "|")
    print("| gate refuses, it passes | |", " | ".join(
        str(sum(not o and passed(row[i])
                for o, (_, row) in zip(ours, rows)))
        for i in range(len(names))), "|")
    print("| gate passes, it refuses | |", " | ".join(
        str(sum(o and not passed(row[i])
                for o, (_, row) in zip(ours, rows)))
        for i in range(len(names))), "|")
    varied = sum(" or " in cell for _, row in rows for cell in row)
    print(f"\nOutcomes that differed between rounds: {varied}\n")
    print("| case | gate | " + " | ".join(names) + " |")
    print("|---|---|" + "---|" * len(names))
    for passes, (case, row) in zip(ours, rows):
        if show_all or (passes and any(r != "passes" for r in row)):
            print(f"| {case.name} | {case.outcome} | {' | '.join(row)} |")


if __name__ == "__main__":
    main()
