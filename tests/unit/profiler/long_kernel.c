/*
 * long_kernel.c: the limits of what the kernel's programs remember: processes
 * of a server, and threads; and idle CPUs.
 *
 * Long: 17,000 threads and 500 processes, which a sanitizer makes slow; and on
 * a busy machine no CPU is idle.
 */
#include <errno.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel_events.h"
#include "profiler/kernel/abi.h"

static void *
end_at_once(void *arg)
{
	return arg;
}

/* Goal: threads that have ended take no room, however many there were. */
TEST(test_ended_threads)
{
	struct recording r;
	pthread_t thread;

	recording_open_usual(&r);
	for (unsigned i = 0; i < KERNEL_THREADS + 1000; i++) {
		assert_int_equal(
		    pthread_create(&thread, NULL, end_at_once, NULL), 0);
		pthread_join(thread, NULL);
	}
	assert_int_equal(kernel_tally(r.kernel)->crowded, 0);
	recording_close(&r);
}

/* Goal: processes beyond the limit are not watched, and counted; those that
 * have ended do not count. */
TEST(test_fork_limit)
{
	pid_t child[KERNEL_PROCESSES + 3], member[KERNEL_PROCESSES];
	struct recording r;
	int ready[2], stop[2], status;
	pid_t pid;
	char c;

	recording_open_usual(&r);
	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(stop), 0);
	pid = fork();
	if (pid == 0) {
		if (read(stop[0], &c, 1) != 1)
			_exit(1);
		for (unsigned i = 0; i < KERNEL_PROCESSES + 3; i++) {
			pid = fork();
			if (pid == 0)
				_exit(0);
			waitpid(pid, NULL, 0);
		}
		for (unsigned i = 0; i < KERNEL_PROCESSES + 3; i++) {
			child[i] = fork();
			if (child[i] == 0) {
				close(stop[1]);
				_exit(read(stop[0], &c, 1) != 0);
			}
		}
		if (write(ready[1], "x", 1) != 1)
			_exit(1);
		close(stop[1]);
		while (wait(&status) > 0)
			;
		_exit(0);
	}
	assert_int_equal(kernel_watch(r.kernel, 0, pid, false), 0);
	assert_int_equal(write(stop[1], "x", 1), 1);
	assert_int_equal(read(ready[0], &c, 1), 1);
	assert_int_equal(kernel_members(r.kernel, 0, member), KERNEL_PROCESSES);
	assert_int_equal(kernel_tally(r.kernel)->refused,
	    4); /* the parent has a place, too */
	assert_int_equal(kernel_watch(r.kernel, 0, getppid(), true), -ENOSPC);
	assert_int_equal(kernel_watch(r.kernel, 0, 1 << 30, false), -ERANGE);
	close(stop[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(kernel_members(r.kernel, 0, member), 0);
	recording_close(&r);
}

static bool
is_any(const struct talechain_event *e, const void *arg)
{
	(void)e;
	(void)arg;
	return true;
}

/* Goal: a CPU that slept before it ran us says how long and how deep. */
TEST(test_idle)
{
	struct timespec nap = {.tv_nsec = 2000000};
	struct recording r;
	unsigned tries;
	int i = -1;

	recording_init(&r);
	r.options.profile = PROFILER_KERNEL_FULL;
	recording_open(&r);
	for (tries = 0; i < 0 && tries < 100; tries++) {
		recording_begin(&r);
		nanosleep(&nap, NULL);
		recording_end(&r);
		i = recording_find(&r, 0, TALECHAIN_IDLE, is_any, NULL);
	}
	if (i < 0) {
		recording_close(&r);
		unit_skip("no CPU ever slept");
	}
	assert_true(r.event[i].arg[0] < 64);
	assert_true(r.event[i].arg[1] > 0);
	/* And one of ours ran next on that CPU. */
	while (++i < (int)r.count && r.event[i].type != TALECHAIN_SCHEDULE)
		;
	assert_true(i < (int)r.count);
	assert_int_equal(r.event[i].tid, 0);
	assert_int_equal(high(r.event[i].arg[0]), getpid());
	recording_close(&r);
}
