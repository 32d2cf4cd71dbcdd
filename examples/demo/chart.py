"""The slowest request of each iteration as an SVG that needs nothing else."""

import html
import math

WIDTH, HEIGHT = 720, 340
LEFT, RIGHT, TOP, BOTTOM = 80, 16, 72, 46
# Okabe and Ito's colours; lighter ones on a dark ground.
STYLE = """
.demo { --paper: #fff; --ink: #222; --soft: #666; --grid: #ddd;
  --minor: #f0f0f0; --direct: #d55e00; --watch: #0072b2; --act: #00805c;
  --steer: #9c4f7a }
@media (prefers-color-scheme: dark) { .demo { --paper: #1b1f24; --ink: #e8ebee;
  --soft: #9aa4af; --grid: #3b424a; --minor: #262b31;
  --direct: #ff7a59; --watch: #7cc4ff; --act: #3dd6a3;
  --steer: #e28bbb } }
.demo text { font: 13px system-ui, sans-serif; fill: var(--ink) }
.demo .title { font-size: 15px; font-weight: 600 }
.demo .note { fill: var(--soft); font-size: 12px }
.demo path { fill: none; stroke: var(--grid) }
.demo .minor { stroke: var(--minor) }
.demo .kill { stroke: var(--soft); stroke-dasharray: 2 3 }
.demo .sheet { fill: var(--paper) }
.demo polyline { fill: none; stroke-width: 2 }
"""


class _Scale:
    """Where a value stands; logarithmic, from a decade to a decade."""

    def __init__(self, values, columns):
        self.low = math.floor(math.log10(max(min(values), 0.01)))
        self.high = max(math.ceil(math.log10(max(values) * 1.01)),
                        self.low + 1)
        self.columns = columns

    def x(self, column):
        return LEFT + (WIDTH - LEFT - RIGHT) * (column + 0.5) / self.columns

    def y(self, ms):
        part = (math.log10(max(ms, 0.01)) - self.low) / (self.high - self.low)
        return HEIGHT - BOTTOM - part * (HEIGHT - TOP - BOTTOM)


def _grid(scale):
    out = []
    for decade in range(scale.low, scale.high + 1):
        for m in range(1, 10 if decade < scale.high else 2):
            y = f"{scale.y(m * 10.0 ** decade):.1f}"
            kind = "major" if m == 1 else "minor"
            out.append(f'<path class="{kind}" '
                       f'd="M{LEFT} {y}H{WIDTH - RIGHT}"/>')
            if m == 1:
                out.append(f'<text x="{LEFT - 8}" y="{y}" dy="4" '
                           f'text-anchor="end">{10.0 ** decade:g} ms</text>')
    every = max(1, scale.columns // 20)
    return out + [f'<text x="{scale.x(i):.1f}" y="{HEIGHT - BOTTOM + 18}" '
                  f'text-anchor="middle">{i + 1}</text>'
                  for i in range(0, scale.columns, every)]


def _line(scale, key, values):
    colour = f"var(--{key})"
    points = [(scale.x(i), scale.y(ms), ms) for i, ms in enumerate(values)]
    return [f'<polyline style="stroke:{colour}" points="'
            + " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in points) + '"/>',
            *(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" '
              f'style="fill:{colour}"><title>{key}, iteration {i + 1}: '
              f'{ms:.2f} ms</title></circle>'
              for i, (x, y, ms) in enumerate(points))]


def svg(setups, note, kills=()):
    """setups: [{key, title, slowest: [ms, ...]}]; kills: the iterations (from
    0) with a kill -9."""
    scale = _Scale([ms for s in setups for ms in s["slowest"]],
                   max(len(s["slowest"]) for s in setups))
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" class="demo" '
           f'viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
           "<title>Slowest request of each iteration</title>",
           f"<style>{STYLE}</style>",
           f'<rect class="sheet" width="{WIDTH}" height="{HEIGHT}"/>',
           f'<text class="title" x="{LEFT}" y="24">Slowest request of each '
           'iteration</text>',
           f'<text class="note" x="{LEFT}" y="{HEIGHT - 8}">'
           f'{html.escape(note)}</text>']
    x = LEFT
    for s in setups:
        out.append(f'<rect x="{x}" y="38" width="13" height="13" rx="3" '
                   f'style="fill:var(--{s["key"]})"/>'
                   f'<text x="{x + 19}" y="49">{html.escape(s["title"])}'
                   '</text>')
        x += 44 + 7 * len(s["title"])
    out += _grid(scale)
    for column in kills:
        out.append(f'<path class="kill" d="M{scale.x(column):.1f} {TOP}'
                   f'V{HEIGHT - BOTTOM}"/><text class="note" '
                   f'x="{scale.x(column):.1f}" y="{TOP - 4}" '
                   'text-anchor="middle">kill -9</text>')
    for s in setups:
        out += _line(scale, s["key"], s["slowest"])
    return "\n".join(out) + "\n</svg>\n"
