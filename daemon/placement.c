/* placement.c: places the threads on CPUs. */
#include "daemon/placement.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/background.h"
#include "base/log.h"
#include "profiler/profiler.h"
#include "proxy/request/proxy.h"

#define SLICE_NS (100 * NS_PER_US)

/* Return the CPU for a key's value: "auto" is the proposed CPU, "none" is -1
 * (not pinned), else a number. */
static int
cpu_wish(const char *text, int proposed)
{
	if (text == NULL || *text == '\0' || strcmp(text, "auto") == 0)
		return proposed;
	if (strcmp(text, "none") == 0)
		return -1;
	return atoi(text);
}

static enum profiler_poll
poll_wish(enum config_poll wish, enum topology_poll proposed)
{
	switch (wish) {
	case CONFIG_POLL_SPIN:
		return PROFILER_POLL_SPIN;
	case CONFIG_POLL_RELAX:
		return PROFILER_POLL_RELAX;
	case CONFIG_POLL_SLEEP:
		return PROFILER_POLL_SLEEP;
	case CONFIG_POLL_AUTO:
		break;
	}
	return proposed == TOPOLOGY_POLL_RELAX ? PROFILER_POLL_RELAX
					       : PROFILER_POLL_SLEEP;
}

void
placement_plan(struct proxy *p)
{
	const struct config *c = p->config;
	struct topology *t;
	enum profiler_poll poll;
	int n;

	p->plan.proxy_cpu = p->plan.observer_cpu = -1;
	p->plan.poll = TOPOLOGY_POLL_SLEEP;
	if (topology_open(&t, NULL) == 0) {
		topology_plan(t, &p->plan);
		topology_close(&t);
	} else {
		snprintf(p->plan.why, sizeof(p->plan.why),
		    "the machine's topology could not be read");
	}
	p->plan.proxy_cpu = cpu_wish(c->proxy.cpu, p->plan.proxy_cpu);
	p->plan.observer_cpu = cpu_wish(c->profiler.cpu, p->plan.observer_cpu);
	poll = poll_wish(c->profiler.poll, p->plan.poll);
	n = snprintf(
	    p->poll_text, sizeof(p->poll_text), "%s", profiler_poll_name(poll));
	if (poll == PROFILER_POLL_SLEEP)
		snprintf(p->poll_text + n, sizeof(p->poll_text) - (size_t)n,
		    ":%lldus", (long long)(c->profiler.sleep_ns / NS_PER_US));
	log_event(LOG_LEVEL_NOTICE, "placement",
	    "proxy_cpu=%d observer_cpu=%d poll=%s why=\"%s\"",
	    p->plan.proxy_cpu, p->plan.observer_cpu, p->poll_text, p->plan.why);
}

void
placement_observer(struct proxy *p, struct profiler_options *out)
{
	out->cpu = p->plan.observer_cpu;
	out->poll = poll_wish(p->config->profiler.poll, p->plan.poll);
	out->sleep_ns = p->config->profiler.sleep_ns;
}

void
placement_proxy(struct proxy *p)
{
	/* A short slice lets the scheduler run us soon after we wake, ahead
	 * of threads that compute for long.  Needs no privilege; kernels
	 * before 6.12 ignore it.  If Tailor was started under another policy
	 * (a real-time one), that policy stays.  Later threads, and the
	 * servers we start, get default scheduling. */
	struct scheduling attr = {
	    .policy = SCHED_OTHER,
	    .flags = SCHEDULING_RESET_ON_FORK,
	    .nice = getpriority(PRIO_PROCESS, 0),
	    .runtime_ns = (uint64_t)SLICE_NS,
	};
	cpu_set_t set;

	prctl(PR_SET_TIMERSLACK, 1UL);
	if (sched_getscheduler(0) == SCHED_OTHER)
		scheduling_set(0, attr);
	if (p->plan.proxy_cpu < 0)
		return;
	CPU_ZERO(&set);
	CPU_SET((size_t)p->plan.proxy_cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0) {
		log_event(LOG_LEVEL_WARNING, "not_pinned",
		    "what=proxy cpu=%d error=\"%s\" advice=\"set proxy.cpu to "
		    "a CPU this process may use (taskset -cp %d), or none\"",
		    p->plan.proxy_cpu, strerror(errno), (int)getpid());
		p->plan.proxy_cpu = -1;
	}
}
