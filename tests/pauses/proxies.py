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
import subprocess

from rig import other_proxies
from rig.ports import free_port
from rig.process import Process
from rig.tailor import Tailor, configuration

NAMES = ("tailor", "nginx", "haproxy")
REFERENCES = ("nginx", "haproxy")
NGINX = """
	log_format sent '$request_uri $upstream_bytes_sent';
	access_log {directory}/sent sent;
	upstream servers {{ {servers} }}
	server {{
		listen 127.0.0.1:{port};
		location / {{ proxy_pass http://servers; }}
	}}"""
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


class Reference(Process):
    """nginx or HAProxy before one or two addresses; listen is its own."""

    def __init__(self, kind, directory, addresses):
        self.kind, self.directory = kind, str(directory)
        os.makedirs(self.directory, exist_ok=True)
        port = free_port()
        self.listen = f"127.0.0.1:{port}"
        if kind == "nginx":
            argv = other_proxies.nginx(directory, NGINX.format(
                directory=directory, port=port,
                servers=nginx_servers(addresses)), connections=8192)
        else:
            argv = other_proxies.haproxy(directory, HAPROXY.format(
                port=port, servers=haproxy_servers(addresses)))
        super().__init__(argv, copy=f"{directory}/output", group=True,
                         stdout=subprocess.DEVNULL)

    def wait_ready(self):
        self.wait_listens(self.listen, 60)

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


# What names its own files, and nothing that a newcomer would not leave alone.
CONFIG = {
    "profiler": {"kernel": "off", "channel_socket": "", "stream": ""},
    # A backup without a history would be READY after ten seconds.
    "warmup": {"max": "1s"},
    "slow": {"keep_slowest": 0},
}


class JudgedTailor(Tailor):
    """Tailor, at its defaults but for `sections` and, of each server, `more`;
    listen is its address."""

    kind = "tailor"

    def __init__(self, build, directory, servers, more=None, **sections):
        os.makedirs(directory, exist_ok=True)
        servers = [{"name": s.name, "address": s.address, "jvm": "none",
                    **(more or {})} for s in servers]
        super().__init__(build, str(directory), configuration(
            directory, servers, CONFIG, sections))
        self.listen = self.config["listen"][0]

    def wait_ready(self):
        super().wait_ready()
        for server in "ab":
            self.wait_server(server, state="ready")
