#!/usr/bin/python3
"""Runs every fuzz target for some CPU time and sums up.

    tests/fuzz/fuzz.py --build build-fuzz [--seconds 10] [NAME...]
    tests/fuzz/fuzz.py --build build-asan --kept --tap

A target is tests/fuzz/FOLDER/fuzz_*.c, its seeds are in corpus/ (of the HTTP
gates: the unit tests' corpus) and its words (.dict) beside it.  What it finds
anew stays in BUILD/fuzz/FOLDER/NAME.found and is where the next run begins.
As many run at a time as there are CPUs, at low priority: what counts is the
CPU time that a target has had, so that a busy machine makes it later and not
shorter.  A line is printed when one is done, and a table at the end: CPU
seconds, how many inputs were tried, how much of the program they reached, how
many new ones reach more, and findings: inputs that crashed, hung or used too
much memory.  --uncovered says which functions of the folder no input has
reached.  --tap speaks TAP.

--kept tries each kept input once and nothing else, with any build that has the
sanitizers (there a target is linked with replay.c in place of libFuzzer).
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = ROOT / "tests/fuzz"
sys.path.insert(0, str(ROOT / "tests"))

from rig import suite  # noqa: E402

HANG_S = 25   # of the clock, that an input may take
SLACK_S = 120  # for reading the corpus, on a slow machine
STARVED = 20  # times as long as asked for is given up as an error
LOOK_S = 0.2  # how often a target is asked for its CPU time
TICK_S = 1 / os.sysconf("SC_CLK_TCK")
ENVIRONMENT = {"ASAN_OPTIONS": "detect_leaks=1",
               "UBSAN_OPTIONS": "print_stacktrace=1"}
FINDINGS = ("crash-", "timeout-", "oom-", "leak-", "slow-unit-")


def options():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--build", required=True)
    p.add_argument("--seconds", type=int, default=10,
                   help="of CPU time, for each [10]")
    p.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    p.add_argument("--tap", action="store_true")
    p.add_argument("--kept", action="store_true",
                   help="each kept input once; no fuzzing, no clock")
    p.add_argument("--uncovered", action="store_true",
                   help="list functions that no input reached")
    p.add_argument("name", nargs="*", help="of targets [all]")
    return p.parse_args()


def number(pattern, text):
    """The last that is printed, or None."""
    found = re.findall(pattern, text)
    return int(found[-1]) if found else None


def uncovered(folder, text):
    """The folder's functions without a hit in files with hits, as 'name
    file:line'."""
    lines = re.findall(r"^(UN)?COVERED_FUNC: .*?edges: \S+ (\S+) "
                       rf"{re.escape(str(ROOT))}/(?:\./)?({folder}/\S+:\d+)",
                       text, re.M)
    entered = {place.partition(":")[0] for un, _, place in lines if not un}
    return sorted({f"{name} {place}" for un, name, place in lines
                   if un and place.partition(":")[0] in entered})


def http_seeds(name, into):
    """The messages of the unit tests' corpus, a file for each."""
    corpus = ROOT / "tests/unit/http/corpus"
    subprocess.run([sys.executable, corpus / "seeds.py",
                    corpus / f"{name}s.txt", into], check=True)
    return into


def seeds_of(source, program):
    """Directories of inputs to begin with."""
    kept = source.parent / "corpus" / source.stem
    if source.parent.name == "http" and \
            source.stem in ("fuzz_request", "fuzz_response"):
        kept = http_seeds(source.stem.rpartition("_")[2],
                          program.with_name(source.stem + ".seeds"))
    return kept


def words_of(source, program):
    """Its dictionary, or that of its folder: http/http.dict."""
    if source.stem == "fuzz_config":
        keys = re.findall(r'^\s*{"([a-z_.\[\]]+)"',
                          (ROOT / "config/keys.c").read_text(), re.M)
        names = {name.removesuffix("[]") for k in keys for name in k.split(".")}
        made = program.with_name("fuzz_config.dict")
        made.write_text("".join(f'"\\"{name}\\":"\n'
                                for name in sorted(names)))
        return made
    named = (source.with_suffix(".dict"),
             source.parent / f"{source.parent.name}.dict")
    return next((d for d in named if d.exists()), None)


def cpu_s(pid):
    """What a child that was not waited for has used, user and system."""
    text = pathlib.Path(f"/proc/{pid}/stat").read_text()
    return sum(map(int, text.rpartition(")")[2].split()[11:13])) * TICK_S


def fuzzed(argv, seconds):
    """Runs it until it has had that CPU time: status, words, CPU seconds."""
    with tempfile.TemporaryFile("w+", errors="replace") as said:
        child = subprocess.Popen(argv, stdout=said, stderr=said,
                                 env={**os.environ, **ENVIRONMENT})
        until = time.monotonic() + STARVED * seconds + SLACK_S
        used, asked = 0, False
        # Not reaped while it is looked at, so that the pid remains its own.
        while os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG |
                        os.WNOWAIT) is None:
            used = cpu_s(child.pid)
            if time.monotonic() > until:
                child.kill()
            elif used >= seconds and not asked:
                child.send_signal(signal.SIGUSR1)  # libFuzzer: end, and report
                asked, until = True, time.monotonic() + SLACK_S
            time.sleep(LOOK_S)
        status = child.wait()
        said.seek(0)
        return status, said.read(), used


# What may come out of a target.
NOTHING = {"cpu_seconds": None, "coverage": None, "features": None,
           "new_units": 0, "findings": [], "uncovered": ()}


def run(source, given):
    """One target; what came out of it."""
    folder, name = source.parent.name, source.stem
    program = pathlib.Path(given.build).resolve() / "fuzz" / folder / name
    found = program.with_name(name + ".found")
    found.mkdir(exist_ok=True)
    before = set(found.iterdir())
    words, seeds = words_of(source, program), seeds_of(source, program)
    argv = ["nice", "-n", "19", program, f"-timeout={HANG_S}",
            f"-report_slow_units={HANG_S}", "-rss_limit_mb=1024",
            "-print_final_stats=1",
            f"-artifact_prefix={found}/",
            *([f"-dict={words}"] if words else []),
            *(["-print_coverage=1"] if given.uncovered else []),
            *[d for d in (found, seeds) if d.is_dir()]]
    status, text, used = fuzzed([str(a) for a in argv], given.seconds)
    new = set(found.iterdir()) - before
    bad = sorted(str(p) for p in new if p.name.startswith(FINDINGS))
    return {
        **NOTHING, "name": f"{folder}/{name}", "status": status,
        "cpu_seconds": round(used, 1),
        "executions": number(r"number_of_executed_units: (\d+)", text),
        "coverage": number(r"cov: (\d+)", text),
        "features": number(r"ft: (\d+)", text),
        "new_units": len(new) - len(bad), "findings": bad,
        "uncovered": uncovered(folder, text) if given.uncovered else (),
        "said": text[-3000:] if status != 0 else "",
    }


def replay(source, given):
    """One target with its kept inputs; what came out of it."""
    folder, name = source.parent.name, source.stem
    program = pathlib.Path(given.build).resolve() / "fuzz" / folder / name
    seeds = seeds_of(source, program)
    inputs = sorted(seeds.iterdir()) if seeds.is_dir() else []
    child = subprocess.run(
        [program, *inputs], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, errors="replace", env={**os.environ, **ENVIRONMENT})
    tried = number(r"tried (\d+) inputs", child.stdout)
    good = child.returncode == 0 and inputs and tried == len(inputs)
    return {
        **NOTHING, "name": f"{folder}/{name}", "status": 0 if good else 1,
        "executions": tried,
        "said": "" if good else child.stdout[-3000:] or "no kept inputs",
    }


def row(one):
    cells = [one["name"], one["cpu_seconds"], one["executions"],
             one["coverage"], one["features"], one["new_units"],
             len(one["findings"]) or ("" if one["status"] == 0 else "failed")]
    return "{:26}{:>7}{:>12}{:>9}{:>9}{:>6}  {}".format(
        *("?" if cell is None else cell for cell in cells))


HEADER = "{:26}{:>7}{:>12}{:>9}{:>9}{:>6}  {}".format(
    "target", "CPU s", "executions", "coverage", "features", "new",
    "findings")


def performed(sources, given):
    """Each as it is done, with a line about it."""
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        do = replay if given.kept else run
        waiting = [pool.submit(do, source, given) for source in sources]
        done = concurrent.futures.as_completed(waiting)
        for count, one in enumerate((f.result() for f in done), 1):
            suite.say(f"[{count}/{len(sources)}] {row(one)}")
            yield one


def table(all_, took_s):
    """Lines of it."""
    return [HEADER, *map(row, all_),
            f"{sum(one['executions'] or 0 for one in all_)} inputs in "
            f"{took_s:.0f} s, {sum(len(one['findings']) for one in all_)} "
            "findings", *(
                f"not reached by {one['name']}: {function}" for one in all_
                for function in one["uncovered"])]


def main():
    given = options()
    sources = [s for s in sorted(HERE.glob("*/fuzz_*.c"))
               if not given.name or s.stem in given.name
               or f"{s.parent.name}/{s.stem}" in given.name]
    if not sources:
        sys.exit(f"no target {' '.join(given.name)}")
    began, all_ = time.monotonic(), []
    results = suite.Results(given.tap)
    for one in performed(sources, given):
        all_.append(one)
        bad = [*(f"found: {path}" for path in one["findings"]),
               f"status {one['status']}", *one["said"].splitlines()]
        results.add(one["name"], bad if one["status"] else ())
    all_.sort(key=lambda one: one["name"])
    return results.end(table(all_, time.monotonic() - began))


if __name__ == "__main__":
    sys.exit(main())
