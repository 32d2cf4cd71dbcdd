"""A running tailor and its configuration."""

import json
import os
import pathlib

from .client import Client
from .ports import free_port
from .process import SANITIZER, Process
from .wait import PATIENCE_S, Late, wait_until


def merged(base, over):
    """A deep merge of two JSON objects; over wins, and None removes."""
    result = dict(base)
    for key, value in over.items():
        if value is None:
            result.pop(key, None)
            continue
        if isinstance(value, dict) and isinstance(result.get(key), dict):
            value = merged(result[key], value)
        result[key] = value
    return result


def server_config(server, number):
    """The configuration of one server: a dict is taken as it is."""
    if isinstance(server, dict):
        return server
    name = getattr(server, "name", ("active", "backup")[number])
    return {"name": name, "address": server.address}


def configuration(directory, servers, *more):
    """The least that a tailor of a test needs: a port and files of its own,
    no CPU of its own, nothing that survives.  More is merged over it, the
    last one wins."""
    name = "-".join(pathlib.Path(directory).parts[-2:])
    config = {
        "listen": [f"127.0.0.1:{free_port()}"],
        "admin": f"unix:{directory}/admin.sock",
        "servers": [server_config(s, i) for i, s in enumerate(servers)],
        "profiler": {"poll": "sleep", "cpu": "none",
                     "channel_socket": f"{directory}/channels.sock",
                     "stream": f"/dev/shm/{name}"},
        "proxy": {"cpu": "none"},
        "slow": {"store": ""},
    }
    for over in more:
        config = merged(config, over)
    return config


class Tailor(Process):
    """A running tailor.

    port, address   where its first listener is
    admin           path of its admin socket
    """

    program = "tailor"       # in the build directory
    patience_s = PATIENCE_S  # of its clients

    def __init__(self, build, directory, config, env=None):
        self.directory = directory
        self.config = config
        self.admin = config["admin"].removeprefix("unix:")
        path = os.path.join(directory, "tailor.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(config, file, indent=1)
        host, _, port = config["listen"][0].split(" ")[0].rpartition(":")
        self.address = (host, int(port))
        self.port = int(port)
        super().__init__([os.path.join(build, self.program), "-c", path],
                         env=env)

    def client(self, **more):
        """A new client connection to the first listener."""
        return Client(self.address, patience_s=self.patience_s, **more)

    def get(self, target="/", method="GET", **more):
        """One request of a client of its own; the response."""
        with self.client() as client:
            client.request(method, target, **more)
            return client.response(method)

    # --- the admin socket -------------------------------------------------

    def ask(self, target, method="GET", fields=()):
        """One request to the admin socket; returns the response."""
        with Client(self.admin, patience_s=self.patience_s) as client:
            client.request(method, target,
                           fields=[("Connection", "close"), *fields])
            return client.response(method)

    def ask_json(self, target):
        response = self.ask(target)
        assert response.status == 200, response.body
        return json.loads(response.body)

    def timeline(self, name):
        """The timeline of a request, by its id."""
        return self.ask_json(f"/timeline/{name}?format=json")

    def server(self, name):
        """What /servers shows of one server."""
        return next(s for s in self.ask_json("/servers")["servers"]
                    if s["name"] == name)

    def active(self):
        """The name of the active server."""
        return self.ask_json("/servers")["active"]

    def hazard(self, server, state, kind="gc"):
        """Say that a hazard of a server begins or ends, as an agent would."""
        response = self.ask(
            f"/pause?server={server}&kind={kind}&state={state}", "POST")
        assert response.status == 200, response.body

    def metrics(self):
        """All metrics, {'name{label="x"}': value}."""
        values = {}
        for line in self.ask("/metrics").body.decode().splitlines():
            if line and not line.startswith("#"):
                key, value = line.rsplit(" ", 1)
                values[key] = float(value)
        return values

    def rewrite(self, **sections):
        """Write its configuration as it was at the start, but for these."""
        with open(f"{self.directory}/tailor.json", "w",
                  encoding="utf-8") as file:
            json.dump(merged(self.config, sections), file)

    def reload(self, **sections):
        """The same, and have it reloaded; the keys that have changed."""
        self.rewrite(**sections)
        response = self.ask("/reload", "POST")
        assert response.status == 200, response.body
        return json.loads(response.body)["changed"]

    # --- waiting ----------------------------------------------------------

    def _answers(self, target):
        if not self.running():
            raise AssertionError(f"tailor ended early:\n{self.log}")
        try:
            return self.ask(target).status == 200
        except OSError:
            return False

    def _wait_for(self, predicate, what):
        """wait_until, with the log in the message if it is late."""
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
            server = self.server(name)
            return all(server[k] == v for k, v in state.items())
        self._wait_for(reached, f"{name} is {state}")

    def wait_metric(self, key, at_least):
        """Wait until a metric has reached a value."""
        self._wait_for(lambda: self.metrics().get(key, 0) >= at_least,
                       f"{key} >= {at_least}")

    def wait_metric_is(self, key, value):
        """Wait until a metric has a value."""
        self._wait_for(lambda: self.metrics()[key] == value,
                       f"{key} == {value}")

    def wait_settled(self):
        """Wait until nothing is in flight, queued or drained."""
        def nothing():
            m = self.metrics()
            return (m["tailor_requests_inflight"] == 0
                    and m["tailor_requests_queued"] == 0
                    and m["tailor_connections_half_open"] == 0
                    and all(v == 0 for k, v in m.items()
                            if k.startswith((
                                "tailor_server_connections_busy",
                                "tailor_draining_connections"))))
        wait_until(nothing, "nothing is in flight")

    def stop(self):
        """SIGTERM, then assert a clean end and no sanitizer report."""
        status = self.terminate()
        assert not SANITIZER.search(self.log), self.log
        assert status == 0, f"exit status {status}:\n{self.log}"
