/* recent.c: rings of ten-second slices and of hazards. */
#include "proxy/stats/recent.h"

#include "talechain/talechain.h"

int64_t
recent_bucket_edge_ns(unsigned i)
{
	static const int step[] = {1, 2, 5};
	int64_t edge = 10 * NS_PER_US;

	if (i >= RECENT_BUCKETS - 1)
		return INT64_MAX;
	for (unsigned n = i / 3; n > 0; n--)
		edge *= 10;
	return edge * step[i % 3];
}

void
recent_note(struct recent *l, const struct recent_request *r)
{
	uint64_t number = r->at.ns / (uint64_t)RECENT_SLICE_NS;
	struct recent_slice *s = &l->slice[number % RECENT_SLICES];
	unsigned i = 0;

	if (s->number != number)
		*s = (struct recent_slice){.number = number};
	while (r->total_ns > recent_bucket_edge_ns(i))
		i++;
	s->requests++;
	s->slow += r->slow;
	s->again += r->again;
	s->active = r->active;
	s->bucket[i]++;
}

/* The latest hazard of that kind if it has not ended, or NULL. */
static struct recent_hazard *
hazard_open(struct recent *l, const struct hazard *h)
{
	uint64_t kept =
	    l->hazards < RECENT_HAZARDS ? l->hazards : RECENT_HAZARDS;

	for (uint64_t i = 1; i <= kept; i++) {
		struct recent_hazard *one =
		    &l->hazard[(l->hazards - i) % RECENT_HAZARDS];

		if (one->server == h->server && one->kind == h->kind)
			return instant_is_set(one->end) ? NULL : one;
	}
	return NULL;
}

void
recent_hazard_note(struct recent *l, const struct hazard *h, struct instant now)
{
	struct recent_hazard *open = hazard_open(l, h);

	if (!h->begin) {
		if (open == NULL)
			return;
		open->end = h->at;
		/* Some sources know the cause only at the end. */
		if (open->cause == TALECHAIN_CAUSE_UNKNOWN)
			open->cause = h->cause;
		return;
	}
	if (open != NULL)
		return;
	l->hazard[l->hazards++ % RECENT_HAZARDS] = (struct recent_hazard){
	    .server = h->server,
	    .kind = h->kind,
	    .cause = h->cause,
	    .begin = h->at,
	    .noticed = now,
	};
}

void
recent_heap_note(struct recent *l, struct instant now,
    const double used[RECENT_SERVERS], unsigned active)
{
	uint64_t number = now.ns / (uint64_t)RECENT_HEAP_NS;
	struct recent_heap *h = &l->heap[number % RECENT_HEAPS];

	if (h->number == number)
		return;
	h->number = number;
	h->active = (uint8_t)active;
	for (unsigned i = 0; i < RECENT_SERVERS; i++) {
		unsigned percent = RECENT_HEAP_UNKNOWN;

		if (used[i] >= 0)
			percent = used[i] < 2 ? (unsigned)(used[i] * 100) : 200;
		h->used[i] = (uint8_t)percent;
	}
}

void
recent_rate_read(struct recent_rate *r, struct instant now, uint64_t total)
{
	if (instant_is_set(r->at[1]) &&
	    instant_since(now, r->at[1]) < RECENT_RATE_NS)
		return;
	/* The first reading is both of them. */
	r->at[0] = instant_is_set(r->at[1]) ? r->at[1] : now;
	r->total[0] = instant_is_set(r->at[1]) ? r->total[1] : total;
	r->at[1] = now;
	r->total[1] = total;
}

double
recent_rate_per_s(
    const struct recent_rate *r, struct instant now, uint64_t total)
{
	int64_t ns =
	    instant_is_set(r->at[0]) ? instant_since(now, r->at[0]) : 0;

	return ns > 0 ? (double)(total - r->total[0]) * 1e9 / (double)ns : 0;
}
