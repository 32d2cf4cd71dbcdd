"""Figures as SVG files that need nothing else to be shown."""

import html
import math

COLOURS = ("#0072b2", "#d55e00", "#00805c", "#9c4f7a", "#b8860b", "#56708a",
           "#222222", "#7a5230", "#2f7f93", "#a3485a", "#5a5ab0")
DASHES = ("", "7 3", "2 3", "9 3 2 3")
WIDTH, LEFT, RIGHT = 900, 230, 20
STYLE = ("text{font:12px system-ui,sans-serif;fill:#222}"
         ".title{font-size:15px;font-weight:600}.dim{fill:#666}"
         ".grid{stroke:#e2e2e2}.axis{stroke:#888}"
         ".line{fill:none;stroke-width:1.8}")
METRICS = (("p50", "circle"), ("p99", "square"), ("p999", "diamond"),
           ("max", "cross"))
NAMES = {"p50": "p50", "p99": "p99", "p999": "p99.9", "max": "max"}


def _document(height, title, body):
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} '
        f'{height}" role="img">', f"<title>{html.escape(title)}</title>",
        f"<style>{STYLE}</style>",
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
        f'<text class="title" x="16" y="24">{html.escape(title)}</text>',
        *body, "</svg>"]) + "\n"


class _Log:
    """A logarithmic scale between two pixels."""

    def __init__(self, values, first, last):
        values = [v for v in values if v > 0] or [1.0]
        self.low = math.log10(min(values) * 0.85)
        self.high = math.log10(max(values) * 1.15)
        self.first, self.last = first, last

    def __call__(self, value):
        part = (math.log10(max(value, 1e-9)) - self.low) \
            / (self.high - self.low)
        return self.first + min(max(part, 0), 1) * (self.last - self.first)

    def ticks(self):
        """1, 2 and 5 of each decade inside."""
        for decade in range(math.floor(self.low), math.ceil(self.high) + 1):
            for m in (1, 2, 5):
                value = m * 10.0 ** decade
                if self.low <= math.log10(value) <= self.high:
                    yield value


def _x_grid(scale, top, bottom, unit):
    out = []
    for value in scale.ticks():
        x = scale(value)
        out.append(f'<path class="grid" d="M{x:.1f} {top}V{bottom}"/>'
                   f'<text class="dim" x="{x:.1f}" y="{bottom + 16}" '
                   f'text-anchor="middle">{value:g}</text>')
    out.append(f'<text class="dim" x="{WIDTH - RIGHT}" y="{bottom + 32}" '
               f'text-anchor="end">{unit}</text>')
    return out


def _mark(kind, x, y, colour, text):
    shapes = {
        "circle": f'<circle cx="{x:.1f}" cy="{y}" r="4.5"',
        "square": f'<rect x="{x - 4:.1f}" y="{y - 4}" width="8" height="8"',
        "diamond": f'<path d="M{x:.1f} {y - 6}l6 6l-6 6l-6 -6z"',
        "cross": f'<path d="M{x - 5:.1f} {y - 5}l10 10m0 -10l-10 10" '
                 f'stroke="{colour}" stroke-width="2.4"'}
    return (f'{shapes[kind]} fill="{colour}"><title>{html.escape(text)}'
            f'</title></{shapes[kind][1:].split(" ", 1)[0]}>')


def dots(title, rows):
    """Each set-up's p50, p99, p99.9 and max with their intervals."""
    top, step = 66, 30
    bottom = top + step * len(rows)
    values = [row[m][k] for row in rows for m, _ in METRICS if row[m]
              for k in ("value", "low", "high") if k in row[m]]
    scale = _Log(values, LEFT, WIDTH - RIGHT)
    out = _x_grid(scale, top - 8, bottom, "client latency, ms")
    for i, (metric, kind) in enumerate(METRICS):
        x = LEFT + 90 * i
        out.append(_mark(kind, x, 44, COLOURS[i], NAMES[metric]))
        out.append(f'<text x="{x + 12}" y="48">{NAMES[metric]}</text>')
    for number, row in enumerate(rows):
        y = top + step * number + step // 2
        out.append(f'<text x="{LEFT - 12}" y="{y + 4}" text-anchor="end">'
                   f'{html.escape(row["title"])}</text>')
        for i, (metric, kind) in enumerate(METRICS):
            found = row[metric]
            if not found:
                continue
            shown = y - 6 + 4 * i
            if "low" in found:
                out.append(f'<path stroke="{COLOURS[i]}" stroke-width="2" '
                           f'd="M{scale(found["low"]):.1f} {shown}'
                           f'H{scale(found["high"]):.1f}"/>')
            out.append(_mark(kind, scale(found["value"]), shown, COLOURS[i],
                             f'{row["title"]}: {NAMES[metric]} '
                             f'{found["value"]:.2f} ms'))
    return _document(bottom + 44, title, out)


def ranges(title, rows, names, unit="client latency, ms"):
    """[(label, [least, most], [least, most])]: two bars each, named names."""
    colours = ("#8a8a8a", COLOURS[0])
    top, step = 66, 36
    bottom = top + step * len(rows)
    scale = _Log([v for _, *bars in rows for bar in bars for v in bar],
                 LEFT, WIDTH - RIGHT)
    out = _x_grid(scale, top - 8, bottom, unit)
    for i, name in enumerate(names):
        x = LEFT + 110 * i
        out.append(f'<rect x="{x}" y="38" width="22" height="10" '
                   f'fill="{colours[i]}"/><text x="{x + 28}" y="48">'
                   f'{html.escape(name)}</text>')
    for number, (label, *bars) in enumerate(rows):
        y = top + step * number
        out.append(f'<text x="{LEFT - 12}" y="{y + step // 2 + 2}" '
                   f'text-anchor="end">{html.escape(label)}</text>')
        for i, (low, high) in enumerate(bars):
            x, end = scale(low), scale(high)
            words = f"{label}, {names[i]}: {low:.1f} to {high:.1f} ms"
            out.append(f'<rect x="{x:.1f}" y="{y + 4 + 13 * i}" width="'
                       f'{max(end - x, 3):.1f}" height="10" fill="'
                       f'{colours[i]}"><title>{html.escape(words)}</title>'
                       '</rect>')
    return _document(bottom + 44, title, out)


def _legend(names, y):
    out, x = [], 16
    for i, name in enumerate(names):
        width = 44 + 7 * len(name)
        if x + width > WIDTH:
            x, y = 16, y + 18
        out.append(f'<path class="line" stroke="{COLOURS[i % len(COLOURS)]}" '
                   f'stroke-dasharray="{DASHES[i % len(DASHES)]}" '
                   f'd="M{x} {y - 4}h24"/>'
                   f'<text x="{x + 30}" y="{y}">{html.escape(name)}</text>')
        x += width
    return out, y


def tails(title, series, unit="client latency, ms"):
    """{name: [(value, share not above), ...]} on an axis for the tail."""
    legend, below = _legend(list(series), 48)
    top, bottom, left = below + 16, below + 300, 70
    scale = _Log([v for points in series.values() for v, _ in points], left,
                 WIDTH - RIGHT)
    least = min(1 - share for points in series.values()
                for _, share in points if share < 1) / 2

    def y(share):
        return bottom + math.log10(max(1 - share, least)) \
            / -math.log10(least) * (bottom - top)

    out = legend + _x_grid(scale, top, bottom, unit)
    share = 0.9
    while 1 - share >= least:
        out.append(f'<path class="grid" d="M{left} {y(share):.1f}'
                   f'H{WIDTH - RIGHT}"/><text class="dim" x="{left - 6}" '
                   f'y="{y(share) + 4:.1f}" text-anchor="end">'
                   f'{100 * share:.6g}%</text>')
        share = 1 - (1 - share) / 10
    for i, points in enumerate(series.values()):
        path = "".join(f"{'L' if k else 'M'}{scale(v):.1f} {y(s):.1f}"
                       for k, (v, s) in enumerate(points))
        out.append(f'<path class="line" stroke="{COLOURS[i % len(COLOURS)]}" '
                   f'stroke-dasharray="{DASHES[i % len(DASHES)]}" '
                   f'd="{path}"/>')
    return _document(bottom + 44, title, out)


def lines(title, series, x_name, unit="ms"):
    """{name: [(x, value), ...]}: values on a logarithmic scale."""
    legend, below = _legend(list(series), 48)
    top, bottom, left = below + 28, below + 272, 84
    scale = _Log([v for points in series.values() for _, v in points],
                 bottom, top)
    xs = sorted({x for points in series.values() for x, _ in points})
    low, high = xs[0], xs[-1] if xs[-1] > xs[0] else xs[0] + 1

    def place(x):
        return left + 20 + (x - low) / (high - low) * (
            WIDTH - RIGHT - left - 40)

    out = list(legend)
    for value in scale.ticks():
        out.append(f'<path class="grid" d="M{left} {scale(value):.1f}'
                   f'H{WIDTH - RIGHT}"/><text class="dim" x="{left - 6}" '
                   f'y="{scale(value) + 4:.1f}" text-anchor="end">{value:g}'
                   f'</text>')
    for x in xs[::max(1, len(xs) // 24)]:
        out.append(f'<text class="dim" x="{place(x):.1f}" y="{bottom + 16}" '
                   f'text-anchor="middle">{x:g}</text>')
    out.append(f'<text class="dim" x="{WIDTH - RIGHT}" y="{bottom + 32}" '
               f'text-anchor="end">{html.escape(x_name)}</text>'
               f'<text class="dim" x="{left - 6}" y="{top - 14}" '
               f'text-anchor="end">{html.escape(unit)}</text>')
    for i, (name, points) in enumerate(series.items()):
        colour = COLOURS[i % len(COLOURS)]
        path = "".join(f"{'L' if k else 'M'}{place(x):.1f} {scale(v):.1f}"
                       for k, (x, v) in enumerate(points))
        out.append(f'<path class="line" stroke="{colour}" '
                   f'stroke-dasharray="{DASHES[i % len(DASHES)]}" '
                   f'd="{path}"/>')
        out += [_mark("circle", place(x), round(scale(v), 1), colour,
                      f"{name}, {x:g}: {v:.2f} {unit}") for x, v in points]
    return _document(bottom + 44, title, out)
