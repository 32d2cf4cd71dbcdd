#!/usr/bin/python3
"""What the project's README says of the experiments, from their results.

    readme.py           puts it between the marks in README.md
    readme.py --check   exit status 1 if it says anything else

The results are those of docs/experiments/results.json, which
`experiment.py --report-to docs/experiments` writes.  So a figure in README
cannot differ from the report's.  Without results nothing may stand there.
"""

import argparse
import json
import pathlib
import sys
import textwrap

from goals import stalled

ROOT = pathlib.Path(__file__).resolve().parents[2]
RESULTS = pathlib.Path("docs/experiments/results.json")
BEGIN = "<!-- from docs/experiments/results.json by readme.py: begin -->\n"
END = "<!-- end -->\n"


def _ms(found, digits=1):
    if not found:
        return "-"
    text = f"{found['value']:.{digits}f}"
    if "low" in found:
        text += f" ({found['low']:.{digits}f}-{found['high']:.{digits}f})"
    return text


def _wrapped(line):
    return textwrap.fill(line, 80, break_long_words=False,
                         break_on_hyphens=False, subsequent_indent="  "
                         if line.startswith("- ") else "")


# What an operator would choose among; all of them are in the report, and
# those that were not measured are left out.
ROWS = {"nothing": "one server, no proxy",
        "ZGC, no proxy": "the same with ZGC",
        "ZGC of the newest JDK, heap of both servers, no proxy":
            "ZGC of the newest JDK, twice the heap",
        "nginx, retry at 20 ms": "nginx, retry at 20 ms",
        "Tailor by signal, agentless": "Tailor",
        "Tailor steering": "Tailor, steering"}
TAILOR = "Tailor by signal, agentless"
STEERING = "Tailor steering"
IDEAL = "nothing, a JVM that never collects"
NEEDED = ("nothing", "ZGC, no proxy", "nginx, retry at 20 ms", TAILOR)
NUMBERS = {12: "twelve", 13: "thirteen", 14: "fourteen"}


def _table(rows):
    """A line each; POST only if it was measured with all."""
    post = all("post" in row for row in rows)
    lines = ["| | p50, ms | p99, ms | p99.9, ms | slowest of 1000, ms "
             "| failed | extra requests |" + " POST p99.9, ms |" * post,
             "|---|---|---|---|---|---|---|" + "---|" * post]
    for row in rows:
        lines.append(
            f"| {ROWS[row['title']]} | {_ms(row['p50'], 2)} "
            f"| {_ms(row['p99'])} | {_ms(row['p999'])} | {_ms(row['max'])} "
            f"| {row['errors']} of {row['requests']} "
            f"| {row['extra_pct']:.2f} % |"
            + (f" {_ms(row['post']['p999'])} |" if post else ""))
    return lines


def fragments(results):
    """The lines of README between the first marks, and the second."""
    instead = results["experiments"].get("instead")
    rows_of = {row["title"]: row for row in instead["rows"]} if instead else {}
    if not all(title in rows_of for title in NEEDED):
        return "", ""
    ways = NUMBERS.get(len(rows_of), len(rows_of))
    direct, tailor = rows_of["nothing"], rows_of[TAILOR]
    rows = [rows_of[title] for title in ROWS if title in rows_of]
    where = results["machine"]
    lead = (f"Two Lucene servers, unmodified JVMs: p99.9 **"
            f"{direct['p999']['value']:.0f} ms without Tailor, "
            f"{tailor['p999']['value']:.0f} ms with it**, for "
            f"{tailor['extra_pct']:.2f} % extra requests")
    steering = rows_of.get(STEERING)
    lead += (f"; {steering['p999']['value']:.0f} ms with steering, for "
             f"{steering['extra_pct']:.2f} %." if steering else ".")
    ideal, shaken = rows_of.get(IDEAL), ""
    if stalled(ideal):
        shaken = (" The machine itself stalled now and then: with a JVM that "
                  f"never collects p99.9 was {ideal['p999']['value']:.0f} ms.")
    table = [*_table(rows), "",
             _wrapped(f"`{results['command']}`, {where['cpus']} CPUs "
                      f"({where['model']}), {where['measured']}; in brackets "
                      "95 % intervals; slowest of 1000: the median of the "
                      f"iterations.{shaken} [All {ways} "
                      "set-ups, and where Tailor was not better]"
                      "(docs/experiments/README.md).")]
    return _wrapped(lead) + "\n", "\n".join(table) + "\n"


def put(text, said):
    """README's text with the two fragments between its marks."""
    out = ""
    for one in said:
        before, begin, rest = text.partition(BEGIN)
        _, end, text = rest.partition(END)
        if not begin or not end:
            sys.exit(f"README.md lacks twice the lines {BEGIN!r} and {END!r}")
        out += before + begin + one + end
    return out + text


def main():
    p = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    p.add_argument("--check", action="store_true")
    p.add_argument("--root", type=pathlib.Path, default=ROOT)
    o = p.parse_args()
    readme, source = o.root / "README.md", o.root / RESULTS
    text = readme.read_text(encoding="utf-8")
    said = "", ""
    if source.exists():
        said = fragments(json.loads(source.read_text(encoding="utf-8")))
    wanted = put(text, said)
    if wanted == text:
        return 0
    if o.check:
        print(f"README.md does not say what {RESULTS} does; run "
              "examples/experiments/readme.py", file=sys.stderr)
        return 1
    readme.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
