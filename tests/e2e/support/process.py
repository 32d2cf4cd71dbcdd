"""A tailor process, and programs in general, under watch."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading

from .client import Client
from .wait import PATIENCE_S, Late, wait_until

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.append(str(ROOT / "examples" / "demo"))

from web import free_port  # noqa: E402,F401

SANITIZER = re.compile(
    r"ERROR: (Address|Leak|Thread)Sanitizer|WARNING: ThreadSanitizer"
    r"|runtime error:|DEADLYSIGNAL")
SUPP = ROOT / "tests" / "tsan.supp"
SANITIZER_ENV = {
    "ASAN_OPTIONS": "detect_leaks=1:exitcode=99",
    "UBSAN_OPTIONS": "print_stacktrace=1:exitcode=99",
    "TSAN_OPTIONS": f"exitcode=99:second_deadlock_stack=1:suppressions={SUPP}",
}


class Process:
    """A child whose standard error is collected line by line."""

    def __init__(self, argv, env=None, stdout=None):
        self.argv = [str(a) for a in argv]
        self.lines = []
        self._changed = threading.Condition()
        self._child = subprocess.Popen(
            self.argv, stderr=subprocess.PIPE, stdout=stdout,
            stdin=subprocess.DEVNULL, text=True, errors="replace",
            env={**os.environ, **SANITIZER_ENV, **(env or {})})
        self._reader = threading.Thread(target=self._collect, daemon=True)
        self._reader.start()

    def _collect(self):
        for line in self._child.stderr:
            with self._changed:
                self.lines.append(line.rstrip("\n"))
                self._changed.notify_all()

    @property
    def pid(self):
        return self._child.pid

    @property
    def log(self):
        return "\n".join(self.lines)

    def running(self):
        return self._child.poll() is None

    def wait_log(self, pattern, timeout_s=PATIENCE_S):
        """Wait for a line of standard error that matches; returns it."""
        def found():
            return next((x for x in self.lines if re.search(pattern, x)),
                        None)
        with self._changed:
            if not self._changed.wait_for(found, timeout_s):
                raise Late(f"no {pattern!r} in the log:\n{self.log}")
            return found()

    def signal(self, number):
        self._child.send_signal(number)

    def wait(self, timeout_s=PATIENCE_S):
        """Wait for its end; returns the exit status."""
        try:
            status = self._child.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise Late(f"{self.argv[0]} does not end:\n{self.log}") from None
        self._reader.join(timeout_s)
        return status

    def kill(self):
        if self.running():
            self._child.kill()
        self.wait()


class Tailor(Process):
    """A running tailor.

    port, address   where its first listener is
    admin           path of its admin socket
    """

    def __init__(self, build, directory, config):
        self.directory = directory
        self.config = config
        self.admin = config["admin"].removeprefix("unix:")
        path = os.path.join(directory, "tailor.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(config, file, indent=1)
        host, _, port = config["listen"][0].rpartition(":")
        self.address = (host, int(port))
        self.port = int(port)
        super().__init__([os.path.join(build, "tailor"), "-c", path])

    def ask(self, target, method="GET", fields=()):
        """One request to the admin socket; returns the response."""
        with Client(self.admin) as client:
            client.request(method, target,
                           fields=[("Connection", "close"), *fields])
            return client.response(method)

    def ask_json(self, target):
        response = self.ask(target)
        assert response.status == 200, response.body
        return json.loads(response.body)

    def _answers(self, target):
        if not self.running():
            raise AssertionError(f"tailor ended early:\n{self.log}")
        try:
            return self.ask(target).status == 200
        except OSError:
            return False

    def _wait_for(self, predicate, what):
        """wait_until, and what the process said if it was in vain."""
        try:
            wait_until(predicate, what)
        except Late as late:
            raise Late(f"{late}\n{self.log}") from None

    def wait_serving(self):
        """Wait until the process serves its admin socket."""
        self._wait_for(lambda: self._answers("/healthz"), "tailor serves")
        return self

    def wait_ready(self):
        """Wait until it says that it is ready: a server is ready too."""
        self._wait_for(lambda: self._answers("/readyz"), "tailor is ready")
        return self

    def wait_server(self, name, **state):
        """Wait until /servers shows e.g. state="ready" or active=True."""
        def reached():
            for server in self.ask_json("/servers")["servers"]:
                if server["name"] == name:
                    return all(server[k] == v for k, v in state.items())
            return False
        self._wait_for(reached, f"{name} is {state}")

    def metrics(self):
        """All metrics, {'name{label="x"}': value}."""
        values = {}
        for line in self.ask("/metrics").body.decode().splitlines():
            if line and not line.startswith("#"):
                key, value = line.rsplit(" ", 1)
                values[key] = float(value)
        return values

    def wait_metric(self, key, at_least):
        """Wait until a metric has reached a value."""
        self._wait_for(lambda: self.metrics().get(key, 0) >= at_least,
                       f"{key} >= {at_least}")

    def client(self):
        """A new client connection to the first listener."""
        return Client(self.address)

    def stop(self):
        """SIGTERM, then assert a clean end and no sanitizer report."""
        if self.running():
            self.signal(signal.SIGTERM)
        status = self.wait()
        assert not SANITIZER.search(self.log), self.log
        assert status == 0, f"exit status {status}:\n{self.log}"
