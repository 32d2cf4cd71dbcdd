/* topology_plan.c: propose a placement; see topology.h.
 *
 * Four plans, the first that fits:
 *   lanes    a core with two lanes can be spared: proxy and observer on its
 *            lanes, the servers on lane 0 and lane 1 of the other cores
 *   cores    four CPUs or more: one for the observer, one for the proxy, half
 *            of the rest for each server
 *   proxy    three CPUs: one for the proxy, one for each server
 *   shared   fewer: the servers on different CPUs if possible, Tailor's threads
 *            not pinned
 * The observer spins only on a lane of the proxy's core, where its cache lines
 * stay.  A spinning thread uses up the cgroup's quota, so with a quota under
 * four CPUs the observer sleeps there, too. */
#include "base/topology_read.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* A CPU each for the proxy, the observer and each server. */
#define CPUS_FOR_ALL (2 + TOPOLOGY_SERVERS)

/* Return the i-th CPU, counted core by core; i < t->cpus. */
static int
nth_cpu(const struct topology *t, unsigned i)
{
	unsigned core = 0;

	assert(i < t->cpus);
	for (; i >= t->core[core].lanes; core++)
		i -= t->core[core].lanes;
	return t->core[core].cpu[i];
}

/* Find the last core that has two lanes and leaves the servers two CPUs. */
static const struct topology_core *
core_to_spare(const struct topology *t)
{
	for (unsigned i = t->cores; i-- > 0;) {
		const struct topology_core *c = &t->core[i];

		if (c->lanes >= 2 && t->cpus - c->lanes >= TOPOLOGY_SERVERS)
			return c;
	}
	return NULL;
}

/* Lanes alternate between the servers; so do cores that have only one. */
static void
place_servers_on_lanes(const struct topology *t,
    const struct topology_core *spared, struct topology_plan *out)
{
	unsigned singles = 0;

	for (unsigned i = 0; i < t->cores; i++) {
		const struct topology_core *c = &t->core[i];

		if (c == spared)
			continue;
		if (c->lanes == 1)
			CPU_SET((size_t)c->cpu[0],
			    &out->server_cpus[singles++ % TOPOLOGY_SERVERS]);
		for (unsigned lane = 0; c->lanes > 1 && lane < c->lanes; lane++)
			CPU_SET((size_t)c->cpu[lane],
			    &out->server_cpus[lane % TOPOLOGY_SERVERS]);
	}
}

static void
plan_lanes(const struct topology *t, const struct topology_core *spared,
    struct topology_plan *out)
{
	out->proxy_cpu = spared->cpu[0];
	out->observer_cpu = spared->cpu[1];
	out->siblings = true;
	out->poll = TOPOLOGY_POLL_RELAX;
	place_servers_on_lanes(t, spared, out);
	text_append(out->why, sizeof(out->why),
	    "%u cores with %u lanes: proxy and observer share the core of "
	    "CPUs %d and %d, the servers have separate lanes of the other %u",
	    t->cores, t->lanes, out->proxy_cpu, out->observer_cpu,
	    t->cores - 1);
}

static void
plan_cores(const struct topology *t, struct topology_plan *out)
{
	unsigned rest = t->cpus - 2;

	out->observer_cpu = nth_cpu(t, t->cpus - 1);
	out->proxy_cpu = nth_cpu(t, t->cpus - 2);
	out->poll = TOPOLOGY_POLL_SLEEP;
	for (unsigned i = 0; i < rest; i++)
		CPU_SET((size_t)nth_cpu(t, i),
		    &out->server_cpus[i < (rest + 1) / 2 ? 0 : 1]);
	text_append(out->why, sizeof(out->why),
	    "%u CPUs, no core to share: proxy on CPU %d, observer on CPU %d, "
	    "the servers have half of the other %u each; the observer sleeps "
	    "between sweeps",
	    t->cpus, out->proxy_cpu, out->observer_cpu, rest);
}

static void
plan_shared(const struct topology *t, struct topology_plan *out)
{
	out->poll = TOPOLOGY_POLL_SLEEP;
	CPU_SET((size_t)nth_cpu(t, 0), &out->server_cpus[0]);
	if (t->cpus == 1) {
		CPU_SET((size_t)nth_cpu(t, 0), &out->server_cpus[1]);
		out->servers_overlap = true;
		text_append(out->why, sizeof(out->why),
		    "one CPU: the servers, the proxy and the observer share "
		    "it; the observer sleeps between sweeps");
		return;
	}
	CPU_SET((size_t)nth_cpu(t, 1), &out->server_cpus[1]);
	if (t->cpus == 2) {
		text_append(out->why, sizeof(out->why),
		    "2 CPUs: one for each server; the proxy and the observer "
		    "run on either; the observer sleeps between sweeps");
		return;
	}
	out->proxy_cpu = nth_cpu(t, 2);
	text_append(out->why, sizeof(out->why),
	    "3 CPUs: one for each server, CPU %d for the proxy; the observer "
	    "runs on any CPU and sleeps between sweeps",
	    out->proxy_cpu);
}

void
topology_plan(const struct topology *t, struct topology_plan *out)
{
	const struct topology_core *spared = core_to_spare(t);

	*out = (struct topology_plan){.proxy_cpu = -1, .observer_cpu = -1};
	if (spared != NULL)
		plan_lanes(t, spared, out);
	else if (t->cpus >= CPUS_FOR_ALL)
		plan_cores(t, out);
	else
		plan_shared(t, out);
	if (t->quota > 0 && t->quota < CPUS_FOR_ALL &&
	    out->poll != TOPOLOGY_POLL_SLEEP) {
		out->poll = TOPOLOGY_POLL_SLEEP;
		text_append(out->why, sizeof(out->why),
		    "; the quota is %.2f CPUs, so the observer sleeps",
		    t->quota);
	}
}
