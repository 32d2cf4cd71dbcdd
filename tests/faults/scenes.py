"""What surrounds a tailor under faults: its configuration, files that are
there before it starts, what else runs.  Each scene reaches what others do not.
"""

import glob
import json
import os
import pwd
import shutil
import socket
import sys

from rig.process import ROOT
from rig.tailor import configuration
from rig.wait import wait_until
from traffic import TRAFFIC, cut_page, open_channels

# What is launched as b is not what responds at its address: a script of ours
# does, and what can fail is launching.
CONFIG = {
    "warmup": {"requests": 2},
    "hedging": {"timer_ratio": 1, "timer_delay": "20ms",
                "budget_burst": 1000},
    "proxy": {"stop_timeout": "5s", "websocket": True,
              "pass_fields": ["trailers"],
              "queue_timeout": "2s", "request_timeout": "3s",
              "header_timeout": "2s", "client_timeout": "2s",
              "idle_timeout": "4s",
              "upstream_idle_timeout": "2s", "tunnel_timeout": "4s"},
    "log": {"level": "debug"},
}


class Plain:
    """Servers without a JVM, no kernel events, everything in its place."""

    acts = TRAFFIC
    environment = {}

    def __init__(self, stage):
        self.stage = stage

    def prepare(self, t):
        """Before it starts, in its directory."""
        os.makedirs(f"{t.directory}/store", exist_ok=True)

    def config(self, t):
        at, servers = t.directory, t.servers
        return configuration(at, [
            {"name": "a", "address": servers.a.address, "health": "/health"},
            {"name": "b", "address": servers.b.address,
             "launch": {"command": ["/bin/sleep", "1000"], "cpus": ""}}],
            CONFIG, {
                "profiler": {"kernel": "off", "rates": []},
                "access_log": {"path": f"{at}/access.log"},
                "talechain": {"allow": ["127.0.0.0/8", "unix"]},
                "analysis": {"cpu": 1},
                "slow": {"target": "1us", "store": f"{at}/store",
                         "store_bytes": "4M"}})

    def close(self):
        """When no tailor of it runs any more."""


# A thread that ends makes its watcher ask whether that was all.
THREADS = ("import threading, time; "
           "[(t.start(), t.join()) for t in iter(lambda: threading.Thread("
           "target=time.sleep, args=(0.2,)), None)]")


class Watched(Plain):
    """Everything there is to see is looked at.  Server a is this process,
    which has a JVM's page; b, whose threads come and go, has its probes read
    if there is a libjvm."""

    acts = TRAFFIC + [open_channels, cut_page]

    def __init__(self, stage):
        super().__init__(stage)
        user = pwd.getpwuid(os.geteuid()).pw_name
        folder = f"/tmp/hsperfdata_{user}"
        os.makedirs(folder, mode=0o755, exist_ok=True)
        self.page = f"{folder}/{os.getpid()}"
        shutil.copy(f"{ROOT}/tests/fuzz/profiler/corpus/fuzz_hsperf/g1",
                    self.page)

    def prepare(self, t):
        super().prepare(t)
        t.jvm_page = self.page

    def config(self, t):
        c = super().config(t)
        found = glob.glob("/usr/lib/jvm/*/lib/server/libjvm.so")
        c["servers"][1]["launch"]["command"] = [sys.executable, "-c", THREADS]
        c["servers"][1]["jvm"] = "usdt:" + next(iter(found),
                                                "/none/libjvm.so")
        c["profiler"] |= {
            "kernel": "all",
            "rates": ["ipc", "clock", "cpu", "page_faults", "switches",
                      "queue", "classes", "compiled"]}
        return c

    def close(self):
        os.unlink(self.page)


class Left(Plain):
    """After one that was killed: sockets and tales are still there.  Unix
    sockets on all sides, a service manager, an output file, a stream without
    a path."""

    def __init__(self, stage):
        super().__init__(stage)
        self.store = None  # of one before
        self.manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        path = f"{stage.directory}/notify"
        self.manager.bind(path)  # who reads nothing: a queue that is full
        self.environment = {"NOTIFY_SOCKET": path,
                            "WATCHDOG_USEC": "1000000"}

    def prepare(self, t):
        if self.store is None:
            self.store = self._leave_tales()
        shutil.copytree(self.store, f"{t.directory}/store")
        for name in ("listen", "channels", "admin"):
            with socket.socket(socket.AF_UNIX) as s:
                s.bind(f"{t.directory}/{name}.sock")
                s.listen()

    def _leave_tales(self):
        """The store of a tailor that was killed."""
        t = self.stage.start(self.stage.page(), Plain(self.stage))
        t.wait_serving()
        wait_until(lambda: json.loads(t.ask("/slow").body)["slow"], "a tale")
        t.signal(9)
        t.wait()
        return f"{t.directory}/store"

    def config(self, t):
        c = super().config(t)
        c["listen"].append(f"unix:{t.directory}/listen.sock")
        c["servers"][0]["address"] = self.stage.servers.c.address
        c["servers"][1]["launch"]["output"] = f"{t.directory}/output"
        c["profiler"]["stream"] = ""
        return c

    def close(self):
        self.manager.close()


SCENES = (Plain, Watched, Left)
