"""The report: one HTML page, the same in Markdown, raw rows as JSON."""

import html
import json
import os
import pathlib
import platform
import re
import subprocess
import time

import findings
from findings import many
from shared import capacity
from versions import versions

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:"
STYLE = ("body{font:15px/1.5 system-ui,sans-serif;max-width:64rem;"
         "margin:1.5rem auto;padding:0 1rem;color:#222;background:#fff}"
         "table{border-collapse:collapse;font-variant-numeric:tabular-nums;"
         "font-size:14px;margin:.8rem 0}"
         "td,th{padding:.15rem .5rem;text-align:right;vertical-align:bottom;"
         "border-bottom:1px solid #8884}td:first-child,th:first-child,"
         ".text td,.text th{text-align:left}.text td{vertical-align:top}"
         ".numbers td+td{white-space:nowrap}.wide{overflow-x:auto}"
         "small{color:#666}td{vertical-align:top}"
         "figure{margin:1.2rem 0}figcaption{color:#555}"
         "svg{width:100%;height:auto;background:#fff}"
         "code{background:#eee;padding:.1rem .3rem}"
         ".met{color:#00664a}.missed{color:#b30000;font-weight:600}"
         ".shows{font-weight:600}.warning{border-left:4px solid #d55e00;"
         "padding-left:.7rem}"
         # the figures' lightness is turned round, their hues are not
         "@media(prefers-color-scheme:dark){body{color:#ddd;"
         "background:#14171a}small,figcaption{color:#aaa}"
         "code{background:#2a2f36}a{color:#7cc4ff}.met{color:#4cc38a}"
         ".missed{color:#ff7a6b}"
         "svg{filter:invert(.92) hue-rotate(180deg)}}")
COLUMNS = ("set-up", "requests", "p50, ms", "p99, ms", "p99.9, ms", "max, ms",
           "slowest, ms", "failed", "extra", "CPU", "JVM pauses, longest",
           "good figures")
POST_COLUMNS = ("POST p99.9, ms", "POST slowest, ms")
READING = ("Times are client latencies from the instant a request was due. "
           "p50, p99 and max (the slowest request) are medians over "
           "iterations, p99.9 is over all requests; 95 % intervals are in "
           "brackets (that of p99.9 is optimistic, as requests that meet "
           "the same pause are not independent). Slowest is over all rounds. "
           "Extra counts requests to the servers beyond the clients'. CPU is "
           "that of all processes of the set-up except the generator; 100 % "
           "is one CPU. JVM pauses come from the logs of all JVMs of the "
           "set-up. A latency is good if the generator's own lateness can "
           "have added less than 5 % or 50 us to it. For the others the "
           "table has the range that a generator which is never late would "
           "have found; a latency is doubtful if that range is more than "
           "half of it. A set-up is saturated if its p50 is over five times "
           "that of requests sent one after the other, or if less than 90 % "
           "of the rate was achieved, in more than a quarter of the iterations. "
           "POST is the same load, made afterwards, with requests "
           "that a proxy should not send twice; below it are the numbers of "
           "requests that were sent twice, and that failed.")
SIZE_WORDS = {
    "short": "A first look: few requests and a small young generation. It "
             "shows that everything works; its figures prove nothing.",
    "medium": "Part of the set-ups and rounds; the full run continues from "
              "here.",
    "full": ""}


def kernel():
    """Its release, and how preemptible it runs, if its log still says so: with
    none even a real-time generator waits for what another thread does there."""
    try:
        log = subprocess.run(["dmesg"], capture_output=True, text=True,
                             errors="replace", check=False).stdout
    except OSError:
        log = ""
    found = re.search(r"Dynamic Preempt: (\w+)", log)
    return platform.release() + (f" (preempt={found[1]})" if found else "")


def machine(words, build):
    """Where it runs, to be kept beside the results."""
    model = ""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    return {"cpus": len(os.sched_getaffinity(0)), "model": model or "unknown",
            "kernel": kernel(), "placement": words,
            "versions": versions(build),
            "measured": time.strftime("%Y-%m-%d")}


def write_machine(directory, words, cpus, build):
    """As part of a measurement."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "machine.json").write_text(
        json.dumps({**machine(words, build), "cpus": cpus}) + "\n",
        encoding="utf-8")


def read_machine(directory):
    """{} if nothing was measured there."""
    path = pathlib.Path(directory, "machine.json")
    return json.loads(path.read_text(encoding="utf-8")) \
        if path.exists() else {}


def _figure(found, digits=2):
    if not found:
        return "-"
    text = f"{found['value']:.{digits}f}"
    if "low" in found:
        text += f"\n({found['low']:.{digits}f}-{found['high']:.{digits}f})"
    return text


def cells(row):
    """A row of the table, as texts; what follows a line's end is small."""
    pauses = row["pauses"]
    title = row["title"] + (
        f"\n{capacity.SATURATED}" if row["saturated"] else "")
    return [title, str(row["requests"]),
            _figure(row["p50"]), _figure(row["p99"], 1),
            _figure(row["p999"], 1), _figure(row["max"], 1),
            f"{row['worst']:.1f}", str(row["errors"]),
            f"{row['extra_pct']:.2f} %",
            "-" if row["cpu_pct"] is None else f"{row['cpu_pct']:.0f} %",
            f"{len(pauses)}\n({pauses[-1]:.1f} ms)" if pauses else "none",
            findings.not_good(row)]


def post_cells(row):
    """Cells of POST_COLUMNS."""
    post = row.get("post")
    if not post:
        return ["-", "-"]
    amiss = [f"{post[name]:.0f} {words}" for name, words in
             (("extra", "sent twice"), ("errors", "failed")) if post[name]]
    return [_figure(post["p999"], 1), "\n(".join(
        [f"{post['worst']:.1f}"] + ([", ".join(amiss) + ")"] if amiss
                                    else []))]


def basis(plan):
    """How many requests each percentile of a plan's set-ups rests on."""
    rounds = plan["rounds"] - plan.get("left_out", 0) or 1
    each = plan["requests"]
    whole = rounds * plan["iterations"] * each
    return (f"{many(rounds, 'round')} of {plan['iterations']} iterations of "
            f"{each} requests, {plan['rate_per_s']} requests/s unless "
            "stated otherwise, Poisson arrivals. "
            + ("As in the thesis the first round is made and left out. "
               if rounds < plan["rounds"] else "")
            + f"{each // 100} of an iteration's requests are above its p99, "
            f"{whole // 1000} of all {whole} above the p99.9 (in each "
            "set-up)."
            + (f" By POST: {many(plan['post'], 'iteration')} a round."
               if "post" in plan else ""))


def generator(rows):
    """What its lateness cost."""
    trusts = [found["trust"] for row in rows
              for found in row["figures"].values()]
    lags = [row["lag_p99"]["value"] for row in rows if row.get("lag_p99")]
    text = (f"Load generator: {trusts.count('good')} of {len(trusts)} "
            "latencies are good")
    if lags:
        text += (f"; the p99 of its own lateness, median over iterations, "
                 f"was {1000 * max(lags):.0f} us at most")
    return text + "."


class Both:
    """A text that grows as HTML and as Markdown alike."""

    def __init__(self):
        self.html, self.markdown = [], []

    def heading(self, level, text, anchor=""):
        mark = f' id="{html.escape(anchor)}"' if anchor else ""
        self.html.append(f"<h{level}{mark}>{html.escape(text)}</h{level}>")
        self.markdown += [f"{'#' * level} {text}", ""]

    def text(self, text, kind=""):
        mark = f' class="{kind}"' if kind else ""
        self.html.append(f"<p{mark}>{html.escape(text)}</p>")
        self.markdown += [f"**{text}**" if kind == "shows" else text, ""]

    def command(self, text):
        self.html.append(f"<p>Made by <code>{html.escape(text)}</code></p>")
        self.markdown += [f"Made by `{text}`", ""]

    def table(self, head, rows, kind=""):
        def cell(tag, text):
            first, _, small = html.escape(text).partition("\n")
            if small:
                first += f"<br><small>{small}</small>"
            mark = f' class="{text}"' if text in ("met", "missed") else ""
            return f"<{tag}{mark}>{first}</{tag}>"

        def line(tag, values):
            return "<tr>" + "".join(cell(tag, v) for v in values) + "</tr>"
        self.html += [f'<div class="wide"><table class="{kind}">',
                      line("th", head), *[line("td", row) for row in rows],
                      "</table></div>"]
        self.markdown += ["| " + " | ".join(row).replace("\n", " ") + " |"
                          for row in (head, ["---"] * len(head), *rows)]
        self.markdown.append("")

    def items(self, lines):
        self.html += ["<ul>", *[f"<li>{html.escape(line)}</li>"
                                for line in lines], "</ul>"]
        self.markdown += [*[f"- {line}" for line in lines], ""]

    def figure(self, file, svg, caption):
        self.html.append(f"<figure>{svg}<figcaption>{html.escape(caption)}"
                         "</figcaption></figure>")
        self.markdown += [f"![{caption}]({file})", "", caption, ""]

    def links(self, links):
        """[(anchor, title, text)]"""
        self.html += ["<ul>", *[
            f'<li><a href="#{html.escape(anchor)}">{html.escape(title)}</a>: '
            f"{html.escape(text)}</li>" for anchor, title, text in links],
            "</ul>"]
        self.markdown += [*[f"- {title}: {text}" for _, title, text in links],
                          ""]

    def add(self, other):
        self.html += other.html
        self.markdown += other.markdown


class Report:
    """Collects experiments, then writes all files into a directory."""

    def __init__(self, command, size):
        self.command, self.size = command, size
        self.body = Both()
        self.files, self.rows, self.goals, self.lacks = {}, {}, [], 0

    def add(self, name, plan, rows, failures=()):
        """An experiment's rows; failures says what could not be measured."""
        shown = findings.sentence(name, plan, rows)
        self.rows[name] = {"title": plan["title"], "shows": shown,
                           "rows": rows}
        body = self.body
        body.heading(2, plan["title"], name)
        body.text(plan["question"])
        if "paper" in plan:
            body.text(plan["paper"])
        body.text(shown, "shows")
        body.text(basis(plan))
        lines = [COLUMNS, *map(cells, rows)]
        if any("post" in row for row in rows):
            more = [POST_COLUMNS, *map(post_cells, rows)]
            # beside the other latencies
            lines = [[*line[:7], *post, *line[7:]]
                     for line, post in zip(lines, more)]
        body.table(lines[0], lines[1:], "numbers")
        body.text(generator(rows))
        beside = findings.beside_thesis(name, plan, rows)
        if beside:
            body.heading(3, "The thesis's figures and these")
            body.table(findings.BESIDE, beside, "text")
        lines = [*failures, *findings.notes(rows)]
        if lines:
            body.items(lines)
        for file, svg, caption in findings.figures_of(name, plan, rows):
            self.files[file] = svg
            body.figure(file, svg, caption)

    def add_timeline(self, name, row, cells):
        """That of a row's slowest request, if Tailor told it."""
        for cell in cells:
            path = cell.directory / "worst.txt"
            if row["slowest"].get("why") and path.exists() and cell.done() \
                    and cell.read()["slowest"] == row["slowest"]:
                row["timeline"] = f"{name}-{row['key']}-slowest.txt"
                self.files[row["timeline"]] = path.read_text(encoding="utf-8")

    def add_goal(self, goal):
        self.goals.append(goal)

    def lacking(self, count):
        self.lacks = count

    def _head(self, where):
        head = Both()
        head.heading(1, "Experiments")
        if where:
            head.text(f"{where['cpus']} CPUs ({where['model']}), Linux "
                      f"{where['kernel']}, measured {where['measured']}. "
                      f"Placement: {where['placement']}.")
            if where.get("versions"):
                head.text(f"Versions: {', '.join(where['versions'])}.")
        head.command(self.command)
        if SIZE_WORDS[self.size]:
            head.text(SIZE_WORDS[self.size], "warning")
        if self.lacks:
            head.text(f"Incomplete: {many(self.lacks, 'cell')} "
                      "missing.", "warning")
        if self.goals:
            head.heading(2, "Goals")
            head.table(("goal", "", "measured"), self.goals, "text")
        head.heading(2, "What each shows")
        head.links([(name, found["title"], found["shows"])
                    for name, found in self.rows.items()])
        head.heading(2, "How to read it")
        head.text(READING)
        return head

    def _results(self, where):
        """All rows, a line each, so that versions can be compared."""
        head = json.dumps(
            {"schema": "tailor.experiments/2", "machine": where,
             "command": self.command, "size": self.size,
             "goals": [goal._asdict() for goal in self.goals]}, indent=1)
        parts = []
        for name, found in self.rows.items():
            rows = ",\n".join(
                json.dumps({k: v for k, v in row.items()
                            if k != "server_tail" or name == "thesis"})
                for row in found["rows"])
            parts.append(f'{json.dumps(name)}: {{"title": '
                         f'{json.dumps(found["title"])}, "shows": '
                         f'{json.dumps(found["shows"])}, "rows": [\n{rows}]}}')
        return head[:-2] + ',\n "experiments": {\n' + ",\n".join(parts) \
            + "}}\n"

    def write(self, directory, where):
        """All files; where is what read_machine() gave."""
        out = pathlib.Path(directory)
        out.mkdir(parents=True, exist_ok=True)
        whole = self._head(where)
        whole.add(self.body)
        for name, svg in self.files.items():
            (out / name).write_text(svg, encoding="utf-8")
        (out / "README.md").write_text(
            "\n".join(whole.markdown).rstrip() + "\n", encoding="utf-8")
        (out / "results.json").write_text(self._results(where),
                                          encoding="utf-8")
        (out / "report.html").write_text(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
            "<meta name=\"viewport\" content=\"width=device-width\">"
            f"<meta http-equiv=\"Content-Security-Policy\" "
            f"content=\"{POLICY}\"><title>Tailor: experiments</title>"
            f"<style>{STYLE}</style></head><body>"
            + "\n".join(whole.html) + "</body></html>\n", encoding="utf-8")
