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


def is_proven(t, name):
    """Whether Tailor has seen that the server keeps idle connections."""
    return t.metrics()[
        f'tailor_server_keeps_idle_connections{{server="{name}"}}'] == 1


def prove(server, t):
    """Let Tailor see that the server keeps an idle connection."""
    with t.client() as c, t.client() as d:
        c.request()
        d.request()
        for r in (server.expect(), server.expect()):
            r.reply()
        c.response()
        d.response()

        def proven():  # while the other connection rests
            c.request()
            server.expect().reply()
            c.response()
            return is_proven(t, server.name)

        wait_until(proven, "an idle connection was kept for a second")
