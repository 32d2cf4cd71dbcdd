/* children.c: see the header. */
#include "children.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

pid_t
child_new(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	return pid;
}

/* A socket on an address, whose port *address gets, with this option. */
static int
socket_on(struct sockaddr_storage *address, int option)
{
	socklen_t length = address->ss_family == AF_UNIX
			       ? sizeof(struct sockaddr_un)
			       : sizeof(struct sockaddr_in);
	int s = socket(address->ss_family, SOCK_STREAM, 0), one = 1;

	setsockopt(s, SOL_SOCKET, option, &one, sizeof(one));
	assert_int_equal(bind(s, (void *)address, length), 0);
	assert_int_equal(getsockname(s, (void *)address, &length), 0);
	return s;
}

int
port_hold(struct sockaddr_storage *address)
{
	return socket_on(address, SO_REUSEADDR);
}

int
listen_on(struct sockaddr_storage *address, int option)
{
	int s = socket_on(address, option);

	assert_int_equal(listen(s, 5), 0);
	return s;
}

pid_t
listener_new(struct sockaddr_storage *address)
{
	int s = listen_on(address, SO_REUSEADDR), ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (write(ready[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	/* Only the child holds it from here on. */
	close(s);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

void
child_kill(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

struct sockaddr_storage
loopback_address(void)
{
	struct sockaddr_storage a = {0};
	struct sockaddr_in *four = (void *)&a;

	four->sin_family = AF_INET;
	four->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return a;
}

static void
team_forks(int ready, int s)
{
	pid_t pid[3];

	for (unsigned i = 0; i < 3; i++) {
		pid[i] = fork();
		if (pid[i] != 0)
			continue;
		if (i == 2)
			close(s);
		for (;;)
			pause();
	}
	if (write(ready, pid, sizeof(pid)) != sizeof(pid))
		_exit(1);
	for (;;)
		pause();
}

void
team_start(struct team *t)
{
	int s, ready[2];

	t->address = loopback_address();
	s = listen_on(&t->address, SO_REUSEADDR);
	assert_int_equal(pipe(ready), 0);
	t->pid[0] = fork();
	if (t->pid[0] == 0)
		team_forks(ready[1], s);
	close(s);
	assert_int_equal(
	    read(ready[0], &t->pid[1], 3 * sizeof(pid_t)), 3 * sizeof(pid_t));
	close(ready[0]);
	close(ready[1]);
}

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
