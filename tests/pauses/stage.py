"""A scene's processes, and what happens to them."""

import os
import signal
import threading
import time

from proxies import JudgedTailor, Reference
from servers import Server


def cookies_sent():
    """How many SYN cookies this machine has sent."""
    with open("/proc/net/netstat", encoding="ascii") as file:
        for names, values in zip(file, file):
            if names.startswith("TcpExt:"):
                return int(dict(zip(names.split(),
                                    values.split()))["SyncookiesSent"])
    return 0


class Stage:
    """Three proxies, or those that there are, each with its pair."""

    def __init__(self, scene, directory, names, classes, build):
        self.scene, self.directory = scene, directory
        self.names, self.classes, self.build = names, classes, build
        self.servers, self.proxies, self.fronts = {}, {}, {}
        self.away = {"a": [], "b": []}
        self.pauses = []  # [hazard, begin, end]
        self.errors, self.lines = [], 0
        self.cookies = cookies_sent()

    def pair(self, proxy):
        scene, more = self.scene, dict(self.scene.more)
        if scene.kind == "jdk":
            more["classes"] = self.classes
        return {name: Server(scene.kind, name,
                             f"{self.directory}/{proxy}-{name}",
                             scene.backlog, **more) for name in "ab"}

    def open(self):
        os.makedirs(self.directory, exist_ok=True)
        for proxy in self.names:
            self.servers[proxy] = self.pair(proxy)
        for pair in self.servers.values():
            for server in pair.values():
                server.wait_listening()
        for proxy in self.names:
            pair = list(self.servers[proxy].values())
            folder = f"{self.directory}/{proxy}"
            self.proxies[proxy] = (
                JudgedTailor(self.build, folder, pair, **self.limits())
                if proxy == "tailor" else
                Reference(proxy, folder, [server.address for server in pair]))
        for proxy in self.proxies.values():
            proxy.wait_ready()
        if self.scene.front:
            for name, proxy in self.proxies.items():
                self.fronts[name] = Reference(
                    self.scene.front, f"{self.directory}/front-{name}",
                    [proxy.listen])
                self.fronts[name].wait_ready()
        self.lines = len(self.proxies["tailor"].lines)
        return self

    def limits(self):
        """At a swap all of its requests may be hedged."""
        if self.scene.plot != "swap":
            return {}
        return {"more": {"connections_max": len(self.scene.plans)},
                "hedging": {"budget_ratio": 1}, "warmup": {"requests": 0}}

    def address(self, proxy):
        return self.fronts.get(proxy, self.proxies[proxy]).listen

    def close(self):
        for proxy in [*self.fronts.values(), *self.proxies.values()]:
            proxy.kill()
        for pair in self.servers.values():
            for server in pair.values():
                server.kill()

    # --- hazards ---

    def each(self, name):
        return [self.servers[proxy][name] for proxy in self.names]

    def pause(self, hazard):
        self.pauses.append([hazard, time.monotonic(), float("inf")])
        for server in self.each(hazard.server):
            server.signal(signal.SIGSTOP)
        if hazard.known:
            self.proxies["tailor"].hazard(hazard.server, "begin")

    def resume(self, hazard):
        self.pauses[-1][2] = time.monotonic()
        for server in self.each(hazard.server):
            server.resume()
        if hazard.known:
            self.proxies["tailor"].hazard(hazard.server, "end")

    def hang(self, hazard):
        for server in self.each(hazard.server):
            server.hang()

    def kill(self, hazard):
        """Not before those killed earlier are back."""
        for name in "ab":
            if name != hazard.server and self.away[name]:
                for server in self.each(name):
                    server.wait_listening()
        self.away[hazard.server].append([time.monotonic(), float("inf")])
        for server in self.each(hazard.server):
            server.kill()

    def start(self, hazard):
        for server in self.each(hazard.server):
            server.launch()
        ours = self.servers["tailor"][hazard.server]
        threading.Thread(target=self.note_return, args=(ours,),
                         daemon=True).start()

    def note_return(self, server):
        """When Tailor's server takes connections again."""
        try:
            server.wait_listening()
        except AssertionError as error:
            self.errors.append(str(error))
        self.away[server.name][-1][1] = time.monotonic()

    def hazards(self, start, stop):
        """All of them in turn; for a thread.  Ends early when stop is set,
        with no server paused that goes on later."""
        acts = []
        for hazard in self.scene.hazards:
            first, second = {"pause": (self.pause, self.resume),
                             "kill": (self.kill, self.start),
                             "hang": (self.hang, None)}[hazard.what]
            acts.append((hazard.at_s, first, hazard))
            if hazard.seconds:
                acts.append((hazard.at_s + hazard.seconds, second, hazard))
        for at_s, act, hazard in sorted(acts, key=lambda x: x[0]):
            if stop.wait(max(0, start + at_s - time.monotonic())):
                return
            try:
                act(hazard)
            except (OSError, AssertionError) as error:
                self.errors.append(f"{act.__name__} {hazard}: "
                                   f"{type(error).__name__}: {error}")

    # --- what Tailor's side has to say ---

    def kills(self):
        return {name: server.kills
                for name, server in self.servers["tailor"].items()}

    def executed(self):
        return [line for server in self.servers["tailor"].values()
                for line in server.executed()]

    def cookies_since(self):
        """Whether SYN cookies were sent since the scene began."""
        return cookies_sent() > self.cookies

    def sent_twice(self):
        return {name: proxy.sent_twice()
                for name, proxy in self.proxies.items()
                if name != "tailor"}

    def end_of_log(self, lines=14):
        """What Tailor logged since the scene began, or the end of that."""
        return self.proxies["tailor"].lines[self.lines:][-lines:]
