/*
 * probe_neighbour.c: whom the observer could cost something, and how to know.
 *
 * What a spinning thread takes from the other lane of its core depends on the
 * core and on what runs there, so it is not guessed: either there is nobody
 * beside it, or the command is told that measures it.
 */
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
		    "none: no core here has a second lane (SMT) for others. "
		    "On one that has, what a thread loses beside the observer "
		    "would be measured");
		return;
	}
	if (cpu < 0) {
		snprintf(text, size,
		    "the observer may run beside anybody, it is not pinned; "
		    "`tailor shim bench --cpu A --on B` measures what a "
		    "thread loses beside it on two lanes of a core");
		return;
	}
	if (topology_neighbours(t, cpu, &beside) == 0) {
		snprintf(text, size,
		    "no other lane of CPU %d's core is ours to use; whoever "
		    "runs there loses what cannot be measured from here",
		    cpu);
		return;
	}
	snprintf(text, size,
	    "CPU %d, on the same core; `tailor shim bench --cpu %d --on %d` "
	    "measures what a thread loses there",
	    first_of(&beside), first_of(&beside), cpu);
}
