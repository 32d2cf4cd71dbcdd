"""What tests found: read from TAP and JUnit, kept, compared and printed.

A Result has an outcome for each test by name: "passed", "failed", "skipped" or
"unsteady" (failed, then passed when run again), and what was said about it.
"""

import json
import pathlib
import re
import xml.etree.ElementTree

OUTCOMES = ("passed", "failed", "skipped", "unsteady")
SANITIZER = re.compile(r"(Address|Leak|Thread)Sanitizer|runtime error:")


class Result:
    """Outcomes of tests.  final: a sanitizer reported something, so that
    running it again proves nothing."""

    def __init__(self):
        self.outcomes = {}
        self.words = {}  # test -> lines: why it failed or was skipped
        self.final = False

    def add(self, test, outcome, words=()):
        """One more; a name that is there already gets a number."""
        name, n = test, 1
        while name in self.outcomes:
            n += 1
            name = f"{test} #{n}"
        self.outcomes[name] = outcome
        if words:
            self.words[name] = list(words)

    def join(self, other):
        for test, outcome in other.outcomes.items():
            self.add(test, outcome, other.words.get(test, ()))
        self.final |= other.final

    def which(self, outcome):
        return [t for t, o in self.outcomes.items() if o == outcome]

    def count(self, outcome):
        return len(self.which(outcome))

    def again(self, second):
        """Correct it by a second run of what failed; what is absent there,
        like a death, did not come again."""
        for test in self.which("failed"):
            if second.outcomes.get(test, "passed") == "passed":
                self.outcomes[test] = "unsteady"
        for test, outcome in second.outcomes.items():
            if test not in self.outcomes:
                self.add(test, outcome, second.words.get(test, ()))
            elif outcome == "failed":
                self.outcomes[test] = outcome
        self.final |= second.final

    def save(self, path, **more):
        pathlib.Path(path).write_text(json.dumps(
            {**more, "outcomes": self.outcomes, "words": self.words},
            indent=1) + "\n", encoding="utf-8")


def load(path, **wanted):
    """(Result, the whole file) as saved; None if it is not there or differs
    from what is wanted of it."""
    try:
        kept = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if any(kept.get(key) != value for key, value in wanted.items()):
        return None
    result = Result()
    result.outcomes, result.words = kept["outcomes"], kept["words"]
    return result, kept


TAP = re.compile(r"^(not ok|ok) \d+(?: - (.*?))?(?: ?# SKIP ?(.*))?$")


def read_tap(name, status, output):
    """The results in TAP lines; a death without one is a failure too."""
    result = Result()
    planned, seen, said, words = 0, 0, [], []
    spoken = SANITIZER.search(output)
    result.final = spoken is not None
    for line in output.splitlines():
        plan = re.match(r"1\.\.(\d+)$", line)
        match = TAP.match(line)
        if plan:
            planned += int(plan[1])
        elif match:
            seen += 1
            test = f"{name}: {match[2] or match[3]}"
            if match[3] is not None:
                result.add(test, "skipped", [" ".join(said) or "no reason"])
            elif match[1] == "ok":
                result.add(test, "passed")
            else:
                result.add(test, "failed", words)
            said, words = [], []
        elif line.startswith("# "):
            words = (words + [line[2:]])[-8:]
        elif line.strip():
            said = (said + [line.strip()])[-2:]
    if not result.which("failed") and (status != 0 or seen != planned):
        result.add(f"{name}: exit status {status} after {seen} of {planned} "
                   "tests", "failed",
                   output[spoken.start():].splitlines()[:12] if spoken
                   else output.splitlines()[-8:])
    return result


def read_junit(path):
    """The results in pytest's report."""
    result = Result()
    for case in xml.etree.ElementTree.parse(path).iter("testcase"):
        # Without a class: pytest itself, which was interrupted.
        file = (case.get("classname") or "pytest").split(".")[-1]
        name = f"{file}: {case.get('name')}"
        bad = [*case.findall("failure"), *case.findall("error")]
        skipped = case.find("skipped")
        if bad:
            text = "".join(b.text or "" for b in bad)
            result.final |= SANITIZER.search(text) is not None
            result.add(name, "failed", [
                line for line in text.splitlines()
                if line.startswith(("E  ", "tests/"))][:20])
        elif skipped is not None:
            result.add(name, "skipped", [skipped.get("message") or ""])
        else:
            result.add(name, "passed")
    return result


def row(name, result, seconds, note=""):
    """One line for a part."""
    counts = "".join(f"{result.count(o):6} {o}" for o in OUTCOMES)
    return f"{name:16}{counts} {seconds:8.1f} s{note}"


PROGRESS = re.compile(r"  [A-Z]{2,5} +\S+$|\$ |ok \d+|\s*$")


def print_failures(result, log):
    """What failed with the reasons, and the end of the log."""
    for test in result.which("failed"):
        print(f"    FAILED {test}")
        for line in result.words.get(test, ()):
            print(f"        {line}")
    if result.count("failed"):
        lines = pathlib.Path(log).read_text(errors="replace").splitlines()
        print(f"    the end of {log}:")
        for line in [line for line in lines
                     if not PROGRESS.match(line)][-40:]:
            print(f"    | {line}", flush=True)


def print_differences(rounds):
    """Each test that was not passed, or skipped, every time; how many."""
    found = 0
    tests = dict.fromkeys(t for result in rounds for t in result.outcomes)
    for test in tests:
        outcomes = [r.outcomes.get(test, "absent") for r in rounds]
        if set(outcomes) in ({"passed"}, {"skipped"}):
            continue
        found += 1
        counts = ", ".join(f"{outcomes.count(o)} {o}"
                           for o in dict.fromkeys(outcomes))
        print(f"    {test}: {counts}")
        words = next((r.words[test] for r in rounds if test in r.words), ())
        for line in words[:6]:
            print(f"        {line}")
    return found
