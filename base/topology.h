/* topology.h: the CPUs, and which threads should run on them.
 *
 * Reads the machine through hwloc (sockets, cores, SMT siblings, allowed CPUs,
 * the cgroup's CPU quota) and proposes a placement after the thesis: proxy and
 * observer on the two lanes of one core, the servers on different lanes of the
 * other cores.  On a smaller machine the plan says which lanes are shared and
 * how the observer should poll.  The caller pins the threads. */
#pragma once

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

#define TOPOLOGY_SERVERS 2

struct topology; /* opaque */

enum topology_poll {
	TOPOLOGY_POLL_RELAX, /* SMT sibling of the proxy: spin with pauses */
	TOPOLOGY_POLL_SLEEP, /* sleep between sweeps */
};

struct topology_plan {
	int proxy_cpu;	  /* -1: do not pin */
	int observer_cpu; /* -1: do not pin */
	bool siblings;	  /* proxy and observer share a core */
	enum topology_poll poll;
	cpu_set_t server_cpus[TOPOLOGY_SERVERS];
	bool servers_overlap; /* the two sets share a CPU */
	char why[256];	      /* one sentence for the log */
};

/* Read the machine, or with a non-NULL synthetic text (hwloc's description,
 * "core:8 pu:2") a simulated one, for tests.  Returns 0, -ENOMEM, -EINVAL (text
 * not understood) or -ENOSYS (hwloc could not read this machine).  Free with
 * topology_close.  Any thread. */
int topology_open(struct topology **out, const char *synthetic);
void topology_close(struct topology **tp);

/* Number of allowed lanes of the widest core (>= 1). */
unsigned topology_lanes(const struct topology *t);

/* Get the other allowed lanes of a CPU's core; returns how many.  0 if the CPU
 * is not allowed. */
unsigned topology_neighbours(const struct topology *t, int cpu, cpu_set_t *out);

/* Fill in a proposed placement; never fails: the smallest plan pins nothing. */
void topology_plan(const struct topology *t, struct topology_plan *out);

/* Parse "0-3,8" into a set.  Returns 0, -EINVAL (syntax) or -ERANGE (a CPU >=
 * CPU_SETSIZE).  *out is unchanged on error. */
int topology_parse_cpus(const char *text, cpu_set_t *out);

/* Write a set as "0-3,8"; always terminates; returns out. */
char *topology_format_cpus(const cpu_set_t *set, char *out, size_t size);
