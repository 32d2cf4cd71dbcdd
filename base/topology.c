/* topology.c: read the machine; see topology.h.
 *
 * hwloc gives the cores and their lanes without those that the cgroup's cpuset
 * forbids; the affinity mask we were started with (taskset) is intersected
 * here.  A machine described without cores is taken as one core per CPU. */
#include "base/topology_read.h"

#include <errno.h>
#include <hwloc.h>
#include <stdlib.h>

#include "base/cgroup.h"

static int
load(hwloc_topology_t *out, const char *synthetic)
{
	if (hwloc_topology_init(out) != 0)
		return -ENOMEM;
	if (synthetic != NULL &&
	    hwloc_topology_set_synthetic(*out, synthetic) != 0) {
		hwloc_topology_destroy(*out);
		return -EINVAL;
	}
	if (hwloc_topology_load(*out) != 0) {
		hwloc_topology_destroy(*out);
		return -ENOSYS;
	}
	return 0;
}

/* Get a core with its lanes among the allowed CPUs; lanes is 0 if none. */
static struct topology_core
read_core(
    hwloc_topology_t machine, hwloc_obj_t object, const cpu_set_t *allowed)
{
	struct topology_core core = {0};
	hwloc_obj_t pu = NULL;

	while (core.lanes < TOPOLOGY_LANES_MAX) {
		pu = hwloc_get_next_obj_inside_cpuset_by_type(
		    machine, object->cpuset, HWLOC_OBJ_PU, pu);
		if (pu == NULL)
			break;
		if (pu->os_index >= CPU_SETSIZE ||
		    (allowed != NULL && !CPU_ISSET(pu->os_index, allowed)))
			continue;
		core.cpu[core.lanes++] = (int)pu->os_index;
	}
	return core;
}

/* -ENOSYS if no CPU is allowed. */
static int
read_cores(
    struct topology *t, hwloc_topology_t machine, const cpu_set_t *allowed)
{
	hwloc_obj_type_t type = HWLOC_OBJ_CORE;
	int n = hwloc_get_nbobjs_by_type(machine, type);

	if (n <= 0) {
		type = HWLOC_OBJ_PU;
		n = hwloc_get_nbobjs_by_type(machine, type);
	}
	if (n <= 0)
		return -ENOSYS;
	t->core = calloc((size_t)n, sizeof(*t->core));
	if (t->core == NULL)
		return -ENOMEM;
	for (int i = 0; i < n; i++) {
		struct topology_core core = read_core(machine,
		    hwloc_get_obj_by_type(machine, type, (unsigned)i), allowed);

		if (core.lanes == 0)
			continue;
		t->core[t->cores++] = core;
		t->cpus += core.lanes;
		if (core.lanes > t->lanes)
			t->lanes = core.lanes;
	}
	return t->cores > 0 ? 0 : -ENOSYS;
}

int
topology_read(struct topology **out, const char *synthetic,
    const cpu_set_t *allowed, const char *root)
{
	hwloc_topology_t machine;
	struct topology *t;
	int err;

	t = calloc(1, sizeof(*t));
	if (t == NULL)
		return -ENOMEM;
	err = load(&machine, synthetic);
	if (err != 0)
		goto fail_topology;
	err = read_cores(t, machine, allowed);
	hwloc_topology_destroy(machine);
	if (err != 0)
		goto fail_topology;
	t->quota = root != NULL ? cgroup_cpu_quota(root) : 0;
	*out = t;
	return 0;

fail_topology:
	topology_close(&t);
	return err;
}

int
topology_open(struct topology **out, const char *synthetic)
{
	cpu_set_t allowed;

	if (synthetic != NULL)
		return topology_read(out, synthetic, NULL, NULL);
	if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
		return topology_read(out, NULL, NULL, "");
	return topology_read(out, NULL, &allowed, "");
}

void
topology_close(struct topology **tp)
{
	if (*tp == NULL)
		return;
	free((*tp)->core);
	free(*tp);
	*tp = NULL;
}

unsigned
topology_neighbours(const struct topology *t, int cpu, cpu_set_t *out)
{
	cpu_set_t lanes;

	for (unsigned i = 0; i < t->cores; i++) {
		CPU_ZERO(&lanes);
		for (unsigned lane = 0; lane < t->core[i].lanes; lane++)
			CPU_SET((size_t)t->core[i].cpu[lane], &lanes);
		if (cpu < 0 || !CPU_ISSET((size_t)cpu, &lanes))
			continue;
		CPU_CLR((size_t)cpu, &lanes);
		*out = lanes;
		return t->core[i].lanes - 1;
	}
	CPU_ZERO(out);
	return 0;
}

unsigned
topology_lanes(const struct topology *t)
{
	return t->lanes;
}
