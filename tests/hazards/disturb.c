/*
 * disturb.c: what happens to a server from outside, on command.
 *
 * 	disturb CPU NICE
 *
 * reads one command a line and answers it, when it is over, with
 * "BEGIN END\n" in nanoseconds of CLOCK_MONOTONIC, or "error WHY\n":
 *
 * 	hog AFTER_US US		compute for that long on CPU, as one of all
 * 				(its nice value is NICE)
 * 	peer AFTER_US US	the same under SCHED_RR at the server's
 * priority: 				a server that wants the CPU waits its
 * turn 	fifo AFTER_US US	the same under SCHED_FIFO: no other
 * thread runs 	stop AFTER_US US PID	SIGSTOP, and SIGCONT after that long;
 * BEGIN is 				when no thread of it ran any more, by
 * /proc
 *
 * Its thread that harms is called hog, peer or fifo, so that a tale can name
 * it.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/instant.h"

#define SERVER_PRIORITY 10 /* as in rig.py */
#define PROCESSES 16	   /* of a group */
#define LOOK_NS (50 * NS_PER_US)

struct order {
	char what[8];
	long after_us, us;
	pid_t pid;
	int cpu, nice;
	int err;
	struct instant begin, end;
};

static void
sleep_until(struct instant when)
{
	struct timespec t = {
	    (time_t)(when.ns / NS_PER_S), (long)(when.ns % NS_PER_S)};

	while (
	    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		continue;
}

static int
become(const struct order *o)
{
	struct sched_param first = {.sched_priority = 50}, none = {0};
	struct sched_param equal = {.sched_priority = SERVER_PRIORITY};
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)o->cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0)
		return -errno;
	if (strcmp(o->what, "fifo") == 0)
		return sched_setscheduler(0, SCHED_FIFO, &first) < 0 ? -errno
								     : 0;
	if (strcmp(o->what, "peer") == 0)
		return sched_setscheduler(0, SCHED_RR, &equal) < 0 ? -errno : 0;
	if (sched_setscheduler(0, SCHED_OTHER, &none) < 0)
		return -errno;
	return setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), o->nice) < 0
		   ? -errno
		   : 0;
}

/* Compute on the CPU from the first moment it gets there. */
static void *
occupy(void *arg)
{
	struct order *o = arg;
	struct instant begin = instant_now();

	o->err = become(o);
	if (o->err < 0)
		return NULL;
	sleep_until(instant_plus(begin, o->after_us * NS_PER_US));
	o->begin = instant_now();
	do
		o->end = instant_now();
	while (instant_since(o->end, o->begin) < o->us * NS_PER_US);
	return NULL;
}

/* The numbers that a directory of /proc lists and that are wanted. */
static unsigned
numbers(const char *path, bool (*wanted)(pid_t pid, const struct order *o),
    const struct order *o, pid_t *out, unsigned most)
{
	DIR *d = opendir(path);
	struct dirent *e;
	unsigned n = 0;
	pid_t pid;

	while (d != NULL && n < most && (e = readdir(d)) != NULL) {
		pid = atoi(e->d_name);
		if (pid > 0 && wanted(pid, o))
			out[n++] = pid;
	}
	if (d != NULL)
		closedir(d);
	return n;
}

static bool
is_victim(pid_t pid, const struct order *o)
{
	return o->pid < 0 ? getpgid(pid) == -o->pid : pid == o->pid;
}

/* A signal stops a process once one of its threads has run and taken it. */
static bool
runs(pid_t tid, const struct order *o)
{
	char path[48], line[256] = "";
	const char *name;
	FILE *f;

	(void)o;
	snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	f = fopen(path, "re");
	if (f == NULL)
		return false;
	if (fgets(line, sizeof(line), f) == NULL)
		line[0] = '\0';
	fclose(f);
	name = strrchr(line, ')');
	return name != NULL && strchr("TZXx", name[2]) == NULL;
}

static bool
any_runs(const pid_t *pid, unsigned n)
{
	char path[48];
	pid_t one;

	for (unsigned i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "/proc/%d/task", pid[i]);
		if (numbers(path, runs, NULL, &one, 1) > 0)
			return true;
	}
	return false;
}

static void
stop(struct order *o)
{
	struct instant end;
	pid_t pid[PROCESSES];
	unsigned n = numbers("/proc", is_victim, o, pid, PROCESSES);

	sleep_until(instant_plus(instant_now(), o->after_us * NS_PER_US));
	end = instant_plus(instant_now(), o->us * NS_PER_US);
	if (kill(o->pid, SIGSTOP) < 0) {
		o->err = -errno;
		return;
	}
	do {
		sleep_until(instant_plus(instant_now(), LOOK_NS));
		o->begin = instant_now();
	} while (any_runs(pid, n) && instant_before(o->begin, end));
	sleep_until(end);
	/* What it wakes may take this CPU before kill() returns. */
	o->end = instant_now();
	kill(o->pid, SIGCONT);
}

static void
obey(struct order *o)
{
	pthread_t thread;

	if (strcmp(o->what, "stop") == 0) {
		stop(o);
		return;
	}
	/* A thread is born with the name of its maker. */
	pthread_setname_np(pthread_self(), o->what);
	o->err = -pthread_create(&thread, NULL, occupy, o);
	if (o->err == 0)
		pthread_join(thread, NULL);
}

int
main(int argc, char **argv)
{
	char line[128];

	if (argc != 3) {
		fprintf(stderr, "usage: disturb CPU NICE\n");
		return 2;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
	while (fgets(line, sizeof(line), stdin) != NULL) {
		struct order o = {.cpu = atoi(argv[1]), .nice = atoi(argv[2])};

		if (sscanf(line, "%7s %ld %ld %d", o.what, &o.after_us, &o.us,
			&o.pid) < 3)
			o.err = -EINVAL;
		else
			obey(&o);
		if (o.err < 0)
			printf("error %s\n", strerror(-o.err));
		else
			printf(
			    "%" PRIu64 " %" PRIu64 "\n", o.begin.ns, o.end.ns);
		fflush(stdout);
	}
	return 0;
}
