"""Tailor with two search services behind it."""

import json
import os
import signal
import time

import web
from processes import Process, Trouble, wait_until

# Slower than this is kept with its events and explained.
SLOW_MS = 10


def merged(base, over):
    """A deep merge of two JSON objects; over wins."""
    result = dict(base)
    for key, value in over.items():
        if isinstance(value, dict) and isinstance(result.get(key), dict):
            value = merged(result[key], value)
        result[key] = value
    return result


class Appliance:
    """A running tailor that starts and keeps the two servers itself.

    port       where clients connect
    servers    {name: its own port}, to warm them up without Tailor

    more is merged over the configuration.
    """

    def __init__(self, recipe, directory, ports, mode, cpus, more=None):
        self.directory = directory
        self.port, port_a, port_b = ports
        self.servers = {"a": port_a, "b": port_b}
        self.admin = recipe.channels.with_name("admin.sock")
        config = os.path.join(directory, "tailor.json")
        with open(config, "w", encoding="utf-8") as file:
            json.dump(merged(self._config(recipe, mode, cpus), more or {}),
                      file, indent=2)
            file.write("\n")
        self._process = Process([f"{recipe.build}/tailor", "-c", config],
                                os.path.join(directory, "tailor.log"))
        wait_until(self._ready, self._process, "both servers were ready")

    def _config(self, recipe, mode, cpus):
        shared = len(os.sched_getaffinity(0)) <= 2
        place = "none" if shared else "auto"
        return {
            "listen": [f"127.0.0.1:{self.port}"],
            "admin": f"unix:{self.admin}",
            "servers": [{
                "name": name,
                "address": f"127.0.0.1:{port}",
                "jvm": recipe.signals,
                "health": recipe.health,
                "launch": {
                    "command": recipe.command(name, port, self.directory),
                    "cpus": cpus[name],
                    "output": os.path.join(self.directory, f"{name}.log"),
                },
            } for name, port in self.servers.items()],
            "hedging": {"mode": mode},
            # one pass over the queries: every kind of them compiled
            "warmup": {"target": "/search?q=water", "requests": 1000},
            # the generator is believed when it names its requests
            "proxy": {"cpu": place, "trusted_proxies": ["127.0.0.0/8"],
                      "stop_timeout": "3s"},
            "profiler": {"cpu": place, "stream": "",
                         "channel_socket": str(recipe.channels)},
            "slow": {"target": f"{SLOW_MS}ms", "history": 65536,
                     "store": os.path.abspath(
                         os.path.join(self.directory, "tales"))},
        }

    def ask(self, target, fields=None):
        """GET from the admin socket: (status, text)."""
        return web.get(self.admin, target, fields)

    def state(self):
        """The servers as /servers tells, or []."""
        status, text = self.ask("/servers")
        return json.loads(text)["servers"] if status == 200 else []

    def _ready(self):
        servers = self.state()
        return len(servers) == len(self.servers) \
            and all(s["state"] == "ready" for s in servers)

    def check_alive(self):
        """Trouble if tailor has ended."""
        if not self._process.running():
            raise Trouble("tailor has ended (status "
                          f"{self._process.child.returncode}); it said:\n"
                          f"{self._process.said(4)}  "
                          f"({self._process.output})")

    def wait_calm(self, patience_s=30.0):
        """Wait until both are ready and neither collects."""
        wait_until(lambda: self._ready()
                   and not any(s["pauses"] for s in self.state()),
                   self._process, "both servers were calm", patience_s)

    @property
    def pid(self):
        return self._process.pid

    def affinity(self):
        """{server's name: its CPUs} as they really are."""
        return {s["name"]: sorted(os.sched_getaffinity(s["pid"]))
                for s in self.state()}

    def _active(self):
        self.check_alive()
        for server in self.state():
            if server["active"]:
                return server
        raise Trouble("no server is active; see "
                      f"{self.directory}/tailor.log")

    def active(self):
        """The name of the server that serves."""
        return self._active()["name"]

    def kill_active(self):
        """kill -9 of the active server; returns its name."""
        server = self._active()
        os.kill(server["pid"], signal.SIGKILL)
        return server["name"]

    def metrics(self):
        """{'name{label="x"}': value}; also kept as metrics.txt."""
        _, text = self.ask("/metrics")
        with open(os.path.join(self.directory, "metrics.txt"), "w",
                  encoding="utf-8") as file:
            file.write(text)
        found = {}
        for line in text.splitlines():
            if line and not line.startswith("#"):
                name, value = line.rsplit(" ", 1)
                found[name] = float(value)
        return found

    def timeline(self, identity):
        """(timeline or None, why not) of one request; also kept as
        worst.json, worst.html and worst.txt."""
        for form in ("json", "html", "text"):
            status, text = self._timeline(identity, form)
            if status != 200:
                return None, f"no timeline ({status} {text.strip()})"
            name = f"worst.{form.replace('text', 'txt')}"
            with open(os.path.join(self.directory, name), "w",
                      encoding="utf-8") as file:
                file.write(text)
            if form == "json":
                tale = json.loads(text)
        return tale, ""

    def _timeline(self, identity, form):
        """A finished request may be in the works for a moment."""
        for _ in range(20):
            status, text = self.ask(f"/timeline/{identity}?format={form}")
            if status not in (409, 429):
                break
            time.sleep(0.1)
        return status, text

    def stop(self):
        self._process.stop()
