#include "loadgen/stats/environment.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/topology.h"
#include "base/quantity.h"

#define CPU_FULL_PCT 90

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

/* True if all of these CPUs are isolated by the kernel. */
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
		    "the server is on this machine; keep it off the sender's "
		    "CPU %s (taskset)",
		    topology_format_cpus(sender, cpus, sizeof(cpus)));
	if (h->governor[0] != '\0' && strcmp(h->governor, "performance") != 0)
		note(e,
		    "the sender's CPU has the governor %s: its speed follows "
		    "the load",
		    h->governor);
	if (h->load * 2 > h->cpus)
		note(e,
		    "the machine was busy before the run: load average %.1f on "
		    "%d CPUs",
		    h->load, h->cpus);
	if (preempted >= 1)
		note(e,
		    "other threads took the sender's CPU %.0f times an "
		    "iteration",
		    preempted);
	e->facts = e->count;
}

void
environment_advise(struct environment *e, const struct plan *plan,
    const struct verdict *v, bool real_time)
{
	char t[QUANTITY_TEXT_MAX];

	if (v->level != VERDICT_APPROXIMATE && v->level != VERDICT_DOUBTFUL &&
	    v->level != VERDICT_BAD)
		return;
	if (v->waited > 0)
		note(e,
		    "raise --max-connections, or lower --rate: %zu requests "
		    "waited for a connection",
		    v->waited);
	if (!plan->spin)
		note(e, "leave out --no-spin: the sender slept until each "
			"request");
	if (v->cpu_pct > CPU_FULL_PCT)
		note(e,
		    "lower --rate, or share the load among machines: the "
		    "sender used %.0f %% of its CPU",
		    v->cpu_pct);
	if (!real_time)
		note(e, "use --priority, where permitted: it keeps other "
			"threads off the sender's CPU");
	if (v->hiccups.spin_max_ns > NS_PER_MS)
		note(e,
		    "use another machine, or more iterations (-i), as one "
		    "stall does not move a median: the sender stalled for %s",
		    quantity_format_ns(v->hiccups.spin_max_ns, t));
	if (e->count == 0)
		note(e, "lower --rate, or use another machine: no disturbance "
			"was seen");
}

void
environment_ports_used_up(struct environment *e)
{
	note(e, PORTS_USED_UP);
}

void
environment_print(const struct environment *e, bool good, FILE *out)
{
	struct text t = {0};
	char *lines;
	size_t length;

	for (unsigned i = 0; i < e->count; i++) {
		const char *label = i >= e->facts ? "try"
				    : good	  ? "note"
						  : "disturbance";
		text_add(&t, "  %s: ", label);
		text_wrap(&t, e->notes[i], strlen(label) + 4, 4);
	}
	if (text_take(&t, &lines, &length) == 0)
		fwrite(lines, 1, length, out);
	free(lines);
}
