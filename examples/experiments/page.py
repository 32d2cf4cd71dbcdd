"""The report: one HTML page, the same in Markdown, raw rows as JSON."""

import html
import json
import os
import pathlib
import platform

import findings

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:"
STYLE = ("body{font:15px/1.5 system-ui,sans-serif;max-width:62rem;"
         "margin:1.5rem auto;padding:0 1rem}"
         "table{border-collapse:collapse;font-variant-numeric:tabular-nums}"
         "td,th{padding:.15rem .7rem;text-align:right;"
         "border-bottom:1px solid #8884}td:first-child,th:first-child"
         "{text-align:left}svg{width:100%;height:auto;background:#fff}"
         ".shows{font-weight:600}")
COLUMNS = ("set-up", "p50", "p99", "p99.9", "max", "worst", "failed",
           "extra", "CPU", "rounds good")


def machine():
    """Where it ran, and how the CPUs were shared out."""
    cpus = sorted(os.sched_getaffinity(0))
    place = ("server a on one, server b on the other, Tailor, proxies and "
             "the generator on both" if len(cpus) == 2 else
             "placed by Tailor's own rules")
    model = ""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    return (f"{len(cpus)} CPUs ({model or 'unknown'}), Linux "
            f"{platform.release()}; {place}")


def _figure(found, digits=2):
    if not found:
        return "-"
    text = f"{found['value']:.{digits}f}"
    if "low" in found:
        text += f" ({found['low']:.{digits}f}-{found['high']:.{digits}f})"
    return text


def cells(row):
    """A row of the table, as texts."""
    return [row["title"], _figure(row["p50"]), _figure(row["p99"], 1),
            _figure(row["p999"], 1), _figure(row["max"], 1),
            f"{row['worst']:.1f}", str(row["errors"]),
            f"{row['extra_pct']:.2f} %",
            "-" if row["cpu_pct"] is None else f"{row['cpu_pct']:.0f} %",
            f"{row['trusted']} of {row['rounds']}"]


class Report:
    """Collects experiments, then writes all files into a directory."""

    def __init__(self, command):
        self.markdown = ["# Experiments", "", machine(), "",
                         f"Made by `{command}`. Times are client latencies "
                         "in ms, from the instant a request was due; p50, "
                         "p99 and max are medians over iterations, p99.9 is "
                         "of all requests, each with a 95 % interval; worst "
                         "is the slowest request of all rounds. CPU is that "
                         "of the set-up, 100 % is one CPU. A round is good "
                         "if the generator could keep its schedule."]
        self.html = [html.escape(line) for line in self.markdown[2:]]
        self.files = {}
        self.rows = {}

    def add(self, name, plan, rows):
        shown = findings.sentence(name, plan, rows)
        extra = findings.goals(plan, rows) if name == "instead" else \
            findings.delays(rows) if name == "delay" else []
        table = [cells(row) for row in rows]
        self.rows[name] = {"title": plan["title"], "shows": shown,
                           "rows": rows}
        self._markdown(plan, shown, extra, table)
        self._html(plan, shown, extra, table)
        for file, svg, caption in findings.figures_of(name, plan, rows):
            self.files[file] = svg
            self.markdown += ["", f"![{caption}]({file})", "", caption]
            self.html.append(f"<figure>{svg}<figcaption>"
                             f"{html.escape(caption)}</figcaption></figure>")

    def _markdown(self, plan, shown, extra, table):
        self.markdown += ["", f"## {plan['title']}", "", plan["question"]]
        if "paper" in plan:
            self.markdown += ["", plan["paper"]]
        self.markdown += ["", f"**{shown}**", "",
                          "| " + " | ".join(COLUMNS) + " |",
                          "|" + "---|" * len(COLUMNS)]
        self.markdown += ["| " + " | ".join(row) + " |" for row in table]
        if extra:
            self.markdown += [""] + [f"- {line}" for line in extra]

    def _html(self, plan, shown, extra, table):
        def line(tag, values):
            return "<tr>" + "".join(f"<{tag}>{html.escape(v)}</{tag}>"
                                    for v in values) + "</tr>"
        self.html += [f"<h2>{html.escape(plan['title'])}</h2>",
                      f"<p>{html.escape(plan['question'])}</p>"]
        if "paper" in plan:
            self.html.append(f"<p>{html.escape(plan['paper'])}</p>")
        self.html += [f"<p class=\"shows\">{html.escape(shown)}</p>",
                      "<table>", line("th", COLUMNS),
                      *[line("td", row) for row in table], "</table>"]
        if extra:
            self.html += ["<ul>", *[f"<li>{html.escape(text)}</li>"
                                    for text in extra], "</ul>"]

    def write(self, directory):
        out = pathlib.Path(directory)
        out.mkdir(parents=True, exist_ok=True)
        for name, svg in self.files.items():
            (out / name).write_text(svg, encoding="utf-8")
        (out / "README.md").write_text(
            "\n".join(self.markdown) + "\n", encoding="utf-8")
        (out / "results.json").write_text(json.dumps(
            {"schema": "tailor.experiments/1", "machine": machine(),
             "experiments": self.rows}, indent=1) + "\n", encoding="utf-8")
        (out / "report.html").write_text(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
            f"<meta http-equiv=\"Content-Security-Policy\" "
            f"content=\"{POLICY}\"><title>Experiments</title>"
            f"<style>{STYLE}</style></head><body><h1>Experiments</h1>"
            + "\n".join(text if text.startswith("<") else f"<p>{text}</p>"
                        for text in self.html if text)
            + "</body></html>\n", encoding="utf-8")
