"""Server programs under the hands of a scene: started, stopped with SIGSTOP,
killed, started again, and what each of them executed.

Each program is a process group of its own and ends with this process, however
that ends.
"""

import atexit
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))

from support.process import free_port  # noqa: E402
from support.wait import wait_until  # noqa: E402

FILES = (1_000, 20_000, 300_000, 2_000_000)  # sizes of nginx's responses
START_S = 60
NGINX = """
daemon off;
worker_processes 1;
{user}
pid {directory}/nginx.pid;
error_log {directory}/error.log warn;
events {{ worker_connections 8192; }}
http {{
	log_format executed '$request_method $executed $copy';
	map $request_uri $executed {{ ~^/c/(?<ident>[^/]+)/ $ident; default "-"; }}
	map $http_tailor_warmup $copy {{ "" "-"; default $http_tailor_warmup; }}
	access_log {log} executed;
	client_body_temp_path {directory}/body;
	proxy_temp_path {directory}/proxy;
	fastcgi_temp_path {directory}/fastcgi;
	uwsgi_temp_path {directory}/uwsgi;
	scgi_temp_path {directory}/scgi;
	server {{
		listen {listen} backlog={backlog};
		add_header X-Server {name} always;
		root {directory};
		location ~ ^/c/[^/]+/0$ {{
			return 200 "$executed $request_method\\n";
		}}
		location ~ ^/c/[^/]+/([0-9]+)$ {{ try_files /size-$1 =404; }}
	}}
}}
"""


class Children:
    """All processes that we have started, for the end of this one."""

    def __init__(self):
        self.lock = threading.Lock()
        self.groups = {}  # leader -> Popen
        self.adopted = []  # others with a kill()
        self.ending = False
        atexit.register(self.end)

    def start(self, argv, **more):
        """A child that leads a group, and is killed when we are."""
        with self.lock:
            assert not self.ending, "no child is started at the end"
            child = subprocess.Popen(
                ["setpriv", "--pdeathsig", "TERM" if "nginx" in argv[0]
                 else "KILL", "--", *map(str, argv)],
                start_new_session=True, **more)
            self.groups[child.pid] = child
        return child

    def kill(self, child):
        """SIGKILL to its group; it is gone on return."""
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        child.wait()
        with self.lock:
            self.groups.pop(child.pid, None)

    def end(self):
        """All of them; a thread that is about to start one fails."""
        with self.lock:
            self.ending = True
        for child in list(self.groups.values()):
            self.kill(child)
        for process in self.adopted:
            process.kill()


CHILDREN = Children()


def user():
    """nginx's workers shall be who we are, to read what is ours."""
    return "user root;" if os.geteuid() == 0 else ""


def listens(address):
    """Whether a connection to it is taken."""
    try:
        if address.startswith("unix:"):
            with socket.socket(socket.AF_UNIX) as sock:
                sock.settimeout(1)
                sock.connect(address.removeprefix("unix:"))
        else:
            host, _, port = address.rpartition(":")
            socket.create_connection((host, int(port)), 1).close()
    except OSError:
        return False
    return True


def compile_java(directory):
    """PauseServer's classes, into a directory."""
    subprocess.run([shutil.which("javac"), "-Xlint:all", "-Werror",
                    "--release", "17", "-d", directory,
                    str(HERE / "PauseServer.java")], check=True)


class Server:
    """One server.

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
        self.log = f"{self.directory}/executed"
        self.address = (f"unix:{self.directory}/{name}.sock"
                        if more.get("unix") else f"127.0.0.1:{free_port()}")
        self.child, self.kills = None, []

    def argv(self):
        port = self.address.rpartition(":")[2]
        if self.kind == "jdk":
            return [shutil.which("java"), "-Xmx768m", "-Xss256k",
                    "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp",
                    self.more["classes"], "PauseServer", self.name, port,
                    self.backlog, self.more.get("threads", 0), self.log]
        if self.kind == "python":
            return ["/usr/bin/python3", "-I", "-S", str(HERE / "upstream.py"),
                    json.dumps({"name": self.name, "address": self.address,
                                "backlog": self.backlog, "log": self.log,
                                "requests": self.more.get("requests", 0),
                                "idle_s": self.more.get("idle_s", 60)})]
        return [shutil.which("nginx"), "-c", f"{self.directory}/nginx.conf",
                "-e", f"{self.directory}/error.log"]

    def prepare_nginx(self):
        for size in FILES:
            path = pathlib.Path(self.directory, f"size-{size}")
            if not path.exists():
                path.write_bytes(b"x" * size)
        if self.more.get("unix"):
            pathlib.Path(self.address[5:]).unlink(missing_ok=True)
        pathlib.Path(self.directory, "nginx.conf").write_text(NGINX.format(
            directory=self.directory, log=self.log, listen=self.address,
            backlog=self.backlog, name=self.name, user=user()),
            encoding="utf-8")

    def launch(self):
        if self.kind == "nginx":
            self.prepare_nginx()
        with open(f"{self.directory}/output", "ab") as errors:
            self.child = CHILDREN.start(
                self.argv(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=errors, env={**os.environ,
                                    "PYTHONDONTWRITEBYTECODE": "1"})

    def wait_listening(self):
        wait_until(lambda: self.alive() and listens(self.address),
                   f"{self.kind} {self.name} listens ({self.directory})",
                   START_S)
        return self

    def alive(self):
        if self.child.poll() is not None:
            raise AssertionError(f"{self.kind} {self.name} ended: " +
                                 pathlib.Path(self.directory, "output")
                                 .read_text(errors="replace")[-600:])
        return True

    def command(self, text):
        """Pass a command; nothing is waited for."""
        os.write(self.child.stdin.fileno(), text.encode() + b"\n")

    def ask(self, text):
        """Pass a command that prints one line; the line."""
        self.command(text)
        while (line := self.child.stdout.readline()) == b"ready\n":
            pass
        return line.decode().strip()

    def pause(self):
        os.killpg(self.child.pid, signal.SIGSTOP)

    def resume(self):
        os.killpg(self.child.pid, signal.SIGCONT)

    def kill(self):
        """kill -9; notes from when to when it was dying."""
        begin = time.monotonic()
        CHILDREN.kill(self.child)
        self.kills.append((begin, time.monotonic()))

    def close(self):
        if self.child is not None:
            CHILDREN.kill(self.child)
            self.child.stdin.close()
            self.child.stdout.close()

    def executed(self):
        """[(method, id, is a copy)] of all that it has executed."""
        try:
            text = pathlib.Path(self.log).read_text(encoding="latin-1")
        except FileNotFoundError:
            return []
        lines = [line.split(" ") for line in text.splitlines()]
        return [(words[0], words[1], words[2] != "-") for words in lines
                if len(words) == 3]
