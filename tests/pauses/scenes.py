"""What is played: a scene follows from the seed and its number alone.

A scene is one kind of server with its backlog, a schedule of requests, a
schedule of hazards, and perhaps a front.  Each proxy gets all of it, at the
same instants.
"""

import dataclasses
import random

import upstream

KINDS = ("jdk", "nginx", "python")
BACKLOGS = (5, 10, 50, 128, 500)
PLOTS = {
    # name: how often it is drawn
    "pause": 5,         # the active server stands still, once or more
    "both paused": 4,   # both, overlapping
    "backup paused": 2,
    "killed": 4,        # kill -9, started again; perhaps then the other
    "killed, paused": 2,  # the active one killed while the other is paused
    "hung": 2,          # stands still, or answers nothing, for good
    "burst": 4,         # up to 1500 at once, no server paused
    "burst, pause": 4,  # the same while the active server stands still
    "slow clients": 3,  # readers, uploads, event streams; others meanwhile
    "swap": 1,          # many wait at each server in turn when it stands still
}
# Of a swap: the requests that wait at a server are sent within a time, so that
# no backlog is full, and take longer than until it stands still; it does so
# until the other one has served them, by far.
SWAP_SIZES = (64, 200, 1000)
SWAP_RAMP_S, SWAP_DELAY_MS, SWAP_PAUSE_S = 2, 4000, 14
HUNG_LOAD_S = 4
# Of a request in two segments Linux resets the connection, by chance, when
# the backlog is full and SYN cookies are on: the second one is not the
# cookie's.  So larger uploads are sent where no backlog can be full.
SEGMENT = 5_000
ROOMY = 128  # a backlog that ordinary load does not fill
SAFE = ("GET", "HEAD")


@dataclasses.dataclass(frozen=True)
class Plan:
    """One request.  at_s is after the start of the scene; manner is plain,
    burst, held (of a swap), slow reader, trickle (the upload) or events."""
    at_s: float
    ident: str
    kind: str
    method: str = "GET"
    size: int = 0
    delay_ms: int = 0
    status: int = 200
    upload_bytes: int = 0
    chunked: bool = False
    keep: bool = True
    manner: str = "plain"
    seconds: float = 0

    @property
    def safe(self):
        return self.method in SAFE

    @property
    def events(self):
        return int(self.seconds * 10)

    @property
    def target(self):
        if self.manner == "events":
            return f"/s/{self.ident}/{self.events}?i=100"
        return (f"/c/{self.ident}/{self.size}?d={self.delay_ms}"
                f"&s={self.status}")

    @property
    def upload(self):
        return random.Random(self.ident).randbytes(self.upload_bytes)

    @property
    def expected(self):
        if self.manner == "events":
            return upstream.stream(self.ident, self.events)
        return upstream.body(self.kind, self.method, self.ident, self.size,
                             self.upload)


@dataclasses.dataclass(frozen=True)
class Hazard:
    """what is pause, kill or hang; seconds until it is over (of a kill: until
    the server is started again), 0 for never.  known: Tailor is notified."""
    at_s: float
    what: str
    server: str
    seconds: float
    known: bool = False

    def __str__(self):
        length = f"{self.seconds:.2f} s" if self.seconds else "good"
        return (f"{self.at_s:.2f} s: {self.what} {self.server} for {length}"
                f"{', known' if self.known else ''}")


@dataclasses.dataclass
class Scene:
    seed: int
    number: int
    plot: str
    kind: str
    backlog: int
    more: dict       # of its servers
    front: str       # "", nginx or haproxy
    hazards: list
    plans: list

    def __str__(self):
        hazards = "; ".join(map(str, self.hazards)) or "no hazard"
        more = "".join(f", {k} {v}" for k, v in self.more.items())
        front = f", behind {self.front}" if self.front else ""
        return (f"scene {self.number} of seed {self.seed}: {self.plot}; "
                f"{self.kind}, backlog {self.backlog}{more}{front}; "
                f"{len(self.plans)} requests; {hazards}")


class Author:
    """Draws one scene."""

    def __init__(self, seed, number, kinds=KINDS, fronts=("nginx", "haproxy"),
                 plot=None):
        self.dice = random.Random(f"{seed}/{number}")
        self.seed, self.number = seed, number
        drawn = self.dice.choices(list(PLOTS), list(PLOTS.values()))[0]
        self.plot = plot or drawn
        if self.plot == "slow clients":  # nginx has no delay and no streams
            kinds = [k for k in kinds if k != "nginx"] or kinds
        if self.plot == "swap":
            kinds = ["jdk"]
        self.kind = self.dice.choice(kinds)
        self.front = self.dice.choice(fronts) if (
            fronts and self.dice.random() < 0.2) else ""
        # A front's own minute would be over first, or it has too little room.
        if self.plot in ("hung", "swap"):
            self.front = ""
        self.backlog = self.dice.choice(BACKLOGS)
        if self.plot == "swap":
            self.backlog = 0  # the JDK's default, 50
        self.count, self.plans, self.hazards = 0, [], []

    def scene(self):
        load_s = getattr(self, "draw_" + self.plot.replace(", ", "_")
                         .replace(" ", "_"))()
        rate = self.dice.choice((20, 40, 80))
        if self.plot == "hung":
            rate = 20
        at = 0.0
        while at < load_s:
            self.plans.append(self.ordinary(at))
            at += self.dice.expovariate(rate)
        self.plans.sort(key=lambda plan: plan.at_s)
        self.hazards.sort(key=lambda hazard: hazard.at_s)
        return Scene(self.seed, self.number, self.plot, self.kind,
                     self.backlog, self.more(), self.front, self.hazards,
                     self.plans)

    def more(self):
        more = {}
        if self.kind == "jdk":
            streams = self.plot in ("slow clients", "hung", "swap")
            more["threads"] = 0 if streams else self.dice.choice((0, 32, 200))
        elif self.dice.random() < 0.3:
            more["unix"] = True
        if self.kind == "python":
            more["requests"] = self.dice.choice((0, 0, 1, 5, 50))
            more["idle_s"] = self.dice.choice((0.2, 0.5, 60))
        return more

    def roomy(self):
        """Whether no backlog is ever full in this scene."""
        return self.backlog >= ROOMY and not self.hazards and (
            "burst" not in self.plot)

    def ident(self):
        self.count += 1
        return f"{self.number}-{self.count}"

    def ordinary(self, at):
        """A request as they come all day."""
        d = self.dice
        method = d.choices(("GET", "HEAD", "POST", "PUT", "DELETE"),
                           (65, 5, 20, 5, 5))[0]
        size = d.choices((0, 1_000, 20_000, 300_000), (70, 15, 10, 5))[0]
        most = 100_000 if self.roomy() else SEGMENT
        upload = min(most, d.choice((0, 100, 5_000, 100_000))) if method in (
            "POST", "PUT") else 0
        delay = d.choices((0, 5, 40, 200), (30, 50, 15, 5))[0]
        status = d.choices((200, 404, 500, 503), (94, 2, 2, 2))[0]
        if self.kind == "nginx":
            delay, status = 0, 200
            if method != "GET":
                size = 0
        return Plan(at, self.ident(), self.kind, method, size, delay, status,
                    upload, chunked=upload > 0 and d.random() < 0.2,
                    keep=d.random() < 0.8)

    def burst(self, at, most):
        """Up to so many requests at one instant."""
        d = self.dice
        count = min(most, int(2 ** d.uniform(0, 11)))
        delay = 0 if self.kind == "nginx" else d.choice((0, 20, 50))
        for _ in range(count):
            post = d.random() < 0.15
            self.plans.append(Plan(
                at, self.ident(), self.kind, "POST" if post else "GET",
                delay_ms=delay, upload_bytes=200 if post else 0,
                keep=d.random() < 0.8, manner="burst"))

    def hazard(self, at, what, server, seconds, known=False):
        self.hazards.append(Hazard(round(at, 2), what, server,
                                   round(seconds, 2), known))
        return at + seconds

    def draw_pause(self):
        d = self.dice
        known, at = d.random() < 0.5, 1.0
        for server in ("a", "b", "a")[:d.randint(1, 3)]:
            at = self.hazard(at, "pause", server, d.uniform(0.3, 4), known)
            at += d.uniform(0.1, 1)
        return at + 0.5

    def draw_both_paused(self):
        d = self.dice
        known = d.random() < 0.5
        ends = [self.hazard(1 + d.choice((0, d.uniform(0, 1))), "pause",
                            server, d.uniform(0.5, 5), known)
                for server in "ab"]
        return max(ends) + 1

    def draw_backup_paused(self):
        known = self.dice.random() < 0.5
        return self.hazard(1, "pause", "b", self.dice.uniform(1, 5),
                           known) + 1

    def draw_killed(self):
        d = self.dice
        at = self.hazard(1, "kill", "a", d.uniform(0.1, 3))
        if d.random() < 0.5:
            at = self.hazard(at + d.uniform(0.3, 2), "kill", "b",
                             d.uniform(0.1, 2))
        return at + 2

    def draw_killed_paused(self):
        d = self.dice
        known = d.random() < 0.5
        end = self.hazard(1, "pause", "b", d.uniform(1.5, 4), known)
        self.hazard(1 + d.uniform(0.1, 1), "kill", "a", d.uniform(0.5, 2))
        return end + 2

    def draw_hung(self):
        d = self.dice
        what = "pause" if self.kind == "nginx" else d.choice(("pause", "hang"))
        self.hazard(1, what, "a", 0, what == "pause" and d.random() < 0.3)
        return HUNG_LOAD_S

    def draw_burst(self):
        for at in (1, 2):
            self.burst(at, 1500)
        return 3

    def draw_burst_pause(self):
        d = self.dice
        known = d.random() < 0.5
        end = self.hazard(1, "pause", "a", d.uniform(0.5, 4), known)
        self.burst(1 + d.choice((-0.05, 0.0, 0.05, 0.3)), 1000)
        if d.random() < 0.5:
            self.burst(end + d.choice((-0.1, 0.0, 0.1)), 1000)
        return end + 1

    def draw_swap(self):
        """First to a backup that has served nothing, then back; no load
        besides."""
        count, at = self.dice.choice(SWAP_SIZES), 1.0
        for server in "ab":
            for i in range(count):
                self.plans.append(Plan(
                    at + SWAP_RAMP_S * i / count, self.ident(), self.kind,
                    delay_ms=SWAP_DELAY_MS, manner="held"))
            at = 3 + self.hazard(at + SWAP_RAMP_S + 0.5, "pause", server,
                                 SWAP_PAUSE_S, True)
        return 0

    def draw_slow_clients(self):
        d = self.dice
        if d.random() < 0.4:
            self.hazard(2, "pause", "a", d.uniform(0.3, 2),
                        d.random() < 0.5)
        for manner in d.sample(("slow reader", "trickle", "events"),
                               d.randint(1, 3)):
            for _ in range(d.choice((10, 64, 100))):
                at, seconds = d.uniform(0, 0.5), d.uniform(2, 4)
                common = {"manner": manner, "seconds": round(seconds, 2),
                          "keep": False}
                if manner == "slow reader":
                    plan = Plan(at, self.ident(), self.kind, size=d.choice(
                        (300_000, 2_000_000)), **common)
                elif manner == "trickle":
                    plan = Plan(at, self.ident(), self.kind, "POST",
                                upload_bytes=d.choice(
                                    (2_000, 200_000)
                                    if self.roomy() else (2_000,)),
                                **common)
                else:
                    plan = Plan(at, self.ident(), self.kind, **common)
                self.plans.append(plan)
        return 4


# The scenes of the short form: each weakness once, in little time.  The hung
# one comes first: nginx leaves a server that is silent for a minute.
SHORT_SEED = 1
SHORT = ((2, "hung", "jdk"), (2, "slow clients", "python"),
         (6, "pause", "jdk"), (4, "pause", "jdk"), (5, "both paused", "jdk"),
         (1, "both paused", "nginx"), (6, "burst, pause", "jdk"),
         (9, "burst, pause", "nginx"), (3, "killed", "python"),
         (8, "killed, paused", "jdk"), (2, "burst", "jdk"),
         (1, "swap", "jdk"), (6, "swap", "jdk"))
