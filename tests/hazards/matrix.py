"""The matrix: which cause was reported for which was injected.
"""

import dataclasses
import html
import textwrap

from rig.verdicts import middle


class Matrix:
    """All that was judged, by what was injected."""

    def __init__(self, about):
        self.about = about        # dict: seed, machine, command
        self.rows = {}            # name -> [Finding]
        self.skipped = {}         # name -> why
        self.broken = {}          # name -> what went wrong in between

    def add(self, finding):
        self.rows.setdefault(finding.injected, []).append(finding)

    def codes(self):
        """Every code that was reported, the commonest first."""
        count = {}
        for row in self.rows.values():
            for finding in row:
                count[finding.code] = count.get(finding.code, 0) + 1
        return sorted(count, key=lambda c: (-count[c], c))

    def counts(self, name):
        row = self.rows[name]
        return [sum(t.code == c for t in row) for c in self.codes()]

    def missing(self):
        """What is short of the goal: 19 of 20 right, nothing false."""
        short = [f"{name}: {why}" for name, why in self.broken.items()]
        for name, row in self.rows.items():
            wrong = sum(not t.right for t in row)
            if name == "(nothing)":
                if wrong:
                    short.append(f"{wrong} undisturbed requests were given "
                                 "false causes")
            elif wrong > len(row) // 20:
                short.append(f"{name}: {wrong} of {len(row)} misnamed")
        return short

    def text(self):
        """Two tables of at most 80 columns."""
        codes = self.codes()
        harm = {t.code for name, row in self.rows.items()
                for t in row if name != "(nothing)"}
        rest = [i for i, code in enumerate(codes) if code not in harm]
        letters = [chr(ord("a") + i) for i in range(len(codes))]
        lines = ["Injected against reported: how often each code was the "
                 "verdict.", ""]
        for i in range(0, len(codes), 4):
            lines.append("  ".join(
                f"{letter} {code:15}" for letter, code in
                zip(letters[i:i + 4], codes[i:i + 4])).rstrip())
        counts = {name: self.counts(name) for name in self.rows}
        if len(rest) > 1:  # of undisturbed requests only: one column
            heads = [x for i, x in enumerate(letters) if i not in rest]
            heads.append("+")
            lines.append("+ " + ", ".join(letters[i] for i in rest) +
                         ": reported of no injected hazard")
            counts = {name: [n for i, n in enumerate(row) if i not in rest]
                      + [sum(row[i] for i in rest)]
                      for name, row in counts.items()}
            letters = heads
        widths = [max(len(str(row[i])) for row in counts.values()) + 1
                  for i in range(len(letters))]
        lines += ["", f"{'':17}" + "".join(
            f"{x:>{w}}" for x, w in zip(letters, widths)) + "   right"]
        for name, row in self.rows.items():
            cells = "".join(f"{n or '.':>{w}}"
                            for n, w in zip(counts[name], widths))
            right = sum(t.right for t in row)
            lines.append(f"{name:17}{cells}  {right:3}/{len(row)}")
        lines += ["", "Time reported against time measured by the injector, "
                  "ms.", "",
                  f"{'':17}{'injected':>9}{'reported':>9}{'error':>9}"
                  f"{'largest':>9}   within 5 % or 0.1 ms"]
        for name, row in self.rows.items():
            timed = [t for t in row if t.harm_ns]
            if timed:
                lines.append(self.time_line(name, timed))
        for name, why in self.skipped.items():
            lines += textwrap.wrap(f"{name:17}skipped: {why}", 80,
                                   subsequent_indent=17 * " ")
        return "\n".join(lines)

    @staticmethod
    def time_line(name, timed):
        errors = [t.error_ns for t in timed]
        numbers = [middle([t.harm_ns for t in timed]),
                   middle([t.reported_ns for t in timed]), middle(errors),
                   max(errors, key=abs)]
        return (f"{name:17}" + "".join(f"{n / 1e6:9.2f}" for n in numbers)
                + f"   {sum(t.exact for t in timed):3}/{len(timed)}")

    def wrong(self, name):
        """One line for each of a row that is not right."""
        for t in self.rows.get(name, ()):
            if not t.right:
                sums = ", ".join(f"{code} {ns / 1e6:.1f}" for code, ns in
                                 sorted(t.causes.items(), key=lambda x: -x[1]))
                yield (f"{t.request}: {t.code}"
                       f"{' FALSE ' + ', '.join(t.false) if t.false else ''}"
                       f": {t.text} ({sums} ms)")

    def json(self):
        """Everything, for a program."""
        return {
            "schema": "tailor.hazards/1", **self.about,
            "codes": self.codes(), "skipped": self.skipped,
            "rows": {name: {
                "counts": dict(zip(self.codes(), self.counts(name))),
                "right": sum(t.right for t in row),
                "requests": [{
                    **dataclasses.asdict(t), "error_ns": t.error_ns,
                    "exact": t.exact} for t in row]}
                for name, row in self.rows.items()}}

    def html(self):
        """The same two tables as one page without scripts."""
        codes = self.codes()
        head = "".join(f"<th>{html.escape(c)}</th>" for c in codes)
        body = ""
        for name, row in self.rows.items():
            cells = "".join(
                f'<td style="--s:{n / len(row):.2f}">{n or ""}</td>'
                for n in self.counts(name))
            right = sum(t.right for t in row)
            body += (f"<tr><th>{html.escape(name)}</th>{cells}"
                     f"<td>{right}/{len(row)}</td></tr>\n")
        return PAGE.format(head=head, body=body,
                           text=html.escape(self.text()),
                           about=html.escape(str(self.about)))


PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Injected against reported</title>
<style>
body {{ font: 14px/1.4 system-ui, sans-serif; margin: 2em }}
table {{ border-collapse: collapse }}
th, td {{ border: 1px solid #bbb; padding: .2em .5em; text-align: right }}
th {{ text-align: left; font-weight: 600 }}
td {{ background: rgb(0 114 178 / calc(var(--s, 0) * .5)) }}
</style>
<h1>Injected against reported</h1>
<table><tr><th>injected</th>{head}<th>right</th></tr>
{body}</table>
<pre>{text}</pre><p>{about}</p></html>
"""
