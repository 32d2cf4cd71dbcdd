#!/usr/bin/python3
"""Draw what bench_borrowing prints.

    build/bench/bench_borrowing | tests/bench/borrowing_figures.py SVG

Four graphs beside each other: the thesis's figures 5.2 with 5.4, 5.11 and 5.10.
"""

import csv
import html
import pathlib
import sys

WIDTH, HEIGHT = 860, 640
PANEL_W, PANEL_H = 350, 210
STYLE = """
.b { --paper: #fff; --ink: #222; --soft: #666; --grid: #ddd; --nobody: #222;
  --unfettered: #888; --idle: #0072b2; --fixed: #b07d00; --refresh: #9c4f7a;
  --dynamic: #d55e00; --debt: #00805c; --unknown: #56a88b }
@media (prefers-color-scheme: dark) { .b { --paper: #1b1f24; --ink: #e8ebee;
  --soft: #9aa4af; --grid: #3b424a; --nobody: #e8ebee; --unfettered: #9aa4af;
  --idle: #7cc4ff; --fixed: #e6b84c; --refresh: #e28bbb; --dynamic: #ff7a59;
  --debt: #3dd6a3; --unknown: #a6e3cf } }
.b text { font: 12px system-ui, sans-serif; fill: var(--ink) }
.b .title { font-size: 14px; font-weight: 600 }
.b .note { fill: var(--soft) }
.b .sheet { fill: var(--paper) }
.b path { fill: none; stroke: var(--grid) }
.b polyline { fill: none; stroke-width: 2 }
"""
# Name of a policy: its colour, and its dashes, for those who see none.
LINES = {"nobody": ("nobody", ""), "unfettered": ("unfettered", "2 3"),
         "idle": ("idle", "8 3"), "fixed": ("fixed", "6 2 2 2"),
         "refresh": ("refresh", "3 2"), "dynamic": ("dynamic", "10 3 3 3"),
         "debt": ("debt", ""), "debt (loss unknown)": ("unknown", "5 4")}


class Panel:
    """One graph: a value by the load, a line for each policy."""

    def __init__(self, place, title, loads, limits, marks):
        self.left = 56 + place[0] * (PANEL_W + 84)
        self.top = 40 + place[1] * (PANEL_H + 82)
        self.title, self.loads, self.limits, self.marks = (
            title, loads, limits, marks)

    def x(self, load):
        low, high = self.loads
        return self.left + PANEL_W * (load - low) / (high - low)

    def y(self, value):
        low, high = self.limits
        part = (min(value, high) - low) / (high - low)
        return self.top + PANEL_H * (1 - part)

    def grid(self):
        out = [f'<text class="title" x="{self.left}" y="{self.top - 12}">'
               f"{html.escape(self.title)}</text>"]
        for mark in self.marks:
            y = f"{self.y(mark):.1f}"
            out.append(f'<path d="M{self.left} {y}h{PANEL_W}"/><text '
                       f'x="{self.left - 6}" y="{y}" dy="4" '
                       f'text-anchor="end">{mark:g}</text>')
        for part in range(5):
            load = self.loads[0] + (self.loads[1] - self.loads[0]) * part / 4
            out.append(f'<text x="{self.x(load):.1f}" '
                       f'y="{self.top + PANEL_H + 17}" '
                       f'text-anchor="middle">{load:g}</text>')
        return out

    def line(self, name, points):
        colour, dashes = LINES[name]
        inside = [(load, value) for load, value in points
                  if value <= self.limits[1]]
        at = " ".join(f"{self.x(load):.1f},{self.y(value):.1f}"
                      for load, value in inside)
        return [f'<polyline style="stroke:var(--{colour})" '
                f'stroke-dasharray="{dashes}" points="{at}"><title>'
                f"{html.escape(name)}</title></polyline>"]


def legend():
    out = []
    for i, (name, (colour, dashes)) in enumerate(LINES.items()):
        x, y = 56 + i % 4 * 200, HEIGHT - 32 + i // 4 * 20
        out.append(f'<polyline style="stroke:var(--{colour})" '
                   f'stroke-dasharray="{dashes}" '
                   f'points="{x},{y - 4} {x + 32},{y - 4}"/>'
                   f'<text x="{x + 40}" y="{y}">{html.escape(name)}</text>')
    return out


def svg(rows):
    def points(figure, name, value):
        return [(float(r["rate"]), value(r)) for r in rows
                if r["figure"] == figure and r["policy"] == name]

    def p99(row):
        return float(row["p99_ms"])

    def lanes(row):
        return float(row["request"]) + float(row["batch"])

    panels = (
        (Panel((0, 0), "p99, ms: alone, and beside a loop (5.2, 5.4)",
               (0, 140), (0, 200), (0, 50, 100, 150, 200)), p99,
         (("5.2", "nobody"), ("5.4", "unfettered"))),
        (Panel((1, 0), "lanes used, of two; p99 within 100 ms (5.11)",
               (0, 120), (0, 2), (0, 0.5, 1, 1.5, 2)), lanes,
         [("5.11", name) for name in LINES]),
        (Panel((0, 1), "p99, ms, with these budgets (5.11)",
               (0, 120), (0, 120), (0, 25, 50, 75, 100)), p99,
         [("5.11", name) for name in LINES]),
        (Panel((1, 1), "lanes used: seven cores, B = 20 ms (5.10)",
               (0, 1200), (0, 2), (0, 0.5, 1, 1.5, 2)), lanes,
         [("5.10", name) for name in LINES]))
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" class="b" '
           f'viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
           "<title>Borrowing on simulated cores</title>",
           f"<style>{STYLE}</style>",
           f'<rect class="sheet" width="{WIDTH}" height="{HEIGHT}"/>']
    for panel, value, lines in panels:
        out += panel.grid()
        for figure, name in lines:
            found = points(figure, name, value)
            if found:
                out += panel.line(name, found)
    out += legend()
    out.append(f'<text class="note" x="{WIDTH - 14}" y="{HEIGHT - 62}" '
               'text-anchor="end">requests per second</text>')
    return "\n".join(out) + "\n</svg>\n"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip())
    pathlib.Path(sys.argv[1]).write_text(
        svg(list(csv.DictReader(sys.stdin))), encoding="utf-8")


if __name__ == "__main__":
    main()
