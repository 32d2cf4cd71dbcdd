"""Whether the project's goals are met, by how much, and what is to blame.

A goal is met, missed, or not measured; missed ones say by how much.  One that
seems met is doubtful if the load generator's lateness spoils its figures, if a
set-up that it is about was saturated, or if the machine stalled.
"""

import collections

Goal = collections.namedtuple("Goal", "text state why")

TIMES_LOWER = 9
CLOSE_MS = 2.0
EXTRA_PCT = 1.0
STEERING = "steering"
STEERED_MS = 1.0
# p99.9 of a JVM that never collects over its median iteration's slowest request,
# of a machine that stalled now and then
STALL_TIMES = 3
# where the set-up of interest must not fail a request
WITHOUT_ERRORS = ("thesis", "instead", "slow-queries", "restart")


def find(rows, key):
    return next((row for row in rows if row["key"] == key), None)


def value(row, metric):
    return row[metric]["value"] if row and row[metric] else None


def worst_latency(rows, _plan):
    text = (f"worst client latency at least {TIMES_LOWER} times lower than "
            "without Tailor, on the thesis's path")
    first, last = find(rows, "shipped"), find(rows, "tailor")
    if not first or not last:
        return Goal(text, "not measured", "")
    times = first["worst"] / last["worst"]
    return Goal(text, "met" if times >= TIMES_LOWER else "missed",
                f"{first['worst']:.1f} ms as shipped, {last['worst']:.1f} ms "
                f"with Tailor: {times:.1f} times"
                + blame(last, times >= TIMES_LOWER))


def close_to_ideal(rows, plan):
    text = f"p99.9 within {CLOSE_MS:g} ms of a JVM that never collects"
    ideal, best = find(rows, plan["ideal"]), find(rows, plan["best"])
    if not ideal or not best:
        return Goal(text, "not measured", "")
    more = value(best, "p999") - value(ideal, "p999")
    return Goal(text, "met" if more <= CLOSE_MS else "missed",
                f"{value(best, 'p999'):.1f} ms with {best['title']}, "
                f"{value(ideal, 'p999'):.1f} ms with {ideal['title']}: "
                f"{more:+.1f} ms" + blame(best, more <= CLOSE_MS))


def steered(rows, plan):
    """Requests that may be sent once only gain as much."""
    text = (f"steering: p99.9 of POST within {STEERED_MS:g} ms of a JVM that "
            "never collects")
    ideal, best = find(rows, plan["ideal"]), find(rows, STEERING)
    if not ideal or not best or "post" not in ideal or "post" not in best:
        return Goal(text, "not measured", "")
    ours, theirs = value(best["post"], "p999"), value(ideal["post"], "p999")
    met = ours - theirs <= STEERED_MS
    return Goal(text, "met" if met else "missed",
                f"{ours:.1f} ms, and {theirs:.1f} ms with {ideal['title']}: "
                f"{ours - theirs:+.1f} ms; GET {value(best, 'p999'):.1f} ms; "
                f"{best['post']['extra']:.0f} sent twice" + blame(best, met))


def tail(row):
    """What to be ahead in: the greatest of all requests, too, which the
    median over iterations is not where most have no collection."""
    return {"p99.9": value(row, "p999"), "max": row["worst"]}


def alternatives(plan, rows):
    """What one would use instead: not Tailor's, not the ideal."""
    return [row for row in rows
            if row["key"] not in (plan["best"], plan.get("ideal"),
                                  "tailor-none", STEERING)]


def ahead(rows, plan):
    """Of every alternative, in p99.9 and max, at no more extra load."""
    text = ("ahead of every alternative in p99.9 and max, at equal or lower "
            "extra load")
    best = find(rows, plan["best"])
    if not best or len(rows) < 2:
        return Goal(text, "not measured", "")
    behind, failing = [], []
    for row in alternatives(plan, rows):
        if row["errors"] > best["errors"]:
            # quick answers to some are nothing to be behind of
            failing.append(f"{row['title']} failed {row['errors']}")
            continue
        lost = [f"{name} {ours - theirs:.1f} ms" for (name, ours), theirs
                in zip(tail(best).items(), tail(row).values())
                if ours > theirs]
        if best["extra_pct"] > max(row["extra_pct"], EXTRA_PCT):
            lost.append(f"{best['extra_pct'] - row['extra_pct']:.2f} % more "
                        "extra requests")
        if lost:
            behind.append(f"{row['title']} by {', '.join(lost)}")
    why = f"behind {'; '.join(behind)}" if behind else \
        "ahead of all that were measured"
    why += f" (left out: {', '.join(failing)})" if failing else ""
    return Goal(text, "missed" if behind else "met",
                why + blame(best, not behind))


def over_all(plans, rows, text, failing, words):
    """A goal for the set-ups of interest of several experiments."""
    if not any(name in plans for name in WITHOUT_ERRORS):
        return None
    found = [(name, find(rows[name]["rows"], plans[name]["best"]))
             for name in WITHOUT_ERRORS if name in rows]
    found = [(name, row) for name, row in found if row]
    if not found:
        return Goal(text, "not measured", "")
    missed = any(failing(row) for _, row in found)
    return Goal(text, "missed" if missed else "met",
                "; ".join(f"{name}: {words(row)}" for name, row in found))


def blame(row, met):
    """Tailor's own tale of what was slowest, where a goal was missed."""
    why = row["slowest"].get("why")
    return "" if met or not why else \
        f". Its slowest request, as Tailor explains it: {why}"


def doubts(rows, figures):
    """Which of the figures that a goal is about are not good, and why."""
    left = [f"{name} of {row['title']} {row['figures'][name]['trust']}"
            for row in rows for name in figures
            if row["figures"][name]["trust"] != "good"]
    full = [row["title"] for row in rows if row["saturated"]]
    return (f" (by the generator's lateness: {'; '.join(left)})"
            if left else "") + (
                f" (saturated: {'; '.join(full)})" if full else "")


def stalled(ideal):
    """That the machine itself stalled, by the set-up without collections."""
    if not ideal or not ideal.get("max"):
        return ""
    rare, usual = value(ideal, "p999"), value(ideal, "max")
    return "" if rare is None or rare <= STALL_TIMES * usual else (
        f" (the machine stalled: {ideal['title']}: p99.9 {rare:.1f} ms, the "
        f"median iteration's slowest request {usual:.1f} ms)")


def judge(plans, rows):
    """The goals of the experiments that were asked for; rows as the report
    has them, by experiment."""
    def of(name, judged, figures, keys=None):
        if name not in plans:
            return None
        own = rows[name]["rows"] if name in rows else []
        goal = judged(own, plans[name])
        doubt = doubts([row for row in own
                        if keys is None or row["key"] in keys], figures)
        doubt += stalled(find(own, plans[name].get("ideal")))
        return goal._replace(
            state="doubtful" if doubt and goal.state == "met" else goal.state,
            why=goal.why + doubt)
    instead = plans.get("instead", {})
    return [goal for goal in (
        of("thesis", worst_latency, ["worst"], ("shipped", "tailor")),
        of("instead", close_to_ideal, ["p999"],
           (instead.get("ideal"), instead.get("best"))),
        of("instead", ahead, ["p999", "worst"]),
        of("instead", steered, ["p999"], (instead.get("ideal"), STEERING)),
        over_all(plans, rows, "no request fails",
                 lambda row: row["errors"] > 0,
                 lambda row: f"{row['errors']} of {row['requests']}"),
        over_all(plans, rows, f"extra requests under {EXTRA_PCT:g} %",
                 lambda row: row["extra_pct"] >= EXTRA_PCT,
                 lambda row: f"{row['extra_pct']:.2f} %")) if goal]
