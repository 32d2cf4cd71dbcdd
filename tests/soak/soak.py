#!/usr/bin/python3
"""One Tailor for an hour before servers of others: nothing may grow, and no
byte may be wrong.

    tests/soak/soak.py --build build [--minutes 60] [--seed N] [--keep DIR]

The two servers are Tomcat, then nginx, Node and the JDK's own server, by a
reload each five minutes.  Meanwhile they are stopped, killed, restarted,
drained and swapped, the configuration is read again, the access log is rotated;
files, posts and streams come from clients that know each byte, some of which
leave early, beside crowds of idle connections.  Only POSTs, streams, and what
was half sent when its server was killed may be cut, and must show it.

After a sixth of the time Tailor's memory, descriptors, threads and disk must be
flat.  Exit status 0 if all that held.
"""

import argparse
import hashlib
import http.client
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from rig.other_proxies import find, nginx  # noqa: E402
from rig.ports import free_port  # noqa: E402
from rig.process import Process  # noqa: E402
from rig.tailor import Tailor, configuration  # noqa: E402
from rig.wait import Late  # noqa: E402

KINDS = ("tomcat", "nginx", "node", "jdk")
KIND_S = 300
EVENT_S = (4, 16)
FILES = 40
CROWD = 150
LOGS_KEPT = 3
SHARE_WARM = 1 / 6
JARS = ":".join(f"/usr/share/java/{name}.jar" for name in (
    "tomcat10-embed-core", "tomcat10-annotations-api"))
NGINX = """
	access_log off;
	upstream others {{ server 127.0.0.1:{others}; keepalive 16; }}
	server {{
		listen 127.0.0.1:{port};
		root {folder};
		client_max_body_size 1m;
		proxy_http_version 1.1;
		proxy_set_header Connection "";
		proxy_buffering off;
		location = /echo {{ proxy_pass http://others; }}
		location = /stream {{ proxy_pass http://others; }}
	}}
"""
# What the median of a sixth may grow by after the warm-up: crowds come and go,
# files are rotated.
MAY_GROW = {"memory, KiB": 8192, "descriptors": 32, "threads": 0,
            "disk, KiB": 8192}


def say(text):
    print(time.strftime("%H:%M:%S"), text, flush=True)


class Wrong(Exception):
    """A response that is not what its server sent."""


class Book:
    """What came of the requests; safe for all threads."""

    def __init__(self):
        self.count, self.bad = Counter(), []
        self._lock = threading.Lock()

    def note(self, sort, outcome):
        with self._lock:
            self.count[sort, outcome] += 1

    def violation(self, text):
        with self._lock:
            self.bad.append(text)
        say(f"VIOLATION {text}")


class Guest(threading.Thread):
    """A client with one connection, which it opens again after an error."""

    def __init__(self, soak, number):
        super().__init__(daemon=True)
        self.soak, self.connection = soak, None
        self.draw = random.Random(f"{soak.given.seed}/{number}")

    def run(self):
        while not self.soak.over.wait(self.draw.expovariate(8)):
            sort = self.draw.choices(("file", "echo", "stream"),
                                     (80, 15, 5))[0]
            try:
                outcome = getattr(self, sort)()
            except Wrong as wrong:
                outcome = "wrong"
                self.soak.book.violation(f"{sort}: {wrong}")
            except (OSError, http.client.HTTPException) as error:
                outcome = type(error).__name__
            if not isinstance(outcome, str) or outcome != "good":
                self.soak.failed(sort, outcome)
                self.leave()
            self.soak.book.note(sort, outcome)

    def leave(self):
        if self.connection:
            self.connection.close()
        self.connection = None

    def ask(self, method, target, body=None, chunked=False):
        if not self.connection:
            self.connection = http.client.HTTPConnection(
                *self.soak.tailor.address, timeout=90)
        self.connection.request(method, target, body,
                                encode_chunked=chunked, headers={
                                    "Transfer-Encoding": "chunked"}
                                if chunked else {})
        return self.connection.getresponse()

    def file(self):
        name = self.draw.choice(self.soak.files)
        response = self.ask("GET", f"/{name}")
        body = response.read()
        if response.status != 200:
            return response.status
        if hashlib.sha256(body).hexdigest() != name:
            raise Wrong(f"{len(body)} bytes for {name}")
        return "good"

    def echo(self):
        body = self.draw.randbytes(int(2 ** self.draw.uniform(0, 17)))
        if self.draw.random() < 0.3:
            response = self.ask("POST", "/echo", iter(
                [body[:99], body[99:] or b"."]), chunked=True)
            body = body[:99] + (body[99:] or b".")
        else:
            response = self.ask("POST", "/echo", body)
        got = response.read()
        if response.status != 200:
            return response.status
        if got != body:
            raise Wrong(f"{len(got)} of {len(body)} bytes")
        return "good"

    def stream(self):
        count = self.draw.randint(1, 100)
        leaves = self.draw.random() < 0.3
        response = self.ask("GET", f"/stream?{count}")
        if response.status != 200:
            response.read()
            return response.status
        for number in range(count):
            line = response.readline() + response.readline()
            if not line:
                return "cut"
            if line != f"data: {number}\n\n".encode():
                raise Wrong(f"{line} as event {number}")
            if leaves and number > count / 2:
                self.leave()
                return "good"
        if response.read():
            raise Wrong("more than the events")
        return "good"


class Soak:
    """One run."""

    def __init__(self, given, folder):
        self.given, self.folder = given, folder
        self.draw = random.Random(given.seed)
        self.over, self.book = threading.Event(), Book()
        self.serial, self.kind, self.gauges = 0, KINDS[0], []
        self.events, self.events_count = [], Counter()
        self.docs = pathlib.Path(folder, "docs")
        self.logs = pathlib.Path(folder, "logs")
        self.store = pathlib.Path(folder, "store")
        for path in (self.docs, self.logs):
            path.mkdir()
        self.files = [self._file() for _ in range(FILES)]
        subprocess.run([find("javac"), "-cp", JARS, "-d", folder,
                        HERE / "Service.java"], check=True)
        others = free_port()
        self.others = Process([find("node"), HERE / "service.js", others,
                               self.docs])
        self.others_port = others
        self.tailor = None

    def _file(self):
        data = self.draw.randbytes(int(2 ** self.draw.uniform(0, 19)))
        name = hashlib.sha256(data).hexdigest()
        (self.docs / name).write_bytes(data)
        return name

    # --- servers ----------------------------------------------------------

    def command(self, kind, port):
        if kind == "node":
            return ["node", HERE / "service.js", port, self.docs]
        if kind == "nginx":
            at = pathlib.Path(self.folder, f"nginx-{port}")
            at.mkdir()
            return nginx(at, NGINX.format(port=port, folder=self.docs,
                                          others=self.others_port))
        return ["java", "-Xms64m", "-Xmx64m", "-cp",
                f"{self.folder}:{JARS}", f"-Djava.io.tmpdir={self.folder}",
                "Service", kind, port, self.docs]

    def server(self, name):
        port = free_port()
        command = [str(x) for x in self.command(self.kind, port)]
        return {"name": name, "address": f"127.0.0.1:{port}",
                "launch": {"command": [find(command[0]), *command[1:]],
                           "output": f"{self.folder}/servers.log"}}

    def configuration(self):
        return configuration(
            self.folder, [self.server(name) for name in "ab"],
            {"hedging": {"mode": "act"},
             "slow": {"store": str(self.store), "store_bytes": "4M"},
             "blame": {"store_bytes": "1M"},
             "access_log": {"path": str(self.logs / "access.log")}})

    # --- what happens -----------------------------------------------------

    def rewrite(self, config):
        path = pathlib.Path(self.folder, "tailor.json")
        path.write_text(json.dumps(config), encoding="utf-8")
        response = self.tailor.ask("/reload", "POST")
        if response.status != 200:
            self.book.violation(f"reload: {response.body}")

    def post(self, target):
        """An order; 409 where it cannot be followed now."""
        response = self.tailor.ask(target, "POST")
        if response.status not in (200, 202, 409):
            self.book.violation(f"{target}: {response.status}")

    def next_kind(self):
        self.serial += 1
        self.kind = KINDS[self.serial % len(KINDS)]
        self.tailor.config["servers"] = [self.server(x) for x in "ab"]
        self.rewrite(self.tailor.config)

    def program(self, name):
        """The process that Tailor launched as this server; None if none."""
        return self.tailor.server(name).get("pid") or None

    def pause(self, name):
        if pid := self.program(name):
            os.kill(pid, signal.SIGSTOP)
            self.over.wait(self.draw.choice((0.05, 0.3, 1, 3)))
            os.kill(pid, signal.SIGCONT)

    def kill(self, name):
        if pid := self.program(name):
            os.kill(pid, signal.SIGKILL)

    def restart(self, name):
        self.post(f"/restart?server={name}")

    def drain(self, name):
        self.post(f"/drain?server={name}")
        self.over.wait(2)
        self.post(f"/ready?server={name}")

    def switch(self, _):
        self.post("/switch")

    def reload(self, _):
        self.tailor.config["proxy"]["request_timeout"] = (
            f"{self.draw.randint(30, 60)}s")
        self.rewrite(self.tailor.config)

    def rotate(self, _):
        old = [self.logs / f"access.log.{i}" for i in range(LOGS_KEPT)]
        for a, b in zip(old[-2::-1], old[::-1]):
            if a.exists():
                a.replace(b)
        (self.logs / "access.log").replace(old[0])
        os.kill(self.tailor.pid, signal.SIGUSR1)

    def crowd(self, _):
        """Idle connections: some never say a word, some have asked once."""
        idle = []
        for number in range(CROWD):
            one = socket.create_connection(self.tailor.address, 30)
            if number % 2:
                one.sendall(b"GET /stream?1 HTTP/1.1\r\nHost: idle\r\n\r\n")
            idle.append(one)
        self.over.wait(3)
        for one in idle:
            one.close()

    def failed(self, sort, outcome):
        now = time.monotonic()
        last = [f"{what} {now - when:.1f} s ago"
                for when, what in self.events[-2:]]
        say(f"{sort} {outcome}: {', '.join(last)}")

    def direct(self):
        """Things happen until the time is over."""
        due = time.monotonic() + KIND_S
        what = ("pause", "pause", "kill", "restart", "drain", "switch",
                "reload", "rotate", "crowd")
        while not self.over.wait(self.draw.uniform(*EVENT_S)):
            event, name = self.draw.choice(what), self.draw.choice("ab")
            if time.monotonic() > due:
                due += KIND_S
                event = "next_kind"
            self.events.append((time.monotonic(), f"{event} {name}"))
            self.events_count[event] += 1
            try:
                if event == "next_kind":
                    self.next_kind()
                else:
                    getattr(self, event)(name)
            except (OSError, StopIteration) as error:
                say(f"{event}: {error!r}")

    # --- what it costs ----------------------------------------------------

    def gauge(self):
        disk = sum(path.stat().st_blocks for where in (self.logs, self.store)
                   for path in where.rglob("*") if path.is_file())
        return {"memory, KiB": self.tailor.resident_kib(),
                "descriptors": self.tailor.descriptors(),
                "threads": len(os.listdir(f"/proc/{self.tailor.pid}/task")),
                "disk, KiB": disk // 2}

    def judge(self):
        """The median of the last sixth beside that of the second one."""
        sixth = int(len(self.gauges) * SHARE_WARM)
        for what, more in MAY_GROW.items():
            part = [[g[what] for g in self.gauges[i:i + sixth]]
                    for i in range(0, sixth * 6, sixth)]
            middle = [statistics.median(one) for one in part]
            say(f"{what}, median of each sixth: {middle}, greatest: "
                f"{[max(one) for one in part]}")
            if middle[5] > middle[1] + more:
                self.book.violation(f"{what} grew")

    def run(self):
        self.tailor = Tailor(self.given.build, self.folder,
                             self.configuration()).wait_serving()
        for name in "ab":
            self.tailor.wait_server(name, state="ready")
        guests = [Guest(self, i) for i in range(16)]
        director = threading.Thread(target=self.direct)
        for thread in (*guests, director):
            thread.start()
        until = time.monotonic() + 60 * self.given.minutes
        while time.monotonic() < until and self.tailor.running():
            try:
                self.gauges.append(self.gauge())
            except FileNotFoundError:
                pass  # a file has just been replaced
            self.over.wait(2)
            if len(self.gauges) % 30 == 0:
                say(f"{self.kind} {self.gauges[-1]} "
                    f"{dict(self.events_count)} {sum(self.book.count.values())}")
        self.over.set()
        for thread in (*guests, director):
            thread.join(120)
        try:
            self.tailor.wait_settled()
            self.tailor.stop()
        except (AssertionError, Late, OSError) as error:
            self.book.violation(f"end: {error}")
        self.judge()
        for key, number in sorted(self.book.count.items(), key=str):
            say(f"{key[0]:8} {key[1]!s:24} {number}")
        say(f"{dict(self.events_count)}")
        return len(self.book.bad)


def options():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--build", default=str(HERE.parents[1] / "build"))
    p.add_argument("--minutes", type=float, default=60)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--keep", metavar="DIR", help="work here and leave it")
    return p.parse_args()


def main():
    given = options()
    folder = given.keep or tempfile.mkdtemp(prefix="soak-", dir="/var/tmp")
    os.makedirs(folder, exist_ok=True)
    try:
        soak = Soak(given, folder)
        bad = soak.run()
        pathlib.Path(folder, "tailor.log").write_text(
            soak.tailor.log, encoding="utf-8")
        soak.others.kill()
    finally:
        if not given.keep:
            shutil.rmtree(folder, ignore_errors=True)
    say(f"{bad} violations")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
