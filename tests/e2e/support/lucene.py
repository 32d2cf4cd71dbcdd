"""The search service of examples/lucene as tests start it."""

import collections
import glob
import os
import shutil

from rig.client import Client
from rig.process import Process

JARS = [next(iter(glob.glob(f"/usr/share/java/lucene-{part}-[0-9]*.jar")), "")
        for part in ("core", "analyzers-common", "queryparser")]

Made = collections.namedtuple("Made", "path index")


def missing():
    """Why it cannot be started here; None if it can."""
    if shutil.which("javac") is None:
        return "no javac (openjdk-17-jdk-headless)"
    if not all(JARS):
        return "no Lucene (liblucene8-java)"
    if not os.path.exists("/usr/share/wordnet/data.noun"):
        return "no WordNet (wordnet-base)"
    return None


def made(build):
    """Where its classes, without TaleChain's, and its index are."""
    return Made(":".join([str(build / "examples" / "lucene"), *JARS]),
                build / "lucene-index")


def java(path, *arguments):
    """Its command line, with a class path."""
    return [shutil.which("java"), "-Xmx256m", "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1", "-Dsun.net.httpserver.nodelay=true",
            "-cp", path, "SearchService", *map(str, arguments)]


class Service(Process):
    """A running one; address is where it listens."""

    def __init__(self, lucene, *arguments, path=None):
        super().__init__(java(path or lucene.path, "--index", lucene.index,
                              "--listen", "127.0.0.1:0", *arguments))
        line = self.wait_log(r"listening on")
        self.port = int(line.rpartition(":")[2])
        self.address = f"127.0.0.1:{self.port}"

    def client(self):
        return Client(("127.0.0.1", self.port))
