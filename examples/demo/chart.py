"""The result as an SVG file that needs nothing else to be shown."""

import html
import math

COLOURS = {"a": "#d55e00", "b": "#e69f00", "c": "#0072b2", "d": "#009e73"}
WIDTH, HEIGHT = 900, 330
LEFT, RIGHT, TOP, BOTTOM = 72, 20, 56, 44
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #222 }
.title { font-size: 15px; font-weight: 600 }
.note { fill: #666; font-size: 12px }
.grid { stroke: #ddd; stroke-width: 1 }
.minor { stroke: #f2f2f2; stroke-width: 1 }
.axis { stroke: #888; stroke-width: 1 }
.line { fill: none; stroke-width: 2 }
"""


class _Panel:
    """One chart: a value per iteration for each set-up, log scale."""

    def __init__(self, title, series, low, high):
        self.title = title
        self.series = series
        self.low, self.high = math.log10(low), math.log10(high)
        self.columns = max(len(v) for v in series.values())

    def x(self, i):
        span = WIDTH - LEFT - RIGHT
        return LEFT + span * (i + 0.5) / self.columns

    def y(self, ms):
        part = (math.log10(ms) - self.low) / (self.high - self.low)
        return HEIGHT - BOTTOM - part * (HEIGHT - TOP - BOTTOM)

    def svg(self, offset):
        out = [f'<g transform="translate(0 {offset})">',
               f'<text class="title" x="{LEFT}" y="24">'
               f'{html.escape(self.title)}</text>']
        out += self._grid()
        for key, values in self.series.items():
            points = " ".join(f"{self.x(i):.1f},{self.y(v):.1f}"
                              for i, v in enumerate(values))
            colour = COLOURS[key]
            out.append(f'<polyline class="line" stroke="{colour}" '
                       f'points="{points}"/>')
            out += [f'<circle cx="{self.x(i):.1f}" cy="{self.y(v):.1f}" '
                    f'r="3" fill="{colour}"><title>{key}, iteration {i + 1}: '
                    f'{v:.2f} ms</title></circle>'
                    for i, v in enumerate(values)]
        return out + ["</g>"]

    def _grid(self):
        out = []
        for decade in range(math.floor(self.low), math.ceil(self.high) + 1):
            for m in range(1, 10):
                ms = m * 10.0 ** decade
                if not self.low <= math.log10(ms) <= self.high:
                    continue
                kind = "grid" if m == 1 else "minor"
                y = f"{self.y(ms):.1f}"
                out.append(f'<line class="{kind}" x1="{LEFT}" y1="{y}" '
                           f'x2="{WIDTH - RIGHT}" y2="{y}"/>')
                if m == 1:
                    out.append(f'<text x="{LEFT - 8}" y="{y}" dy="4" '
                               f'text-anchor="end">{ms:g} ms</text>')
        base = HEIGHT - BOTTOM
        out.append(f'<line class="axis" x1="{LEFT}" y1="{base}" '
                   f'x2="{WIDTH - RIGHT}" y2="{base}"/>')
        every = max(1, self.columns // 20)
        out += [f'<text x="{self.x(i):.1f}" y="{base + 18}" '
                f'text-anchor="middle">{i + 1}</text>'
                for i in range(0, self.columns, every)]
        return out


def _legend(setups, note):
    out = [f'<text class="title" x="{LEFT}" y="26">Client latency of 1000 '
           'searches, iteration by iteration</text>']
    x = LEFT
    for s in setups:
        out.append(f'<rect x="{x}" y="40" width="14" height="14" rx="3" '
                   f'fill="{COLOURS[s["key"]]}"/>')
        out.append(f'<text x="{x + 20}" y="52">'
                   f'{html.escape(s["title"])}</text>')
        x += 40 + 8 * len(s["title"])
    out.append(f'<text class="note" x="{LEFT}" y="74">'
               f'{html.escape(note)}</text>')
    return out


PANELS = ((1, "slowest request"), (0, "99th percentile"))


def short(setups, note):
    """The slowest requests, without Tailor and with it, for README."""
    names = {"b": "without Tailor", "d": "with Tailor"}
    return svg([{**s, "title": names[s["key"]]} for s in setups
                if s["key"] in names], note, PANELS[:1])


def svg(setups, note, shown=PANELS):
    """The whole picture as text."""
    panels = []
    every = [v for s in setups for pair in s["iterations"] for v in pair]
    low = 10.0 ** math.floor(math.log10(max(min(every), 0.01)))
    high = 10.0 ** math.ceil(math.log10(max(every) * 1.01))
    for column, title in shown:
        panels.append(_Panel(title, {
            s["key"]: [pair[column] for pair in s["iterations"]]
            for s in setups}, low, high))
    head = 84
    total = head + HEIGHT * len(panels) + 12
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" '
           f'height="{total}" viewBox="0 0 {WIDTH} {total}" role="img">',
           "<title>Tail latency with and without Tailor</title>",
           f"<style>{STYLE}</style>",
           f'<rect width="{WIDTH}" height="{total}" fill="#fff"/>']
    out += _legend(setups, note)
    for i, panel in enumerate(panels):
        out += panel.svg(head + i * HEIGHT)
    out.append(f'<text class="note" x="{WIDTH / 2}" y="{total - 12}" '
               'text-anchor="middle">iteration</text></svg>')
    return "\n".join(out) + "\n"
