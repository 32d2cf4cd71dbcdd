"""tailor-load find: the highest rate that keeps a percentile.

How near it comes to the true rate is a matter of simulated servers (unit
test_rate_search, long_rate_search); here it is what can be said of a real one
on any machine.
"""

import errno
import re
import signal
import threading
import time

import pytest

from rig.message import response
from rig.process import Process, ran
from rig.stub import OK

NO = b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n"


@pytest.fixture
def find(build):
    """find(url, *options) runs it with short steps, on any CPU."""
    def run(url, *options):
        return ran(build / "tailor-load", "find", "--cpu", "none", "--step",
                   "500ms", *options, url)
    return run


def trials(done):
    """[(rate, % over the limit)] of those that were not late."""
    return [(float(rate), float(percent)) for rate, percent in re.findall(
        r"^ *([\d.e+]+)/s +([\d.e+-]+) % of", done.err, re.M)]


def test_one_worker(stub, find):
    """Goal: one worker that takes 20 ms for each request cannot carry 150/s, on
    any machine: that is not kept, however short the trial, and the result is a
    lower rate, which was tried and kept the limit."""
    def answer(request):
        time.sleep(0.02)
        return OK
    server = stub(answer)
    done = find(server.url, "--p50", "60ms", "-d", "8s", "--min-rate", 2)
    assert done.returncode in (0, 1, 3, 4), done.err
    tried = trials(done)
    assert tried and all(over > 50 for rate, over in tried if rate > 150)
    if done.returncode == 0:
        rate = float(re.match(r"([\d.]+)/s", done.out)[1])
        assert rate < 150
        assert any(abs(one / rate - 1) < 0.01 and over <= 50
                   for one, over in tried)
        interval = re.match(r"\S+ \(([\d.]+) to ([\d.]+)\)", done.out)
        if interval:
            low, high = map(float, interval.groups())
            assert low <= rate and low <= high


def test_lowest_is_too_high(stub, find):
    """Goal: a limit below the time of each request is not kept at the lowest
    rate, which is said at once, with exit status 3."""
    def answer(request):
        time.sleep(0.05)
        return OK
    done = find(stub(answer).url, "--p50", "1ms", "--min-rate", 10)
    assert done.returncode == 3, done.err
    assert done.out == "p50 is over 1.00ms even at 10/s (--min-rate)\n"
    assert len(trials(done)) <= 4


def test_interrupted_at_once(stub, build):
    """Goal: an interruption before the first trial is exit status 130, and no
    failure."""
    asked = threading.Event()
    child = Process([build / "tailor-load", "find", "--cpu", "none",
                     "--timeout", "10m", "--p99", "1s",
                     stub(lambda request: asked.set()).url])
    assert asked.wait(60)
    child.signal(signal.SIGINT)
    assert child.wait() == 130 and child.log == ""


@pytest.mark.long("a trial in which this machine sends too late does not count: "
                  "where timers are late there are many")
def test_highest_is_kept(stub, find):
    """Goal: what is kept at the highest rate is that rate or more; it was tried
    three times in full, less those in which this machine was too slow to send
    in time, which are said not to count."""
    done = find(stub().url, "--p90", "1m", "--max-rate", 40)
    assert done.returncode == 0, done.err
    said = re.match(r"40/s or more\nThere 0 % of \d+ requests .* (\d) trial",
                    done.out)
    assert said and "--max-rate" in done.out, done.out
    full = int(said.group(1))
    assert full + done.err.count("could not keep this rate") >= 3, done.err
    assert full >= 1 and trials(done)[-full:] == [(40, 0)] * full


def test_more_than_the_generator_offers(stub, find):
    """Goal: a rate that the generator cannot send at is neither kept nor too
    much: it is named, with exit status 4 if there is no lower one."""
    done = find(stub().url, "--p99", "1m", "--min-rate", "9M", "--max-rate",
                "9M", "--step", "5ms")
    assert done.returncode == 4, done.err
    assert done.out.startswith("not known: the generator itself is too late")
    assert done.err.count("could not keep this rate") == 3
    assert trials(done) == []


def test_no_server(find, free_port):
    """Goal: without a server there is a message, and exit status 1."""
    done = find(f"http://127.0.0.1:{free_port()}/", "--p99", "1s")
    assert done.returncode == 1 and done.out == ""
    assert "Connection refused" in done.err


def test_server_leaves(stub, find):
    """Goal: if the server is gone after the first trial, that one's result is
    reported, and why there are no more."""
    runs = []

    def answer(request):
        """The first trial has all its connections, then there are no more."""
        run = request.get("x-request-id").split("-")[0]
        if run not in runs:
            runs.append(run)
            if len(runs) == 2:
                server.accept(1 + 50)
                server.refuse()
        return OK

    server = stub(answer)
    done = find(server.url, "--p50", "1m", "-c", 50, "--max-connections", 50,
                "--max-rate", 40)
    assert done.returncode == 1
    assert len(re.findall("^ *[0-9.]+/s ", done.err, re.M)) == 1, done.err
    assert done.out.startswith("not known: no rate is shown to keep p50")
    assert re.search(r"^tailor-load: the search ended early: \S+ "
                     r"Connection refused$", done.err, re.M), done.err


def test_server_starts_again(stub, faults, find):
    """Goal: a server that refuses a connection after a trial which was too much
    is waited for."""
    runs = []

    def answer(request):
        """The first trial fails."""
        run = request.get("x-request-id").split("-")[0]
        if run not in runs:
            runs.append(run)
        return NO if runs.index(run) == 1 else OK

    faults(connect=errno.ECONNREFUSED, after=1 + 50)
    done = find(stub(answer).url, "--p50", "1m", "-c", 50, "--max-connections",
                50, "--min-rate", 40, "--max-rate", 40, "-d", "8s")
    assert len(runs) > 3 and "refused" not in done.err, done.err


def test_failures_count_as_slow(stub, find):
    """Goal: requests that fail are over every limit."""
    server = stub(lambda _: NO if len(server.requests) % 3 == 0 else OK)
    done = find(server.url, "--p90", "1m", "--min-rate", 20, "--max-rate", 40)
    assert done.returncode == 3, done.err
    assert all(30 < over < 36 for _, over in trials(done))


def test_causes_from_tailor(tailor, upstream, find):
    """Goal: behind a Tailor the causes of the slowest requests of a rate that
    is too high are beside the result."""
    runs = []

    def answer(request):
        """The second experiment is the first trial: all of it is slow."""
        run = (request.get("x-request-id") or "").split("-")[0]
        if run not in runs:
            runs.append(run)
        if runs.index(run) == 1:
            time.sleep(3)
        return response(200, b"ok")

    t = tailor(upstream().serve(answer), slow={"target": 0},
               proxy={"trusted_proxies": ["127.0.0.0/8"]},
               warmup={"requests": 0})
    done = find(f"http://127.0.0.1:{t.port}/x", "--p50", "2s", "--max-rate",
                10, "--min-rate", 5, "-d", "60s")
    assert done.returncode == 0, (done.out, done.err)
    assert trials(done)[0] == (10, 100)
    assert re.search(r"; at 10/s: \w+ \d+ %", done.out), done.out
