#!/usr/bin/python3
"""One Tailor for an hour before servers of others: nothing may grow, and no
byte may be wrong.

    tests/soak/soak.py --build build [--minutes 60] [--seed N] [--keep DIR]

The two servers are Tomcat, then nginx, Node and the JDK's own server, by a
reload each five minutes or so.  Meanwhile they are stopped, killed, restarted,
drained and swapped, the configuration is read again, the access log is rotated;
files, posts and streams come from clients that know each byte, some of which
leave early, beside crowds of idle connections.  Only POSTs, streams, and what
was half sent when its server was killed may be cut, and must show it.

After a sixth of the time Tailor's memory, descriptors, threads and disk must be
flat.  Exit status 0 if all that held.
"""

import hashlib
import os
import pathlib
import random
import signal
import socket
import statistics
import sys
import threading
import time

TESTS = pathlib.Path(__file__).resolve().parents[1]
SERVICES = TESTS / "hazards" / "services"
sys.path[:0] = [str(TESTS), str(TESTS / "chaos")]

from client import Book  # noqa: E402
from director import Director  # noqa: E402
from rig import suite  # noqa: E402
from rig.message import Closed, Cut, Malformed  # noqa: E402
from rig.other_proxies import find, nginx  # noqa: E402
from rig.ports import free_port  # noqa: E402
from rig.process import Process  # noqa: E402
from rig.tailor import Tailor, configuration  # noqa: E402
from rig.wait import Late  # noqa: E402

KINDS = ("tomcat", "nginx", "node", "jdk")
FILES = 40
CROWD = 150
LOGS_KEPT = 3
SHARE_WARM = 1 / 6
# What happens, how often, and for how long (s); then the time between.
LANES = {
    "servers": ((("blind-pause", 9, 0.05, 3), ("crash", 5, 0, 0),
                 ("restart", 5, 0, 0), ("drain", 5, 2, 2),
                 ("next-servers", 1, 0, 0)), 4, 16),
    "operator": ((("switch", 1, 0, 0), ("reload", 1, 0, 0), ("hup", 1, 0, 0),
                  ("rotate", 1, 0, 0), ("crowd", 1, 3, 3)), 4, 16)}
JARS = ":".join(f"/usr/share/java/{name}.jar" for name in (
    "tomcat10-embed-core", "tomcat10-annotations-api"))
NGINX = """
	access_log off;
	upstream others {{ server 127.0.0.1:{others}; keepalive 16; }}
	server {{
		listen 127.0.0.1:{port};
		client_max_body_size 1m;
		proxy_http_version 1.1;
		proxy_set_header Connection "";
		proxy_buffering off;
		location /docs/ {{ root {folder}; }}
		location = /work {{
			if ($arg_kind = file) {{ rewrite ^ /docs/$arg_name? last; }}
			proxy_pass http://others;
		}}
	}}
"""
# What the median of a sixth may grow by after the warm-up: crowds come and go,
# files are rotated.
MAY_GROW = {"memory, KiB": 8192, "descriptors": 32, "threads": 0,
            "disk, KiB": 8192}


class Guest(threading.Thread):
    """A client with one connection, which it opens again after an error."""

    def __init__(self, soak, number):
        super().__init__(daemon=True)
        self.soak, self.client = soak, None
        self.draw = random.Random(f"{soak.given.seed}/{number}")

    def run(self):
        while not self.soak.over.wait(self.draw.expovariate(8)):
            sort = self.draw.choices(("file", "echo", "stream"),
                                     (80, 15, 5))[0]
            try:
                self.client = self.client or self.soak.tailor.client()
                outcome = self.ask(*getattr(self, sort)())
            except (Closed, OSError) as error:
                outcome = type(error).__name__
            if outcome != "good":
                self.leave()
            self.soak.book.note(sort, outcome)

    def leave(self):
        if self.client:
            self.client.close()
        self.client = None

    def file(self):
        name, body = self.draw.choice(self.soak.files)
        return (b"GET /work?kind=file&name=%b HTTP/1.1\r\nHost: soak\r\n\r\n"
                % name, body)

    def echo(self):
        body = self.draw.randbytes(int(2 ** self.draw.uniform(0, 17)))
        framing, sent = b"Content-Length: %d" % len(body), body
        if self.draw.random() < 0.3:
            framing = b"Transfer-Encoding: chunked"
            sent = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in
                            (body[:99], body[99:]) if part) + b"0\r\n\r\n"
        return (b"POST /work?kind=echo HTTP/1.1\r\nHost: soak\r\n%b\r\n\r\n%b"
                % (framing, sent), body)

    def stream(self):
        count = self.draw.randint(1, 100)
        return (b"GET /work?kind=stream&n=%d HTTP/1.1\r\nHost: soak\r\n\r\n"
                % count,
                b"".join(b"data: %d\n\n" % i for i in range(count)),
                self.draw.random() < 0.3)

    def ask(self, request, expected, leaves=False):
        """Send it, and look at each byte that comes."""
        try:
            self.client.send(request)
            response = self.client.response_head()
            if leaves:
                self.soak.over.wait(self.draw.random() * 5)
                self.leave()
                return "good"
            body, cut = self.client.response_body(response), False
        except Cut as error:
            body, cut = error.body if error.head else b"", True
        except Malformed as error:
            self.soak.book.violation(f"{request[:60]}: {error}")
            return "malformed"
        if not cut and response.status != 200:
            return response.status
        if body != expected[:len(body) if cut else None]:
            self.soak.book.violation(f"{request[:60]}: {len(body)} bytes, not "
                                     f"{len(expected)}, or others")
            return "wrong"
        return "cut" if cut else "good"


class Events(Director):
    """What happens to servers and Tailor."""

    def __init__(self, soak):
        super().__init__(soak.tailor, soak.folder, soak.given.seed, soak.book,
                         soak.over, LANES)
        self.soak = soak

    def do_next_servers(self, *_):
        self.config["servers"] = self.soak.next_servers()
        self.tailor.config["servers"] = self.config["servers"]
        self.reload()
        self.wait_ready(*"ab")

    def do_rotate(self, *_):
        logs = self.soak.logs
        old = [logs / f"access.log.{i}" for i in range(LOGS_KEPT)]
        for a, b in zip(old[-2::-1], old[::-1]):
            if a.exists():
                a.replace(b)
        (logs / "access.log").replace(old[0])
        self.tailor.signal(signal.SIGUSR1)

    def do_crowd(self, _kind, _server, length, _dice):
        """Idle connections: some never say a word, some have asked once."""
        idle = []
        for number in range(CROWD):
            one = socket.create_connection(self.tailor.address, 30)
            if number % 2:
                one.sendall(b"GET /work?kind=stream&n=1 HTTP/1.1\r\n"
                            b"Host: idle\r\n\r\n")
            idle.append(one)
        self.stop.wait(length)
        for one in idle:
            one.close()


class Soak:
    """One run."""

    def __init__(self, given, folder):
        self.given, self.folder = given, folder
        self.draw = random.Random(given.seed)
        self.over, self.book = threading.Event(), Book(suite.say)
        self.serial, self.gauges = -1, []
        self.docs = pathlib.Path(folder, "docs")
        self.logs = pathlib.Path(folder, "logs")
        self.store = pathlib.Path(folder, "store")
        for path in (self.docs, self.logs):
            path.mkdir()
        self.files = [self._file() for _ in range(FILES)]
        self.environment = {"FOREIGN_DATA": str(self.docs)}
        self.others_port = free_port()
        self.others = Process(self.command("node", self.others_port),
                              self.environment)
        self.tailor = Tailor(given.build, folder, configuration(
            folder, self.next_servers(),
            {"hedging": {"mode": "act"},
             "slow": {"store": str(self.store), "store_bytes": "4M"},
             "blame": {"store_bytes": "1M"},
             "access_log": {"path": str(self.logs / "access.log")}}))

    def _file(self):
        """(name, contents)"""
        data = self.draw.randbytes(int(2 ** self.draw.uniform(0, 19)))
        name = hashlib.sha256(data).hexdigest()
        (self.docs / name).write_bytes(data)
        return name.encode(), data

    def command(self, kind, port):
        if kind == "node":
            return [find("node"), "--expose-gc", SERVICES / "node.js", port]
        if kind == "nginx":
            at = pathlib.Path(self.folder, f"nginx-{port}")
            at.mkdir()
            return nginx(at, NGINX.format(port=port, folder=self.folder,
                                          others=self.others_port))
        return [find("java"), "-Xms64m", "-Xmx64m", "-cp",
                f"{self.given.build}/hazards/classes:{JARS}",
                f"-Djava.io.tmpdir={self.folder}",
                f"{kind.capitalize()}Service", port, self.folder]

    def next_servers(self):
        """Configuration of both, of the next kind."""
        self.serial += 1
        kind, made = KINDS[self.serial % len(KINDS)], []
        for name in "ab":
            port = free_port()
            made.append({
                "name": name, "address": f"127.0.0.1:{port}", "launch": {
                    "command": [str(x) for x in self.command(kind, port)],
                    "environment": self.environment,
                    "output": f"{self.folder}/servers.log"}})
        return made

    # --- what it costs ----------------------------------------------------

    def gauge(self):
        disk = sum(path.stat().st_blocks for where in (self.logs, self.store)
                   for path in where.rglob("*") if path.is_file())
        return {"memory, KiB": self.tailor.resident_kib(),
                "descriptors": self.tailor.descriptors(),
                "threads": len(os.listdir(f"/proc/{self.tailor.pid}/task")),
                "disk, KiB": disk // 2}

    def judge(self):
        """The median of the last sixth beside that of the second one; lines."""
        sixth = int(len(self.gauges) * SHARE_WARM)
        for what, more in MAY_GROW.items():
            part = [[g[what] for g in self.gauges[i:i + sixth]]
                    for i in range(0, sixth * 6, sixth)]
            middle = [statistics.median(one) for one in part]
            yield (f"{what}, median of each sixth: {middle}, greatest: "
                   f"{[max(one) for one in part]}")
            if middle[5] > middle[1] + more:
                self.book.violation(f"{what} grew")

    def run(self):
        """Until the time is over; the lines of a table."""
        self.tailor.wait_serving()
        for name in "ab":
            self.tailor.wait_server(name, state="ready")
        guests, events = [Guest(self, i) for i in range(16)], Events(self)
        for one in (*guests, events):
            one.start()
        until = time.monotonic() + 60 * self.given.minutes
        while time.monotonic() < until and self.tailor.running():
            try:
                self.gauges.append(self.gauge())
            except FileNotFoundError:
                pass  # a file has just been replaced
            self.over.wait(2)
            if len(self.gauges) % 30 == 0:
                suite.say(f"{self.gauges[-1]} {events.counts} "
                          f"{sum(self.book.count.values())}")
        self.over.set()
        for one in guests:
            one.join(120)
        try:
            events.join()
            self.tailor.wait_settled()
            self.tailor.stop()
        except (AssertionError, Late, OSError) as error:
            self.book.violation(f"end: {error}")
        return [*self.judge(), str(events.counts), *(
            f"{sort:8} {outcome!s:24} {number}" for (sort, outcome), number
            in sorted(self.book.count.items(), key=str))]


def main():
    p = suite.parser(__doc__)
    p.add_argument("--minutes", type=float, default=60)
    given = p.parse_args()
    results = suite.Results(given.tap)
    with suite.workplace(given, "soak", "/var/tmp") as folder:
        soak = Soak(given, folder)
        try:
            lines = soak.run()
        finally:
            pathlib.Path(folder, "tailor.log").write_text(
                soak.tailor.log, encoding="utf-8")
            soak.others.kill()
    results.add(f"{given.minutes:g} minutes", soak.book.violations)
    return results.end(lines)


if __name__ == "__main__":
    sys.exit(main())
