"""Standing up one set-up of an experiment, and asking it what it did.

A set-up is an entry of an experiment's JSON file:

  servers     1 or 2
  front       none, tailor, haproxy or nginx
  template    of haproxy and nginx: configuration beside this file
  tailor      of tailor: merged over its configuration
  agent       jvmti or none
  collector   g1 (default), zgc, shenandoah, epsilon (collects never)
  nodelay, pretouch   true unless said otherwise
  young_mb    size of the young generation
  heap_mb     size of the heap
  newest      true: the newest JDK of the machine
  service     options of the service
  fields      header fields of the measured requests
  during      what happens under load; see experiment.py
"""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import time

from shared import (HERE, JVM, Appliance, KeptServer, Process, Recipe,
                    Trouble, descendants, merged, wait_until, web)

COLLECTORS = {"zgc": ("-XX:+UseZGC",),
              "shenandoah": ("-XX:+UseShenandoahGC",),
              "epsilon": ("-XX:+UnlockExperimentalVMOptions",
                          "-XX:+UseEpsilonGC")}
# all that is allocated in a cell has to fit, the POSTs after it too: about a
# quarter MB a request
EPSILON_MB = 7168
TICKS = os.sysconf("SC_CLK_TCK")


def jvm_options(setup):
    """The JVM's options; the demonstration's but for what is asked."""
    found = list(JVM)
    if not setup.get("pretouch", True):
        found.remove("-XX:+AlwaysPreTouch")
    if "young_mb" in setup:
        found = [f"-Xmn{setup['young_mb']}m" if o.startswith("-Xmn") else o
                 for o in found]
        heap = max(1024, 2 * setup["young_mb"])
        found = [f"-Xm{o[3]}{heap}m" if o.startswith(("-Xms", "-Xmx")) else o
                 for o in found]
    if setup.get("collector", "g1") != "g1":
        # none of them has generations in this JDK
        found = [o for o in found if not o.startswith(
            ("-Xmn", "-XX:SurvivorRatio", "-XX:+UseG1GC"))]
        found += COLLECTORS[setup["collector"]]
    heap = EPSILON_MB if setup.get("collector") == "epsilon" else \
        setup.get("heap_mb")
    if heap:
        found = [f"-Xm{o[3]}{heap}m"
                 if o.startswith(("-Xms", "-Xmx")) else o for o in found]
    return found


def cpu_seconds(pids):
    """CPU time that these processes, and their children that ended, used."""
    total = 0
    for pid in pids:
        try:
            text = pathlib.Path(f"/proc/{pid}/stat").read_text(
                encoding="utf-8", errors="replace")
        except OSError:
            continue  # it has ended
        fields = text.rpartition(")")[2].split()
        total += sum(map(int, fields[11:15]))
    return total / TICKS


class StubRecipe:
    """Instead of the search service: the self-test's server."""

    agent = "none"
    signals = "hsperfdata"
    health = "/health"
    channels = None

    def __init__(self, build, channels):
        self.build = build
        self.channels = channels

    def command(self, name, port, _directory, _nodelay=True):
        return [sys.executable, str(HERE / "stub.py"), name, str(port)]


class Running:
    """A set-up that is up.

    port      where the load goes
    servers   ports of the servers, to warm them up
    """

    def __init__(self, setup, environment, directory):
        self.setup = setup
        self.directory = str(directory)
        self.environment = environment
        self._kept, self._front, self._tailor = [], None, None
        try:
            self._start()
        except Exception:
            self.stop()
            raise

    def _recipe(self):
        env, setup = self.environment, self.setup
        channels = env.sockets / "channels.sock"
        if env.stub:
            return StubRecipe(env.build, channels)
        return Recipe(env.build, setup.get("agent", "none"), channels,
                      jvm_options(setup), setup.get("service", ()),
                      setup.get("newest", False))

    def _start(self):
        if self.setup["front"] == "tailor":
            self._start_tailor()
        else:
            self._start_servers()
        if self.setup["front"] in ("haproxy", "nginx"):
            self._start_proxy()

    def _start_tailor(self):
        env = self.environment
        more = merged(env.tailor, self.setup.get("tailor", {}))
        self._tailor = Appliance(
            self._recipe(), self.directory,
            [web.free_port() for _ in range(3)], "act", env.place.servers,
            more)
        self.port = self._tailor.port
        self.servers = list(self._tailor.servers.values())

    def _start_servers(self):
        recipe = self._recipe()
        names = ("a", "b")[:self.setup["servers"]]
        for name in names:
            self._kept.append(KeptServer(
                recipe, name, web.free_port(), self.directory,
                self.setup.get("nodelay", True),
                self.environment.place.direct[name]))
        for kept in self._kept:
            kept.wait_ready()
        self.servers = [kept.port for kept in self._kept]
        self.port = self.servers[0]

    def _start_proxy(self):
        front = self.setup["front"]
        program = shutil.which(front) or shutil.which(front, path="/usr/sbin")
        if not program:
            raise Trouble(f"no {front}: apt-get install {front}")
        self.port = web.free_port()
        config = pathlib.Path(self.directory, f"{front}.conf")
        template = (HERE / self.setup["template"]).read_text(encoding="utf-8")
        config.write_text(template.format(
            directory=self.directory, port=self.port, a=self.servers[0],
            b=self.servers[1]), encoding="utf-8")
        argv = [program, "-db", "-f", config] if front == "haproxy" else \
            [program, "-p", self.directory, "-c", config]
        self._front = Process(argv, os.path.join(self.directory, "front.log"))
        wait_until(lambda: web.get(self.port, "/health")[0] == 200,
                   self._front, "it answered")

    def settle(self):
        """Wait until nothing special goes on."""
        if self._tailor:
            self._tailor.wait_calm()

    def check(self):
        if self._tailor:
            self._tailor.check_alive()
        if self._front and not self._front.running():
            raise Trouble(f"{self.setup['front']} has ended:\n"
                          f"{self._front.said()}")

    def pids(self):
        """All its processes."""
        roots = [kept.pid for kept in self._kept]
        if self._front:
            roots.append(self._front.pid)
        if self._tailor:
            roots.append(self._tailor.pid)
        return {*roots, *descendants(*roots)}

    def extra_requests(self):
        """Requests sent to servers beyond the clients', so far."""
        if self._tailor:
            return sum(value for name, value in self.metrics().items()
                       if name.startswith("tailor_hedges_sent_total"))
        if self.setup["front"] == "haproxy":
            return self._haproxy_retries()
        if self.setup["front"] == "nginx":
            path = os.path.join(self.directory, "tries.log")
            time.sleep(1.2)  # nginx writes it once a second
            with open(path, encoding="ascii") as file:
                return sum(line.count(",") for line in file)
        return 0

    def _haproxy_retries(self):
        with socket.socket(socket.AF_UNIX) as link:
            link.connect(os.path.join(self.directory, "haproxy.sock"))
            link.sendall(b"show stat\n")
            with link.makefile(encoding="ascii") as file:
                rows = [line.split(",") for line in file if line.strip()]
        names = [name.lstrip("# ") for name in rows[0]]
        return sum(int(row[names.index("wretr")] or 0)
                   for row in rows[1:]
                   if row[names.index("svname")] == "BACKEND")

    def why(self, identity):
        """Tailor's sentence on a slow request; "" if it has none.  The whole
        timeline stays in the cell's directory, as worst.txt."""
        tale = self._tailor and self._tailor.timeline(identity)[0]
        return tale["verdict"]["text"] if tale else ""

    def metrics(self):
        return self._tailor.metrics() if self._tailor else {}

    def restart_server(self):
        """SIGTERM to the one server; it is started again at once."""
        os.kill(self._kept[0].pid, signal.SIGTERM)

    def kill_active(self):
        self._tailor.kill_active()

    def _restart(self, name):
        """As an operator would; returns when it has been warmed up."""
        done = subprocess.run(
            [f"{self.environment.build}/tailorctl", "--admin",
             str(self._tailor.admin), "restart", name],
            capture_output=True, text=True, check=False, timeout=60)
        if done.returncode != 0:
            raise Trouble(f"tailorctl restart {name}: {done.stderr}")
        self._tailor.wait_calm(60)

    def restart_active(self):
        self._restart(self._tailor.active())

    def restart_rolling(self):
        """Both, one after the other."""
        for name in ("a", "b"):
            self._restart(name)

    def stop(self):
        if self._front:
            self._front.stop()
        if self._tailor:
            self._tailor.stop()
        for kept in self._kept:
            kept.stop()
