"""What a tale reports against what was injected.

An Injection is what was done to one request and for how long, as measured by
the injector, the victim or the kernel's own accounts, never by Tailor.  A
Finding is what the request's tale says of it:

right         the verdict's code is one that the scenario accepts (and its
              text has the scenario's word, where it has one), or that another
              account than Tailor's witnesses
both          the verdict names first what by the injector's own clocks took
              about as long, and then what was injected; both lengths are exact
not observed  the tale says that it does not know
plain         its code is true and says less: one of the scenario's plain
              codes, or that nothing is explained
wrong         any other code
false cause   in a request that nothing was done to: a code not in HONEST to
              which the tale gives more than 1 ms in all, and which did not
              really happen by another account than Tailor's: the
              run delays of the server and of Tailor (runq, preempted,
              idle_wakeup, and backend_queue for a thread that came late), the
              time its threads had a CPU beyond what they ran (steal), its page
              faults, the CPU time of the JVM's compilers (class_loading), the
              JVM's own log of safepoints.  Half of what is reported must be
              witnessed.
exact         the time reported is within 5 % or 100 us of the injector's
"""

import collections
import dataclasses
import re

MS = 1_000_000
CALM = "(nothing)"  # was injected
UNSEEN = ("not_observed", "blind", "lost")
HONEST = ("work", "proxy", "network", "client_send", "unknown", "blind",
          "lost", "not_observed", "sleep")
FALSE_NS = MS
EXACT_NS, EXACT_SHARE = 100_000, 0.05
NEAR_TIE = 0.8
ON_CPU = ("work", "proxy", "low_ipc", "slow_clock", "page_fault", "reclaim",
          "softirq", "irq", "steal")


@dataclasses.dataclass
class Injection:
    """One request and what was done to it."""
    request: str                  # its x-request-id
    harm_ns: int = None           # how long; None: not measured
    stamps: dict = None           # the client's own, if they matter
    window: tuple = None          # (begin, end), if only what is within counts
    beside: dict = None           # other codes: ns, by the injector's clocks


@dataclasses.dataclass
class Witness:
    """What others than Tailor say happened to a request, ns."""
    run_delay_ns: int = 0         # server and Tailor, without a CPU
    compiled_ns: int = 0          # the JVM's compilers, on one
    faults: int = 0
    paused_ns: int = 0            # the JVM in safepoints
    stolen_ns: int = 0            # by the host, of threads that had a CPU


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
    both: bool = False            # named second, after what is as true

    @property
    def outcome(self):
        if self.right:
            return "right"
        if self.both:
            return "both"
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
        return self.harm_ns is None or is_exact(self.reported_ns, self.harm_ns)


def is_exact(reported_ns, true_ns):
    """Whether a length is the true one, as well as it can be known."""
    return abs(reported_ns - true_ns) <= max(EXACT_NS, EXACT_SHARE * true_ns)


def spent(tale, codes, window=None):
    """The time that a tale gives to causes; in a window of CLOCK_MONOTONIC,
    what lies within."""
    if window is None:
        return sum(tale["causes"].get(code, 0) for code in codes)
    begin, end = (at - int(tale["t0"]) for at in window)
    return sum(max(0, min(piece["e"], end) - max(piece["b"], begin))
               for piece in tale["path"] if piece["code"] in codes)


def by_thread(tale, code, tailor):
    """{thread: ns} of a cause; Tailor's is that of its process."""
    sums = collections.Counter()
    for piece in tale["path"]:
        if piece["code"] == code:
            who = piece.get("who", "").partition(" behind ")[0]
            found = re.search(r"\[(\d+)\]$", who)
            sums[int(found[1]) if found else tailor] += piece["e"] - piece["b"]
    return sums


def stolen(tale, account, tailor):
    """What the host took of the tale's threads, ns: what they had a CPU for by
    the tale, and did not run by the kernel's account of each (an Account),
    which leaves out what was stolen.  No more than the tale says."""
    had = collections.Counter()
    for code in ON_CPU:
        had.update(by_thread(tale, code, tailor))
    return sum(max(0, min(ns, had[tid] - account.ran.get(tid, 0)))
               for tid, ns in by_thread(tale, "steal", tailor).items())


def names_both(injection, tale, codes):
    """Whether the verdict's first cause took at least about as long as what
    was injected, and that is its second: by the injector's clocks."""
    first, harm_ns = tale["verdict"]["code"], injection.harm_ns
    true_ns = (injection.beside or {}).get(first, 0)
    rest = {code: ns for code, ns in tale["causes"].items() if code != first}
    second = max(rest, key=rest.get, default=None)
    return (harm_ns is not None and true_ns >= NEAR_TIE * harm_ns
            and second in codes and rest[second] > tale["total"] / 5
            and is_exact(spent(tale, [first], injection.window), true_ns)
            and is_exact(spent(tale, codes, injection.window), harm_ns))


def judge_injected(scenario, injection, tale):
    """Whether a tale names what was done, and its time."""
    verdict = tale["verdict"]
    accept = scenario.accept or (verdict["code"],)
    reported = scenario.reported or accept
    named = verdict["code"] in accept and scenario.is_named(verdict)
    return Finding(
        injected=scenario.name, request=injection.request,
        code=verdict["code"], right=named or scenario.is_witnessed(tale),
        reported_ns=spent(tale, reported, injection.window),
        harm_ns=injection.harm_ns, text=verdict["text"],
        causes=tale["causes"],
        plain=verdict["code"] in ("unknown", *scenario.plain),
        both=names_both(injection, tale, reported))


def judge_calm(scenario, request, tale, witness):
    """Which hazards it reports that no other account has."""
    sums = tale["causes"]
    seen = {"runq": witness.run_delay_ns, "preempted": witness.run_delay_ns,
            "backend_queue": witness.run_delay_ns,
            "idle_wakeup": witness.run_delay_ns,
            "steal": witness.stolen_ns,
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
    return Finding(CALM, request, tale["verdict"]["code"], not false, 0,
                text=f"{scenario.name}: {tale['verdict']['text']}",
                causes=sums, false=false)


def middle(values):
    """The median, 0 of none."""
    values = sorted(values)
    return values[len(values) // 2] if values else 0
