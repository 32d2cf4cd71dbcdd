#!/usr/bin/python3
"""What the project's README says of the experiments, from their results.

    readme.py           puts it between the two marks in README.md
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

ROOT = pathlib.Path(__file__).resolve().parents[2]
RESULTS = pathlib.Path("docs/experiments/results.json")
BEGIN = "<!-- from docs/experiments/results.json by readme.py: begin -->\n"
END = "<!-- end -->\n"
FOR_README = ("thesis", "instead", "slow-queries", "restart")


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


def _table(rows):
    """What one would use instead, a line each."""
    lines = ["| set-up | p50, ms | p99, ms | p99.9, ms | slowest, ms "
             "| failed | extra requests | CPU |",
             "|---|---|---|---|---|---|---|---|"]
    for row in rows:
        cpu = row["cpu_pct"]
        lines.append(
            f"| {row['title']} | {_ms(row['p50'], 2)} | {_ms(row['p99'])} "
            f"| {_ms(row['p999'])} | {row['worst']:.1f} | {row['errors']} "
            f"of {row['requests']} | {row['extra_pct']:.2f} % "
            f"| {'-' if cpu is None else f'{cpu:.0f} %'} |")
    return lines


def fragment(results):
    """The lines of README between the marks."""
    where, size = results["machine"], results["size"]
    out = [f"`{results['command']}` on {where['cpus']} CPUs "
           f"({where['model']}), {where['measured']}; "
           "[the whole report](docs/experiments/README.md)."]
    if size != "full":
        out[0] += f" Size {size}: a part of what a full run measures."
    out.append("")
    instead = results["experiments"].get("instead")
    if instead:
        out += [*_table(instead["rows"]), "",
                "In brackets 95 % intervals; p99.9 and slowest are of all "
                "requests.", ""]
    out += [f"- **{found['title']}.** {found['shows']}"
            for name, found in results["experiments"].items()
            if name in FOR_README]
    if results["goals"]:
        out += ["", "The project's goals (what was measured is in the report):",
                ""]
        out += [f"- {goal['text']}: **{goal['state']}**"
                for goal in results["goals"]]
    return "\n".join(line if line.startswith("|") else _wrapped(line)
                     for line in out) + "\n"


def put(text, said):
    """README's text with said between its marks."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        sys.exit(f"README.md lacks the lines {BEGIN!r} and {END!r}")
    return before + begin + said + end + after


def main():
    p = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    p.add_argument("--check", action="store_true")
    p.add_argument("--root", type=pathlib.Path, default=ROOT)
    o = p.parse_args()
    readme, source = o.root / "README.md", o.root / RESULTS
    text = readme.read_text(encoding="utf-8")
    said = ""
    if source.exists():
        said = fragment(json.loads(source.read_text(encoding="utf-8")))
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
