"""Goal: every command of README, documents and manual pages is one that can be
typed: no program says that it is wrong usage, or has no such target.  What a
page shows as printed has the form that is printed today."""

import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess

import pytest

from rig.message import response
from support.admin import Admin, http

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = ("tailor", "tailorctl", "tailor-load")
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("docs/lab/*.md"),
         *ROOT.glob("docs/*.scd"), *ROOT.glob("examples/*/README.md"),
         ROOT / "debian/README.Debian", *ROOT.glob("docs/experiments/README.md")]
BEGIN = re.compile(r"^(?:\$ )?(?:sudo )?((?:build/)?(?:tailor|tailorctl|"
                   r"tailor-load)|make|tools/[a-z-]+)(?= |$)")
ENOUGH_S = 2  # those that follow are ended: wrong usage is said at once
WRONG_USAGE = 2


def lines(text):
    """Lines of code: indented, between fences, or after ++ of a manual page."""
    fenced = more = False
    for line in text.splitlines():
        if line.startswith("```"):
            fenced = not fenced
        elif fenced or line.startswith(("    ", "\t")) or more:
            yield line.strip().removesuffix("++")
        more = line.endswith("++")


def commands(path):
    """(text, words) of each command in a page, comments removed."""
    text = path.read_text()
    found = list(lines(re.sub(r" ?\\\n\s*", " ", text)))
    for span in re.findall(r"(?<!`)`([^`]+)`(?!`)", text):
        if span.startswith("make") or len(span.split()) > 2:  # no mere name
            found.append(" ".join(span.split()))
    for line in found:
        if not BEGIN.match(line) or "[" in line.split("'")[0]:
            continue  # a synopsis
        line = re.split(r" (?:\||&&)|;|(?<= )>", line)[0]
        words = shlex.split(line.removeprefix("$ ").removeprefix("sudo "),
                            comments=True)
        if not {"...", "…"} & set(words):
            yield line, words


def every():
    return {tuple(words): f"{path.relative_to(ROOT)}: {line}"
            for path in PAGES for line, words in commands(path)}


def printed(path, command):
    """The lines that a page shows below "$ command", until one that is empty,
    each joined with those indented below it; not "[...]"."""
    found = re.search(rf"^    \$ (?:sudo )?build/{command}.*\n((?:    .+\n)+)",
                      path.read_text(), re.M)
    text = re.sub(r"\n {5,}", " ", "\n" + found.group(1))
    return [re.sub(r" +", " ", line.strip()) for line in text.splitlines()
            if line.strip() not in ("", "[...]")]


def form(line):
    """A line without its numbers and a server's name."""
    return re.sub(r"[-+]?\d[\d.]*", "N", line).replace("server A", "server a")


def test_printed_verdict():
    # Goal: README's request is explained as those of the suite are.
    told = set()
    for path in (ROOT / "tests/unit/talechain/scenarios").glob("*.json"):
        verdict = json.loads(path.read_text()).get("verdict", {})
        told |= {form(verdict.get("text", "")),
                 *(form(f"evidence: {one}") for one in verdict.get("evidence", ()))}
    lines = printed(ROOT / "README.md", "tailorctl why")
    assert len(lines) == 3, lines
    assert form(lines[0]) in told and form(lines[2]) in told, lines
    words = (ROOT / "talechain/words/verdict.c").read_text()
    assert lines[1].removeprefix("confidence: ") in words, lines[1]


def test_enough_are_found():
    # Goal: the reader of pages reads them.
    found = " ".join(every().values())
    for part in ("--watch", "tailorctl deploy", "make demo", "tailorctl blame",
                 "tailor-load ab", "tools/install-deps", "tailor shim --cpu"):
        assert part in found, part


@pytest.mark.parametrize("words, where", [
    (words, where) for words, where in every().items()
    if words[0] == "make" or words[0].startswith("tools/")], ids=str)
def test_targets_and_tools(words, where):
    # Goal: a target of make is one, with these variables; a tool exists.
    if words[0] == "make":
        run = subprocess.run(["make", "-n", *words[1:]], cwd=ROOT, text=True,
                             capture_output=True, check=False,
                             env={**os.environ, "MAKEFLAGS": ""})
        assert run.returncode == 0, (where, run.stderr[-500:])
    else:
        assert os.access(ROOT / words[0], os.X_OK), where


def test_programs(build, scratch, tailor, upstream):
    # Goal: no program says that a documented command is wrong usage.
    server = upstream("a").serve(lambda _: response(200, b"a"))
    t = tailor(server, slow={"target": "0"})
    name = t.get().get("x-request-id")
    stub = Admin(scratch / "stub.sock")  # it refuses all: nothing is restarted
    stub.answers["GET /servers"] = http(200, '{"servers": []}')

    def typed(words):
        program = pathlib.Path(words[0]).name
        rest = [re.sub(r"http://[^/]+/", f"http://{server.address}/", word)
                for word in words[1:]]
        rest = [name if re.fullmatch(r"ID|[0-9a-f]{16}", word) else word
                for word in rest]
        admin = stub.path if "deploy" in rest or "switch" in rest else t.admin
        if program == "tailor" and rest[0] == "borrow":
            rest.insert(1, "--dry-run")
        elif program == "tailor" and "shim" not in rest[:1]:
            rest.append("-t")
        with subprocess.Popen(
                [build / program, *rest], cwd=scratch, text=True,
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                env={**os.environ, "TAILOR_ADMIN": str(admin),
                     "COLUMNS": "200"}) as child:
            try:
                said = child.communicate(timeout=ENOUGH_S)[1]
            except subprocess.TimeoutExpired:
                child.terminate()
                return 0, child.communicate()[1]
            return child.returncode, said

    todo = {words: where for words, where in every().items()
            if pathlib.Path(words[0]).name in PROGRAMS}
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        results = dict(zip(todo, pool.map(typed, todo)))
    stub.stop()
    for words, (status, said) in results.items():
        wrong = 125 if "borrow" in words else WRONG_USAGE
        # A machine may have fewer CPUs than the example's.
        assert status != wrong or "may be used here" in said, (todo[words], said)
        assert "unknown key" not in said, (todo[words], said)
