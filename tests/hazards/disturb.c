/*
 * disturb.c: what happens to a server from outside, on command.
 *
 *	disturb CPU NICE
 *
 * reads one command a line and answers it, when it is over, with
 * "BEGIN END\n" in nanoseconds of CLOCK_MONOTONIC, or "error WHY\n":
 *
 *	hog AFTER_US US		compute for that long on CPU, as one of all
 *				(its nice value is NICE)
 *	peer AFTER_US US	the same under SCHED_RR at the server's priority:
 *				a server that wants the CPU waits its turn
 *	fifo AFTER_US US	the same under SCHED_FIFO: no other thread runs
 *	stop AFTER_US US PID	SIGSTOP, and SIGCONT after that long
 *
 * Its thread that harms is called hog, peer or fifo, so that a tale can name
 * it.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
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

static void
stop(struct order *o)
{
	sleep_until(instant_plus(instant_now(), o->after_us * NS_PER_US));
	o->begin = instant_now();
	if (kill(o->pid, SIGSTOP) < 0) {
		o->err = -errno;
		return;
	}
	sleep_until(instant_plus(o->begin, o->us * NS_PER_US));
	kill(o->pid, SIGCONT);
	o->end = instant_now();
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
