"""Goal: a borrowed program behaves as if it ran by itself, in what everything
else leaves over of the CPUs, and leaves nothing behind."""

import json
import os
import pathlib
import re
import signal
import subprocess
import time

import pytest

from rig.message import response
from rig.process import children, ran, state_of
from rig.wait import wait_until
from support.borrowed import ALONE, beginner

LOOP = "while :; do :; done"
EACH_CPU = " ".join(map(str, os.sched_getaffinity(0)))


def borrow(build, *arguments, **options):
    return ran(build / "tailor", "borrow", *arguments, env=ALONE, **options)


@pytest.fixture(name="braked", autouse=True)
def braked_fixture(build):
    """Skips where the kernel or our permissions do not allow it."""
    status, out, err = borrow(build, "--dry-run", "true")
    assert status == 0, err
    if "brake  cpu.idle" not in out:
        pytest.skip(out)


@pytest.fixture
def begin(build):
    """begin(COMMAND..., options=, env=), as beginner has it."""
    with beginner(build) as start:
        yield start


def only_child(p):
    """The process of the command, once it runs."""
    return wait_until(lambda: [
        pid for pid in children(p.pid)
        if pathlib.Path(f"/proc/{pid}/comm").read_text() != "tailor\n"],
        "it has begun")[0]


def group(pid):
    """The directory of a process's group of the CPU controller."""
    groups = pathlib.Path(f"/proc/{pid}/cgroup").read_text().splitlines()
    mounts = [line.split() for line in
              pathlib.Path("/proc/mounts").read_text().splitlines()]
    for line in groups:
        _, controllers, path = line.split(":", 2)
        for _, at, kind, options, *_ in mounts:
            if (kind == "cgroup" and "cpu" in controllers.split(",")
                    and "cpu" in options.split(",")
                    or kind == "cgroup2" and not controllers
                    and "tailor-borrow" in path):
                return pathlib.Path(at + path)
    raise AssertionError(groups)


def test_ends_as_the_command_does(build):
    # Goal: exit status and output are the command's; the end says what it had.
    status, out, err = borrow(build, "sh", "-c", "echo x; echo y >&2; exit 7")
    assert (status, out) == (7, "x\n")
    assert re.fullmatch(
        r"y\ntailor borrow: lent \d+\.\d\d of \d+ CPUs for \S+ s\n", err), err
    assert borrow(build, "-q", "--", "sh", "-c", "kill -USR1 $$") == (
        -signal.SIGUSR1, "", "")


def test_what_cannot_be_run(build, scratch):
    # Goal: as env(1) has it, and nothing is left.
    text = scratch / "text"
    text.write_text("no program")
    status, _, err = borrow(build, text)
    assert status == 126 and "Permission denied" in err
    status, _, err = borrow(build, "no-such-program")
    assert status == 127 and "No such file" in err


@pytest.mark.parametrize("wrong, says", [
    ([], "COMMAND... is missing"),
    (["--cpus", "0", "--pid", "1", "true"], "--cpus or --pid, not both"),
    (["--cpus", "x", "true"], "give one like 0-3,8"),
    (["--cpus", "1000", "true"], "those that may are"),
    (["--pid", "2147483647", "true"], "give a running process"),
    (["--pairs", "0-1", "true"], "give one like 0:1,2:3"),
    (["--pairs", "0:1,1:0", "true"], "CPU 0-1 cannot both lend and borrow"),
    (["--pairs", "auto", "true"], "--pairs auto needs --pid"),
    (["--pairs", "0:1", "--cpus", "0", "true"], "no --cpus or --pid"),
    (["--budget", "2s", "--pairs", "0:1", "true"], "a time of at most 1 s"),
    (["--budget", "1ms", "true"], "--budget needs --pairs"),
    (["--nosuch", "true"], "unknown option --nosuch"),
])
def test_wrong_use(build, wrong, says):
    status, out, err = borrow(build, *wrong)
    assert status == 125 and says in err and not out


def test_options_of_the_command(build):
    # Goal: what follows the command's name is the command's.
    assert borrow(build, "-q", "echo", "--cpus", "x", "--", "-q") == (
        0, "--cpus x -- -q\n", "")


def test_where_it_runs(begin):
    # Goal: in an idle group of its own, under SCHED_IDLE, on the CPUs named; the
    # group is gone with it.
    first = min(os.sched_getaffinity(0))
    p = begin("sleep", "100", options=["--cpus", str(first)])
    pid = only_child(p)
    of = group(pid)
    assert of.name == f"tailor-borrow-{p.pid}"
    assert (of / "cpu.idle").read_text() == "1\n"
    assert os.sched_getscheduler(pid) == os.SCHED_IDLE
    assert os.sched_getaffinity(pid) == {first}
    p.terminate()
    assert p.wait(60) == -signal.SIGTERM
    assert not of.exists()
    assert "of 1 CPUs for" in p.stderr.read()


def test_same_cpus_as_a_process(begin):
    # Goal: --pid: where any of its threads may run.
    last = max(os.sched_getaffinity(0))
    lender = subprocess.Popen(["sleep", "100"])
    os.sched_setaffinity(lender.pid, {last})
    p = begin("sleep", "100", options=["--pid", str(lender.pid)])
    assert os.sched_getaffinity(only_child(p)) == {last}
    lender.kill()
    lender.wait()


def used_s(pid):
    """The CPU time of a process, s."""
    return int(pathlib.Path(f"/proc/{pid}/schedstat").read_text()
               .split()[0]) / 1e9


def age_s(pid):
    """How long ago a process began, s, to some 10 ms."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2]
    return (time.clock_gettime(time.CLOCK_BOOTTIME)
            - int(fields.split()[19]) / os.sysconf("SC_CLK_TCK"))


def test_it_yields(begin):
    # Goal: beside a program that wants the whole CPU it gets next to nothing;
    # counted by what both had.
    cpu = str(min(os.sched_getaffinity(0)))
    p = begin("sh", "-c", LOOP, options=["--cpus", cpu])
    pid = only_child(p)
    busy = subprocess.Popen(["taskset", "-c", cpu, "sh", "-c", LOOP])
    wait_until(lambda: used_s(busy.pid) > 0.1, "the other one runs")
    before, theirs = used_s(pid), used_s(busy.pid)
    wait_until(lambda: used_s(busy.pid) - theirs > 1, "it has had a second")
    had = used_s(pid) - before
    busy.kill()
    busy.wait()
    assert had < 0.05
    wait_until(lambda: used_s(pid) - before > had + 0.02, "it goes on")


def test_signals_and_stops(begin):
    # Goal: a signal is passed on; if the command stops, so do we, until both
    # are continued.
    p = begin("sh", "-c", "trap 'echo had; exit 5' USR1; echo on;" + LOOP)
    pid = only_child(p)
    assert p.stdout.readline() == "on\n"
    p.send_signal(signal.SIGTSTP)
    wait_until(lambda: state_of(p.pid) == state_of(pid) == "T", "both stop")
    p.send_signal(signal.SIGCONT)
    wait_until(lambda: state_of(pid) == "R", "it goes on")
    p.send_signal(signal.SIGUSR1)
    assert p.stdout.readline() == "had\n"
    assert p.wait(60) == 5


def test_signals_of_the_kernel(begin, build):
    # Goal: an alarm, and a terminal that hangs up, are passed on; those of a
    # whole range end nothing but the command.
    for name in ("SIGALRM", "SIGHUP", "SIGPWR", "SIGRTMIN"):
        p = begin("sleep", "100")
        only_child(p)
        p.send_signal(getattr(signal, name))
        assert p.wait(60) == -getattr(signal, name)
    p = subprocess.Popen(
        ["perl", "-e", "alarm 1; exec @ARGV", build / "tailor", "borrow", "sleep",
         "100"],
        env=ALONE, stderr=subprocess.DEVNULL)
    assert p.wait(60) == -signal.SIGALRM


def test_begun_in_real_time(build):
    # Goal: a real-time shell's command is borrowed, too.
    if "tsan" in str(build):
        pytest.skip("the sanitizer's own thread stays a real-time thread")
    status, out, err = ran("chrt", "-f", "1", build / "tailor", "borrow", "echo",
                           "ran", env=ALONE)
    if "failed to set" in err:
        pytest.skip(err)
    assert (status, out) == (0, "ran\n"), err


def test_killed(begin, build):
    # Goal: nothing is stopped or lost when it is killed: the command goes on,
    # and the next one removes the group that is left.
    p = begin("sleep", "100")
    pid = only_child(p)
    of = group(pid)
    p.kill()
    p.wait()
    wait_until(lambda: state_of(pid) == "S", "it sleeps as before")
    assert of.exists()
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: state_of(pid) in (None, "Z"), "it has ended")
    wait_until(lambda: borrow(build, "true")[0] == 0 and not of.exists(),
               "it is removed")


def test_what_it_leaves(build):
    # Goal: its status does not wait for what it has left, which is told.
    status, _, err = borrow(
        build, "sh", "-c", "sleep 3 >/dev/null 2>&1 & exit 3")
    assert status == 3
    assert "1 of its processes still run" in err


def test_held(begin, ctl):
    # Goal: what is borrowed is listed, and is held until it may go on; counted
    # by what it had.
    p = begin("sh", "-c", LOOP)
    pid = only_child(p)

    def listed():
        jobs = {job["job"]: job
                for job in json.loads(ctl("borrow", "--json", wide=True).out)["jobs"]}
        assert jobs[p.pid]["processes"] == 1
        assert jobs[p.pid]["command"] == f"sh -c {LOOP}"
        return jobs[p.pid]

    assert not listed()["held"]
    assert ctl("hold", str(p.pid)).returncode == 0
    assert listed()["held"]
    before = used_s(pid)
    time.sleep(1)
    assert used_s(pid) - before < 0.1
    assert re.search(rf"^{p.pid} +held +\d\.\d\d ", ctl("borrow").out, re.M)
    assert ctl("hold", "--resume", str(p.pid)).returncode == 0
    assert not listed()["held"]
    wait_until(lambda: used_s(pid) - before > 0.15, "it goes on")
    # One that ends while it is held ends like any other.
    assert ctl("hold", str(p.pid)).returncode == 0
    os.kill(pid, signal.SIGKILL)
    assert p.wait(60) == -signal.SIGKILL


def test_listed_from_any_path(build, scratch, ctl):
    # Goal: the command is known also if tailor's path has a blank.
    (scratch / "a borrow b").symlink_to(build)
    with beginner(scratch / "a borrow b") as start:
        p = start("sleep", "100")
        only_child(p)
        jobs = json.loads(ctl("borrow", "--json", wide=True).out)["jobs"]
    assert [job["command"] for job in jobs if job["job"] == p.pid] == ["sleep 100"]


@pytest.mark.parametrize("wrong", ["x", "0", "1", "-1", "99999999999"])
def test_no_such_job(ctl, wrong):
    found = ctl("hold", "--", wrong)
    assert found.returncode == 1
    assert f"there is no job {wrong}; " in found.err


def test_what_it_costs(begin, ctl, tailor, upstream):
    # Goal: the end says what its CPUs cost the requests of the running tailor.
    t = tailor(upstream("a").serve(lambda r: response(200, b"a")),
               analysis={"cpu": 1, "accounts": 1000})
    if 'kernel events"' in json.dumps(t.server("a")["misses"]):
        pytest.skip("no kernel events here")
    env = {**os.environ, "TAILOR_ADMIN": t.admin}
    p = begin("sh", "-c", f"for i in {EACH_CPU}; do ({LOOP}) >&- 2>&- & done; wait",
              env=env)
    pid = only_child(p)
    waited = re.compile(r"GET /: .* while lending; a request waited "
                        r"(?!0ns)[\d.]+[num]s for lent CPUs, on average")

    def costs():
        """Requests, until one of them has met it: others may need the CPUs."""
        with t.client() as c:
            for _ in range(50):
                assert c.get().status == 200
        return waited.search(" ".join(ctl("borrow", env=env).out.split()))

    wait_until(costs, "a request has waited")
    found = json.loads(ctl("borrow", "--json", env=env, wide=True).out)
    assert found["blamed"] >= 0 and isinstance(found["longest"], str)
    # Costs are known by the second of the command's own time.
    wait_until(lambda: age_s(pid) > 1.1, "it has run for a second")
    p.terminate()
    p.wait(60)
    assert waited.search(" ".join(p.stderr.read().split()))


def test_dry_run(build):
    # Goal: what would be done, and nothing is.
    status, out, err = borrow(build, "-n", "--cpus", "0", "touch", "/nowhere/x")
    assert (status, err) == (0, "")
    assert out.startswith("CPUs   0\nbrake  cpu.idle: ")
    path = re.search(r"^group  (\S+) \(cgroup v[12]\)", out, re.MULTILINE)[1]
    assert not os.path.exists(path)
    with open("/dev/full", "w", encoding="utf-8") as full:
        p = subprocess.run([build / "tailor", "borrow", "-n", "true"], env=ALONE,
                           stdout=full, timeout=60, check=False)
    assert p.returncode == 125


def test_without_permission(public):
    # Goal: what would not be held back is not run, and it is said what helps.
    if os.geteuid() != 0:
        pytest.skip("not root, who becomes another user here")
    status, out, err = borrow(public, "echo", "ran", user=65534)
    assert (status, out) == (125, "")
    assert "nothing would hold it back: no group in" in err
    assert "run tailor borrow as root" in err
