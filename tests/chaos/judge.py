"""What is allowed while servers are in trouble (docs/hedging.md, docs/http.md).

An error of the proxy's own:
  503 no_server       neither server could be used
  503 queue_*         a server was slow or stopped without a word, so that
                      its connections filled up
  504 deadline        the time was over, and a server was in trouble
  502                 each attempt met with a fault: of a request that may be
                      repeated, at both servers (one is enough in watch mode);
                      of any other, at one; no connection for connect_timeout,
                      from a server that takes none, counts as one, and so does
                      a kept connection that a server at fault had just closed
A response that is cut: its server ended, or cut it, by its own account; what
had come is right (client.py).
And by the servers' ledger: what may not be repeated was seen once at most;
nothing was seen of what got no response because its connection was to end,
and nothing behind a refused request; nothing that was not sent, ever.
"""

import bisect

from client import LAST

MARGIN_S = 0.1  # between our clock readings and what happens
# A request is written to servers twice at most, whatever for.
SEEN_MAX = 2
CONNECT_S = 4  # proxy.connect_timeout, see chaos.py
UNUSABLE = ("down", "out")
SILENT = ("blind",)
ANY = ("down", "out", "blind", "known", "mode")


class Intervals:
    """When there was trouble: disjoint intervals, in order."""

    def __init__(self, pairs):
        self.begins, self.ends = [], []
        for begin, end in sorted(pairs):
            if self.ends and begin <= self.ends[-1]:
                self.ends[-1] = max(end, self.ends[-1])
            else:
                self.begins.append(begin)
                self.ends.append(end)

    def overlap(self, begin, end):
        at = bisect.bisect_right(self.begins, end) - 1
        return at >= 0 and self.ends[at] >= begin


class Ledger:
    """What the servers say they saw."""

    def __init__(self, path):
        self.seen = {}    # name of a request -> how often
        self.faults = {}  # name -> servers that spoilt a response to it
        self.whole = set()
        self.wrong, self.kinds, self.warm = [], {}, 0
        with open(path, encoding="latin-1") as file:
            for line in file:
                self.take(line.split())

    def take(self, words):
        event, nonce, _method, target = words[:4]
        name = target.split("?")[0]
        if event == "seen":
            self.seen[name] = self.seen.get(name, 0) + 1
        elif event == "warm":
            self.warm += 1
        elif event == "whole":
            self.whole.add(nonce)
        elif event == "fault":
            self.faults.setdefault(name, set()).add(nonce.split(".")[0])
            self.kinds[words[4]] = self.kinds.get(words[4], 0) + 1
        else:
            self.wrong.append(" ".join(words))


class Judge:
    """ledger: a Ledger; troubles: of the director; deadline_s: the proxy's
    request_timeout, or None if no request may meet it."""

    def __init__(self, ledger, troubles, deadline_s):
        self.ledger, self.deadline_s = ledger, deadline_s
        self.when = {}
        of = {}
        for trouble in troubles:
            end = trouble.end if trouble.end is not None else float("inf")
            of.setdefault((trouble.server, trouble.kind), []).append(
                (trouble.begin - MARGIN_S, end + MARGIN_S))
        for key, pairs in of.items():
            self.when[key] = Intervals(pairs)

    def trouble(self, server, kinds, outcome):
        """Whether it had any of these while the request was under way."""
        return any(self.when[server, kind].overlap(outcome.begun,
                                                   outcome.over)
                   for kind in kinds if (server, kind) in self.when)

    def excused(self, server, kinds, outcome):
        return (self.trouble(server, kinds, outcome)
                or server in self.ledger.faults.get(name_of(outcome), ()))

    def watch(self, outcome):
        return self.trouble("tailor", ("watch",), outcome)

    def enough(self, outcome, kinds):
        """Both servers are excused; or one, where only one may be asked."""
        any_will_do = self.watch(outcome) or not outcome.spec.repeatable
        if not outcome.spec.repeatable:
            kinds = ANY
        found = [self.excused(server, kinds, outcome) for server in "ab"]
        return any(found) if any_will_do else all(found)

    def error(self, outcome):
        """What is wrong with an error, or None."""
        status, _, reason = outcome.text.partition(" ")
        reason = reason.rpartition(": ")[2]
        if status == "503" and reason in ("no_server", ""):
            found = [self.trouble(s, UNUSABLE, outcome) for s in "ab"]
            if all(found) or (any(found) and self.watch(outcome)):
                return None
        if status == "503" and reason in ("queue_timeout", ""):
            if self.trouble("a", SILENT, outcome) or self.trouble(
                    "b", SILENT, outcome) or self.enough(outcome, ANY):
                return None
        if status == "504" and self.deadline_s is None:
            return (None if self.trouble("a", ("down",), outcome)
                    else "nothing was that slow")
        if status == "504":
            if outcome.over - outcome.begun < self.deadline_s - MARGIN_S:
                return "too soon"
            if any(self.trouble(s, ANY, outcome) for s in "ab"):
                return None
        if status == "502" and self.enough(outcome, UNUSABLE):
            return None
        # A server that looks at no new connection, for connect_timeout.
        if (status == "502" and reason in ("connect_timeout", "")
                and outcome.over - outcome.begun > CONNECT_S - MARGIN_S
                and self.enough(outcome, UNUSABLE + SILENT)):
            return None
        # One of two writes was lost with a kept connection that a server in a
        # mode of closing them had just closed: it has not seen that one.  The
        # other was spoilt by it too (in any way: it has seen that one), or its
        # server was in trouble.
        if (status == "502" and (reason in ("closed", "reset", "")
                                 or self.ledger.faults.get(name_of(outcome)))
                and any(self.excused(s, UNUSABLE, outcome) for s in "ab")
                and self.enough(outcome, ANY)):
            return None
        # Two writes are all there may be, and both were spent on a server at
        # fault: the other one was starting, full or in a pause just then.
        if (status == "502"
                and self.ledger.seen.get(name_of(outcome), 0) >= SEEN_MAX
                and self.ledger.faults.get(name_of(outcome))):
            return None
        return "nothing allows it"

    def verdict(self, outcome):
        """What is wrong with an outcome, or None."""
        name = name_of(outcome)
        if outcome.kind == "error":
            return self.error(outcome)
        if outcome.kind == "unasked":
            return "yet a server saw it" if name in self.ledger.seen else None
        if outcome.kind == "cut":
            if "a head and" not in outcome.text:
                # What arrives between our last accept() and close() is
                # reset by the kernel.
                if outcome.manner.endswith(LAST) and self.trouble(
                        "tailor", ("listener",), outcome):
                    return None
                return "no response at all"
            if any(self.excused(s, ("down",), outcome) for s in "ab"):
                return None
            return "nothing allows it"
        if outcome.kind in ("short", "unheard"):
            if outcome.text in self.ledger.whole:
                return "its server wrote it whole"
            if outcome.kind == "unheard" and self.excused(
                    outcome.text[0], ("down",), outcome):
                return None
            if self.trouble(outcome.text[0], ("down",), outcome):
                return None
            return "nothing allows it"
        return None

    def violations(self, outcomes):
        """All that is wrong, as texts."""
        found = [f"at a server: {line}" for line in self.ledger.wrong]
        for name, count in self.ledger.seen.items():
            if name.startswith("/once/") and count > 1:
                found.append(f"{name} was seen {count} times")
            elif count > SEEN_MAX:
                found.append(f"{name} was seen {count} times")
        if "/once/smuggled" in self.ledger.seen:
            found.append("a request behind a refused one was seen")
        for outcome in outcomes:
            why = self.verdict(outcome)
            if why is not None:
                found.append(f"{why}: {self.describe(outcome)}")
        return found

    def describe(self, outcome):
        """An outcome with all that was known of the servers."""
        near = [f"{server} {kind}" for server, kind in self.when
                if self.trouble(server, (kind,), outcome)]
        return (f"{outcome.kind} {outcome.text!r} {outcome.manner} "
                f"{outcome.spec.method} {outcome.spec.target} "
                f"from {outcome.begun:.3f} to {outcome.over:.3f}; troubles "
                f"{near}, faults {self.ledger.faults.get(name_of(outcome))}, "
                f"seen {self.ledger.seen.get(name_of(outcome), 0)}")


def name_of(outcome):
    return outcome.spec.target.split("?")[0]
