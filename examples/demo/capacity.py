"""How much load one server carries, and whether a run was more than that.

A server whose queue grows shows its queue, no pauses: so the rate of a
demonstration is a share of what this machine carries, and a run that was too
much all the same is called saturated.  Nothing here measures.
"""

import statistics

# of the capacity: the other servers, Tailor and the generator need CPU, too
SHARE = 0.4
# clients of the closed loop that finds the capacity: enough to keep one CPU
# busy while responses are read
CLIENTS = 4
# servers are warmed up with at most this share of it, or the warm-up would be
# a queue
WARM_SHARE = 0.8
# a p50 so many times that of an unloaded request is mostly waiting
FAR = 5
# of the rate, or responses cannot keep up
KEPT = 0.9
SPOILT = 1  # iterations that a kill may spoil
SATURATED = "saturated: this shows no pauses"
LEAST_ITERATIONS = 4


def rate(capacity, most):
    """Requests per second to offer."""
    return max(1, int(min(most, SHARE * capacity)))


def iterations(chosen, most, usual):
    """How many take about as long at the chosen rate as the usual number at
    the highest."""
    return min(usual, max(LEAST_ITERATIONS, round(usual * chosen / most)))


def kept(requests):
    """Which share of the rate was achieved in an iteration: by how much
    longer the responses took to come than the requests to be due.  requests:
    [(due, complete)] of those answered, any unit."""
    due, complete = ([r[i] for r in requests] for i in (0, 1))
    span = max(complete, default=0) - min(complete, default=0)
    return (max(due) - min(due)) / span if span > 0 else 1.0


def saturated(p50_ms, shares, unloaded_ms):
    """Why a load was more than the servers carry, or "".

    p50_ms and shares (see kept(); none: not judged) are of all iterations.  A
    kill or a pause may spoil one, and of many a quarter.  unloaded_ms is the
    p50 of requests sent one after the other.
    """
    whole = len(p50_ms)
    least = min(whole, max(SPOILT + 1, whole // 4 + 1))
    behind = [share for share in shares if share < KEPT]
    queued = [ms for ms in p50_ms if ms > FAR * unloaded_ms]
    if len(queued) >= least:
        return (f"p50 {statistics.median_low(queued):.1f} ms, "
                f"unloaded {unloaded_ms:.1f} ms")
    if len(behind) >= least:
        return f"{100 * statistics.median_low(behind):.0f} % of the rate kept"
    return ""
