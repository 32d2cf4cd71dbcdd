"""What tests do with a tailor in front of two scripted servers."""

import time

from rig.wait import wait_until

DRAINED = 'tailor_losers_total{result="drained"}'


def hedged(t, pair, c, target="/"):
    """One request in flight at both servers."""
    c.request("GET", target)
    first = pair.a.expect()
    t.hazard("a", "begin")
    return first, pair.b.expect()


def is_proven(t, name):
    """Whether Tailor has seen that the server keeps idle connections."""
    return t.metrics()[
        f'tailor_server_keeps_idle_connections{{server="{name}"}}'] == 1


def two_rest(server, t, c, d):
    """Two connections of the active server, by hand, are idle.  A response
    that comes late beside an idle one is taken for a lack of workers, and
    none is kept for a second: then once more."""
    def both():
        server.script()
        c.request()
        d.request()
        for r in (server.expect(), server.expect()):
            r.reply()
        assert c.response().status == d.response().status == 200
        return t.metrics()[
            f'tailor_server_connections_idle{{server="{server.name}"}}'] >= 2

    wait_until(both, f"two connections of {server.name} are idle")


def prove(server, t):
    """Let Tailor see that the server keeps an idle connection."""
    with t.client() as c, t.client() as d:
        def proven():
            """One of two connections rests, while the other is used for a
            second, in pieces too.  Once more if it was closed."""
            two_rest(server, t, c, d)
            until = time.monotonic() + 10
            while time.monotonic() < until and not is_proven(t, server.name):
                for _ in range(20):
                    c.request()
                    server.expect().reply()
                    c.response()
            return is_proven(t, server.name)

        wait_until(proven, "an idle connection was kept for a second")


class Workers:
    """The handler of a server with few workers, each of which stays with a
    connection until that ends."""

    def __init__(self, count, handler):
        self._count, self._handler, self._at_work = count, handler, set()

    def __call__(self, request):
        if request.connection not in self._at_work:
            wait_until(lambda: sum(not c.ended for c in self._at_work)
                       < self._count, "a worker is free")
            self._at_work.add(request.connection)
        return self._handler(request)


def entry(server, name=None, **more):
    """The configuration of a scripted server, with other keys."""
    return {"name": name or server.name, "address": server.address, **more}
