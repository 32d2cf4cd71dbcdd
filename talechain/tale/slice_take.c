/* slice_take.c: taking an event into a tale, whose size is limited.
 *
 * Applications write some of the events, so their number is limited and their
 * stamps are only believed when they can be true.  Where there are too many of
 * a kind, the shortest are left out. */
#include "talechain/tale/slice.h"

#define DOUBT_PAST_NS (60 * NS_PER_S) /* read later than this: doubtful */
#define DOUBT_FUTURE_NS NS_PER_MS     /* stamped so long after its reading */
#define BULKS_MAX \
	((size_t)TALE_EVENTS_MAX / 8 * 3) /* page faults and the like */
#define AWAY_MAX_NS (200 * NS_PER_US)	  /* longer preemptions stay */

/* True for kinds that come in thousands; only the long ones matter. */
static bool
is_bulk(const struct talechain_event *e)
{
	return e->type == TALECHAIN_PAGEFAULT || e->type == TALECHAIN_SYSCALL ||
	       e->type == TALECHAIN_RECLAIM || e->type == TALECHAIN_SOFTIRQ;
}

/* Leave out bulks that are shorter than a limit; each call doubles it. */
static void
slice_thin(struct slicer *s)
{
	struct tale *t = s->tale;
	size_t kept = 0;

	s->bulk_least_ns = s->bulk_least_ns > 0 ? 2 * s->bulk_least_ns : 500;
	for (size_t i = 0; i < t->entries; i++) {
		if (is_bulk(&t->entry[i].slot.event) &&
		    tale_event_latency_ns(&t->entry[i].slot.event) <
			s->bulk_least_ns) {
			s->bulks--;
			s->kernels--;
			t->omitted++;
			continue;
		}
		t->entry[kept++] = t->entry[i];
	}
	t->entries = kept;
	memset(s->fault, 0, sizeof(s->fault));
}

/* The thread that an event shows as preempted, or 0. */
static uint32_t
preempted(const struct talechain_event *e)
{
	return e->type == TALECHAIN_SCHEDULE &&
		       e->arg[3] >> TALECHAIN_OFF_SHIFT ==
			   TALECHAIN_OFF_PREEMPTED
		   ? e->tid
		   : 0;
}

/* Leave out preemptions that are shorter than a limit, and double it each time:
 * the thread then seems to have run on.  A preemption by a thread that takes
 * part stays: the intervals of that thread need it. */
static void
slice_thin_switches(struct slicer *s)
{
	struct tale *t = s->tale;
	size_t left[SLICE_CPUS] = {0}; /* entry + 1, by thread */
	size_t i, kept = 0, *place;
	uint32_t in, out;

	s->away_least_ns = s->away_least_ns > 0 ? 2 * s->away_least_ns : 5000;
	for (i = 0; i < t->entries; i++) {
		const struct talechain_event *e = &t->entry[i].slot.event;

		in = e->type == TALECHAIN_SCHEDULE ? tale_low(e->arg[0]) : 0;
		out = preempted(e);
		if (in != 0 && !slice_is_thread(t, in) &&
		    !slice_is_thread(t, e->tid)) {
			t->entry[i].slot.event.type = 0; /* neither took part */
			continue;
		}
		place = &left[in % SLICE_CPUS];
		if (in != 0 && *place != 0 && !slice_is_thread(t, e->tid) &&
		    t->entry[*place - 1].slot.event.tid == in &&
		    instant_since(t->entry[i].at, t->entry[*place - 1].at) <
			s->away_least_ns) {
			t->entry[*place - 1].slot.event.type = 0;
			t->entry[i].slot.event.type = 0;
		}
		if (in != 0)
			*place = 0;
		if (out != 0 && !slice_is_thread(t, in))
			left[out % SLICE_CPUS] = i + 1;
	}
	for (i = 0; i < t->entries; i++) {
		if (t->entry[i].slot.event.type != 0) {
			t->entry[kept++] = t->entry[i];
			continue;
		}
		s->kernels--;
		s->switches--;
		t->omitted++;
	}
	t->entries = kept;
	memset(s->fault, 0, sizeof(s->fault));
}

/* True if there is no place for a slot, after making some if that helps. */
static bool
slice_full(struct slicer *s, const struct timeline_slot *slot)
{
	unsigned class = slot->event.type >> 12;

	if (is_bulk(&slot->event)) {
		while (s->bulks >= BULKS_MAX)
			slice_thin(s);
		if (tale_event_latency_ns(&slot->event) < s->bulk_least_ns)
			return true;
	}
	/* The limit ends the loop: some switches cannot be left out. */
	while (slot->event.type == TALECHAIN_SCHEDULE &&
	       s->switches >= TALE_SWITCHES_MAX &&
	       s->away_least_ns < AWAY_MAX_NS)
		slice_thin_switches(s);
	if (slot->event.type == TALECHAIN_SCHEDULE &&
	    s->switches >= TALE_SWITCHES_MAX)
		return true;
	return s->tale->entries >= TALE_EVENTS_MAX ||
	       (class == 2 && s->applications >= TALE_EVENTS_MAX / 2) ||
	       (class == 0 && s->kernels >= TALE_KERNELS_MAX);
}

int
slice_add(struct slicer *s, const struct timeline_slot *slot)
{
	struct tale *t = s->tale;
	struct tale_entry *e;
	struct instant ts = {slot->event.ts}, read = {slot->read_ns};

	if (slice_full(s, slot)) {
		t->omitted++;
		return 0;
	}
	e = tale_entry_push(t);
	if (e == NULL)
		return -ENOMEM;
	e->slot = *slot;
	e->doubtful = instant_before(instant_plus(read, DOUBT_FUTURE_NS), ts) ||
		      instant_before(ts, tale_earlier(read, DOUBT_PAST_NS));
	e->at = e->doubtful ? read : ts;
	s->applications += slot->event.type >> 12 == 2;
	s->kernels += slot->event.type >> 12 == 0;
	s->bulks += is_bulk(&slot->event);
	s->switches += slot->event.type == TALECHAIN_SCHEDULE;
	return 0;
}

int
slice_add_once(struct slicer *s, struct timeline_slot *slot)
{
	int err = slot->reserved == 0 ? slice_add(s, slot) : 0;

	slot->reserved = 1;
	return err;
}

bool
slice_touches(const struct slicer *s, const struct timeline_slot *slot)
{
	uint64_t ts = slot->event.ts;
	struct instant begin = tale_earlier(
	    (struct instant){ts}, tale_event_latency_ns(&slot->event));

	return ts >= s->from.ns && !instant_before(s->to, begin);
}
