/*
 * long_kernel.c: the limits of what the kernel's programs remember: processes
 * of a server, and threads.
 *
 * Long: 17,000 threads and 500 processes, which a sanitizer makes slow.
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
static void
test_ended_threads(void **state)
{
	struct kernel_losses losses;
	struct recording r;
	pthread_t thread;

	(void)state;
	recording_init(&r);
	recording_open(&r);
	for (unsigned i = 0; i < KERNEL_THREADS + 1000; i++) {
		assert_int_equal(
		    pthread_create(&thread, NULL, end_at_once, NULL), 0);
		pthread_join(thread, NULL);
	}
	kernel_losses(r.kernel, &losses);
	assert_int_equal(losses.crowded, 0);
	recording_close(&r);
}

/* Goal: processes beyond the limit are not watched, and counted; those that
 * have ended do not count. */
static void
test_fork_limit(void **state)
{
	pid_t child[KERNEL_PROCESSES + 3], member[KERNEL_PROCESSES];
	struct kernel_losses losses;
	struct recording r;
	int ready[2], stop[2], status;
	pid_t pid;
	char c;

	(void)state;
	recording_init(&r);
	recording_open(&r);
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
	kernel_losses(r.kernel, &losses);
	assert_int_equal(losses.refused, 4); /* the parent has a place, too */
	assert_int_equal(kernel_watch(r.kernel, 0, getppid(), true), -ENOSPC);
	assert_int_equal(kernel_watch(r.kernel, 0, 1 << 30, false), -ERANGE);
	close(stop[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(kernel_members(r.kernel, 0, member), 0);
	recording_close(&r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_fork_limit),
	    cmocka_unit_test(test_ended_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
