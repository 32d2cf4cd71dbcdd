"""Goal: what an event loop does for one request is not told of another."""

import importlib.util

import pytest

from rig.wait import wait_until
from support.launched import need_kernel, script

pytestmark = pytest.mark.long(
    "compares how long programs ran with how long they were to run")

# /wait sleeps for 400 ms; /later sleeps for 100, computes for 200 and
# responds; /callback responds at once, and computes for 200 ms after 100.
COMPUTE = """
import asyncio, sys, time
port = int(sys.argv[1])

def compute():
    end = time.thread_time() + 0.2
    while time.thread_time() < end:
        pass

async def handle(path):
    if path == "/wait":
        await asyncio.sleep(0.4)
    elif path == "/later":
        await asyncio.sleep(0.1)
        compute()
    elif path == "/callback":
        asyncio.get_running_loop().call_later(0.1, compute)
"""

SERVERS = {
    "aiohttp": COMPUTE + """
from aiohttp import web

async def get(request):
    await handle(request.path)
    return web.Response(text="ok")

app = web.Application()
app.router.add_get("/{path:.*}", get)
web.run_app(app, host="127.0.0.1", port=port, print=None)
""",
    "tornado": COMPUTE + """
import tornado.web

class Get(tornado.web.RequestHandler):
    async def get(self):
        await handle(self.request.path)
        self.write("ok")

async def main():
    tornado.web.Application([("/.*", Get)]).listen(port, "127.0.0.1")
    await asyncio.Event().wait()

asyncio.run(main())
""",
    "twisted": COMPUTE + """
from twisted.internet import reactor, task
from twisted.web import resource, server

class Get(resource.Resource):
    isLeaf = True

    def render_GET(self, request):
        path = request.path.decode()
        done = lambda: (request.write(b"ok"), request.finish())
        if path == "/wait":
            reactor.callLater(0.4, done)
        elif path == "/later":
            reactor.callLater(0.1, lambda: (compute(), done()))
        elif path == "/callback":
            reactor.callLater(0.1, compute)
            return b"ok"
        else:
            return b"ok"
        return server.NOT_DONE_YET

reactor.listenTCP(port, server.Site(Get()), interface="127.0.0.1")
reactor.run()
""",
}


@pytest.fixture(params=SERVERS)
def loop(request, tailor, scratch):
    """A tailor in front of an event loop."""
    if importlib.util.find_spec(request.param) is None:
        pytest.skip(f"python3-{request.param} is not installed")
    t = tailor(script(scratch, SERVERS[request.param], name="loop"),
               slow={"target": "0"})
    need_kernel(t)
    return t


def seen(*tales):
    """Whether the observer had read all about them when it was asked."""
    return not any(code in tale["causes"] for tale in tales
                   for code in ("blind", "unknown", "lost"))


def spent_ns(tale, code, confidence):
    return sum(piece["e"] - piece["b"] for piece in tale["path"]
               if (piece["code"], piece["confidence"]) == (code, confidence))


@pytest.mark.parametrize("first", [True, False])
def test_computes_for_another(loop, first):
    # Goal: a request that sleeps while its loop computes for another one waits
    # for that, likely, and never computes as observed.
    def told():
        with loop.client() as waits, loop.client() as computes:
            two = [(waits, "/wait", "waits"), (computes, "/later", "later")]
            for client, path, name in two if first else reversed(two):
                client.request(
                    "GET", path, fields=[("X-Request-Id", name)])
            for client, _, _ in two:
                assert client.response().status == 200
            two = loop.timeline("waits"), loop.timeline("later")
            return two if seen(*two) else None

    tale, other = wait_until(told, "both are seen")
    assert spent_ns(tale, "work", "observed") < 50e6, tale["verdict"]
    assert spent_ns(tale, "backend_queue", "likely") > 100e6, tale["verdict"]
    # That one computed: on the clock, not less than it needed.
    assert other["causes"].get("work", 0) > 100e6, other["verdict"]


def test_computes_for_none(loop):
    # Goal: what a callback computes that was set up by a request before is
    # this one's at most likely.
    def told():
        with loop.client() as c:
            c.get("/callback")
            c.get("/wait", fields=[("X-Request-Id", "alone")])
            tale = loop.timeline("alone")
            return tale if seen(tale) else None

    tale = wait_until(told, "it is seen")
    assert spent_ns(tale, "work", "observed") < 50e6, tale["verdict"]
