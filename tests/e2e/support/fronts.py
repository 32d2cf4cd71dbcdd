"""HAProxy, nginx and stunnel in front of a tailor or behind one, as
docs/fronts.md has them."""

import pathlib
import re
import ssl
import subprocess

import pytest

from rig import other_proxies
from rig.client import Client
from rig.ports import free_port, listens
from rig.process import ROOT, Process, output
from rig.wait import wait_until

SOCKET = "/run/tailor/http.sock"  # of Tailor, in the recipes


def recipe(language):
    """The only block of that language in docs/fronts.md."""
    text = (ROOT / "docs" / "fronts.md").read_text(encoding="utf-8")
    blocks = re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)
    assert len(blocks) == 1, language
    return blocks[0]


def program(*names):
    """Where it is; the test is skipped where it is not installed."""
    return other_proxies.find(*names) or pytest.skip(
        f"{names[0]} is not installed (tools/install-deps)")


class TlsClient(Client):
    """A client that speaks TLS and believes any certificate."""

    def _wrapped(self, sock):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context.wrap_socket(sock)


class Front(Process):
    """A front under watch; client(source) connects to it from there."""

    def __init__(self, argv, port, client=Client):
        self.port, self.address = port, f"127.0.0.1:{port}"
        self._client = client
        super().__init__(argv, stdout=subprocess.DEVNULL)
        try:
            wait_until(self._listens, lambda: f"{argv[0]}:\n{self.log}")
        except AssertionError:
            self.stop()
            raise

    def _listens(self):
        assert self.running(), self.log
        return listens(self.address)

    def client(self, source="127.0.0.1"):
        """A connection from that address of loopback."""
        return self._client(("127.0.0.1", self.port), source)

    def stop(self):
        """End it; by SIGTERM, for nginx ends its workers then."""
        self.terminate()


def haproxy(directory, tailor, edit=lambda text: text):
    """HAProxy before the tailor at that address (unix:PATH, HOST:PORT)."""
    program("haproxy")
    port = free_port()
    text = edit(recipe("haproxy")).replace("bind :80",
                                           f"bind 127.0.0.1:{port}")
    server = tailor.replace("unix:", "unix@")
    text = text.replace(f"unix@{SOCKET}", server)
    return Front(other_proxies.haproxy(
        directory, "defaults\n\ttimeout connect 5s\n\ttimeout client 20s\n"
        f"\ttimeout server 20s\n\n{text}"), port)


def start_nginx(directory, port, body):
    program("nginx")
    return Front(other_proxies.nginx(
        directory, f"\taccess_log off;\n{body}"), port)


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
    front.name = name
    return front


def stunnel(directory, tailor):
    """stunnel before the tailor at that address."""
    path, port = program("stunnel4", "stunnel"), free_port()
    pem = pathlib.Path(directory, "service.pem")
    output(program("openssl"), "req", "-x509", "-newkey", "rsa:2048", "-nodes",
           "-keyout", pem, "-out", f"{pem}.crt", "-subj", "/CN=test", "-days",
           "2")
    with open(pem, "a", encoding="ascii") as file:
        file.write(pathlib.Path(f"{pem}.crt").read_text(encoding="ascii"))
    text = recipe("stunnel").replace("= 443", f"= 127.0.0.1:{port}")
    text = text.replace("127.0.0.1:8080",
                        tailor.removeprefix("unix:"))
    text = text.replace("/etc/tailor/service.pem", str(pem))
    config = pathlib.Path(directory, "stunnel.conf")
    config.write_text(f"foreground = yes\npid =\n{text}", encoding="utf-8")
    return Front([path, config], port, TlsClient)
