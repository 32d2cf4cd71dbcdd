"""The demonstration's report: one table, ratios, a chart in text."""

import bisect

WIDTH = 80
# Rows of the text chart: 1, 2, 5 of each decade, in ms.
LEVELS = [m * 10.0 ** d for d in range(-1, 5) for m in (1, 2, 5)]


def _number(value, digits=1):
    if value is None:
        return "-"
    return f"{value:.{digits if value < 1000 else 0}f}"


def table(setups):
    """setups: [{key, title, client_p50_ms, ..., hedges, extra_pct}]."""
    lines = [f"{'':20}{'client, ms':^28}{'server, ms':^14}{'extra':>18}",
             f"{'set-up':20}{'p50':>7}{'p99':>7}{'p99.9':>7}{'max':>7}"
             f"{'p99':>7}{'max':>7}{'err':>6}{'hedge':>6}{'req.':>6}",
             "-" * WIDTH]
    for s in setups:
        extra = s.get("extra_pct")
        lines.append(
            f"{s['key']} {s['title']:18}"
            f"{_number(s['client_p50_ms'], 2):>7}"
            f"{_number(s['client_p99_ms']):>7}"
            f"{_number(s['client_p999_ms']):>7}"
            f"{_number(s['client_max_ms']):>7}"
            f"{_number(s.get('server_p99_ms')):>7}"
            f"{_number(s.get('server_max_ms')):>7}"
            f"{s['errors']:>6}"
            f"{_number(s.get('hedges'), 0):>6}"
            f"{'-' if extra is None else f'{extra:.2f}%':>6}")
    return "\n".join(lines)


def chart(setups):
    """The maximum of each iteration, one letter a set-up, log scale."""
    series = {s["key"]: [most for _, most in s["iterations"]]
              for s in setups}
    columns = max(map(len, series.values()), default=0)
    step = 1
    while columns > 0 and 8 + -(-columns // step) * (len(series) + 1) > WIDTH:
        step += 1
    series = {key: [max(values[i:i + step])
                    for i in range(0, len(values), step)]
              for key, values in series.items()}
    heights = {key: [bisect.bisect_right(LEVELS, v) for v in values]
               for key, values in series.items()}
    every = [h for values in heights.values() for h in values]
    if not every:
        return ""
    lines = []
    for level in range(max(every), min(every) - 1, -1):
        row = " ".join(
            "".join(key if i < len(values) and values[i] == level else " "
                    for key, values in heights.items())
            for i in range(-(-columns // step)))
        label = f"{LEVELS[level - 1]:g}" if level > 0 else "0"
        lines.append(f"{label:>6} |{row}".rstrip())
    lines.append(f"{'ms':>6} +" + "-" * (
        -(-columns // step) * (len(series) + 1)))
    if step > 1:
        lines.append(f"{'':8}each group of columns: {step} iterations")
    return "\n".join(lines)


def ratio(setups, above, below, key):
    """key of one set-up over that of another; None if one is missing."""
    value = {s["key"]: s.get(key) for s in setups}
    if not value.get(above) or not value.get(below):
        return None
    return value[above] / value[below]


def histogram(metrics, name):
    """A Prometheus histogram as [(upper bound in s, count up to there)]."""
    start = f'{name}_bucket{{'
    found = []
    for key, value in metrics.items():
        if key.startswith(start) and 'le="' in key:
            bound = key.split('le="')[1].split('"')[0]
            found.append((float(bound.replace("+Inf", "inf")), value))
    return sorted(found)


def quantiles(metrics, name):
    """{quantile: seconds} of the gauges <name>_quantile_seconds."""
    start = f'{name}_quantile_seconds{{'
    return {float(key.split('quantile="')[1].split('"')[0]): value
            for key, value in metrics.items() if key.startswith(start)}


def send_delay(metrics):
    """The delay from a collection's begin to the last request sent again."""
    name = "tailor_hazard_last_hedge"
    count = metrics.get(f"{name}_seconds_count")
    if count is None:
        return [f"not available: {name}_seconds is not in /metrics"]
    if count == 0:
        return ["no request was sent again in this run"]
    exact = quantiles(metrics, name)
    if exact:
        return [f"p{100 * q:g} {1e6 * s:.1f} us"
                for q, s in sorted(exact.items())] + [f"of {count:.0f}"]
    lines = []
    for bound, below in histogram(metrics, f"{name}_seconds"):
        if below > 0:
            lines.append(f"{100 * below / count:.1f} % within "
                         f"{1e6 * bound:g} us")
        if below == count:
            break
    return lines + [f"of {count:.0f}"]


def wrap(items, indent="  "):
    """Items separated by semicolons, in lines of at most WIDTH."""
    lines, line = [], indent
    for i, item in enumerate(items):
        piece = item + (";" if i < len(items) - 1 else "")
        if len(line) + len(piece) + 1 > WIDTH and line.strip():
            lines.append(line.rstrip())
            line = indent
        line += piece + " "
    return "\n".join(lines + [line.rstrip()])
