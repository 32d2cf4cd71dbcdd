"""The services that the demonstration runs, and how each is warmed up."""

import pathlib
import shutil

from heating import heat_apart
from load import write_targets
from processes import Trouble
from service import Recipe, java, lucene_jars

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Lucene:
    """Searches in WordNet on two JVMs; see examples/lucene."""

    rate, iterations, warm_up = 400, 12, 6000
    setups = ("direct", "watch", "steer", "act")
    kills = True
    more = {}

    @staticmethod
    def needs(agent):
        """{file below build: the command that makes it}."""
        java()
        lucene_jars()
        found = {"examples/lucene/SearchService.class": "make lucene",
                 "lucene-index": "make lucene-index"}
        if agent == "jvmti":
            found["libtailor-jvm.so"] = "make agent"
        return found

    @staticmethod
    def write_targets(path):
        return write_targets(ROOT / "examples/lucene/queries.txt", path)

    @staticmethod
    def recipe(o, channels):
        return Recipe(o.build, o.agent if channels else "none", channels)

    @staticmethod
    def warm(generator, servers, directory, requests):
        heat_apart(generator, servers, directory, requests)

    @staticmethod
    def check_seen(appliance):
        """The JVMs' pauses need no permission."""


SYLLABLES = ("ba", "ke", "li", "mo", "nu", "ra", "se", "ti", "vo", "wa")


class NodeRecipe:
    """How to start catalogue.js; nothing of Tailor is in it."""

    signals = "auto"
    health = "/health"

    def __init__(self, build, channels):
        self.build = build
        self.channels = channels

    @staticmethod
    def command(_name, port, _directory, _nodelay=True):
        return [shutil.which("node"), str(ROOT / "examples/demo/catalogue.js"),
                "--port", str(port)]


class Node:
    """Searches in a catalogue on two Nodes.  Tailor sees V8's collections by
    probes in node, so it must run as root (or with CAP_BPF, CAP_PERFMON)."""

    rate, iterations, warm_up = 100, 6, 3000
    setups = ("direct", "act")
    kills = False
    more = {"warmup": {"target": "/search?q=bababa", "requests": 100}}
    recipe = staticmethod(lambda o, channels: NodeRecipe(o.build, channels))

    @staticmethod
    def needs(_agent):
        if shutil.which("node") is None:
            raise Trouble("no node in $PATH: apt-get install nodejs")
        return {}

    @staticmethod
    def write_targets(path):
        """1000 queries of three words that products have, always the
        same."""
        def word(n):
            """As in catalogue.js."""
            return "".join(SYLLABLES[n // 10 ** i % 10] for i in range(4))
        with open(path, "w", encoding="utf-8") as file:
            for i in range(1000):
                words = (word(i * 7919 % 1200), word(i * 104729 % 2000),
                         word(3 * i))
                file.write(f"/search?q={'+'.join(words)}\n")
        return 1000

    @staticmethod
    def warm(generator, servers, _directory, requests):
        """Not at once, so that they do not collect at the same moments."""
        for i, port in enumerate(servers.values()):
            generator.warm_up(port, requests + i * requests // 4, 150)

    @staticmethod
    def check_seen(appliance):
        """Trouble unless the collections of both servers are seen."""
        if any(s["source"] != "probes" for s in appliance.state()):
            raise Trouble("the collections of Node are not seen, for Tailor "
                          "may not use probes: run this as root, or see "
                          f"runtime_off in {appliance.directory}/tailor.log")


WORKLOADS = {"lucene": Lucene, "node": Node}
