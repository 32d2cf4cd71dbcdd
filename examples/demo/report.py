"""The demonstration's figures, and the lines that the terminal gets."""

import os
import random
import shutil

from capacity import SATURATED
from load import quantile
from others import busy

QUANTILES = (("p50", 0.5), ("p99", 0.99), ("p999", 0.999))
RESAMPLES = 1000


def figures(parts):
    """What the latencies of all iterations say: {name: (value of all
    requests, least, most of an iteration)}, and max; ms."""
    every = sorted(ms for part in parts for ms in part)
    found = {}
    for name, q in QUANTILES:
        each = [quantile(part, q) for part in parts]
        found[name] = (quantile(every, q), min(each), max(each))
    return {**found, "max": every[-1]}


def _tail(parts, rank):
    """The rank-th largest of all."""
    return sorted(ms for part in parts for ms in part[-rank:])[-rank]


def ratio(above, below):
    """p99.9 of one set-up over that of another: (value, low, high), a 95 %
    interval by a bootstrap over iterations, for the requests of one
    iteration meet the same pause; None where one is missing."""
    if not above or not below:
        return None
    # rank from above of the nearest-rank p99.9
    ranks = [max(1, sum(map(len, parts)) // 1000 + 1)
             for parts in (above, below)]
    draw = random.Random(1)

    def resampled(parts, rank):
        return _tail(draw.choices(parts, k=len(parts)), rank)

    drawn = sorted(resampled(above, ranks[0]) / resampled(below, ranks[1])
                   for _ in range(RESAMPLES))
    return (_tail(above, ranks[0]) / _tail(below, ranks[1]),
            quantile(drawn, 0.025), quantile(drawn, 0.975))


def number(ms):
    """Three digits of it, or all before the point."""
    return f"{ms:.{2 if ms < 9.995 else 1 if ms < 99.95 else 0}f}"


def span(found):
    """A figure with its least and most: "64.8 (6.50-79.8)"."""
    value, least, most = map(number, found)
    return f"{value} ({least}-{most})"


def ratio_words(found):
    return f"{found[0]:.1f} ({found[1]:.1f}-{found[2]:.1f})"


READING = ("Latency from when a request was due; in brackets, the range over "
           "iterations.")


def table(setups):
    """setups: [{key, figures, errors, saturated}]; 80 columns at most."""
    lines = [f"{'':9}{'p50, ms':>18}{'p99, ms':>18}{'p99.9, ms':>18}"
             f"{'slowest':>9}{'failed':>8}"]
    for s in setups:
        f = s["figures"]
        lines.append(f"{s['key']:9}"
                     + "".join(f"{span(f[name]):>18}" for name, _ in QUANTILES)
                     + f"{number(f['max']):>9}{s['errors']:>8}")
    return lines


def headline(setups):
    """What comes in place of the result where a set-up that it is about was
    saturated, or ""."""
    keys = [s["key"] for s in setups
            if s["saturated"] and s["key"] in ("direct", "act")]
    return f"{', '.join(keys)} {SATURATED}" if keys else ""


def doubts(setups):
    """A line for each set-up whose figures are those of a queue, and one if
    other work is in them."""
    return [*(f"{s['key']} {SATURATED} ({s['saturated']})"
              for s in setups if s["saturated"]),
            *filter(None, [busy([(s["key"], s["others"]) for s in setups],
                                os.cpu_count())])]


def ratio_line(setups, found):
    extra = {s["key"]: s["extra_pct"] for s in setups if "extra_pct" in s}
    words = [f"p99.9: direct / act = {ratio_words(found)}"] if found \
        else list(filter(None, [headline(setups)]))
    if "act" in extra:
        words.append(f"{extra['act']:.2f} % sent twice")
    return "; ".join(words)


def cut(line, width=None):
    """The line, or as much of it as the terminal shows."""
    width = width or min(shutil.get_terminal_size().columns, 200)
    return line if len(line) <= width else line[:width - 3] + "..."
