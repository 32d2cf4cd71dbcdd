/* losses.c: times of which events of the kernel were lost.
 *
 * META_LOST lasts from the last event before the lost ones until an event after
 * them, by their stamps: the observer may read the events after a loss long
 * after they happened.  In tales of versions that gave it the time of reading,
 * and no length, the order of reading shows what was before and after it.
 *
 * Events that the kernel did not write are counted every few seconds, and may
 * have been of any CPU and time.  They are none of these losses: the tale is
 * incomplete, that is all. */
#include "base/array.h"
#include "talechain/claims/explainer.h"

/* True if an event is one that a channel has from the kernel.  THREAD events
 * may be much older than the others. */
static bool
is_of_channel(const struct tale_entry *e, uint64_t channel)
{
	return e->slot.channel == channel && e->slot.event.type >> 12 == 0 &&
	       e->slot.event.type != TALECHAIN_THREAD;
}

/* Find when a loss without length was, by the events of its channel.  False:
 * the channel has none of the kernel. */
static bool
loss_search(
    const struct tale *t, const struct tale_entry *lost, struct loss *out)
{
	const struct tale_entry *before = NULL, *after = NULL, *e;
	uint64_t channel = lost->slot.event.arg[0];

	for (e = t->entry; e < t->entry + t->entries; e++) {
		if (!is_of_channel(e, channel))
			continue;
		if (e->slot.seq < lost->slot.seq &&
		    (before == NULL || e->slot.seq > before->slot.seq))
			before = e;
		if (e->slot.seq > lost->slot.seq &&
		    (after == NULL || e->slot.seq < after->slot.seq))
			after = e;
	}
	if (after != NULL && instant_before(after->at, lost->at))
		out->end_ns = moment_at(t, after->at);
	if (before != NULL)
		out->begin_ns = moment_at(t, before->at);
	return before != NULL || after != NULL ||
	       event_cpu(&lost->slot.event) >= 0;
}

static int
loss_compare(const void *va, const void *vb)
{
	const struct loss *a = va, *b = vb;

	return COMPARE(a->begin_ns, b->begin_ns);
}

void
losses_find(struct explainer *ex)
{
	const struct tale *t = ex->t;
	const struct tale_entry *e;
	int64_t latency_ns;
	struct loss k;

	for (size_t i = 0; i < t->entries; i++) {
		e = &t->entry[i];
		if (e->slot.event.type != TALECHAIN_META_LOST ||
		    e->slot.event.arg[2] == TALECHAIN_LOSS_MISSED)
			continue;
		latency_ns = tale_event_latency_ns(&e->slot.event);
		k = (struct loss){NEVER, moment_at(t, e->at)};
		if (latency_ns > 0)
			k.begin_ns = k.end_ns - latency_ns;
		if (latency_ns > 0 ? event_cpu(&e->slot.event) < 0
				   : !loss_search(t, e, &k))
			continue;
		if (k.begin_ns < k.end_ns)
			ARRAY_ADD(&ex->failed, ex->loss, ex->losses, k);
	}
	if (ex->losses > 0)
		qsort(ex->loss, ex->losses, sizeof(*ex->loss), loss_compare);
}
