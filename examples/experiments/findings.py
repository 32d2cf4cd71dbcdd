"""What an experiment's rows say: figures, and one sentence each."""

import figures
from shared import demo_report


def _row(rows, key):
    return next((row for row in rows if row["key"] == key), None)


def _value(row, metric):
    return row[metric]["value"] if row and row[metric] else None


def _failed(row):
    if row["errors"] == 0:
        return "none failed"
    return f'{row["errors"]} of {row["requests"]} failed'


def compare(plan, rows):
    """The best against the baseline, in words."""
    base, best = _row(rows, plan["baseline"]), _row(rows, plan["best"])
    if not base or not best:
        return "A set-up to compare is missing."
    parts = []
    for metric in ("p999", "max"):
        a, b = _value(base, metric), _value(best, metric)
        if a and b:
            parts.append(f"{figures.NAMES[metric]} {a:.1f} ms with "
                         f"\"{base['title']}\", {b:.1f} ms with "
                         f"\"{best['title']}\" ({a / b:.1f} times)")
    return (f"{'; '.join(parts)}; {_failed(best)}, "
            f"{best['extra_pct']:.2f} % extra requests.")


def goals(plan, rows):
    """The goals of the best set-up beside every other: lines of text."""
    best = _row(rows, plan["best"])
    if not best:
        return []
    lines = []
    for row in rows:
        if row is best or "line" in row:
            continue
        ahead = all(_value(best, m) <= _value(row, m)
                    for m in ("p999", "max"))
        no_more = best["extra_pct"] <= max(row["extra_pct"], 1.0)
        lines.append(f"against {row['title']}: "
                     f"{'ahead' if ahead else 'NOT ahead'} in p99.9 and max, "
                     f"{'no' if no_more else 'MORE'} extra load worth "
                     "mentioning")
    return lines


def thesis(rows):
    """The thesis's own measure: the slowest request, first and last step."""
    if len(rows) < 2:
        return "Too few steps to compare."
    first, last = rows[0], rows[-1]
    factor = first["worst"] / last["worst"]
    words = (f"The slowest request of all took {first['worst']:.1f} ms as "
             f"shipped and {last['worst']:.1f} ms at the end of the path: "
             f"{factor:.1f} times less; {_failed(last)}, "
             f"{last['extra_pct']:.2f} % extra requests.")
    if factor < 9:
        words += " The goal was nine times."
    return words


def delays(rows):
    """From hazard to action, by set-up: lines of text."""
    lines = []
    for row in rows:
        for metrics in row.get("metrics", [])[-1:]:
            said = "; ".join(demo_report.send_delay(metrics))
            lines.append(f"{row['title']}: {said}")
    return lines


def delay_curves(rows):
    """{title: [(us, share)]} of the time from a hazard to its last hedge."""
    found = {}
    for row in rows:
        counts = {}
        for metrics in row.get("metrics", []):
            for bound, below in demo_report.histogram(
                    metrics, "tailor_hazard_last_hedge_seconds"):
                counts[bound] = counts.get(bound, 0) + below
        whole = counts.get(float("inf"), 0)
        points = [(1e6 * bound, below / whole)
                  for bound, below in sorted(counts.items())
                  if whole and bound != float("inf") and below > 0]
        if points:
            found[row["title"]] = points
    return found


def figures_of(name, plan, rows):
    """[(file name, SVG, caption)]."""
    out = [(f"{name}-dots.svg", figures.dots(plan["title"], rows),
            "Median over iterations (p99.9: of all requests) with 95 % "
            "intervals.")]
    if not any("line" in row for row in rows):
        out.append((f"{name}-tail.svg", figures.tails(
            f"{plan['title']}: the tail",
            {row["title"]: row["tail"] for row in rows}),
            "All answered requests; the axis gives the tail room."))
        out.append((f"{name}-iterations.svg", figures.lines(
            "Slowest request of each iteration",
            {row["title"]: [(i + 1, most) for i, (_, most)
                            in enumerate(row["iterations"])]
             for row in rows if row["iterations"]}, "iteration"),
            "As figures 4.11 to 4.14 of the thesis show it; rounds one after "
            "the other."))
    else:
        for metric in ("p99", "max"):
            series = {}
            for row in rows:
                if _value(row, metric):
                    series.setdefault(row["line"], []).append(
                        (row["x"], _value(row, metric)))
            out.append((f"{name}-{metric}.svg", figures.lines(
                f"{plan['title']}: {metric}", series, plan["x"]),
                f"{metric}, median over iterations."))
    if name == "thesis" and "server_tail" in rows[0]:
        out.append((f"{name}-server.svg", figures.tails(
            "Time in the server (figure 4.10a)",
            {row["title"]: row["server_tail"] for row in rows
             if "server_tail" in row}, "server time, ms"),
            "As the service itself says it."))
    curves = delay_curves(rows) if name == "delay" else {}
    if curves:
        out.append((f"{name}-curves.svg", figures.tails(
            "From the begin of a collection to its last hedge", curves,
            "us"), "Cumulative, by poll mode."))
    return out


def sentence(name, plan, rows):
    """What the experiment shows."""
    if name == "thesis":
        return thesis(rows)
    return compare(plan, rows)
