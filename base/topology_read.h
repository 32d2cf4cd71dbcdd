/* topology_read.h: the data that topology.c reads and topology_plan.c
 * uses; private to base/ and its tests. */
#pragma once

#include "base/topology.h"

#define TOPOLOGY_LANES_MAX 8

/* One physical core and its allowed lanes. */
struct topology_core {
	unsigned lanes; /* >= 1 */
	int cpu[TOPOLOGY_LANES_MAX];
};

struct topology {
	unsigned cores;		    /* >= 1 */
	unsigned cpus;		    /* lanes of all cores */
	unsigned lanes;		    /* of the widest core */
	double quota;		    /* CPUs, 0: none */
	struct topology_core *core; /* owned; in hwloc's logical order */
};

/* topology_open for an explicit environment:
 *   allowed  CPUs to consider, NULL for all that hwloc reports
 *   root     see cgroup_cpu_quota; NULL for no quota */
int topology_read(struct topology **out, const char *synthetic,
    const cpu_set_t *allowed, const char *root);
