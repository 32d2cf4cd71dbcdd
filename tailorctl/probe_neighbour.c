/* probe_neighbour.c: which CPUs the observer could slow down.
 *
 * What a spinning thread takes from the SMT sibling depends on the core and on
 * the load there, so it is not estimated: the result is "none", or the command
 * that measures it. */
#include <stdio.h>

#include "base/topology.h"
#include "tailorctl/probe.h"

static int
first_of(const cpu_set_t *set)
{
	int cpu = 0;

	while (!CPU_ISSET((size_t)cpu, set))
		cpu++;
	return cpu;
}

void
probe_neighbour(const struct topology *t, int cpu, char *text, size_t size)
{
	cpu_set_t beside;

	if (topology_lanes(t) < 2) {
		snprintf(text, size,
		    "none: no core here has an SMT sibling for others. "
		    "Where one has, the cost to a thread beside the observer "
		    "can be measured");
		return;
	}
	if (cpu < 0) {
		snprintf(text, size,
		    "the observer is not pinned and may run on any CPU; "
		    "`tailor shim bench --cpu A --on B` measures what a "
		    "thread loses beside it on an SMT sibling");
		return;
	}
	if (topology_neighbours(t, cpu, &beside) == 0) {
		snprintf(text, size,
		    "this process may not use the SMT siblings of CPU %d; "
		    "the cost to them cannot be measured from here",
		    cpu);
		return;
	}
	snprintf(text, size,
	    "CPU %d, on the same core; `tailor shim bench --cpu %d --on %d` "
	    "measures what a thread loses there",
	    first_of(&beside), first_of(&beside), cpu);
}
