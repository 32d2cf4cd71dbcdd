/*
 * Goal: a server that is stopped, frozen or out of its CPU quota is a hazard
 * from its begin to its end, by the kernel's events; one that only sleeps,
 * waits or works is none.
 */
#include "cgroup.h"
#include "fixture.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/permission.h"

/* --- a server ------------------------------------------------------------- */

static void
spin_ms(int64_t ms)
{
	struct instant begin = instant_now();

	while (instant_since(instant_now(), begin) < ms * NS_PER_MS)
		;
}

/* A child that takes its time: meanwhile the parent waits in vfork. */
static void
wait_in_vfork(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		usleep(3000);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

/* A thread that reads what comes, as one that takes requests. */
static void *
reader_run(void *fd)
{
	char byte;

	while (read(*(int *)fd, &byte, 1) == 1)
		;
	return NULL;
}

/* A process that has something to read all the time. */
static pid_t
client_start(int fd)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (pid == 0 && write(fd, "", 1) == 1)
		usleep(3000);
	if (pid == 0)
		_exit(0);
	return pid;
}

#define READERS 8

static int input[2]; /* what it reads */

/* What one CPU has left of a quota another one may not have. */
static void
stay_here(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((unsigned)sched_getcpu(), &set);
	assert_int_equal(sched_setaffinity(0, sizeof(set), &set), 0);
}

/* A process that works and sleeps in turns; with busy it only works, and has
 * threads that read. */
static pid_t
server_start(bool busy)
{
	pthread_t reader;
	pid_t pid;

	assert_int_equal(pipe(input), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) /* also if the test fails and it is stopped */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (pid == 0 && busy) {
		stay_here();
		for (unsigned i = 0; i < READERS; i++)
			pthread_create(&reader, NULL, reader_run, &input[0]);
	}
	for (unsigned i = 0; pid == 0 && i < 60000; i++) {
		spin_ms(1);
		if (!busy)
			usleep(1000);
		if (!busy && i % 16 == 0)
			wait_in_vfork();
	}
	if (pid == 0)
		_exit(0);
	return pid;
}

static void
server_end(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void
input_close(void)
{
	close(input[0]);
	close(input[1]);
}

static struct fixture *
follow(pid_t pid)
{
	struct fixture *f = malloc(sizeof(*f));
	struct profiler_signal_state state[PROFILER_SIGNALS];
	struct permission permission;

	permission_read(&permission);
	fixture_init(f);
	f->options.kernel = PROFILER_KERNEL_LITE;
	f->options.kernel_slot_log2 = 14;
	fixture_start(f);
	profiler_signals(f->profiler, state);
	if (!state[PROFILER_SIGNAL_SCHEDULER].on) {
		print_message(
		    "skipped: %s\n", state[PROFILER_SIGNAL_SCHEDULER].why);
		server_end(pid);
		input_close();
		fixture_fini(f);
		free(f);
		skip();
	}
	profiler_server_process(f->profiler, 0, pid);
	fixture_wait_source(f, 0, PROFILER_SOURCE_PIDFD);
	return f;
}

static void
unfollow(struct fixture *f, pid_t pid)
{
	server_end(pid);
	input_close();
	fixture_end_exit(f);
	fixture_fini(f);
	free(f);
}

/* --- a cgroup ------------------------------------------------------------- */

/* Make one with a process in it; false: that is not possible here. */
static bool
group_of(struct cgroup *g, const char *controller, pid_t pid)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", (int)pid);
	if (cgroup_make(g, controller) && cgroup_write(g, "cgroup.procs", text))
		return true;
	cgroup_remove(g);
	print_message("skipped: no cgroup of %s may be made\n", controller);
	return false;
}

/* --- tests ---------------------------------------------------------------- */

/* The sum of a kind's hazards, by their stamps, ms. */
static double
lengths_ms(const struct fixture *f, enum hazard_kind kind)
{
	double sum_ms = 0;

	for (unsigned i = 0; i < f->hazards; i++) {
		const struct hazard *h = &f->hazard[i];

		if (h->kind == kind)
			sum_ms += (h->begin ? -1.0 : 1.0) *
				  (double)(h->at.ns % 1000000000000) / 1e6;
	}
	return sum_ms;
}

/* How many of the quotas that have ended did so at or after their known end,
 * but for a millisecond; *known: whose end was known. */
static unsigned
ends_kept(const struct fixture *f, unsigned *known)
{
	struct instant until = INSTANT_NONE;
	unsigned kept = 0;

	*known = 0;
	for (unsigned i = 0; i < f->hazards; i++) {
		const struct hazard *h = &f->hazard[i];

		if (h->kind != HAZARD_QUOTA)
			continue;
		if (h->begin) {
			assert_true(h->left_us <= 100000);
			until = instant_plus(
			    h->at, (int64_t)h->left_us * NS_PER_US);
			*known += h->left_us > 0;
		} else {
			kept += instant_since(h->at, until) > -NS_PER_MS;
		}
	}
	return kept;
}

/* Goal: SIGSTOP begins the hazard, SIGCONT ends it, each time. */
static void
test_stopped(void **state)
{
	pid_t pid = server_start(false);
	struct fixture *f = follow(pid);

	(void)state;
	for (unsigned i = 1; i <= 3; i++) {
		kill(pid, SIGSTOP);
		fixture_wait_hazards(f, HAZARD_STOPPED, true, i);
		kill(pid, SIGCONT);
		fixture_wait_hazards(f, HAZARD_STOPPED, false, i);
	}
	assert_int_equal(fixture_count(f, HAZARD_QUOTA, true), 0);
	/* Its end ends that, too. */
	kill(pid, SIGSTOP);
	fixture_wait_hazards(f, HAZARD_STOPPED, true, 4);
	unfollow(f, pid);
}

/* Goal: the freezer of cgroups is the same. */
static void
test_frozen(void **state)
{
	pid_t pid = server_start(true);
	struct fixture *f = follow(pid);
	struct cgroup g;
	bool made = group_of(&g, "freezer", pid);

	(void)state;
	for (unsigned i = 1; made && i <= 3; i++) {
		assert_true(
		    cgroup_write(&g, g.old ? "freezer.state" : "cgroup.freeze",
			g.old ? "FROZEN" : "1"));
		fixture_wait_hazards(f, HAZARD_STOPPED, true, i);
		assert_true(
		    cgroup_write(&g, g.old ? "freezer.state" : "cgroup.freeze",
			g.old ? "THAWED" : "0"));
		fixture_wait_hazards(f, HAZARD_STOPPED, false, i);
	}
	unfollow(f, pid);
	if (made)
		cgroup_remove(&g);
	else
		skip();
}

/*
 * Goal: a quota that is used up is one, and they are as many and as long as in
 * the kernel's own account.  Each ends when the server has a CPU again, which
 * on a busy machine is later than when it may have one; that was known.
 */
static void
test_quota(void **state)
{
	pid_t pid = server_start(true), client;
	struct fixture *f = follow(pid);
	struct cgroup g;
	bool made = group_of(&g, "cpu", pid);
	double seen_ms, account_ms;
	unsigned stalls, known, kept = 0;

	(void)state;
	client = client_start(input[1]);
	made = made && cgroup_quota(&g, 20000);
	if (made) {
		/* A busy machine lets a reader run for longer than a visit. */
		for (unsigned ends = 5; ends <= 15 && kept < 4; ends += 5) {
			fixture_wait_hazards(f, HAZARD_QUOTA, false, ends);
			kept = ends_kept(f, &known);
			assert_true(known >= ends);
		}
		print_message("%u ends known, %u kept\n", known, kept);
		assert_true(kept >= 4);
		assert_true(cgroup_quota(&g, -1));
		spin_ms(20);
		fixture_wait_sweeps(f);
		fixture_drain(f);
		stalls = fixture_count(f, HAZARD_QUOTA, true);
		seen_ms = lengths_ms(f, HAZARD_QUOTA);
		account_ms =
		    g.old ? (double)cgroup_stat(&g, "throttled_time") / 1e6
			  : (double)cgroup_stat(&g, "throttled_usec") / 1e3;
		print_message(
		    "%u stalls of %.1f ms, the kernel's %llu of %.1f\n", stalls,
		    seen_ms, cgroup_stat(&g, "nr_throttled"), account_ms);
		/* A task of the kernel's may divide one; not each of the
		 * readers, which run until their call would return.  One that
		 * runs for longer than a visit (a sanitizer's, on a busy
		 * machine) ends it: the others are whole. */
		assert_true(stalls <= 2 * cgroup_stat(&g, "nr_throttled"));
		assert_true(seen_ms > 0.9 * account_ms * kept / known - 5);
		assert_int_equal(fixture_count(f, HAZARD_STOPPED, true), 0);
	}
	server_end(client);
	unfollow(f, pid);
	cgroup_remove(&g);
	if (!made)
		skip();
}

/* Goal: a server that works and sleeps without a limit has no such hazard. */
static void
test_undisturbed(void **state)
{
	pid_t pid = server_start(false);
	struct fixture *f = follow(pid);

	(void)state;
	fixture_wait_events(f, TALECHAIN_SCHEDULE, 400);
	assert_int_equal(fixture_count(f, HAZARD_QUOTA, true), 0);
	assert_int_equal(fixture_count(f, HAZARD_STOPPED, true), 0);
	unfollow(f, pid);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_stopped),
	    cmocka_unit_test(test_frozen),
	    cmocka_unit_test(test_quota),
	    cmocka_unit_test(test_undisturbed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
