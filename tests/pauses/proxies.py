"""The three proxies, each before a pair of servers of its own, and fronts.

nginx and HAProxy are at their defaults, as Debian ships them: the only lines
that are not in the shipped files are the two servers, one of them `backup`.
HAProxy's servers have `check`, without which it never uses a backup.  Of what
limits the number of connections nginx gets more than its default, so that
bursts are compared and not that number.
"""

import os
import pathlib
import re
import shutil
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))

from servers import CHILDREN, listens, user  # noqa: E402
from support.process import Tailor, free_port  # noqa: E402
from support.wait import wait_until  # noqa: E402

NAMES = ("tailor", "nginx", "haproxy")
REFERENCES = ("nginx", "haproxy")
NGINX = """
daemon off;
{user}
worker_processes 1;
pid {directory}/nginx.pid;
error_log {directory}/error.log warn;
events {{ worker_connections 8192; }}
http {{
	log_format sent '$request_uri $upstream_bytes_sent';
	access_log {directory}/sent sent;
	client_body_temp_path {directory}/body;
	proxy_temp_path {directory}/proxy;
	fastcgi_temp_path {directory}/fastcgi;
	uwsgi_temp_path {directory}/uwsgi;
	scgi_temp_path {directory}/scgi;
	upstream servers {{ {servers} }}
	server {{
		listen 127.0.0.1:{port};
		location / {{ proxy_pass http://servers; }}
	}}
}}
"""
HAPROXY = """
global
	maxconn 8192
defaults
	mode http
	timeout connect 5000
	timeout client 50000
	timeout server 50000
frontend service
	bind 127.0.0.1:{port}
	default_backend servers
backend servers
	{servers}
"""


def nginx_servers(addresses):
    lines = [f"server {address};" for address in addresses]
    if len(lines) == 2:
        lines[1] = f"server {addresses[1]} backup;"
    return " ".join(lines)


def haproxy_servers(addresses):
    addresses = [a.replace("unix:", "unix@") for a in addresses]
    if len(addresses) == 1:
        return f"server a {addresses[0]}"
    return (f"server a {addresses[0]} check\n"
            f"\tserver b {addresses[1]} check backup")


class Plain:
    """nginx or HAProxy before one or two addresses."""

    def __init__(self, kind, directory, addresses):
        self.kind, self.directory = kind, str(directory)
        os.makedirs(self.directory, exist_ok=True)
        self.port = free_port()
        self.address = f"127.0.0.1:{self.port}"
        text, servers, path = ((NGINX, nginx_servers, "nginx.conf")
                               if kind == "nginx" else
                               (HAPROXY, haproxy_servers, "haproxy.cfg"))
        path = pathlib.Path(self.directory, path)
        path.write_text(text.format(
            directory=self.directory, port=self.port, user=user(),
            servers=servers(addresses)), encoding="utf-8")
        argv = ([shutil.which("nginx"), "-c", path, "-e",
                 f"{self.directory}/error.log"] if kind == "nginx" else
                [shutil.which("haproxy"), "-db", "-f", path])
        with open(f"{self.directory}/output", "ab") as output:
            self.child = CHILDREN.start(argv, stdin=-3, stdout=output,
                                        stderr=output)

    def wait_ready(self):
        wait_until(lambda: self.alive() and listens(self.address),
                   f"{self.kind} listens ({self.directory})", 60)

    def alive(self):
        if not self.running():
            raise AssertionError(f"{self.kind} ended: " + "\n".join(
                self.lines()[-6:]))
        return True

    def running(self):
        return self.child.poll() is None

    def lines(self):
        return pathlib.Path(self.directory, "output").read_text(
            errors="replace").splitlines()

    # What is asked of Tailor, for one that is judged in its place.

    def hazard(self, server, state):
        pass

    def metrics(self):
        return {}

    def cost(self):
        return cost(self.child.pid)

    def close(self):
        CHILDREN.kill(self.child)

    def sent_twice(self):
        """Ids of requests of which nginx wrote something to two servers, as
        it does with all but POST after a minute of silence.  HAProxy's
        default is to try connections again, not requests."""
        if self.kind != "nginx":
            return set()
        lines = pathlib.Path(self.directory, "sent").read_text(
            "latin-1").splitlines()
        return {line.split("/")[2] for line in lines if line.count("/") > 2
                and len(re.findall(r"\b[1-9]", line.partition(" ")[2])) > 1}


def cost(pid):
    """(resident KiB, descriptors) of a process."""
    pages = pathlib.Path(f"/proc/{pid}/statm").read_text("ascii").split()[1]
    return int(pages) * 4, len(os.listdir(f"/proc/{pid}/fd"))


def configuration(directory, servers, more):
    """Tailor's: what names its own files, and `more` over it."""
    config = {
        "listen": [f"127.0.0.1:{free_port()}"],
        "admin": f"unix:{directory}/admin.sock",
        "servers": [{"name": s.name, "address": s.address, "jvm": "none"}
                    for s in servers],
        "profiler": {"poll": "sleep", "cpu": "none", "kernel": "off",
                     "channel_socket": "",
                     "stream": ""},
        "proxy": {"cpu": "none"},
        # A standby without a history would be READY after ten seconds.
        "warmup": {"max": "1s"},
        "slow": {"store": "", "keep_slowest": 0},
    }
    for section, values in more.items():
        if section == "servers":
            for server in config["servers"]:
                server.update(values)
        else:
            config.setdefault(section, {}).update(values)
    return config


class Ours:
    """Tailor, at its defaults but for `more`."""

    kind = "tailor"

    def __init__(self, build, directory, servers, more=None):
        self.directory = str(directory)
        os.makedirs(self.directory, exist_ok=True)
        self.tailor = Tailor(build, self.directory, configuration(
            self.directory, servers, more or {}))
        CHILDREN.adopted.append(self.tailor)
        self.address = "{}:{}".format(*self.tailor.address)

    def wait_ready(self):
        self.tailor.wait_ready()
        for server in "ab":
            self.tailor.wait_server(server, state="ready")

    def hazard(self, server, state):
        """The pause of a server begins or ends, as an agent would say."""
        self.tailor.ask(f"/hazard?server={server}&kind=gc&state={state}",
                        "POST")

    def running(self):
        return self.tailor.running()

    def lines(self):
        return self.tailor.lines

    def metrics(self):
        return self.tailor.metrics()

    def cost(self):
        return cost(self.tailor.pid)

    def close(self):
        self.tailor.kill()
        CHILDREN.adopted.remove(self.tailor)


