"""The table: services against hazards, and what was not right.
"""

import dataclasses

from rig.verdicts import middle

OUTCOMES = ("right", "both", "wrong", "unseen", "plain")
CALM = "(nothing)"
NAME = 13  # columns of a hazard's name


def cell(row):
    """'20', '19x1' (one wrong), '12?8' (eight not observed or plain), '18+2'
    (two named second, after what took as long)."""
    count = {o: sum(f.outcome == o for f in row) for o in OUTCOMES}
    rest = count["unseen"] + count["plain"]
    return (f"{count['right']}"
            + (f"+{count['both']}" if count["both"] else "")
            + (f"x{count['wrong']}" if count["wrong"] else "")
            + (f"?{rest}" if rest else ""))


class Results:
    """All that was judged, by service/hazard."""

    def __init__(self, about, services, hazards):
        self.about = about        # dict: seed, machine
        self.services, self.hazards = services, hazards
        self.rows = {}            # service/hazard -> [Finding]
        self.skipped = {}         # service or service/hazard -> why
        self.broken = {}          # service/hazard -> what went wrong
        self.calm = {}            # service -> [Finding], of which p50, p99
        self.seen = {}            # request -> (thread, begin, end)
        self.opinions = {}        # service/hazard -> tool -> (agrees, of)
        self.latency = {}         # service -> [ns] of undisturbed requests

    def add(self, finding):
        if finding.injected != CALM:
            self.rows.setdefault(finding.injected, []).append(finding)

    def row(self, service, hazard):
        return self.rows.get(f"{service}/{hazard}", [])

    def findings(self):
        return [f for row in self.rows.values() for f in row]

    def sums(self):
        """Outcome -> how many of all injections."""
        return {o: sum(f.outcome == o for f in self.findings())
                for o in OUTCOMES}

    def _groups(self):
        """The services, as many at a time as fit beside the hazards."""
        group, width = [], NAME
        for service in self.services:
            width += self._width(service)
            if width > 80:
                yield group
                group, width = [], NAME + self._width(service)
            group.append(service)
        yield group

    @staticmethod
    def _width(service):
        return max(7, len(service) + 1)

    def _grid(self, write):
        lines = []
        for group in self._groups():
            lines += [""] if lines else []
            lines.append(f"{'':{NAME}}" + "".join(
                f"{s:>{self._width(s)}}" for s in group))
            for hazard in self.hazards:
                cells = {s: write(self.row(s, hazard)) for s in group}
                if any(cells.values()):
                    lines.append(f"{hazard:{NAME}}" + "".join(
                        f"{c or '-':>{self._width(s)}}"
                        for s, c in cells.items()))
        return lines

    def text(self):
        """Tables of at most 80 columns."""
        sums = self.sums()
        total = sum(sums.values()) or 1
        lines = ["Named right; +: second, after what took as long; x: named "
                 "wrong;", "?: not observed, or true and saying less.", ""]
        lines += self._grid(lambda row: row and cell(row))
        lines += ["", "Within 5 % or 0.1 ms of the truth, of those named "
                  "right.", ""]
        lines += self._grid(self._exact)
        lines += ["", f"{total} injections: {sums['right']} right, "
                  f"{sums['both']} second of two, {sums['wrong']} wrong",
                  f"({100 * sums['wrong'] / total:.2f} %), {sums['unseen']} "
                  f"not observed, {sums['plain']} without a cause."]
        lines += self._undisturbed()
        if self.opinions:
            tools = sorted({t for row in self.opinions.values() for t in row})
            lines += ["", "Of those named right, these have the same:",
                      f"{'':22}" + "".join(f"{t:>12}" for t in tools)]
            lines += [f"{name:22}" + "".join(
                f"{'/'.join(map(str, row.get(t, '-'))):>12}" for t in tools)
                for name, row in self.opinions.items()]
        for name, why in sorted({**self.skipped, **self.broken}.items()):
            lines.append(f"{name}: {' '.join(why.split())[:60]}")
        return "\n".join(lines)

    @staticmethod
    def _exact(row):
        timed = [f for f in row if f.right and f.harm_ns]
        return timed and f"{sum(f.exact for f in timed)}/{len(timed)}"

    def _undisturbed(self):
        if not self.calm:
            return []
        lines = ["", "Undisturbed requests: how many, their p50 and p99, ms; "
                 "tales judged;", "those with a cause that was not there."]
        for service, ns in self.latency.items():
            if not ns:
                continue
            ns = sorted(ns)
            row = self.calm[service]
            false = [f for f in row if f.false]
            lines.append(
                f"{service:13}{len(ns):6}{middle(ns) / 1e6:8.2f}"
                f"{ns[len(ns) * 99 // 100] / 1e6:8.2f}{len(row):6}"
                f"{len(false):4}")
        return lines

    def misses(self):
        """One line for each kind of wrong name: how often, and its text."""
        seen = {}
        for f in self.findings():
            if f.outcome == "wrong" or f.false:
                seen.setdefault((f.injected, f.code), []).append(f)
        for (name, code), row in seen.items():
            yield f"{name}: {len(row)} x {code}: {row[0].text}"

    def json(self):
        """Everything, for a program."""
        return {"schema": "tailor.foreign/1", **self.about,
                "skipped": self.skipped, "broken": self.broken,
                "sums": self.sums(), "opinions": self.opinions,
                "latency_ns": self.latency,
                "undisturbed": {s: [dataclasses.asdict(f) for f in row]
                                for s, row in self.calm.items()},
                "rows": {name: [{**dataclasses.asdict(f),
                                 "outcome": f.outcome, "exact": f.exact}
                                for f in row]
                         for name, row in self.rows.items()}}
