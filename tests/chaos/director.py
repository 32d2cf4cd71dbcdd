"""Draws faults from a seed and puts them upon servers, proxy and operator.

Lanes run side by side, each with dice of its own: what happens to the
servers' processes, what they send, and what the operator does.  What is
drawn depends on the seed alone; when it hits what, on the machine as well.
tests/soak uses it too, with lanes of its own.

While a server has a trouble, and until Tailor says that it is ready again,
some errors are allowed (judge.py).  A server that does not come back within
RECOVERY_S of its trouble's end is a violation.
"""

import dataclasses
import json
import os
import random
import signal
import socket
import threading
import time

import faults

RECOVERY_S = 40
# What happens, and how often: (kind, weight, shortest, longest in seconds).
SERVERS = (
    ("known-pause", 9, 0.005, 0.6), ("blind-pause", 4, 0.005, 0.5),
    ("false-alarm", 3, 0.005, 0.1), ("crash", 4, 0, 0), ("term", 2, 0, 0),
    ("both-pause", 2, 0.05, 0.5), ("both-crash", 1, 0, 0),
    ("refuse", 2, 0.05, 0.5), ("deaf", 2, 0.05, 0.5), ("restart", 2, 0, 0),
    ("drain", 2, 0.05, 0.3), ("crash-in-pause", 2, 0.01, 0.2),
    ("long-pause", 0.3, 11, 11), ("long-blind-pause", 0.2, 11, 11),
)
MODES = tuple((kind, 1, 0.3, 1.2) for kind in faults.KINDS) + (
    ("any", 10, 0.5, 2), ("slow", 4, 0.3, 1))
OPERATOR = (
    ("reload", 8, 0, 0), ("hup", 6, 0, 0), ("bad-reload", 3, 0, 0),
    ("listener", 2, 0, 0), ("watch", 1, 0.3, 1), ("switch", 4, 0, 0),
    ("freeze", 3, 0.01, 0.15), ("look", 6, 0, 0),
)
# Lanes: what happens, and the shortest and longest time between.
LANES = {"servers": (SERVERS, 0.2, 1.2), "modes": (MODES, 0.2, 1.5),
         "operator": (OPERATOR, 0.05, 0.8)}
# Keys that change with reloads: section, key, values.
CHANGES = (
    ("hedging", "timer_ratio", (0, 0.5)),
    ("hedging", "timer_delay", ("p99", "20ms")),
    ("proxy", "add_fields", (["server-timing"], [], ["forwarded"])),
    ("warmup", "requests", (0, 20)),
)


@dataclasses.dataclass
class Trouble:
    """server is "a", "b" or, for watch mode, "tailor"; end is None while it
    lasts."""
    server: str
    kind: str
    begin: float
    end: float = None


class Director:
    """tailor: the process; directory: the origins' control sockets; lanes: as
    LANES."""

    def __init__(self, tailor, directory, seed, book, stop, lanes):
        self.tailor, self.directory = tailor, directory
        self.book, self.stop = book, stop
        self.troubles, self.counts = [], {}
        self.config = json.loads(json.dumps(tailor.config))
        self.lock = threading.Lock()  # of the configuration
        self.control = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.control.setblocking(False)
        self.lanes = [
            threading.Thread(target=self.lane, daemon=True,
                             args=(*lane, f"{name} {seed}"))
            for name, lane in lanes.items()]

    def start(self):
        for lane in self.lanes:
            lane.start()

    def join(self):
        for lane in self.lanes:
            lane.join()
        with self.lock:
            self.write(self.tailor.config)
        self.post("/reload")

    def lane(self, kinds, least, most, salt):
        dice = random.Random(salt)
        weights = [k[1] for k in kinds]
        while not self.stop.wait(dice.uniform(least, most)):
            kind, _, shortest, longest = dice.choices(kinds, weights)[0]
            server = dice.choice("ab")
            length = dice.uniform(shortest, longest)
            action = getattr(self, "do_" + kind.replace("-", "_"),
                             self.spoil)
            self.counts[kind] = self.counts.get(kind, 0) + 1
            try:
                action(kind, server, length, dice)
            except Exception as error:  # pylint: disable=broad-except
                self.book.violation(f"director {kind} {server}: "
                                    f"{type(error).__name__} {error}")

    # --- means ------------------------------------------------------------

    def begin(self, server, kind):
        trouble = Trouble(server, kind, time.monotonic())
        self.troubles.append(trouble)
        return trouble

    def end(self, trouble, after_s=0.0):
        trouble.end = time.monotonic() + after_s

    def post(self, target, *allowed):
        response = self.tailor.ask(target, "POST")
        if response.status not in (200, *allowed):
            self.book.violation(f"POST {target}: {response.start} "
                                f"{response.body[:200]!r}")
        return response

    def servers(self):
        return {s["name"]: s for s in
                self.tailor.ask_json("/servers")["servers"]}

    def signal(self, server, number):
        pid = self.servers()[server]["pid"]
        if pid > 0:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass
        return pid

    def hazard(self, server, state):
        self.post(f"/pause?server={server}&kind=gc&state={state}")

    def wait_ready(self, *names):
        until = time.monotonic() + RECOVERY_S
        while True:
            seen = self.servers()
            if all(seen[n]["state"] == "ready" for n in names):
                return
            if time.monotonic() > until:
                self.book.violation(f"not ready again: "
                                    f"{[(n, seen[n]['state']) for n in names]}")
                return
            time.sleep(0.02)

    def wait_gone(self, server, pid):
        """Until Tailor has noticed that a process has ended."""
        until = time.monotonic() + RECOVERY_S
        while self.servers()[server]["pid"] == pid:
            if time.monotonic() > until:
                self.book.violation(f"the end of {server} is not noticed")
                return
            time.sleep(0.005)

    def mode(self, server, kind, length, **more):
        message = {"kind": kind, "until": time.monotonic() + length,
                   "share": 1, **more}
        try:
            self.control.sendto(json.dumps(message).encode(),
                                f"{self.directory}/{server}.ctl")
        except OSError:
            pass  # it is dead, stopped or just starting

    # --- servers ----------------------------------------------------------

    def pause(self, servers, length, known):
        kind = "known" if known else "blind"
        losses = self.losses()
        troubles = [self.begin(s, kind) for s in servers]
        pids = []
        for server in servers:
            if known:
                self.hazard(server, "begin")
            pids.append(self.signal(server, signal.SIGSTOP))
        time.sleep(length)
        for server, pid in zip(servers, pids):
            try:
                os.kill(pid, signal.SIGCONT)
            except ProcessLookupError:
                pass
            if known:
                self.hazard(server, "end")
        for trouble in troubles:
            self.end(trouble, 0.2)

        self.recover(troubles, losses)

    def losses(self):
        """How often Tailor has said of each server that it is lost."""
        text = self.tailor.log
        return {s: text.count(f"server_lost server={s}") for s in "ab"}

    def recover(self, troubles, before):
        """Who stands still for long fills its queue of connections, and is
        lost for Tailor until it responds again: perhaps it has already."""
        seen, after = self.servers(), self.losses()
        lost = [t for t in troubles if seen[t.server]["state"] != "ready"
                or after[t.server] > before[t.server]]
        down = [self.begin(t.server, "down") for t in lost]
        for was, now in zip(lost, down):
            now.begin = was.begin
        if lost:
            self.wait_ready(*[t.server for t in lost])
        for trouble in down:
            self.end(trouble, 0.1)

    def do_known_pause(self, _kind, server, length, _dice):
        self.pause(server, length, True)

    def do_blind_pause(self, _kind, server, length, _dice):
        self.pause(server, length, False)

    do_long_pause = do_known_pause
    do_long_blind_pause = do_blind_pause

    def do_both_pause(self, _kind, _server, length, dice):
        self.pause("ab", length, dice.random() < 0.7)

    def do_false_alarm(self, _kind, server, length, _dice):
        self.hazard(server, "begin")
        time.sleep(length)
        self.hazard(server, "end")

    def crash(self, servers, number):
        troubles = [self.begin(s, "down") for s in servers]
        pids = [self.signal(s, number) for s in servers]
        for server, pid in zip(servers, pids):
            self.wait_gone(server, pid)
        self.wait_ready(*servers)
        for trouble in troubles:
            self.end(trouble, 0.1)

    def do_crash(self, _kind, server, _length, _dice):
        self.crash(server, signal.SIGKILL)

    def do_term(self, _kind, server, _length, _dice):
        self.crash(server, signal.SIGTERM)

    def do_both_crash(self, *_):
        self.crash("ab", signal.SIGKILL)

    def do_crash_in_pause(self, _kind, server, length, _dice):
        """A process that ends in its pause, as the kernel ends large ones."""
        trouble = self.begin(server, "down")
        self.hazard(server, "begin")
        pid = self.signal(server, signal.SIGSTOP)
        time.sleep(length)
        os.kill(pid, signal.SIGKILL)
        self.wait_gone(server, pid)
        self.wait_ready(server)
        self.end(trouble, 0.1)

    def do_refuse(self, kind, server, length, _dice):
        """Connections are refused, those that there are live on."""
        trouble = self.begin(server, "down")
        self.mode(server, kind, length)
        time.sleep(length + 0.1)
        self.wait_ready(server)
        self.end(trouble, 0.2)

    def do_deaf(self, kind, server, length, _dice):
        """New connections are not looked at."""
        losses = self.losses()
        trouble = self.begin(server, "blind")
        self.mode(server, kind, length)
        time.sleep(length)
        self.end(trouble, 0.3)
        self.recover([trouble], losses)

    def do_restart(self, _kind, server, _length, _dice):
        trouble = self.begin(server, "out")
        pid = self.servers()[server]["pid"]
        if self.post(f"/restart?server={server}", 409).status == 200:
            self.wait_gone(server, pid)
            self.wait_ready(server)
        self.end(trouble, 0.1)

    def do_drain(self, _kind, server, length, _dice):
        trouble = self.begin(server, "out")
        if self.post(f"/drain?server={server}", 409).status == 200:
            time.sleep(length)
            self.post(f"/undrain?server={server}")
            self.wait_ready(server)
        self.end(trouble, 0.1)

    # --- responses --------------------------------------------------------

    def spoil(self, kind, server, length, dice):
        trouble = self.begin(server, "mode")
        share = 0.3 if kind == "any" else dice.choice((0.1, 0.5, 0.9))
        self.mode(server, kind, length, share=share)
        time.sleep(length)
        self.end(trouble, 0.5)

    def do_slow(self, kind, server, length, dice):
        trouble = self.begin(server, "blind")
        self.mode(server, kind, length,
                  delay=dice.choice((0.005, 0.02, 0.1)))
        time.sleep(length)
        self.end(trouble, 0.5)

    # --- operator ---------------------------------------------------------

    def write(self, config):
        path = f"{self.tailor.directory}/tailor.json"
        with open(f"{path}.new", "w", encoding="utf-8") as file:
            json.dump(config, file)
        os.rename(f"{path}.new", path)

    def do_reload(self, _kind, _server, _length, dice, hup=False):
        for _ in range(dice.randrange(1, 4)):
            section, key, values = dice.choice(CHANGES)
            self.config.setdefault(section, {})[key] = dice.choice(values)
        self.reload(hup)

    def reload(self, hup=False):
        with self.lock:
            self.write(self.config)
            if not hup:
                self.post("/reload")
                return
            key = 'tailor_config_reload_total{result="done"}'
            done = self.tailor.metrics()[key]
            self.tailor.signal(signal.SIGHUP)
            self.tailor.wait_metric(key, done + 1)

    def do_hup(self, *of):
        self.do_reload(*of, hup=True)

    def do_bad_reload(self, _kind, _server, _length, dice):
        bad = json.loads(json.dumps(self.config))
        section, key, value = dice.choice((
            ("proxy", "websocket", "perhaps"), ("hedging", "mode", "sometimes"),
            ("slow", "history", 77), ("proxy", "header_timeout", "-1s")))
        bad.setdefault(section, {})[key] = value
        with self.lock:
            self.write(bad)
            if self.post("/reload", 422).status != 422:
                self.book.violation(f"{section}.{key} = {value} was taken")
            self.write(self.config)

    def do_listener(self, *_):
        """The last listener goes, or comes back."""
        every = self.tailor.config["listen"]
        trouble = self.begin("tailor", "listener")
        self.config["listen"] = (every[:-1] if self.config["listen"] == every
                                 else every)
        self.reload()
        self.end(trouble, 0.6)  # a client's rest before it asks

    def do_watch(self, _kind, _server, length, _dice):
        trouble = self.begin("tailor", "watch")
        self.config["hedging"]["mode"] = "watch"
        self.reload()
        self.stop.wait(length)
        self.config["hedging"]["mode"] = "act"
        self.reload()
        self.end(trouble, 0.1)

    def do_switch(self, *_):
        self.post("/switch", 409)

    def do_freeze(self, _kind, _server, length, _dice):
        """Tailor itself does not run for a moment."""
        self.tailor.signal(signal.SIGSTOP)
        time.sleep(length)
        self.tailor.signal(signal.SIGCONT)

    def do_look(self, _kind, _server, _length, dice):
        """What monitoring does meanwhile."""
        target = dice.choice(("/metrics", "/servers", "/slow", "/healthz"))
        try:
            response = self.tailor.ask(target)
        except TimeoutError:
            if target == "/slow":
                return  # of the analysis thread, which comes last
            raise
        if response.status not in (200, 429):  # too much is asked for
            self.book.violation(f"GET {target}: {response.start} "
                                f"{response.body[:200]!r}")
