"""A small Java server whose garbage collections the test commands."""

import pathlib
import re
import shutil

import pytest

from rig.client import Client
from rig.ports import free_port
from rig.process import ROOT, Process, output
from rig.wait import wait_until


def jdks():
    """The java of each version that this machine has."""
    found = {}
    for release in sorted(pathlib.Path("/usr/lib/jvm").glob("*/release")):
        version = re.search(r'JAVA_VERSION="(\d+)', release.read_text())
        java = release.parent / "bin/java"
        if version and java.exists():
            found[version[1]] = str(java)
    return found


# Those that a test must have run with, or has a reason for not.
VERSIONS = sorted({*jdks(), "17", "25"})


def java_of(version):
    """Its java; skips where there is none."""
    if version not in jdks():
        pytest.skip(f"no JDK {version} in /usr/lib/jvm")
    return jdks()[version]


def missing():
    """Why there can be no JVM here; None if there can."""
    for tool in ("java", "javac"):
        if shutil.which(tool) is None:
            return f"no {tool} (openjdk-17-jdk-headless)"
    return None


def compile_server(directory):
    """Compile Server.java; returns the class path."""
    output("javac", "-d", directory, ROOT / "tests/e2e/support/Server.java")
    return directory


def arguments(classes, port, options=("-Xmx64m", "-XX:+UseSerialGC"),
              java=None):
    """The command line of a server, for Tailor's "launch" for example."""
    return [java or shutil.which("java"), *options, "-cp", classes, "Server",
            str(port)]


class Jvm(Process):
    """A running Server.java on 127.0.0.1:port, by a command before it."""

    def __init__(self, classes, options=("-Xmx64m", "-XX:+UseSerialGC"),
                 port=None, before=(), java=None):
        self.port = port or free_port()
        self.address = f"127.0.0.1:{self.port}"
        super().__init__(
            [*before, *arguments(classes, self.port, options, java)])
        wait_until(self._listens, "the JVM listens")

    def _listens(self):
        assert self.running(), self.log
        try:
            return self.get("/").status == 200
        except OSError:
            return False

    def get(self, target):
        """Ask the server itself, past Tailor."""
        with Client(("127.0.0.1", self.port)) as client:
            return client.get(target, fields=[("Connection", "close")])

    def collect(self):
        """One System.gc(); returns when it is over."""
        assert self.get("/gc").status == 200
