"""The demonstration's result as one page that needs nothing else."""

import html

import chart
import report
from capacity import SATURATED

HEAD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Tailor: a demonstration</title>
<style>{style}
.wide svg {{ display: block; width: 100%; min-width: 560px;
  border: 1px solid var(--line); }}
h3 {{ font-size: 14px; margin: 20px 0 2px; }}
pre {{ margin: 4px 0 8px; overflow-x: auto; }}
th, td {{ white-space: nowrap; }}
</style>
</head>
<body>
"""
COLUMNS = ("", "p50, ms", "p99, ms", "p99.9, ms", "slowest, ms", "failed",
           "sent twice")


def _table(setups):
    out = ['<div class="wide"><table id="figures">\n<tr>'
           + "".join(f"<th{' class=n' if name else ''}>{name}"
                     for name in COLUMNS)]
    for s in setups:
        f = s["figures"]
        extra = f"{s['extra_pct']:.2f} %" if "extra_pct" in s else "-"
        cells = [*(report.span(f[name]) for name, _ in report.QUANTILES),
                 report.number(f["max"]),
                 f"{s['errors']} of {s['requests']}", extra]
        note = f"<br>{SATURATED}" if s["saturated"] else ""
        out.append(f"<tr><td>{html.escape(s['title'])}{note}"
                   + "".join(f'<td class="n">{cell}' for cell in cells))
    return "\n".join(out) + "\n</table></div>"


def _story(s):
    story = s["story"]
    moments = html.escape("\n".join(story["moments"]))
    out = [f'<section class="story"><h3>{html.escape(s["title"])}: '
           f'{report.number(story["ms"])} ms</h3>',
           f'<p><b>{html.escape(_sentence(story["cause"]))}</b></p>',
           *(f"<p>{html.escape(line)}</p>" for line in story["lines"]),
           f"<pre>{moments}</pre>" if moments else ""]
    if story.get("link"):
        out.append(f'<p><a href="{html.escape(story["link"])}">the full '
                   'timeline</a></p>')
    return "\n".join(filter(None, out)) + "</section>"


def _sentence(text):
    return text[:1].upper() + text[1:] + (
        "" if not text or text.endswith(".") else ".")


def lead(setups, found):
    """The result in a sentence."""
    if not found:
        return _sentence(report.headline(setups))
    ms = {s["key"]: report.number(s["figures"]["p999"][0]) for s in setups}
    return (f"99.9 % of the requests took at most {ms['direct']} ms direct, "
            f"{ms['act']} ms with Tailor: {report.ratio_words(found)} "
            "times as long without it.")


def page(style, setups, found, what, kills):
    """The whole page.  found: report.ratio of direct and active."""
    return "\n".join([
        HEAD.format(style=style), "<h1>Tailor: a demonstration</h1>",
        f'<p id="lead">{html.escape(lead(setups, found))}</p>',
        f'<p class="soft">{html.escape(what)}</p>',
        f'<div class="wide" id="chart">{chart.svg(setups, "iteration", kills)}'
        "</div>",
        _table(setups),
        *(f'<p class="soft">{html.escape(_sentence(line))}</p>'
          for line in report.doubts(setups)),
        f'<p class="soft">{report.READING} The ratio\'s interval holds 95 % '
        "of a bootstrap over iterations.</p>",
        "<h2>The slowest request of each set-up</h2>",
        *map(_story, setups),
        '<p class="soft">Each set-up\'s folder has tailor-load\'s report '
        "(load.txt), every request (requests.ndjson), the logs, and Tailor's "
        "configuration and metrics.</p>", "</body></html>", ""])
