#!/usr/bin/python3
"""What tailorctl blame computes, in pandas; and by quantile regression.

    tailorctl blame --accounts >a.csv
    examples/blame/percentile.py a.csv "GET /search" gc [99]

Prints JSON: the percentile, what each cause has more in it than in p50, and the
percentile without one cause, computed twice, ms.  Needs python3-pandas and
python3-statsmodels.  docs/lab/blame.md explains the rules.
"""

import json
import sys

import numpy
import pandas
import statsmodels.api


def quantile(times, weight, p):
    """Nearest rank."""
    times = times.sort_values()
    rank = weight[times.index].cumsum() / weight.sum()
    return times[rank >= p - 1e-12].iloc[0]


def share(a, causes, p):
    """Means of causes over the ranks about p, which add up to q(p)."""
    a = a.sort_values(["total_ns", "end_ns"])
    h, requests, end = (1 - p) / 4, a.weight.sum(), a.weight.cumsum()
    inside = (numpy.minimum(end, (p + h) * requests)
              - numpy.maximum(end - a.weight, (p - h) * requests)).clip(0)
    mean = a[causes].mul(inside, axis=0).sum()
    return mean * quantile(a.total_ns, a.weight, p) / mean.sum()


def regression(a, cause, p):
    """q(p), and what it is more without the cause: each request twice, once as
    it was (0) and once without (1).  A request of weight w counts w times."""
    y = pandas.concat([a.total_ns, a.total_ns - a[cause]]) / 1e6
    w = pandas.concat([a.weight, a.weight]).to_numpy()
    gone = numpy.repeat([0, 1], len(a))
    x = statsmodels.api.add_constant(gone)
    fit = statsmodels.api.QuantReg(y.to_numpy() * w, x * w[:, None])
    return fit.fit(q=p, p_tol=1e-8, max_iter=5000).params


def main(path, route, cause, percentile="99"):
    p = float(percentile) / 100
    a = pandas.read_csv(path)
    causes = list(a.columns[a.columns.get_loc("kernel") + 1:])
    a = a[a.route == route]
    excess = share(a, causes, p) - share(a, causes, 0.5)
    was, change = regression(a, cause, p)
    json.dump({
        "was": quantile(a.total_ns, a.weight, p) / 1e6,
        "without": quantile(a.total_ns - a[cause], a.weight, p) / 1e6,
        "excess": (excess[excess != 0] / 1e6).to_dict(),
        "regression": {"was": was, "without": was + change}},
        sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main(*sys.argv[1:])
