"""One cell of an experiment: a set-up, a round; and what all rounds say.

A cell's raw result is a JSON object:

  iterations   [{p50, p99, p999, max, server_max (ms), sent, errors, kept,
               lag_p99, least: {p50, p99, max}}, ...]; kept is the share of
               the rate that was achieved
  unloaded     the p50 of requests one after the other, made last, ms
  latencies    of all answered requests, ms, ascending, at most KEEP of them
  least        the same without what the generator's lateness may have added
  extra        requests to servers beyond the clients'
  pauses       lengths of the JVMs' pauses for collections meanwhile, ms
  slowest      {ms, iteration, number, why}: why as Tailor explains it, if it does
  cpu_s, wall_s, verdict (of the generator), metrics (a few of Tailor's)
  post         if the plan has iterations of POST: {latencies, errors,
               requests, extra} of them, made after the others
"""

import json
import math
import os
import subprocess
import threading
import time

from setups import cpu_seconds
from shared import RATE, Pauses, Trouble, all_at_once, capacity

PAUSE_MS = 100
INTERVAL = 0.95
UNLOADED = 200
# the tail whole, the rest thinned: enough to draw a distribution
KEEP_TAIL = 400
KEEP_BODY = 400
KEPT_METRICS = ("tailor_hedge_send_delay", "tailor_pause_last_hedge",
                "tailor_pause_detect_delay", "tailor_pause_notice_delay",
                "tailor_swaps", "tailor_hedges_sent_total",
                "tailor_steer")


def nearest_rank(ordered, percent):
    """The percentile of ascending values, as tailor-load has it."""
    return ordered[math.ceil(round(percent * len(ordered) / 100, 9)) - 1]


def rank_interval(n, percent):
    """Ranks from 1 that hold a percentile with 95 %, or None."""
    q = percent / 100
    below, chances = 0.0, []
    for k in range(n + 1):
        log = (math.lgamma(n + 1) - math.lgamma(k + 1)
               - math.lgamma(n - k + 1) + k * math.log(q)
               + (n - k) * math.log1p(-q))
        below += math.exp(log)
        chances.append(below)
    tail = (1 - INTERVAL) / 2
    low = next(k for k in range(n + 1) if chances[k] > tail)
    high = next(k for k in range(n + 1) if chances[k] >= 1 - tail) + 1
    return (low, high) if low >= 1 and high <= n else None


def trust(least, reported):
    """What a figure (ms) is worth, by tailor-load's rule for its own."""
    apart = reported - least
    if apart < 0.05 or apart * 20 < reported:
        return "good"
    return "within" if apart * 2 <= reported else "doubtful"


def thin(ordered):
    """[(value, share not above), ...]: all of the tail, some of the rest."""
    n = len(ordered)
    step = max(1, (n - KEEP_TAIL) // KEEP_BODY)
    places = set(range(0, n, step)) | set(range(max(0, n - KEEP_TAIL), n))
    return [(round(ordered[i], 4), round((i + 1) / n, 7))
            for i in sorted(places)]


def read_requests(path):
    """({iteration: [ms, ...]}, the same of the least latencies, {iteration:
    [server ms, ...]}, {iteration: [(due, complete), ...]}, failures, the
    slowest one's line) of requests.ndjson."""
    by_iteration, least, server, spans = {}, {}, {}, {}
    errors, slowest = 0, None
    with open(path, encoding="utf-8") as file:
        for line in file:
            request = json.loads(line)
            if "lat" not in request:
                errors += 1
                continue
            by_iteration.setdefault(request["i"], []).append(
                request["lat"] / 1e6)
            least.setdefault(request["i"], []).append(request["least"] / 1e6)
            spans.setdefault(request["i"], []).append(
                (request["sched"], request["last"]))
            if "srv" in request:
                server.setdefault(request["i"], []).append(
                    request["srv"] / 1e6)
            if slowest is None or request["lat"] > slowest["lat"]:
                slowest = request
    return by_iteration, least, server, spans, errors, slowest


def summarise(directory):
    """The part of a cell that comes from tailor-load's files."""
    with open(os.path.join(directory, "run.json"), encoding="utf-8") as file:
        run = json.load(file)
    by_iteration, least, server, spans, errors, slowest = read_requests(
        os.path.join(directory, "requests.ndjson"))
    if not by_iteration:
        raise Trouble(f"no request was answered; see {directory}")
    iterations = []
    for it in run["iterations"]:
        ms = sorted(by_iteration.get(it["index"], []))
        entry = {"sent": it["sent"], "errors": sum(it["errors"].values()),
                 "lag_p99": it["lag"]["p99_ns"] / 1e6}
        if ms:
            entry.update(p50=nearest_rank(ms, 50), p99=nearest_rank(ms, 99),
                         p999=nearest_rank(ms, 99.9), max=ms[-1])
            entry["kept"] = capacity.kept(spans[it["index"]])
            low = sorted(least[it["index"]])
            entry["least"] = {"p50": nearest_rank(low, 50),
                              "p99": nearest_rank(low, 99), "max": low[-1]}
        if it["index"] in server:
            entry["server_max"] = max(server[it["index"]])
        iterations.append(entry)
    every = sorted(ms for values in by_iteration.values() for ms in values)
    return {"iterations": iterations, "latencies": every,
            "least": sorted(ms for values in least.values()
                            for ms in values),
            "server": sorted(ms for values in server.values()
                             for ms in values),
            "slowest": {"ms": slowest["lat"] / 1e6, "id": slowest.get("id"),
                        "iteration": slowest["i"], "number": slowest["n"]},
            "errors": errors, "requests": run["summary"]["sent"],
            "verdict": run["generator"]["verdict"]}


def heat(generator, running, requests):
    """Warm all servers up, the second with half as many again: two JVMs that
    do the same in step would also collect in step."""
    if requests:
        all_at_once([
            lambda port=port, i=i: generator.warm_up(
                port, requests * (2 + i) // 2, RATE)
            for i, port in enumerate(running.servers)])


ACTIONS = {"restart-server": (0.25, "restart_server"),
           "restart-active": (0.0, "restart_active"),
           "kill-active": (0.0, "kill_active"),
           "restart-rolling": (0.1, "restart_rolling")}


class During(threading.Thread):
    """What happens to the set-up while it is measured."""

    def __init__(self, running, span_s):
        super().__init__(daemon=True)
        self._running = running
        share, self._method = ACTIONS[running.setup["during"]]
        self._due = time.monotonic() + share * span_s
        self.trouble = None

    def run(self):
        time.sleep(max(0.0, self._due - time.monotonic()))
        try:
            getattr(self._running, self._method)()
        except (Trouble, OSError, subprocess.SubprocessError) as e:
            self.trouble = Trouble(str(e))


def measure_post(running, generator, plan, directory):
    """The same load as requests that a proxy should not send twice."""
    extra = running.extra_requests()
    directory.mkdir()
    generator.start(running.port, plan["requests"], plan["post"], PAUSE_MS,
                    str(directory), "POST").wait()
    found = summarise(directory)
    (directory / "requests.ndjson").unlink()
    return {"extra": running.extra_requests() - extra,
            **{name: found[name]
               for name in ("latencies", "errors", "requests")}}


def measure(running, generator, plan, directory):
    """One cell."""
    setup = running.setup
    heat(generator, running, setup.get("heat", plan["heat"]))
    running.settle()
    extra = running.extra_requests()
    pauses = Pauses(directory)
    begun, cpu = time.monotonic(), cpu_seconds(running.pids())
    run = generator.start(running.port, plan["requests"], plan["iterations"],
                          PAUSE_MS, str(directory))
    span_s = plan["iterations"] * (plan["requests"] / generator.rate
                                   + PAUSE_MS / 1000)
    during = None
    if "during" in setup:
        during = During(running, span_s)
        during.start()
    result = run.wait()
    wall = time.monotonic() - begun
    cpu = cpu_seconds(running.pids()) - cpu
    if setup.get("during") == "restart-server":
        cpu = None  # a child of ours ended: its time cannot be told apart
    if during:
        during.join(90)
        if during.trouble:
            raise during.trouble
    running.check()
    found = summarise(directory)
    found["slowest"]["why"] = running.why(found["slowest"]["id"])
    found.update(extra=running.extra_requests() - extra, cpu_s=cpu,
                 pauses=pauses.since(),
                 wall_s=wall, trusted=result.trusted,
                 metrics={name: value
                          for name, value in running.metrics().items()
                          if name.startswith(KEPT_METRICS)})
    if "post" in plan:
        found["post"] = measure_post(running, generator, plan,
                                     directory / "post")
        running.check()
    _, found["unloaded"] = generator.closed(running.port, 1, UNLOADED)
    return found


def over_iterations(cells, name):
    """Median over iterations with its interval: {value, low, high}."""
    values = sorted(it[name] for cell in cells for it in cell["iterations"]
                    if name in it)
    if not values:
        return None
    found = {"value": nearest_rank(values, 50)}
    ranks = rank_interval(len(values), 50)
    if ranks:
        found.update(low=values[ranks[0] - 1], high=values[ranks[1] - 1])
    return found


def figures_trust(row, cells):
    """{figure: {least, trust}} of a row's latencies; what cells of an earlier
    version do not say counts as doubtful."""
    its = [it for cell in cells for it in cell["iterations"] if "max" in it]
    low = sorted(ms for cell in cells
                 for ms in cell.get("least") or [0] * len(cell["latencies"]))
    found = {name: nearest_rank(sorted(it.get("least", {}).get(name, 0)
                                       for it in its), 50)
             for name in ("p50", "p99", "max")}
    found.update(p999=nearest_rank(low, 99.9), worst=low[-1])
    reported = {name: row[name]["value"] for name in
                ("p50", "p99", "p999", "max")}
    reported["worst"] = row["worst"]
    return {name: {"least": found[name],
                   "trust": trust(found[name], reported[name])}
            for name in reported}


def saturated(setup, cells):
    """Why the load was more than the set-up carries, or ""; cells of an
    earlier version do not say."""
    cells = [cell for cell in cells if "unloaded" in cell]
    its = [it for cell in cells for it in cell["iterations"] if "p50" in it]
    # a server that is restarted misses requests, however few there are
    shares = [] if "during" in setup else [it["kept"] for it in its]
    return capacity.saturated(
        [it["p50"] for it in its], shares,
        nearest_rank(sorted(cell["unloaded"] for cell in cells), 50)) \
        if its else ""


def span(cells, name):
    """[least, most] of a figure over all iterations, or None."""
    values = [it[name] for cell in cells for it in cell["iterations"]
              if name in it]
    return [min(values), max(values)] if values else None


def pooled(cells, percent):
    """A percentile of all requests: {value, low, high}."""
    every = sorted(ms for cell in cells for ms in cell["latencies"])
    found = {"value": nearest_rank(every, percent)}
    ranks = rank_interval(len(every), percent)
    if ranks:
        found.update(low=every[ranks[0] - 1], high=every[ranks[1] - 1])
    return found


def cpu_percent(cells):
    """CPU time per time, of one CPU; None if it was not measured."""
    if any(cell["cpu_s"] is None for cell in cells):
        return None
    return 100 * sum(cell["cpu_s"] for cell in cells) \
        / sum(cell["wall_s"] for cell in cells)


def combine_post(cells):
    """The requests of all rounds that were sent by POST."""
    return {"p999": pooled(cells, 99.9),
            "worst": max(cell["latencies"][-1] for cell in cells),
            **{name: sum(cell[name] for cell in cells)
               for name in ("requests", "errors", "extra")}}


def combine(setup, cells):
    """All rounds of a set-up as one row."""
    requests = sum(cell["requests"] for cell in cells)
    every = sorted(ms for cell in cells for ms in cell["latencies"])
    row = {"key": setup["key"], "title": setup["title"],
           "rounds": len(cells), "requests": requests,
           "errors": sum(cell["errors"] for cell in cells),
           "extra_pct": 100 * sum(cell["extra"] for cell in cells) / requests,
           "cpu_pct": cpu_percent(cells),
           "p50": over_iterations(cells, "p50"),
           "p99": over_iterations(cells, "p99"),
           "p999": pooled(cells, 99.9),
           "max": over_iterations(cells, "max"),
           "worst": every[-1], "tail": thin(every),
           "slowest": max((cell["slowest"] for cell in cells),
                          key=lambda found: found["ms"]),
           "pauses": sorted(ms for cell in cells for ms in cell["pauses"]),
           "ranges": {name: span(cells, name)
                      for name in ("max", "server_max")},
           "iterations": [[it["p99"], it["max"]] for cell in cells
                          for it in cell["iterations"] if "max" in it],
           "lag_p99": over_iterations(cells, "lag_p99")}
    row["figures"] = figures_trust(row, cells)
    row["saturated"] = saturated(setup, cells)
    server = sorted(ms for cell in cells for ms in cell["server"])
    if server:
        row.update(server_p50=nearest_rank(server, 50),
                   server_p99=nearest_rank(server, 99),
                   server_max=server[-1], server_tail=thin(server))
    if all("post" in cell for cell in cells):
        row["post"] = combine_post([cell["post"] for cell in cells])
    for name in ("line", "x", "thesis"):
        if name in setup:
            row[name] = setup[name]
    if any(cell["metrics"] for cell in cells):
        # counters of the last round: each starts its own Tailor
        row["metrics"] = [cell["metrics"] for cell in cells]
    return row
