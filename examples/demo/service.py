"""The search service under test: its command line, and one kept running."""

import glob
import os
import re
import shutil
import signal
import threading
import time

import web
from processes import Process, Trouble, wait_until

# Why these: examples/lucene/README.md.  The HTTP server's idle limits are
# raised because it would otherwise close the load generator's connections
# under it.
JVM = ("-XX:+UseG1GC", "-Xms1g", "-Xmx1g", "-Xmn448m", "-XX:SurvivorRatio=2",
       "-XX:+AlwaysPreTouch", "-XX:TieredStopAtLevel=1",
       "-Dsun.net.httpserver.maxIdleConnections=2048",
       "-Dsun.net.httpserver.idleInterval=300")
NODELAY = "-Dsun.net.httpserver.nodelay=true"
JARS = ("core", "analyzers-common", "queryparser")


def lucene_jars():
    found = []
    for name in JARS:
        match = sorted(glob.glob(f"/usr/share/java/lucene-{name}-[0-9]*.jar"))
        if not match:
            raise Trouble(f"no /usr/share/java/lucene-{name}-*.jar; "
                          "apt-get install liblucene8-java")
        found.append(match[0])
    return found


# the most that a start may take
READY_S = 180


def java(newest=False):
    """The usual java; or that of the newest JDK of the machine."""
    found = shutil.which("java")
    if not found:
        raise Trouble("no java; apt-get install openjdk-17-jdk-headless")
    others = glob.glob("/usr/lib/jvm/*/bin/java") if newest else ()
    return max([found, *others], key=_release)


def _release(program):
    """The version of a JDK as numbers, from its file "release"."""
    home = os.path.dirname(os.path.dirname(os.path.realpath(program)))
    try:
        with open(os.path.join(home, "release"), encoding="utf-8") as file:
            found = re.search(r'^JAVA_VERSION="([\d.]+)', file.read(), re.M)
    except OSError:
        found = None
    return [int(n) for n in found[1].split(".") if n] if found else []


class Recipe:
    """How to start the service.

    agent: "jvmti" loads Tailor's agent and sends the service's own events,
    "none" starts exactly what one would start without Tailor.  channels is
    the socket they connect to (the service's own events find it in the
    environment that Tailor gives to what it starts).  jvm and options are
    those of the JVM and of the service; newest: see java().
    """

    health = "/health"

    def __init__(self, build, agent="none", channels=None, jvm=JVM,
                 options=(), newest=False):
        self.build = build
        self.agent = agent
        # what Tailor learns of collections by: servers[].jvm
        self.signals = "agent" if agent == "jvmti" else "hsperfdata"
        self.channels = channels
        self.jvm = tuple(jvm)
        self.options = tuple(options)
        self.java = java(newest)

    def command(self, name, port, directory, nodelay=True):
        argv = [self.java, *self.jvm,
                f"-Xlog:gc*:file={directory}/{name}-gc-%p.log"
                ":uptime,timenanos,level,tags"]
        path = [f"{self.build}/examples/lucene", *lucene_jars()]
        if nodelay:
            argv.append(NODELAY)
        if self.agent == "jvmti":
            argv.append(f"-agentpath:{self.build}/libtailor-jvm.so"
                        f"=socket={self.channels}")
            path.append(f"{self.build}/java")
        argv += ["-cp", ":".join(path), "SearchService",
                 "--index", f"{self.build}/lucene-index",
                 "--listen", f"127.0.0.1:{port}", "--name", name, *self.options]
        if self.agent == "jvmti":
            argv.append("--talechain")
        return argv


class KeptServer:
    """The service, started again at once whenever it ends."""

    def __init__(self, recipe, name, port, directory, nodelay, cpus):
        self.port = port
        self._name = name
        self._argv = recipe.command(name, port, directory, nodelay)
        self._output = os.path.join(directory, f"{name}.log")
        self._cpus = cpus
        self._stopping = threading.Event()
        self._process = self._start()
        self.restarted_ns = None  # when the last restart was over
        self._keeper = threading.Thread(target=self._keep, daemon=True)
        self._keeper.start()

    def _start(self):
        return Process(self._argv, self._output, self._cpus)

    def _healthy(self):
        return web.get(self.port, "/health", timeout=2.0)[0] == 200

    def wait_ready(self):
        # a heap of some GB may take a minute to touch
        wait_until(self._healthy, self._process, "the service answers",
                   READY_S)

    def _keep(self):
        while True:
            self._process.child.wait()
            if self._stopping.is_set():
                return
            self._process = self._start()
            while not self._healthy() and self._process.running():
                time.sleep(0.02)
            self.restarted_ns = time.monotonic_ns()

    def kill(self):
        """kill -9; returns the server's name."""
        os.kill(self._process.pid, signal.SIGKILL)
        return self._name

    def stop(self):
        self._stopping.set()
        self._process.stop()
        self._keeper.join(5.0)

    @property
    def pid(self):
        return self._process.pid
