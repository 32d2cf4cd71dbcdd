/* Goal: the end of a mere thread is no death of its process.  How early a death
 * is known: long_kill.c. */
#include "fixture.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void *
thread_idle(void *arg)
{
	char c;

	/* Ends when its pipe does. */
	while (read(*(int *)arg, &c, 1) > 0)
		;
	return NULL;
}

#define THREADS 4

/* A process with further threads, which end when *end is closed. */
static pid_t
spawn(int *end)
{
	int hold[2], ready[2];
	char c = 0;
	pthread_t t;
	pid_t pid;

	assert_int_equal(pipe(hold), 0);
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		close(hold[1]);
		for (int i = 0; i < THREADS; i++)
			pthread_create(&t, NULL, thread_idle, &hold[0]);
		if (write(ready[1], &c, 1) == 1)
			pause();
		_exit(0);
	}
	close(hold[0]);
	close(ready[1]);
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	*end = hold[1];
	return pid;
}

static unsigned
threads_of(pid_t pid)
{
	char path[32];
	unsigned n = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	d = opendir(path);
	assert_non_null(d);
	for (const struct dirent *e = readdir(d); e != NULL; e = readdir(d))
		n += e->d_name[0] != '.';
	closedir(d);
	return n;
}

static void
wait_threads(pid_t pid, unsigned most)
{
	/* A sanitizer may have a thread of its own there. */
	while (threads_of(pid) > most)
		sched_yield();
}

/* Goal: a thread that ends by itself does not end its process. */
TEST(test_thread_ends_alone)
{
	struct fixture *f = malloc(sizeof(*f));
	int end;
	pid_t pid = spawn(&end);
	unsigned threads = threads_of(pid);

	fixture_init(f);
	fixture_start(f);
	profiler_server_process(f->profiler, 0, pid);
	fixture_wait_events(f, TALECHAIN_SERVER_START, 1);
	close(end);
	wait_threads(pid, threads - THREADS);
	fixture_wait_sweeps(f);
	assert_int_equal(fixture_count(f, HAZARD_EXIT, true), 0);
	kill(pid, SIGKILL);
	fixture_wait_hazards(f, HAZARD_EXIT, true, 1);
	waitpid(pid, NULL, 0);
	fixture_fini(f);
	free(f);
}
