/* hazard_state.c: the observer thread only; no system call. */
#include "profiler/channels/hazard_state.h"

bool
hazard_state_page_counts(const struct hazard_state *w)
{
	return w->agents == 0 || w->page_concurrent;
}

/* True if the sources show a hazard of a process that runs. */
static bool
hazard_state_in_force(const struct hazard_state *w, enum hazard_kind kind)
{
	switch (kind) {
	case HAZARD_GC:
		return w->agents_in_gc > 0 ||
		       (w->page_gc && hazard_state_page_counts(w));
	case HAZARD_SAFEPOINT:
		return w->page_safepoint;
	case HAZARD_QUOTA:
		return w->stall == STALL_QUOTA;
	case HAZARD_STOPPED:
		return w->stall == STALL_STOPPED;
	case HAZARD_MARKING:
		return w->agents_marking > 0;
	case HAZARD_EXIT:
	case HAZARD_UNRESPONSIVE: /* the proxy's (silence.c) */
	case HAZARD_KIND_COUNT:
		break;
	}
	return false;
}

static uint32_t
hazard_state_levels(const struct hazard_state *w)
{
	uint32_t levels = 0;

	if (w->exited)
		return UINT32_C(1) << HAZARD_EXIT;
	for (unsigned kind = 0; kind < HAZARD_KIND_COUNT; kind++)
		if (hazard_state_in_force(w, (enum hazard_kind)kind))
			levels |= UINT32_C(1) << kind;
	return levels;
}

static void
hazard_state_post(struct hazard_state *w, enum hazard_kind kind, bool begin,
    const struct hazard_change *c)
{
	struct hazard h = {.server = (uint8_t)w->server,
	    .kind = (uint8_t)kind,
	    .begin = begin,
	    .cause = (uint8_t)c->cause,
	    .over = begin && c->over,
	    .eden = w->eden,
	    .pid = (uint32_t)w->pid,
	    .left_us = begin && kind == HAZARD_QUOTA ? c->quota_left_us : 0,
	    .at = c->at,
	    .seen = c->seen};
	int64_t latency_ns = 0;

	/* Times of two sources may be out of order: no negative duration. */
	if (!begin && instant_before(h.at, w->since[kind]))
		h.at = w->since[kind];
	if (!begin)
		latency_ns = instant_since(h.at, w->since[kind]);
	else
		w->since[kind] = h.at;
	w->active ^= UINT32_C(1) << kind;
	output_hazard(w->output, &h, latency_ns);
}

void
hazard_state_update(struct hazard_state *w, const struct hazard_change *c)
{
	uint32_t levels = hazard_state_levels(w);
	uint32_t differ = levels ^ w->active;
	unsigned kind;

	if (differ == 0)
		return;
	for (kind = 0; kind < HAZARD_KIND_COUNT; kind++)
		if ((differ & w->active) >> kind & 1)
			hazard_state_post(w, (enum hazard_kind)kind, false, c);
	for (kind = 0; kind < HAZARD_KIND_COUNT; kind++)
		if ((differ & levels) >> kind & 1)
			hazard_state_post(w, (enum hazard_kind)kind, true, c);
}

void
hazard_state_pulse(struct hazard_state *w, enum hazard_kind kind,
    struct instant begin, const struct hazard_change *end)
{
	struct hazard_change first = *end;

	/* Another source has already begun it. */
	if (w->exited || (w->active >> kind & 1))
		return;
	first.at = begin;
	first.over = true;
	hazard_state_post(w, kind, true, &first);
	hazard_state_post(w, kind, false, end);
}

void
hazard_state_exit(
    struct hazard_state *w, int status, const struct hazard_change *c)
{
	struct observer_event n = {.type = TALECHAIN_SERVER_EXIT,
	    .server = (int)w->server,
	    .at = c->at,
	    .seen = c->seen,
	    .arg = {w->server, (uint64_t)w->pid, (uint64_t)(unsigned)status}};

	if (w->exited)
		return;
	w->exited = true;
	hazard_state_update(w, c);
	output_emit(w->output, &n);
	w->pid = 0;
}

void
hazard_state_start(
    struct hazard_state *w, pid_t pid, const struct hazard_change *c)
{
	struct observer_event n = {.type = TALECHAIN_SERVER_START,
	    .server = (int)w->server,
	    .at = c->at,
	    .seen = c->seen,
	    .arg = {w->server, (uint64_t)pid}};

	w->pid = pid;
	w->stall = STALL_NONE;
	w->exited = false;
	hazard_state_update(w, c);
	if (pid != 0)
		output_emit(w->output, &n);
}
