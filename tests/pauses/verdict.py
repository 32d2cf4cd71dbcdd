"""What counts as a fault.  Results in, texts out; no clocks, no processes.

answered  A request that nginx or HAProxy answered as its server meant it must
          be answered by Tailor likewise.  Three excuses are about kill -9,
          which meets each proxy at another instant of its requests:
            - a request that is not safe and was under way when a server was
              killed: its bytes may have been there;
            - a response whose head had come before the kill;
            - neither server was there (one killed, or being started again,
              while the other one was, too).
          And one about chance in the kernel: when a backlog is full and
          Linux sends SYN cookies, a connection may look established to the
          client and never come to be at the server.
            - a request that is not safe, took longer than LOST_S, and was
              executed by no server, in a scene in which cookies were sent;
            - one that took longer than LOST_S in a scene in which a server
              was stopped for good: what that server or its kernel has taken
              must not be sent elsewhere, and which requests those are is
              chance.
          A pause excuses nothing: whatever stood still goes on later.  And
          the response to an unsafe request that nginx wrote to two servers is
          no example (it does so with PUT and DELETE).
wrong     A response in a server's name with another body, or one that is
          not HTTP, whatever the others did.
executed  A safe request is executed twice at most, any other once; a copy
          for warm-up or mirror is a safe request's.
lost      Tailor answered, but no server has executed it.
backup   Of a swap, whatever the others did: each request that was at a server
          when it stopped is answered by the other one before it goes on; no
          swap and no hedge was refused, and no server declared lost.
"""

import dataclasses

from proxies import REFERENCES

MARGIN_S = 0.1  # between our clock readings and what happens
LOST_S = 50     # below any default of a minute
SAFE = ("GET", "HEAD", "OPTIONS")


@dataclasses.dataclass
class Fault:
    """One violation."""
    rule: str
    ident: str
    text: str


def overlap(pairs, begin, end):
    return any(b - MARGIN_S <= end and begin <= e + MARGIN_S
               for b, e in pairs)


class Judge:
    """plans: of a scene; outcomes: {proxy: {id: Outcome}}; executed:
    [(method, id, is a copy)] of Tailor's servers; kills, away: {server:
    [(begin, end)]}, when each of Tailor's servers was dying, and when it was
    not there; sent_twice: {proxy: ids that it wrote to two servers}; logs:
    whether the servers note what they execute before they answer; cookies:
    whether the kernel sent SYN cookies meanwhile; hung: whether a server was
    stopped for good."""

    def __init__(self, plans, outcomes, executed, kills, away,
                 sent_twice=None, logs=True, cookies=False, hung=False):
        self.plans, self.outcomes = plans, outcomes
        self.executed, self.kills, self.away = executed, kills, away
        self.sent_twice, self.logs = sent_twice or {}, logs
        self.cookies, self.hung = cookies, hung
        self.count = {}
        for _, ident, copy in executed:
            if not copy:
                self.count[ident] = self.count.get(ident, 0) + 1

    def better(self, plan):
        """Those of the others that answered it, as we must."""
        return [name for name in REFERENCES
                if name in self.outcomes
                and self.outcomes[name][plan.ident].ok
                and (plan.safe
                     or plan.ident not in self.sent_twice.get(name, ()))]

    def excuse(self, plan, outcome):
        """Why this failure is no fault, or None."""
        dying = [pair for pairs in self.kills.values() for pair in pairs]
        if not plan.safe and overlap(dying, outcome.begun, outcome.over):
            return "in flight at a kill"
        if outcome.head and any(begin - MARGIN_S <= outcome.over and
                                outcome.head <= end + MARGIN_S
                                for begin, end in dying):
            return "begun before a kill"
        late = not plan.safe and outcome.ms > LOST_S * 1000
        if late and (self.hung or (self.cookies
                                   and plan.ident not in self.count)):
            return "lost in a backlog"
        gone = [overlap(pairs, outcome.begun, outcome.over)
                for pairs in self.away.values()]
        if len(gone) == 2 and all(gone) and self.none_left(outcome):
            return "no server"
        return None

    def none_left(self, outcome):
        """An instant while it was under way had neither server."""
        first, second = self.away.values()
        return any(max(b1, b2, outcome.begun) <= min(e1, e2, outcome.over)
                   for b1, e1 in first for b2, e2 in second)

    def answered(self):
        for plan in self.plans:
            ours = self.outcomes["tailor"][plan.ident]
            if ours.kind == "wrong":
                yield Fault("wrong", plan.ident, describe(plan, self.outcomes))
            elif (not ours.ok and self.better(plan)
                  and not self.excuse(plan, ours)):
                yield Fault("answered", plan.ident,
                            describe(plan, self.outcomes))

    def counts(self):
        for plan in self.plans:
            count = self.count.get(plan.ident, 0)
            text = describe(plan, self.outcomes)
            if count > (2 if plan.safe else 1):
                yield Fault("executed", plan.ident,
                            f"executed {count} times: {text}")
            if (self.logs and count == 0
                    and self.outcomes["tailor"][plan.ident].ok):
                yield Fault("lost", plan.ident, f"never executed: {text}")
        for method, ident, copy in self.executed:
            if copy and method not in SAFE:
                yield Fault("executed", ident, f"a copy of {method} {ident} "
                            "was executed")

    def faults(self):
        return [*self.answered(), *self.counts()]

    def excused(self):
        """How many that another proxy answered are excused."""
        return sum(
            1 for plan in self.plans
            if not self.outcomes["tailor"][plan.ident].ok
            and self.better(plan)
            and self.excuse(plan, self.outcomes["tailor"][plan.ident]))


# What must not be at a swap: metrics, and a word of the log.
REFUSALS = ("tailor_swap_refused_total",
            'tailor_hedges_refused_total{reason="breaker"')
LOST = " server_lost "


def swapped(plans, outcomes, pauses, metrics, log):
    """Faults of a swap; pauses: [(hazard, begin, end)], one after the other;
    metrics, log: Tailor's."""
    waited = 0
    for plan in plans:
        out = outcomes["tailor"][plan.ident]
        hazard, begin, end = next(pause for pause in pauses
                                  if pause[0].at_s > plan.at_s)
        waited += out.begun < begin < out.over
        if not out.ok or (out.over > begin and (
                out.server == hazard.server or out.over > end)):
            yield Fault("backup", plan.ident, f"{hazard.server} stood still "
                        f"for {end - begin:.1f} s: {describe(plan, outcomes)}")
    if waited < len(plans) / 2:
        yield Fault("backup", "-", f"only {waited} were under way then")
    refused = {key: value for key, value in metrics.items()
               if value and key.startswith(REFUSALS)}
    if refused or LOST in log:
        yield Fault("backup", "-", f"refused {refused}, declared lost "
                    f"{log.count(LOST)} times")


def describe(plan, outcomes):
    """A request and what each proxy made of it."""
    upload = f" with {plan.upload_bytes} bytes" if plan.upload_bytes else ""
    texts = [f"{plan.method} {plan.target}{upload} ({plan.manner}, at "
             f"{plan.at_s:.2f} s)"]
    for name, of in outcomes.items():
        out = of[plan.ident]
        said = f" {out.text}" if out.text else f" from {out.server}"
        texts.append(f"{name}: {out.kind}{said} in {out.ms:.0f} ms")
    return "; ".join(texts)
