/* doomed.c: see the header. */
#include "doomed.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
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

pid_t
doomed_new(int *end, size_t bytes)
{
	int hold[2], ready[2];
	char c = 0;
	pthread_t t;
	pid_t pid;

	assert_int_equal(pipe(hold), 0);
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		char *m = mmap(NULL, bytes + 1, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		madvise(m, bytes, MADV_NOHUGEPAGE); /* slower to give back */
		for (size_t i = 0; i < bytes; i += 4096)
			m[i] = 1;
		close(hold[1]);
		for (int i = 0; i < DOOMED_THREADS; i++)
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

unsigned
doomed_threads(pid_t pid)
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

void
doomed_wait(pid_t pid, unsigned most)
{
	/* A sanitizer may have a thread of its own there. */
	while (doomed_threads(pid) > most)
		sched_yield();
}
