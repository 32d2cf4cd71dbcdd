/* host.h: facts about the machine of a run. */
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

/* Fill in *h; cpu is the sender's, or -1.  Never fails. */
void host_read(struct host *h, int cpu);

/* Pin the calling thread to these CPUs (none: leave it), give it exact timers
 * and, if real_time, real-time scheduling.  False if the latter is refused. */
bool host_place_sender(const cpu_set_t *cpus, bool real_time);

/* Choose the CPUs of the sender thread and of all other threads.

 *   wanted  from the command line; NULL: the last allowed CPU
 *   sender  receives the sender's set; empty: do not pin
 *   others  receives the other allowed CPUs; all of them if none is left
 * Returns 0, or -EINVAL if we are not allowed any CPU of wanted. */
int
host_choose_cpus(const cpu_set_t *wanted, cpu_set_t *sender, cpu_set_t *others);
