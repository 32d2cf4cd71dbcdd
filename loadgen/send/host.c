#include "loadgen/send/host.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/file.h"

void
host_read(struct host *h, int cpu)
{
	struct utsname name;

	memset(h, 0, sizeof(*h));
	if (uname(&name) == 0)
		snprintf(h->kernel, sizeof(h->kernel), "%s", name.release);
	h->cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
	file_read_line(h->governor, sizeof(h->governor),
	    "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_governor",
	    cpu < 0 ? 0 : cpu);
	file_read_line(h->isolated, sizeof(h->isolated),
	    "/sys/devices/system/cpu/isolated");
	if (getloadavg(&h->load, 1) != 1)
		h->load = -1;
}

int
host_choose_cpus(const cpu_set_t *wanted, cpu_set_t *sender, cpu_set_t *others)
{
	cpu_set_t allowed;
	unsigned last = 0;

	CPU_ZERO(sender);
	CPU_ZERO(others);
	if (sched_getaffinity(0, sizeof(allowed), &allowed) < 0)
		return wanted != NULL ? -EINVAL : 0;
	*others = allowed;
	for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (CPU_ISSET(cpu, &allowed))
			last = cpu;
	}
	if (wanted != NULL)
		CPU_AND(sender, wanted, &allowed);
	else if (CPU_COUNT(&allowed) > 1)
		CPU_SET(last, sender);
	if (wanted != NULL && CPU_COUNT(sender) == 0)
		return -EINVAL;
	CPU_XOR(others, &allowed, sender);
	if (CPU_COUNT(others) == 0)
		*others = allowed;
	return 0;
}

bool
host_place_sender(const cpu_set_t *cpus, bool real_time)
{
	const struct sched_param priority = {.sched_priority = 1};

	if (CPU_COUNT(cpus) > 0)
		sched_setaffinity(0, sizeof(*cpus), cpus);
	prctl(PR_SET_TIMERSLACK, 1);
	return !real_time || pthread_setschedparam(
				 pthread_self(), SCHED_FIFO, &priority) == 0;
}
