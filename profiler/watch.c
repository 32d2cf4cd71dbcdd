/* watch.c: see the header.  The observer thread only; no system call. */
#include "profiler/watch.h"

bool
watch_page_counts(const struct watch *w)
{
	return w->agents == 0 || w->page_concurrent;
}

static uint32_t
watch_levels(const struct watch *w)
{
	uint32_t levels = 0;

	if (w->exited)
		return UINT32_C(1) << HAZARD_EXIT;
	if (w->agents_in_gc > 0 || (w->page_gc && watch_page_counts(w)))
		levels |= UINT32_C(1) << HAZARD_GC;
	if (w->page_safepoint)
		levels |= UINT32_C(1) << HAZARD_SAFEPOINT;
	return levels;
}

static void
watch_post(
    struct watch *w, enum hazard_kind kind, bool begin, const struct change *c)
{
	struct hazard h = {.server = (uint8_t)w->server,
	    .kind = (uint8_t)kind,
	    .begin = begin,
	    .cause = (uint8_t)c->cause,
	    .pid = (uint32_t)w->pid,
	    .at = c->at,
	    .seen = c->seen};
	int64_t latency_ns = 0;

	/* Stamps of different sources may cross; a length is never negative. */
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
watch_update(struct watch *w, const struct change *c)
{
	uint32_t levels = watch_levels(w);
	uint32_t differ = levels ^ w->active;
	unsigned kind;

	if (differ == 0)
		return;
	for (kind = 0; kind < HAZARD_KIND_COUNT; kind++)
		if ((differ & w->active) >> kind & 1)
			watch_post(w, (enum hazard_kind)kind, false, c);
	for (kind = 0; kind < HAZARD_KIND_COUNT; kind++)
		if ((differ & levels) >> kind & 1)
			watch_post(w, (enum hazard_kind)kind, true, c);
}

void
watch_pulse(struct watch *w, enum hazard_kind kind, struct instant begin,
    const struct change *end)
{
	struct change first = *end;

	/* Another source has it in force already: then it is no news. */
	if (w->exited || (w->active >> kind & 1))
		return;
	first.at = begin;
	watch_post(w, kind, true, &first);
	watch_post(w, kind, false, end);
}

void
watch_exit(struct watch *w, int status, const struct change *c)
{
	struct note n = {.type = TALECHAIN_SERVER_EXIT,
	    .server = (int)w->server,
	    .at = c->at,
	    .seen = c->seen,
	    .arg = {w->server, (uint64_t)w->pid, (uint64_t)(unsigned)status}};

	if (w->exited)
		return;
	w->exited = true;
	watch_update(w, c);
	output_note(w->output, &n);
	w->pid = 0;
}

void
watch_start(struct watch *w, pid_t pid, const struct change *c)
{
	struct note n = {.type = TALECHAIN_SERVER_START,
	    .server = (int)w->server,
	    .at = c->at,
	    .seen = c->seen,
	    .arg = {w->server, (uint64_t)pid}};

	w->pid = pid;
	w->exited = false;
	watch_update(w, c);
	output_note(w->output, &n);
}
