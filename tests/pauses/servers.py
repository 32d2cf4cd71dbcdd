"""Server programs under the hands of a scene: started, stopped with SIGSTOP,
killed, started again, and what each of them executed.
"""

import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import time

from rig import other_proxies
from rig.ports import free_port
from rig.process import Process

HERE = pathlib.Path(__file__).resolve().parent
FILES = (1_000, 20_000, 300_000, 2_000_000)  # sizes of nginx's responses
START_S = 60
NGINX = """
	log_format executed '$request_method $executed $copy';
	map $request_uri $executed {{ ~^/c/(?<ident>[^/]+)/ $ident; default "-"; }}
	map $http_tailor_warmup $copy {{ "" "-"; default $http_tailor_warmup; }}
	access_log {log} executed;
	server {{
		listen {listen} backlog={backlog};
		add_header X-Server {name} always;
		root {directory};
		location ~ ^/c/[^/]+/0$ {{
			return 200 "$executed $request_method\\n";
		}}
		location ~ ^/c/[^/]+/([0-9]+)$ {{ try_files /size-$1 =404; }}
	}}"""


def missing(names):
    """Which of the programs are not here."""
    return [name for name in names if shutil.which(name) is None]


def prepare():
    """As many descriptors as may be; and what ends us by a signal ends our
    children, too (atexit)."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(1))


def compile_java(directory):
    """PauseServer's classes, into a directory."""
    pathlib.Path(directory).mkdir(parents=True, exist_ok=True)
    subprocess.run([shutil.which("javac"), "-Xlint:all", "-Werror",
                    "--release", "17", "-d", directory,
                    str(HERE / "PauseServer.java")], check=True)


class Server(Process):
    """One server, again after each kill().

    kind        jdk, nginx or python
    name        a or b
    directory   its own
    backlog     connections that its kernel queue holds; jdk: 0 is its default
    more        classes=DIRECTORY, threads=N (jdk); unix=True (not jdk);
                requests=N, idle_s=S (python)
    """

    def __init__(self, kind, name, directory, backlog, **more):
        self.kind, self.name, self.directory = kind, name, str(directory)
        self.backlog, self.more = backlog, more
        os.makedirs(self.directory, exist_ok=True)
        self.ledger = f"{self.directory}/executed"
        self.address = (f"unix:{self.directory}/{name}.sock"
                        if more.get("unix") else f"127.0.0.1:{free_port()}")
        self.kills = []
        self.launch()

    def command(self):
        port = self.address.rpartition(":")[2]
        if self.kind == "jdk":
            return [shutil.which("java"), "-Xmx768m", "-Xss256k",
                    "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp",
                    self.more["classes"], "PauseServer", self.name, port,
                    self.backlog, self.more.get("threads", 0), self.ledger]
        if self.kind == "python":
            return ["/usr/bin/python3", "-I", "-S", str(HERE / "upstream.py"),
                    json.dumps({"name": self.name, "address": self.address,
                                "backlog": self.backlog, "log": self.ledger,
                                "requests": self.more.get("requests", 0),
                                "idle_s": self.more.get("idle_s", 60)})]
        return self.nginx()

    def nginx(self):
        for size in FILES:
            path = pathlib.Path(self.directory, f"size-{size}")
            if not path.exists():
                path.write_bytes(b"x" * size)
        if self.more.get("unix"):
            pathlib.Path(self.address[5:]).unlink(missing_ok=True)
        return other_proxies.nginx(self.directory, NGINX.format(
            directory=self.directory, log=self.ledger, listen=self.address,
            backlog=self.backlog, name=self.name), connections=8192)

    def launch(self):
        super().__init__(
            self.command(), {"PYTHONDONTWRITEBYTECODE": "1"},
            f"{self.directory}/output", group=True, stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL)

    def wait_listening(self):
        self.wait_listens(self.address, START_S)

    def hang(self):
        """Have no handler return from now on."""
        self.stdin.write("hang\n")
        self.stdin.flush()

    def kill(self):
        """kill -9; notes from when to when it was dying."""
        begin = time.monotonic()
        super().kill()
        self.kills.append((begin, time.monotonic()))
        self.stdin.close()

    def executed(self):
        """[(method, id, is a copy)] of all that it has executed."""
        try:
            text = pathlib.Path(self.ledger).read_text(encoding="latin-1")
        except FileNotFoundError:
            return []
        lines = [line.split(" ") for line in text.splitlines()]
        return [(words[0], words[1], words[2] != "-") for words in lines
                if len(words) == 3]
