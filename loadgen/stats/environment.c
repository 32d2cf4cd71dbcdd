#include "loadgen/stats/environment.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/topology.h"

static void note(struct environment *e, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void
note(struct environment *e, const char *format, ...)
{
	va_list arguments;

	assert(e->count < ENVIRONMENT_NOTES_MAX);
	va_start(arguments, format);
	vsnprintf(
	    e->notes[e->count++], ENVIRONMENT_NOTE_MAX, format, arguments);
	va_end(arguments);
}

/* Whether the kernel keeps all else off these CPUs. */
static bool
isolated(const struct host *h, const cpu_set_t *cpus)
{
	cpu_set_t alone, both;

	if (topology_parse_cpus(h->isolated, &alone) < 0)
		return false;
	CPU_AND(&both, &alone, cpus);
	return CPU_EQUAL(&both, cpus);
}

void
environment_describe(struct environment *e, const struct host *h,
    const cpu_set_t *sender, bool same_host, double preempted)
{
	char cpus[64];

	e->count = 0;
	if (same_host && CPU_COUNT(sender) == 0)
		note(e, "the server is on this machine, and the sender has no "
			"CPU of its own");
	else if (same_host && !isolated(h, sender))
		note(e,
		    "the server is on this machine: keep it off the sender's "
		    "CPU %s (taskset), which is not isolated",
		    topology_format_cpus(sender, cpus, sizeof(cpus)));
	if (h->governor[0] != '\0' && strcmp(h->governor, "performance") != 0)
		note(e,
		    "the sender's CPU has the governor %s: its clock, and so "
		    "its speed, follows the load",
		    h->governor);
	if (h->load * 2 > h->cpus)
		note(e,
		    "the machine was busy before the run: load average %.1f on "
		    "%d CPUs",
		    h->load, h->cpus);
	if (preempted >= 1)
		note(e,
		    "the sender lost its CPU to others %.0f times an iteration",
		    preempted);
}
