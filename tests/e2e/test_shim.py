"""Goal: the microscope says what it sees of words in shared memory, of
counters and of a JVM, and says clearly when it cannot."""

import csv
import json
import os
import signal
import subprocess
import sys

import pytest

from rig.process import Process, ran
from rig.wait import wait_until

# Changes the word at 0 by +1, and the tag at 64 between 1 and 2, until the
# parent closes its standard input.
WRITER = """
import mmap, os, select, sys
m = mmap.mmap(os.open(sys.argv[1], os.O_RDWR), 4096)
words = memoryview(m).cast("Q")
print("ready", flush=True)
n = 0
while not select.select([0], [], [], 0)[0]:
    for i in range(20000):
        n += 1
        words[0] = n
        if i % 10000 == 0:
            words[8] = 1 + i // 10000
"""


def shim(build, *arguments, **options):
    return ran(build / "tailor", "shim", *arguments, **options)


@pytest.fixture(name="writer")
def writer_fixture(scratch):
    """A process that changes a word and a tag in shared memory, on another
    CPU than the observer's: on the same one it would stand still."""
    file = scratch / "words"
    file.write_bytes(bytes(4096))
    with subprocess.Popen([sys.executable, "-c", WRITER, file], text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE
                          ) as process:
        assert process.stdout.readline() == "ready\n"
        os.sched_setaffinity(process.pid, {min(os.sched_getaffinity(0))})
        yield process, file
        process.stdin.close()


def observe(build, file, series, trace):
    """What the microscope reports of a word and a tag, as JSON."""
    status, out, err = shim(
        build, "--signal", f"word:{file}:0:changes", "--tag",
        f"word:{file}:64", "--seconds", "1", "--period", "20000",
        "--json", "--csv", series, "--chrome", trace)
    assert status == 0, err
    return json.loads(out)


@pytest.mark.long("the writer must get its CPU while it is observed")
def test_word_and_tag(build, writer, scratch):
    # Goal: a word's rate and both values of a tag are seen.
    seen = observe(build, writer[1], scratch / "series.csv",
                   scratch / "trace.json")
    assert {t["tag"] for t in seen["tags"]} >= {"0x1", "0x2"}
    for tag in seen["tags"]:
        if tag["tag"] in ("0x1", "0x2"):
            assert tag["rate"][0] > 0


def test_what_was_taken_is_reported(build, writer, scratch):
    # Goal: what was taken is what is reported, in the table and in the series.
    _, file = writer
    series, trace = scratch / "series.csv", scratch / "trace.json"
    seen = observe(build, file, series, trace)
    assert seen["schema"] == "tailor.shim/1"
    name, = [s["name"] for s in seen["signals"]]
    assert name == "changes"
    assert sum(t["samples"] for t in seen["tags"]) == seen["periods"] + 1
    assert 0 < sum(t["kept"] for t in seen["tags"]) <= seen["periods"]
    assert seen["kept"] <= seen["periods"]
    with open(series, encoding="utf-8", newline="") as f:
        rows = list(csv.DictReader(f))
    assert sum(int(r["samples"]) for r in rows) == seen["periods"]
    assert sum(int(r["kept"]) for r in rows) == seen["kept"]
    events = json.loads(trace.read_text())["traceEvents"]
    assert len(events) == len(rows)
    assert {(e["ph"], e["name"]) for e in events} == {("C", "changes")}
    assert events == sorted(events, key=lambda e: e["ts"])


ENDS = {"INT": "interrupted", "TERM": "interrupted",
        "cut": "the file of a word was cut: the last samples are 0",
        "gone": "the process has ended"}


@pytest.mark.parametrize("how", ENDS)
def test_ends_early(build, writer, how):
    # Goal: a signal, the end of a file of words, and of the process, end the
    # observation, which says so and shows what it had.
    process, file = writer
    observer = Process(
        [build / "tailor", "shim", "--pid", str(process.pid), "--signal",
         f"word:{file}:0", "--seconds", "300", "--json"],
        stdout=subprocess.PIPE)
    # It starts in less.
    wait_until(lambda: observer.cpu_s() > 0.5, "it looks")
    if how == "gone":
        process.kill()
    elif how == "cut":
        process.send_signal(signal.SIGSTOP)  # it would write behind the end
        os.truncate(file, 0)
    else:
        observer.signal(getattr(signal, f"SIG{how}"))
    seen = json.load(observer.stdout)
    process.send_signal(signal.SIGKILL)
    assert observer.wait() == 0
    assert seen["ended"] == ENDS[how]
    assert seen["periods"] > 0 and seen["taken_ns"] < 250e9


def test_stopped_process(build, writer):
    # Goal: that a process is stopped is said, not shown as a mystery.
    process, file = writer
    process.send_signal(signal.SIGSTOP)
    try:
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        status, out, _ = shim(build, "--pid", str(process.pid), "--signal",
                              f"word:{file}:0", "--seconds", "1")
    finally:
        process.send_signal(signal.SIGCONT)
    assert status == 0
    assert f"process {process.pid} is stopped" in out


# A second thread that works while the first one waits.
WORKER = """
import sys, threading
def work():
    while True: pass
threading.Thread(target=work, daemon=True).start()
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.mark.long("the worker must get its CPU while it is observed")
def test_all_threads(build):
    # Goal: a process's counters are those of all its threads, and its number
    # alone is enough to name it.
    with subprocess.Popen([sys.executable, "-c", WORKER], text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE
                          ) as process:
        assert process.stdout.readline() == "ready\n"
        os.sched_setaffinity(process.pid, {min(os.sched_getaffinity(0))})
        status, out, err = shim(build, str(process.pid), "--signal",
                                "counter:task-clock", "--seconds", "1",
                                "--json")
        process.stdin.close()
    if status != 0 and "not permitted" in err:
        pytest.skip(f"counters are not permitted here: {err.strip()}")
    assert status == 0, err
    clock, = json.loads(out)["signals"]
    assert 1e6 < clock["per_second"] < 1.5e9


# A process that starts a second thread when it reads a line, and ends when that
# has had a fifth of a second.
LATER = """
import sys, threading, time
print("ready", flush=True)
sys.stdin.readline()
def work():
    while time.thread_time() < 0.2: pass
thread = threading.Thread(target=work)
thread.start()
thread.join()
"""


def test_threads_that_start_later(build):
    # Goal: what a process starts while it is observed is counted as well.
    with subprocess.Popen([sys.executable, "-c", LATER], text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE
                          ) as process:
        assert process.stdout.readline() == "ready\n"
        observer = Process(
            [build / "tailor", "shim", str(process.pid), "--signal",
             "counter:task-clock", "--seconds", "300", "--json"],
            stdout=subprocess.PIPE)
        wait_until(lambda: observer.cpu_s() > 0.5 or not observer.running(),
                   "it looks")
        process.stdin.write("\n")
        process.stdin.close()
        text = observer.stdout.read()
        if observer.wait() != 0 and "not permitted" in observer.log:
            pytest.skip(f"counters are not permitted here: {observer.log}")
    seen = json.loads(text)
    clock, = seen["signals"]
    assert clock["per_second"] * seen["taken_ns"] / 1e9 > 0.1e9
    assert clock["read_by"] == "read" and clock["counted"] == 1


def test_an_interval_longer_than_all(build):
    # Goal: the observation is as long as was asked for, whatever its intervals.
    status, out, err = shim(build, "--signal", "word:/etc/passwd:0", "--seconds",
                            "1", "--interval", "60000", "--json")
    assert status == 0, err
    assert 1e9 <= json.loads(out)["taken_ns"] < 30e9


def test_default_signals_of_a_cpu(build):
    # Goal: a CPU has a signal without a PMU, too; not its clock, which always
    # runs.
    status, out, err = shim(build, "--cpu", "0", "--seconds", "1", "--json")
    if status != 0 and "not permitted" in err:
        pytest.skip(f"counters are not permitted here: {err.strip()}")
    assert status == 0, err
    assert [s["name"] for s in json.loads(out)["signals"]] in (
        ["instructions", "cycles"], ["context-switches"])


def test_default_signals(build):
    # Goal: without a PMU there is still something to see, and a reason.
    status, out, err = shim(build, "--pid", str(os.getpid()), "--seconds",
                            "1", "--json")
    if status != 0 and "not permitted" in err:
        pytest.skip(f"counters are not permitted here: {err.strip()}")
    assert status == 0, err
    seen = json.loads(out)
    names = [s["name"] for s in seen["signals"]]
    assert names in (["instructions", "cycles"], ["task-clock"])
    assert (names == ["task-clock"]) == ("no PMU" in seen["note"])
    assert seen["periods"] > 0
    # And the same reason for people, whole, in 80 columns.
    status, out, err = shim(build, "--pid", str(os.getpid()), "--seconds", "1")
    assert status == 0, err
    assert max(len(line) for line in out.splitlines()) <= 80, out
    if seen["note"]:
        assert f"Note: {seen['note']}. " in " ".join(out.split()) + " "


def test_jvm(build, jvm):
    # Goal: a number out of a JVM's performance page; a wrong name is reported,
    # and a JVM that hides its page.
    server = jvm()
    pid = str(server.pid)
    status, out, err = shim(build, "--pid", pid, "--signal",
                            "jvm:sun.rt.safepoints", "--seconds", "1",
                            "--json")
    assert status == 0, err
    assert json.loads(out)["signals"][0]["name"] == "sun.rt.safepoints"
    status, _, err = shim(build, "--pid", pid, "--signal", "jvm:no.such")
    assert status == 1 and "PerfCounter.print" in err
    status, _, err = shim(build, "--pid", jvm("-XX:-UsePerfData").pid,
                          "--signal", "jvm:sun.rt.safepoints")
    assert status == 1 and "hsperfdata" in err


@pytest.mark.parametrize("arguments, status, said", [
    ([], 2, "nothing to observe"),
    (["--pid", "0"], 2, "not a whole number from 1 to"),
    (["--pid", "4194304"], 1, "there is no process 4194304"),
    (["--pid", "1", "--cpu", "0"], 2, "not both"),
    (["--pid", "1", "2"], 2, "not a process's number"),
    (["0"], 2, "not a process's number"),
    (["--cpu", "0", "nonsense"], 2, "not a process's"),
    (["--signal", "words:x"], 1, "a signal is"),
    (["--signal", "word:/etc/passwd"], 1, "write word:FILE:OFFSET"),
    (["--signal", "word:/etc/passwd:3"], 1, "multiple of 8"),
    (["--signal", "word:/etc/passwd:1000000000"], 1, "has no 8 bytes"),
    (["--signal", "word:/no/such:0"], 1, "No such file"),
    (["--signal", "word:/dev/null:0"], 1, "has no 8 bytes"),
    (["--signal", "counter:no-such-event"], 1, "no such event"),
    (["--signal", "counter:msr/../../x/"], 1, "no such event"),
    (["--cpu", "0", "--signal", "counter:task-clock"], 1,
     "the time that passes, busy or idle"),
    (["--signal", "neighbour:no-such-event"], 1, "no such event"),
    (["--signal", "jvm:sun.rt.safepoints"], 1, "needs --pid, the JVM"),
    (["--tag", "task", "--signal", "word:/etc/passwd:0"], 1, "needs --cpu"),
    (["--tag", "tusk", "--cpu", "0", "--signal", "word:/etc/passwd:0"], 1,
     "a tag is"),
    (["--cpu", "0", "--on", "1023", "--signal", "word:/etc/passwd:0"], 1,
     "there is no CPU 1023; those of this machine are 0"),
    (["--cpu", "1023"], 1, "there is no CPU 1023; those of this machine are 0"),
    (["--signal", "word:/etc/passwd:0"] * 9, 2, "at most 8"),
])
def test_wrong_arguments_are_reported(build, arguments, status, said):
    # Goal: every wrong request ends with what is wrong with it.
    got, out, err = shim(build, *arguments)
    assert (got, out) == (status, "")
    assert said in err


@pytest.mark.long("the writer must get its CPU while it is observed")
def test_task(build, writer):
    # Goal: which task runs on a CPU is seen without asking the kernel.
    process, file = writer
    cpu = min(os.sched_getaffinity(process.pid))
    status, out, err = shim(build, "--cpu", str(cpu), "--tag", "task",
                            "--signal", f"word:{file}:0", "--seconds", "1",
                            "--json", "--top", "5")
    if status != 0 and "CAP_BPF" in err:
        pytest.skip(f"BPF is not permitted here: {err.strip()}")
    assert status == 0, err
    tag, = [t for t in json.loads(out)["tags"]
            if int(t["tag"], 16) == process.pid << 32 | process.pid]
    assert tag["samples"] > 1000 and tag["rate"][0] > 0
    assert tag["name"].startswith(f"{process.pid} python")


def test_task_needs_privilege(public):
    # Goal: without the privilege it says which one.
    status, _, err = shim(public, "--cpu", "0", "--tag", "task", "--signal",
                          "word:/etc/passwd:0", user=65534)
    assert status == 1 and "CAP_BPF" in err


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may be others")
@pytest.mark.parametrize("signal_spec, said", [
    ("counter:task-clock", "not permitted; run with CAP_PERFMON"),
    ("jvm:sun.rt.safepoints", "hsperfdata"),
])
def test_others_process(public, jvm, signal_spec, said):
    # Goal: another user's JVM without the right to look at it: what is not
    # permitted and what would help, no crash.
    server = jvm()
    status, out, err = shim(public, "--pid", str(server.pid), "--signal",
                            signal_spec, "--seconds", "1", user=65534)
    assert (status, out) == (1, "")
    assert said in err
