/* topology_read.h: the data that topology.c and cgroup.c read and
 * topology_plan.c uses; private to base/ and its tests. */
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

/* The quota of our control group in CPUs, 0 if there is none or it cannot be
 * read: the smallest of cpu.max (version 2) or cpu.cfs_quota_us and
 * cpu.cfs_period_us (version 1) of the group and of all visible groups above
 * it.  Sets of allowed CPUs are not read: the kernel has already removed them
 * from our affinity mask.
 *   root  prepended to /proc and /sys: "" for this machine, a directory for
 *         tests */
double cgroup_cpu_quota(const char *root);
