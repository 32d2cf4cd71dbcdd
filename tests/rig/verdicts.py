"""What a tale reports against what was injected.

An Injection is what was done to one request and for how long, as measured by
the injector, the victim or the kernel's own accounts, never by Tailor.  A
Finding is what the request's tale says of it:

right         the verdict's code is one that the scenario accepts (and its
              text has the scenario's word, where it has one)
not observed  the tale says that it does not know
plain         its code is true and says less: one of the scenario's plain
              codes, or that nothing is explained
wrong         any other code
false cause   in a request that nothing was done to: a code not in HONEST to
              which the tale gives more than 1 ms in all, and which did not
              really happen by another account than Tailor's: the
              run delays of the server and of Tailor (runq, preempted,
              idle_wakeup, and backend_queue for a thread that came late), the
              time the server's thread was not on a CPU (lock), its page
              faults, the CPU time of the JVM's compilers (class_loading),
              the JVM's own log of safepoints.  Half of what is
              reported must be witnessed.
exact         the time reported is within 5 % or 100 us of the injector's
"""

import dataclasses

MS = 1_000_000
UNSEEN = ("not_observed", "blind", "lost")
HONEST = ("work", "proxy", "network", "client_send", "unknown", "blind",
          "lost", "not_observed", "sleep")
FALSE_NS = MS
EXACT_NS, EXACT_SHARE = 100_000, 0.05


@dataclasses.dataclass
class Injection:
    """One request and what was done to it."""
    request: str                  # its x-request-id
    harm_ns: int = None           # how long; None: not measured
    stamps: dict = None           # the client's own, if they matter


@dataclasses.dataclass
class Witness:
    """What others than Tailor say happened to a request, ns."""
    run_delay_ns: int = 0         # server and Tailor, without a CPU
    compiled_ns: int = 0          # the JVM's compilers, on one
    off_cpu_ns: int = 0           # server's thread, for whatever reason
    faults: int = 0
    paused_ns: int = 0            # the JVM in safepoints


@dataclasses.dataclass
class Finding:
    """One request: what was injected and what its tale says."""
    injected: str                 # the scenario
    request: str
    code: str
    right: bool
    reported_ns: int
    harm_ns: int = None
    text: str = ""
    causes: dict = dataclasses.field(default_factory=dict)
    false: list = dataclasses.field(default_factory=list)
    plain: bool = False           # true, and says less than was done

    @property
    def outcome(self):
        if self.right:
            return "right"
        if self.code in UNSEEN:
            return "unseen"
        return "plain" if self.plain else "wrong"

    @property
    def error_ns(self):
        if self.harm_ns is None:
            return None
        return self.reported_ns - self.harm_ns

    @property
    def exact(self):
        return self.harm_ns is None or abs(self.error_ns) <= max(
            EXACT_NS, EXACT_SHARE * self.harm_ns)


def judge_injected(scenario, injection, harm_ns, tale):
    """Whether a tale names what was done, and its time."""
    verdict, sums = tale["verdict"], tale["causes"]
    accept = scenario.accept or (verdict["code"],)
    words = " ".join([verdict["text"], *verdict.get("evidence", ())])
    return Finding(
        injected=scenario.name, request=injection.request,
        code=verdict["code"],
        right=verdict["code"] in accept and scenario.naming in words,
        reported_ns=sum(sums.get(c, 0) for c in scenario.reported or accept),
        harm_ns=harm_ns, text=verdict["text"], causes=sums,
        plain=verdict["code"] in ("unknown", *scenario.plain))


def judge_calm(scenario, request, tale, witness):
    """Which hazards it reports that no other account has."""
    sums = tale["causes"]
    seen = {"runq": witness.run_delay_ns, "preempted": witness.run_delay_ns,
            "backend_queue": witness.run_delay_ns,
            "idle_wakeup": witness.run_delay_ns,
            "lock": witness.off_cpu_ns,
            "class_loading": witness.compiled_ns,
            "gc": witness.paused_ns, "safepoint": witness.paused_ns}
    false = []
    for code, ns in sums.items():
        if code in HONEST or ns <= FALSE_NS:
            continue
        if code == "page_fault" and witness.faults > 0:
            continue
        if seen.get(code, 0) < ns / 2:
            false.append(f"{code} {ns / 1e6:.1f} ms")
    return Finding("(nothing)", request, tale["verdict"]["code"], not false, 0,
                text=f"{scenario.name}: {tale['verdict']['text']}",
                causes=sums, false=false)


def middle(values):
    """The median, 0 of none."""
    values = sorted(values)
    return values[len(values) // 2] if values else 0
