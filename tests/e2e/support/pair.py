"""What tests do with a tailor in front of two scripted servers."""

DRAINED = 'tailor_losers_total{result="drained"}'


def hedged(t, pair, c, target="/"):
    """One request in flight at both servers."""
    c.request("GET", target)
    first = pair.a.expect()
    t.hazard("a", "begin")
    return first, pair.b.expect()
