/* losses.c: times of which events of the kernel were lost.
 *
 * META_LOST lasts from the last event before the lost ones until an event after
 * them, by their stamps: the observer may read the events after a loss long
 * after they happened.  Those of the kernel name their CPU.
 *
 * Events that the kernel did not write are counted every few seconds, and may
 * have been of any CPU and time.  They are none of these losses: the tale is
 * incomplete, that is all. */
#include "base/array.h"
#include "talechain/claims/explainer.h"

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
	struct loss k;

	for (size_t i = 0; i < t->entries; i++) {
		e = &t->entry[i];
		if (e->slot.event.type != TALECHAIN_META_LOST ||
		    event_cpu(&e->slot.event) < 0)
			continue;
		k.end_ns = moment_at(t, e->at);
		k.begin_ns = k.end_ns - tale_event_latency_ns(&e->slot.event);
		if (k.begin_ns < k.end_ns)
			ARRAY_ADD(&ex->failed, ex->loss, ex->losses, k);
	}
	if (ex->losses > 0)
		qsort(ex->loss, ex->losses, sizeof(*ex->loss), loss_compare);
}
