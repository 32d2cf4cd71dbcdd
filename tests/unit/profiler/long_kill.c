/*
 * Goal: the death of a process with much memory is known before that memory has
 * been given back.
 *
 * Long: it is a race with the kernel, which frees a gigabyte meanwhile; on a
 * busy machine we are late.
 */
#include "children.h"
#include "fixture.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profiler/processes/proc.h"

#define MEMORY (UINT64_C(1) << 30)

static void
close_all(const int fd[PROC_THREADS])
{
	for (int i = 0; i < PROC_THREADS; i++)
		if (fd[i] >= 0)
			close(fd[i]);
}

/* Wait until this process, that is the profiler, has so many handles of
 * processes and threads open. */
static void
wait_handles(unsigned wanted)
{
	char path[64], target[64];
	unsigned handles;

	do {
		sched_yield();
		handles = 0;
		for (int fd = 0; fd < 256; fd++) {
			ssize_t n;

			snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
			n = readlink(path, target, sizeof(target) - 1);
			target[n < 0 ? 0 : n] = '\0';
			handles += strstr(target, "pidfd") != NULL;
		}
	} while (handles != wanted);
}

/* Whether the kernel lets the parent know of its end yet. */
static bool
reapable(pid_t pid)
{
	siginfo_t info = {0};

	assert_int_equal(
	    waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT), 0);
	return info.si_pid != 0;
}

/*
 * Kill a large process; was its end known before the kernel said so?
 *   threads_first  its threads end before, so that none of them tells
 */
static bool
kill_is_early(bool threads_first)
{
	struct fixture *f = fixture_new();
	int end;
	pid_t pid = doomed_new(&end, MEMORY);
	unsigned threads = doomed_threads(pid);
	bool early;

	fixture_follow(f, pid);
	fixture_wait_events(f, TALECHAIN_SERVER_START, 1);
	assert_false(proc_is_ending(pid));
	if (threads_first) {
		wait_handles(1 + PROC_THREADS);
		close(end);
		doomed_wait(pid, threads - DOOMED_THREADS);
		wait_handles(1);
	}
	kill(pid, SIGKILL);
	fixture_wait_hazards(f, HAZARD_EXIT, true, 1);
	early = !reapable(pid);
	waitpid(pid, NULL, 0);
	assert_true(proc_is_ending(pid));
	assert_int_equal(fixture_count(f, HAZARD_EXIT, true), 1);
	if (!threads_first)
		close(end);
	fixture_free(f);
	return early;
}

/* Goal: the hazard is there while the kernel still frees the memory.  On a
 * busy machine we may be late; never early would be a fault. */
TEST(test_kill_is_early)
{
	int end, probe[PROC_THREADS], known, tries = 0;
	pid_t pid = doomed_new(&end, 4096);

	known = proc_thread_pidfds(pid, probe);
	close_all(probe);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(end);
	if (known <= 0) {
		print_message("no handles for threads: Linux before 6.9?\n");
		skip();
	}
	while (!kill_is_early(false))
		assert_int_not_equal(++tries, 50);
	/* Its first threads told, but the process was not seen to end then. */
	for (tries = 0; !kill_is_early(true);)
		assert_int_not_equal(++tries, 50);
}
