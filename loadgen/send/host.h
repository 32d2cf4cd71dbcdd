/* host.h: what to know about the machine a run was made on. */
#pragma once

#include <sched.h>
#include <stdbool.h>

struct host {
	char kernel[96];
	int cpus;	   /* online */
	char governor[32]; /* of the sender's CPU; "" if it has none */
	char isolated[64]; /* CPU list; "" if none are */
	double load;	   /* 1-minute average; < 0: unknown */
};

/* Read it; cpu is the sender's, or -1.  Never fails. */
void host_read(struct host *h, int cpu);

/* Give the calling thread these CPUs (none: leave it), exact timers and, if
 * wanted, real-time scheduling.  False if the latter is not permitted. */
bool host_place_sender(const cpu_set_t *cpus, bool real_time);

/* Which CPUs the sender thread and all other threads should run on.
 *   wanted  of the command line, or NULL: the last we are allowed
 *   sender  receives the sender's set; empty: do not pin
 *   others  receives the rest; the same as allowed if there is no rest
 * Returns 0, or -EINVAL if we are not allowed any CPU of wanted. */
int
host_choose_cpus(const cpu_set_t *wanted, cpu_set_t *sender, cpu_set_t *others);
