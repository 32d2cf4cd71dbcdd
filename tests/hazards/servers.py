"""The servers that misbehave: server.c and HazardServer.java.
"""

import json
import os
import shutil
import subprocess
import threading

from rig.ports import free_port
from rig.process import Process
from rig.safepoints import Safepoints
from rig.stage import (NICER, PROXY_CPU, SERVER_CPU, SERVER_PRIORITY,
                       may_schedule)
from rig.wait import PATIENCE_S, Late


class Server(Process):
    """A server that reports each request on its standard output."""

    def __init__(self, argv, port):
        self.port = port
        self.address = f"127.0.0.1:{port}"
        self._records = {}
        self._arrived = threading.Condition()
        super().__init__(argv, stdout=subprocess.PIPE)
        threading.Thread(target=self._read, daemon=True).start()
        self.wait_log("server: listening")

    def processes(self):
        """Of which Tailor may find any."""
        return [self.pid]

    def _read(self):
        for line in self.stdout:
            record = json.loads(line)
            with self._arrived:
                self._records[record["request"]] = record
                self._arrived.notify_all()

    def record(self, request):
        """What it says about a request, by Tailor's id of it."""
        with self._arrived:
            if not self._arrived.wait_for(lambda: request in self._records,
                                       PATIENCE_S):
                raise Late(f"no record of request {request}")
            return self._records[request]


class CServer(Server):
    """server.c; single=True: one thread serves all."""

    def __init__(self, build, single=False, ordinary=False, port=None):
        port = port or free_port()
        first = (NICER if ordinary
                 else ["chrt", "-r", SERVER_PRIORITY]) * may_schedule()
        super().__init__(
            [*first, os.path.join(build, "hazards", "server"), port,
             SERVER_CPU] + ["single"] * single, port)


class JavaServer(Server, Safepoints):
    """HazardServer.java."""

    def __init__(self, build, collector, channels, port=None):
        port = port or free_port()
        agent = os.path.join(build, "libtailor-jvm.so")
        super().__init__(
            NICER * may_schedule()
            + ["taskset", "-c", f"{PROXY_CPU},{SERVER_CPU}",
             shutil.which("java"), "-Xms640m", "-Xmx640m", "-Xmn96m",
             f"-XX:+Use{collector}GC", "-XX:-UseAdaptiveSizePolicy",
             "-Dsun.net.httpserver.nodelay=true",
             self.SAFEPOINT_LOG,
             f"-agentpath:{agent}=socket={channels}",
             "-cp", os.path.join(build, "hazards", "classes"),
             "HazardServer", str(port)], port)

    def before_others(self):
        """From now on; not while it starts, when it takes all there is and
        the kernel would throttle all that are before others."""
        if may_schedule():
            subprocess.run(["chrt", "-a", "-r", "-p", SERVER_PRIORITY,
                            str(self.pid)], check=True)
