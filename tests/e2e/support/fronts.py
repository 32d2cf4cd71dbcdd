"""HAProxy, nginx and stunnel in front of a tailor or behind one, as
docs/fronts.md has them."""

import os
import pathlib
import re
import shutil
import signal
import socket
import ssl
import subprocess

import pytest

from .client import Client
from .process import ROOT, Process, free_port
from .wait import PATIENCE_S, wait_until

SOCKET = "/run/tailor/http.sock"  # of Tailor, in the recipes


def recipe(language):
    """The only block of that language in docs/fronts.md."""
    text = (ROOT / "docs" / "fronts.md").read_text(encoding="utf-8")
    blocks = re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)
    assert len(blocks) == 1, language
    return blocks[0]


def program(*names):
    """Where it is; the test is skipped where it is not installed."""
    for name in names:
        path = shutil.which(name) or shutil.which(name, path="/usr/sbin")
        if path:
            return path
    return pytest.skip(f"{names[0]} is not installed (tools/install-deps)")


class TlsClient(Client):
    """A client that speaks TLS and believes any certificate."""

    def _wrapped(self, sock):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context.wrap_socket(sock)


class Front(Process):
    """A front under watch; client(source) connects to it from there."""

    def __init__(self, argv, directory, port, client=Client):
        self.port = port
        self._client = client
        super().__init__(argv, stdout=subprocess.DEVNULL)
        try:
            wait_until(self._listens, lambda: f"{argv[0]}:\n{self.log}")
        except AssertionError:
            self.stop()
            raise

    def _listens(self):
        assert self.running(), self.log
        with socket.socket() as s:
            return s.connect_ex(("127.0.0.1", self.port)) == 0

    def client(self, source="127.0.0.1"):
        """A connection from that address of loopback."""
        return self._client(("127.0.0.1", self.port), source)

    def stop(self):
        """End it; by SIGTERM, for nginx ends its workers then."""
        if self.running():
            self.signal(signal.SIGTERM)
        self.wait()


def haproxy(directory, tailor, edit=lambda text: text):
    """HAProxy before the tailor at that address (unix:PATH, HOST:PORT)."""
    path, port = program("haproxy"), free_port()
    text = edit(recipe("haproxy")).replace("bind :80", f"bind 127.0.0.1:{port}")
    server = tailor.replace("unix:", "unix@")
    text = text.replace(f"unix@{SOCKET}", server)
    config = pathlib.Path(directory, "haproxy.cfg")
    config.write_text(
        "defaults\n\ttimeout connect 5s\n\ttimeout client 20s\n"
        f"\ttimeout server 20s\n\n{text}", encoding="utf-8")
    return Front([path, "-db", "-f", config], directory, port)


NGINX = """{user}daemon off;
worker_processes 1;
pid {directory}/nginx.pid;
error_log stderr warn;
events {{ worker_connections 256; }}
http {{
	access_log off;
	client_body_temp_path {directory}/body;
	proxy_temp_path {directory}/proxy;
	fastcgi_temp_path {directory}/fastcgi;
	uwsgi_temp_path {directory}/uwsgi;
	scgi_temp_path {directory}/scgi;
{body}
}}
"""


def start_nginx(directory, port, body):
    path = program("nginx")
    config = pathlib.Path(directory, "nginx.conf")
    # As root, its worker would be another user and see nothing of ours.
    user = "user root;\n" if os.geteuid() == 0 else ""
    config.write_text(
        NGINX.format(directory=directory, body=body, user=user),
        encoding="utf-8")
    return Front([path, "-p", directory, "-c", config, "-e", "stderr"],
                 directory, port)


def nginx(directory, tailor, edit=lambda text: text):
    """nginx before the tailor at that address."""
    port = free_port()
    text = edit(recipe("nginx")).replace("listen 80",
                                         f"listen 127.0.0.1:{port}")
    return start_nginx(directory, port,
                       text.replace(f"unix:{SOCKET}", tailor))


def nginx_server(directory, name="a"):
    """nginx as a server: 64 KiB of text, compressed where that is asked."""
    root = pathlib.Path(directory, "root")
    root.mkdir()
    (root / "index.html").write_text("<p>The same again.</p>\n" * 3000,
                                     encoding="ascii")
    port = free_port()
    front = start_nginx(directory, port, f"""
	gzip on;
	gzip_proxied off;
	server {{ listen 127.0.0.1:{port}; root {root}; }}""")
    front.name, front.address = name, f"127.0.0.1:{port}"
    return front


def stunnel(directory, tailor):
    """stunnel before the tailor at that address."""
    path, port = program("stunnel4", "stunnel"), free_port()
    pem = pathlib.Path(directory, "service.pem")
    subprocess.run(
        [program("openssl"), "req", "-x509", "-newkey", "rsa:2048", "-nodes",
         "-keyout", pem, "-out", f"{pem}.crt", "-subj", "/CN=test", "-days",
         "2"], check=True, capture_output=True, timeout=PATIENCE_S)
    with open(pem, "a", encoding="ascii") as file:
        file.write(pathlib.Path(f"{pem}.crt").read_text(encoding="ascii"))
    text = recipe("stunnel").replace("= 443", f"= 127.0.0.1:{port}")
    text = text.replace("127.0.0.1:8080",
                        tailor.removeprefix("unix:"))
    text = text.replace("/etc/tailor/service.pem", str(pem))
    config = pathlib.Path(directory, "stunnel.conf")
    config.write_text(f"foreground = yes\npid =\n{text}", encoding="utf-8")
    return Front([path, config], directory, port, TlsClient)
