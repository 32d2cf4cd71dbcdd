/* stalled.c: see the header. */
#include "stalled.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/permission.h"

void
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

pid_t
client_start(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (pid == 0 && write(stalled_input[1], "", 1) == 1)
		usleep(3000);
	if (pid == 0)
		_exit(0);
	return pid;
}

#define READERS 8

int stalled_input[2];

/* What one CPU has left of a quota another one may not have. */
static void
stay_here(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((unsigned)sched_getcpu(), &set);
	assert_int_equal(sched_setaffinity(0, sizeof(set), &set), 0);
}

pid_t
server_start(bool busy)
{
	pthread_t reader;
	pid_t pid;

	assert_int_equal(pipe(stalled_input), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) /* also if the test fails and it is stopped */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (pid == 0 && busy) {
		stay_here();
		for (unsigned i = 0; i < READERS; i++)
			pthread_create(
			    &reader, NULL, reader_run, &stalled_input[0]);
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

void
server_end(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void
input_close(void)
{
	close(stalled_input[0]);
	close(stalled_input[1]);
}

struct fixture *
follow(pid_t pid)
{
	struct fixture *f = fixture_new();
	struct profiler_signal_state state[PROFILER_SIGNALS];
	struct permission permission;

	permission_read(&permission);
	f->options.kernel = PROFILER_KERNEL_LITE;
	f->options.kernel_slot_log2 = 14;
	fixture_start(f);
	profiler_signals(f->profiler, state);
	if (!state[PROFILER_SIGNAL_SCHEDULER].on) {
		server_end(pid);
		input_close();
		fixture_free(f);
		unit_skip("%s", state[PROFILER_SIGNAL_SCHEDULER].why);
	}
	profiler_server_process(f->profiler, 0, pid);
	fixture_wait_source(f, 0, PROFILER_SOURCE_PIDFD);
	return f;
}

void
unfollow(struct fixture *f, pid_t pid)
{
	server_end(pid);
	input_close();
	fixture_end_exit(f);
	fixture_free(f);
}

bool
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
