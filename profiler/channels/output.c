/* output.c: no allocation, no lock; the only system call is the hazard ring's
 * wake-up. */
#include "profiler/channels/output.h"

void
output_emit(struct observer_output *o, const struct observer_event *n)
{
	output_emit_on(o, n, -1);
}

void
output_emit_on(
    struct observer_output *o, const struct observer_event *n, int cpu)
{
	struct talechain_event e;

	memset(&e, 0, sizeof(e));
	e.seq = 2 * o->sequence++ + 2;
	e.ts = n->at.ns;
	e.tid = o->tid;
	e.pid = o->pid;
	e.type = (uint16_t)n->type;
	e.version = 1;
	e.cpu = cpu >= 0 ? (uint32_t)cpu : UINT32_MAX;
	for (unsigned i = 0; i < 4; i++)
		e.arg[i] = n->arg[i];
	timeline_append(o->timeline, &e, OUTPUT_CHANNEL, n->server, n->seen);
}

void
output_event(struct observer_output *o, const struct talechain_event *e,
    uint32_t channel, int server, struct instant seen)
{
	timeline_append(o->timeline, e, channel, server, seen);
	count_add(&o->counters.events, 1);
}

void
output_lost(
    struct observer_output *o, const struct output_gap *g, struct instant seen)
{
	struct observer_event n = {.type = TALECHAIN_META_LOST,
	    .server = -1,
	    .at = g->end,
	    .seen = seen,
	    .arg = {g->channel, g->events, (uint64_t)g->why}};

	if (instant_is_set(g->begin) && instant_before(g->begin, g->end))
		n.arg[3] = g->end.ns - g->begin.ns;
	switch (g->why) {
	case TALECHAIN_LOSS_OVERWRITTEN:
		count_add(&o->counters.lost, g->events);
		break;
	case TALECHAIN_LOSS_ABANDONED:
		count_add(&o->counters.abandoned, g->events);
		break;
	case TALECHAIN_LOSS_REJECTED:
		count_add(&o->counters.rejected, g->events);
		break;
	case TALECHAIN_LOSS_MISSED:
		count_add(&o->counters.missed, g->events);
		break;
	}
	output_emit_on(o, &n, g->cpu);
}

void
output_hazard(
    struct observer_output *o, const struct hazard *h, int64_t latency_ns)
{
	struct observer_event n = {
	    .type = h->begin ? TALECHAIN_PAUSE_BEGIN : TALECHAIN_PAUSE_END,
	    .server = h->server,
	    .at = h->at,
	    .seen = h->seen,
	    .arg = {h->server, h->kind, h->cause, (uint64_t)latency_ns}};

	/* Inform the proxy first: the stream can wait a hundred ns. */
	if (hazard_ring_post(o->hazards, h))
		count_add(&o->counters.hazards, 1);
	else
		count_add(&o->counters.hazards_lost, 1);
	output_emit(o, &n);
}
