"""What an experiment's rows say: figures, and one sentence each."""

import figures
from goals import TIMES_LOWER, alternatives, find, value
from shared import capacity

DELAY = "tailor_pause_last_hedge_seconds"
MAX_NOTE = "max: the slowest request of the median iteration"


def many(count, what):
    return f"{count} {what}{'' if count == 1 else 's'}"


def _failed(row):
    if row["errors"] == 0:
        return "none failed"
    return f'{row["errors"]} of {row["requests"]} failed'


def times(a, b):
    """How a became b."""
    if b > a:
        return f"{b / a:.1f} times more"
    return f"{a / b:.1f} times less"


def compare(plan, rows):
    """The best against the baseline, in words."""
    base, best = find(rows, plan["baseline"]), find(rows, plan["best"])
    if not base or not best:
        return "Not both of the set-ups that are compared were measured."
    parts = []
    for metric in ("p999", "max"):
        a, b = value(base, metric), value(best, metric)
        if a and b:
            parts.append(f"{figures.NAMES[metric]} {a:.1f} ms with "
                         f"\"{base['title']}\" and {b:.1f} ms with "
                         f"\"{best['title']}\", {times(a, b)}")
    return (f"{'; '.join(parts)}; there {_failed(best)} and "
            f"{best['extra_pct']:.2f} % extra requests were made."
            + others(plan, rows, best))


def others(plan, rows, best):
    """The best alternative, and those that fail requests."""
    left = alternatives(plan, rows)
    words = ""
    sound = [row for row in left if row["errors"] <= best["errors"]]
    if sound:
        next_best = min(sound, key=lambda row: value(row, "p999"))
        words += (f" Of the others \"{next_best['title']}\" has the lowest "
                  f"p99.9, {value(next_best, 'p999'):.1f} ms, with "
                  f"{next_best['extra_pct']:.2f} % extra requests.")
    failing = [f"{row['title']} {row['errors']} of {row['requests']}"
               for row in left if row["errors"] > best["errors"]]
    if failing:
        words += f" Requests failed with {', '.join(failing)}."
    return words


def thesis(plan, rows):
    """The thesis's own measure: the slowest request, first and last step."""
    first, last = find(rows, plan["baseline"]), find(rows, plan["best"])
    if not first or not last:
        return "Too few steps to compare."
    factor = first["worst"] / last["worst"]
    words = (f"The slowest request of all took {first['worst']:.1f} ms as "
             f"shipped and {last['worst']:.1f} ms at the end of the path: "
             f"{times(first['worst'], last['worst'])}; {_failed(last)}, "
             f"{last['extra_pct']:.2f} % extra requests.")
    if factor < TIMES_LOWER:
        words += " The goal was nine times."
    killed = find(rows, "tailor-killed")
    if killed:
        words += (" With a JVM that is killed without a warning instead of "
                  f"restarted it took {killed['worst']:.1f} ms; "
                  f"{_failed(killed)}.")
    return words


def restart(plan, rows):
    """Slowest request and failures of each way to restart."""
    return "; ".join(
        f"{row['title']}: slowest request {row['worst']:.1f} ms, "
        f"{_failed(row)}" for row in rows) + "."


def scale(plan, rows):
    """Each line at the first and the last place that all have."""
    places = {}
    for row in rows:
        if value(row, "max"):
            places.setdefault(row["x"], {})[row["line"]] = value(row, "max")
    full = sorted(x for x, lines in places.items() if len(lines) == 2)
    if not full:
        return "Not both lines were measured anywhere."
    return "The median iteration's slowest request: " + "; ".join(
        f"at {x} {plan['x']} " + ", ".join(
            f"{ms:.1f} ms with {line}" for line, ms in places[x].items())
        for x in full) + "."


def _histogram(metrics, name):
    """A Prometheus histogram as [(upper bound in s, count up to there)]."""
    return sorted(
        (float(key.split('le="')[1].split('"')[0].replace("+Inf", "inf")), n)
        for key, n in metrics.items()
        if key.startswith(f"{name}_bucket{{") and 'le="' in key)


def delay_counts(row):
    """[(bound in s, count up to there)] of all rounds together."""
    counts = {}
    for metrics in row.get("metrics", []):
        for bound, below in _histogram(metrics, DELAY):
            counts[bound] = counts.get(bound, 0) + below
    return sorted(counts.items())


def _within(counts, share):
    """The first bound that holds so many."""
    last = 0
    for bound, below in counts:
        if below >= share and bound != float("inf"):
            return f"within {1e6 * bound:g} us"
        last = bound if bound != float("inf") else last
    return f"beyond {1e6 * last:g} us"


def delay_words(row):
    """From hazard to action, of one set-up."""
    counts = delay_counts(row)
    whole = counts[-1][1] if counts else 0
    if not whole:
        return f"{row['title']}: no collection met a request"
    half = _within(counts, whole / 2)
    most = _within(counts, 0.95 * whole)
    return f"{row['title']}: half {half}, 95 % {most}, of {whole:.0f}"


def delays(_plan, rows):
    return "From a collection's begin to its last hedge written. " \
        + "; ".join(map(delay_words, rows)) + "."


def delay_curves(rows):
    """{title: [(us, share)]} of the time from a hazard to its last hedge."""
    found = {}
    for row in rows:
        counts = delay_counts(row)
        whole = counts[-1][1] if counts else 0
        points = [(1e6 * bound, below / whole) for bound, below in counts
                  if whole and bound != float("inf") and below > 0]
        if points:
            found[row["title"]] = points
    return found


def of_thesis(name, rows):
    """The figures that the thesis has, too."""
    out = []
    bars = [(row["title"], row["thesis"]["client"], row["ranges"]["max"])
            for row in rows if "thesis" in row and row["ranges"]["max"]]
    if bars:
        out.append((f"{name}-beside.svg", figures.ranges(
            "Slowest request of an iteration: the thesis, and here", bars,
            ("the thesis", "here")),
            "From the lowest to the highest of the iterations' maxima, at "
            "the client (figures 4.10b, 4.11b, 4.12b, 4.14)."))
    out.append((f"{name}-iterations.svg", figures.lines(
        "Slowest request of each iteration",
        {row["title"]: [(i + 1, most) for i, (_, most)
                        in enumerate(row["iterations"])]
         for row in rows if row["iterations"]}, "iteration"),
        "Like the lines of figures 4.10b to 4.14; rounds in sequence."))
    if "server_tail" in rows[0]:
        out.append((f"{name}-server.svg", figures.tails(
            "Time in the server (figure 4.10a)",
            {row["title"]: row["server_tail"] for row in rows
             if "server_tail" in row}, "server time, ms"),
            "As the service itself reports it: how many requests took no "
            "longer. The thesis chose queries below 2.5 ms."))
    return out


BESIDE = ("figure", "", "the thesis", "here")


def _between(found):
    low, high = (f"{ms:.1f}" for ms in found)
    return f"{low} ms" if low == high else f"{low}-{high} ms"


def _over(row, first, last, iterations):
    """[least, most] of the maxima of iterations first to last, or None."""
    found = [most for i, (_, most) in enumerate(row["iterations"])
             if first <= i % iterations + 1 <= last]
    return [min(found), max(found)] if found else None


def beside_thesis(name, plan, rows):
    """Rows of BESIDE; the thesis's figures are in section 4.3 and 4.4."""
    by_key = {row["key"]: row for row in rows}
    if name != "thesis" or not {"shipped", "nodelay", "pretouch",
                                "tailor"} <= set(by_key):
        return []
    n = plan["iterations"]

    def maxima(key, first=1, last=n):
        found = _over(by_key[key], first, last, n)
        return _between(found) if found else "-"
    shipped, end = by_key["shipped"], by_key["tailor"]
    server = "-" if "server_p50" not in shipped else (
        f"half up to {shipped['server_p50']:.2f} ms, 99 % up to "
        f"{shipped['server_p99']:.2f} ms")
    in_server = shipped["ranges"]["server_max"]
    pauses = by_key["pretouch"]["pauses"]
    slowest = "slowest request of each iteration, "
    return [
        ("4.10a", "time in the server", "all queries below 2.5 ms", server),
        ("4.10b", slowest + "as shipped", "40-46 ms, in the server 2-36 ms",
         f"{maxima('shipped')}, in the server "
         f"{_between(in_server) if in_server else '-'}"),
        ("4.11b", slowest + "TCP_NODELAY", "3-40 ms", maxima("nodelay")),
        ("4.12b", slowest + "touched heap, iterations 3 to 8",
         "under 3 ms", maxima("pretouch", 3, min(8, n))),
        ("4.13a", "class loading: the first iteration's slowest", "41 ms",
         maxima("pretouch", 1, 1)),
        ("4.13b", "collections", "requests of 7 ms",
         f"{many(len(pauses), 'pause')}, the longest {pauses[-1]:.1f} ms"
         if pauses else "none"),
        ("4.14", "the first iteration's slowest, Tailor", "4 ms",
         maxima("tailor", 1, 1)),
        ("4.14", "the other iterations', Tailor", "under 3 ms",
         maxima("tailor", 2, n)),
        ("4.14", "slowest of all, as shipped and with Tailor",
         "46 ms and 5 ms: 9 times less",
         f"{shipped['worst']:.1f} ms and {end['worst']:.1f} ms: "
         f"{times(shipped['worst'], end['worst'])}")]


def of_scale(name, plan, rows):
    out = []
    for metric in ("p99", "max"):
        series = {}
        for row in rows:
            if value(row, metric):
                series.setdefault(row["line"], []).append(
                    (row["x"], value(row, metric)))
        out.append((f"{name}-{metric}.svg", figures.lines(
            f"{plan['title']}: {metric}", series, plan["x"]),
            f"{metric}, median over iterations."))
    cpu = {}
    for row in rows:
        if row["cpu_pct"]:
            cpu.setdefault(row["line"], []).append((row["x"], row["cpu_pct"]))
    out.append((f"{name}-cpu.svg", figures.lines(
        f"{plan['title']}: CPU time", cpu, plan["x"], "% of one CPU"),
        "Of the whole set-up, including both servers: the cost of Tailor "
        "and the second server."))
    return out


def figures_of(name, plan, rows):
    """[(file name, SVG, caption)]."""
    out = [(f"{name}-dots.svg", figures.dots(plan["title"], rows),
            "Medians over iterations (p99.9: of all requests) with 95 % "
            f"intervals where there are enough iterations; {MAX_NOTE}.")]
    if any("line" in row for row in rows):
        return out + of_scale(name, plan, rows)
    out.append((f"{name}-tail.svg", figures.tails(
        f"{plan['title']}: the tail",
        {row["title"]: row["tail"] for row in rows}),
        "How many of all requests with a response took no longer; each "
        "line upwards is ten times rarer."))
    if name == "thesis":
        out += of_thesis(name, rows)
    curves = delay_curves(rows) if name == "delay" else {}
    if curves:
        out.append((f"{name}-curves.svg", figures.tails(
            "From the begin of a collection to its last hedge written",
            curves, "us"),
            "How many collections' last hedges were written by then."))
    return out


SENTENCES = {"thesis": thesis, "restart": restart, "delay": delays,
             "scale-rate": scale, "scale-heap": scale}


def sentence(name, plan, rows):
    """What the experiment shows."""
    full = [f"{row['title']} ({row['saturated']})"
            for row in rows if row["saturated"]]
    return SENTENCES.get(name, compare)(plan, rows) + (
        f" {capacity.SATURATED.capitalize()}: {'; '.join(full)}."
        if full else "")


SHORT = {"p50": "p50", "p99": "p99", "p999": "p99.9", "max": "max",
         "worst": "slowest"}


def range_of(row, name):
    """ "p99.9 within 8.1-8.9": a latency that is not good."""
    found = row["figures"][name]
    most = row["worst"] if name == "worst" else value(row, name)
    return f"{SHORT[name]} {found['trust']} {found['least']:.1f}-{most:.1f}"


def not_good(row):
    """Which latencies of a row are not good, for its last cell."""
    left = [range_of(row, name) for name in SHORT
            if row["figures"][name]["trust"] != "good"]
    return f"{len(SHORT) - len(left)} of {len(SHORT)}" + (
        "\n(" + ", ".join(left) + ")" if left else "")


def notes(rows):
    """Lines beneath the table: the thesis's figures, slowest requests."""
    lines = [f"{row['title']}: slowest request of an iteration "
             f"{row['ranges']['max'][0]:.1f}-{row['ranges']['max'][1]:.1f} ms"
             + (f" (in the server {row['ranges']['server_max'][0]:.1f}-"
                f"{row['ranges']['server_max'][1]:.1f} ms)"
                if row["ranges"]["server_max"] else "")
             + f"; the thesis: {row['thesis']['says']}"
             for row in rows if "thesis" in row and row["ranges"]["max"]]
    for row in rows:
        slowest = row["slowest"]
        if slowest.get("why"):
            lines.append(f"{row['title']}, the slowest request "
                         f"({slowest['ms']:.1f} ms), as Tailor explains it: "
                         f"{slowest['why']}"
                         + (f" The timeline is in {row['timeline']}."
                            if "timeline" in row else ""))
    return lines
