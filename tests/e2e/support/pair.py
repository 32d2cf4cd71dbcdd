"""What tests do with a tailor in front of two scripted servers."""

from .wait import wait_until

DRAINED = 'tailor_losers_total{result="drained"}'


def hazard(t, server, state, kind="gc"):
    answer = t.ask(f"/hazard?server={server}&kind={kind}&state={state}",
                   "POST")
    assert answer.status == 200, answer.body


def hedged(t, pair, c, target="/"):
    """One request in flight at both servers."""
    c.request("GET", target)
    first = pair.a.expect()
    hazard(t, "a", "begin")
    return first, pair.b.expect()


def settled(t):
    """Nothing is under way or left over."""
    def nothing():
        m = t.metrics()
        return (m["tailor_requests_inflight"] == 0
                and m["tailor_requests_queued"] == 0
                and m["tailor_connections_half_open"] == 0
                and all(v == 0 for k, v in m.items()
                        if k.startswith(("tailor_server_connections_busy",
                                         "tailor_draining_connections"))))
    wait_until(nothing, "nothing is under way")
