"""Goal: a program that borrows the CPU beside a service's runs only while that
CPU is idle, stops by itself if it can, and is never left stopped."""

import os
import pathlib
import re
import signal
import subprocess

import pytest

from rig.process import ran
from rig.wait import PATIENCE_S, wait_until
from support.borrowed import ALONE, beginner

ROOT = pathlib.Path(__file__).parents[2]
CPUS = sorted(os.sched_getaffinity(0))[:2]
PAIR = ":".join(map(str, CPUS))
LOOP = "while :; do :; done"

# Says when it has stopped for the CPU beside it.
ASKS = """
#include <talechain/talechain_borrow.h>
int main(void)
{
	struct talechain_borrow b;
	unsigned long long napped = 0;

	printf("%d\\n", talechain_borrow_open(&b, 0));
	for (;;) {
		fflush(stdout);
		talechain_borrow_check(&b);
		if (b.asker->napped_ns != napped) {
			napped = b.asker->napped_ns;
			puts("stopped");
		}
	}
}
"""
# The same, in functions that are compiled with -pg -mfentry.
FENTRY = """
#define TALECHAIN_BORROW_FENTRY
#include <talechain/talechain_borrow.h>
unsigned long long napped_ns(void);
TALECHAIN_UNTRACED unsigned long long napped_ns(void)
{
	return talechain_borrow_all.asker->napped_ns;
}
"""
TRACED = """
#include <stdio.h>
unsigned long long napped_ns(void);
__attribute__((noinline)) double sum(int a, double b, float c, const char *d,
    long e, long f, long g, long h)
{
	return a + b + (double)c + d[0] + (double)(e + f + g + h);
}
int main(void)
{
	unsigned long long napped = 0;

	puts("0");
	for (;;) {
		fflush(stdout);
		if (sum(1, 2.5, 3.5F, "A", 4, 5, 6, 7) != 94)
			puts("wrong");
		if (napped_ns() != napped) {
			napped = napped_ns();
			puts("stopped");
		}
	}
}
"""


def borrow(build, *arguments, **options):
    return ran(build / "tailor", "borrow", "--pairs", PAIR, *arguments, env=ALONE,
               **options)


@pytest.fixture(name="paired", autouse=True)
def paired_fixture(build):
    """Skips where the kernel or our permissions do not allow it."""
    if len(CPUS) < 2:
        pytest.skip("one CPU")
    status, out, err = borrow(build, "--dry-run", "true")
    if status != 0:
        pytest.skip(err)
    assert "brake  cpu.idle" in out
    assert f"guard  naps while CPU {CPUS[0]} is busy" in out


@pytest.fixture
def begin(build):
    """begin(COMMAND...), as beginner has it, with --pairs."""
    with beginner(build, "--pairs", PAIR) as start:
        yield start


class Busy:
    """Makes the lending CPU busy while it is entered."""
    def __enter__(self):
        self.process = subprocess.Popen(
            ["taskset", "-c", str(CPUS[0]), "sh", "-c", LOOP])
        return self

    def used_s(self):
        """The CPU time that it has had, s."""
        return int(pathlib.Path(f"/proc/{self.process.pid}/schedstat")
                   .read_text().split()[0]) / 1e9

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def compiled(scratch, *sources):
    """A program of these texts; all are traced if FENTRY is among them."""
    objects = []
    for i, text in enumerate(sources):
        path = scratch / f"{i}.c"
        path.write_text(text)
        traced = FENTRY in sources
        subprocess.run(
            ["gcc", "-O1", "-std=gnu11", "-D_GNU_SOURCE", f"-I{ROOT}",
             *(["-pg", "-mfentry"] if traced else []), "-c", path,
             "-o", path.with_suffix(".o")], check=True)
        objects.append(path.with_suffix(".o"))
    subprocess.run(["gcc", *objects, "-o", scratch / "program"], check=True)
    return scratch / "program"


PERIODS = """
import time
for _ in range(400):
    time.sleep(0.002)
    until = time.monotonic() + 0.002
    while time.monotonic() < until:
        pass
"""


def ended(p):
    """What it says at its end, once its command is killed."""
    children = pathlib.Path(f"/proc/{p.pid}/task/{p.pid}/children").read_text()
    os.kill(int(children.split()[0]), signal.SIGKILL)
    assert p.wait(PATIENCE_S) == -signal.SIGKILL
    told = re.search(r"CPU (\d+) was busy for (\S+) s; beside it the command "
                     r"ran for (\S+) % of that", p.stderr.read())
    assert int(told[1]) == CPUS[0]
    return float(told[2]), float(told[3])


def test_not_beside_a_busy_cpu(begin):
    # Goal: of the time for which the CPU beside was busy it has next to nothing;
    # told at the end.
    p = begin("sh", "-c", f"echo; {LOOP}")
    assert p.stdout.readline() == "\n"
    with Busy() as busy:
        wait_until(lambda: busy.used_s() > 1, "the CPU was busy for a second")
    busy_s, percent = ended(p)
    assert busy_s > 0.9
    assert percent < 20


def test_not_beside_short_requests(begin):
    # Goal: it is stopped as each of them begins, not at some later look.
    p = begin("sh", "-c", f"echo; {LOOP}")
    assert p.stdout.readline() == "\n"
    subprocess.run(["taskset", "-c", str(CPUS[0]), "python3", "-c", PERIODS],
                   check=True)
    busy_s, percent = ended(p)
    assert busy_s > 0.7
    assert percent < 50


@pytest.mark.parametrize("sources", [[ASKS], [FENTRY, TRACED]])
def test_asks_itself(begin, scratch, sources):
    # Goal: a program that asks stops; also after `tailor borrow` was killed.
    p = begin(compiled(scratch, *sources))
    assert p.stdout.readline() == "0\n"
    with Busy() as busy:
        wait_until(lambda: busy.used_s() > 0.1, "the CPU is busy")
    assert p.stdout.readline() == "stopped\n"
    with Busy() as busy:
        wait_until(lambda: busy.used_s() > 0.1, "the CPU is busy")
        p.kill()
        p.wait()
        # What it has written until here is of the time before.
        os.set_blocking(p.stdout.fileno(), False)
        while p.stdout.read(4096):
            pass
        os.set_blocking(p.stdout.fileno(), True)
    assert p.stdout.readline() == "stopped\n"


def test_asks_after_all_was_closed(begin, scratch):
    # Goal: a program that closes its descriptors, as daemons do, is not stopped
    # for ever.
    source = ASKS.replace("for (;;) {", "for (int i = 3; i < 1024; i++) close(i);"
                          "\n\tfor (;;) {", 1)
    p = begin(compiled(scratch, source))
    assert p.stdout.readline() == "0\n"
    with Busy() as busy:
        wait_until(lambda: busy.used_s() > 0.1, "the CPU is busy")
        p.kill()
        p.wait()
        assert p.stdout.readline() == "stopped\n"


def test_asks_too_seldom(begin, scratch):
    # Goal: a program that asks no more is guarded as any other; what another
    # thread napped before is no credit.
    source = ASKS.replace("talechain_borrow_check(&b);", "").replace(
        "fflush(stdout);", "")
    p = begin("sh", "-c", f"{compiled(scratch, source)} >/dev/null 2>&1 & echo; wait")
    assert p.stdout.readline() == "\n"
    with Busy() as busy:
        wait_until(lambda: busy.used_s() > 3, "the CPU was busy")
    p.terminate()
    assert p.wait(PATIENCE_S) == -signal.SIGTERM
    told = re.search(r"ran for (\S+) % of that", p.stderr.read())
    assert float(told[1]) < 40


def test_asks_where_nothing_is_lent(scratch):
    # Goal: the program learns it from the return value, and runs on.
    program = scratch / "alone"
    compiled(scratch, ASKS.replace("for (;;) {", "for (int i = 0; i < 3; i++) {")
             .replace("b.asker->napped_ns != napped", "*b.hold")
             .replace("napped = b.asker->napped_ns;", "")
             ).rename(program)
    assert ran(program)[:2] == (0, "-2\n")
    # What is named there is something else by now.
    assert ran("sh", "-c", f"TAILOR_BORROW=0,1 {program}")[:2] == (0, "-2\n")


def test_words_cannot_be_written(begin, scratch):
    # Goal: a program that has the words' descriptor cannot write them.
    source = ASKS.replace("for (;;) {", """
	int fd = atoi(getenv(TALECHAIN_BORROW));
	printf("%d\\n", mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
	    0) == MAP_FAILED);
	fflush(stdout);
	for (;;) {""")
    p = begin(compiled(scratch, source))
    assert p.stdout.readline() == "0\n"
    assert p.stdout.readline() == "1\n"


def test_without_permission(public):
    # Goal: it is said what does not work, and what would.
    if os.geteuid() != 0:
        pytest.skip("not root, who becomes another user here")
    status, out, err = borrow(public, "echo", "ran", user=65534)
    assert (status, out) == (125, "")
    assert "--pairs: the running task cannot be seen: " in err


@pytest.mark.parametrize("pairs, says", [
    ("0:1,0:1000", "not all CPUs that are to borrow may be used here"),
    ("1000:1", "not all CPUs that are to lend are online"),
])
def test_cpus_that_are_not_there(build, pairs, says):
    # Goal: nothing runs that is not held back.
    status, out, err = ran(build / "tailor", "borrow", "--pairs", pairs, "echo")
    assert (status, out) == (125, "")
    assert says in err


def test_below_an_idle_group(build):
    # Goal: nor where the guard itself would not get the CPU.
    status, out, err = borrow(build, build / "tailor", "borrow", "--pairs", PAIR,
                              "echo")
    assert (status, out) == (125, "")
    assert "in a group with cpu.idle itself" in err


@pytest.mark.long("ends 200 processes by chance")
def test_killed_at_any_time(begin):
    # Goal: whenever `tailor borrow` is killed, its command runs on.
    for i in range(200):
        p = begin("sh", "-c", f"trap 'exit 9' TERM; echo; {LOOP}")
        assert p.stdout.readline() == "\n"
        children = pathlib.Path(f"/proc/{p.pid}/task/{p.pid}/children")
        pid = int(children.read_text().split()[0])
        used = pathlib.Path(f"/proc/{pid}/schedstat")
        with Busy() as busy:
            wait_until(lambda: busy.used_s() > 0.001 * (i % 50), "it is busy")
            p.kill()
            p.wait()
            before = int(used.read_text().split()[0])
            wait_until(lambda: int(used.read_text().split()[0]) > before + 5e6,
                       "it runs on")
        os.kill(pid, signal.SIGTERM)
        wait_until(lambda: not used.exists()
                   or " Z " in pathlib.Path(f"/proc/{pid}/stat").read_text(),
                   "it has ended")
