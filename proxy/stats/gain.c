/* gain.c: one request's estimate, and a day of them. */
#include "proxy/stats/gain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "talechain/talechain.h"

#define FIRST_NS ((double)(10 * NS_PER_US))
#define GROWTH 1.05

int64_t
gain_bucket_ns(unsigned i)
{
	return i == 0 ? 0 : (int64_t)(FIRST_NS * pow(GROWTH, i - 1));
}

static unsigned
bucket_of(int64_t ns)
{
	double i;

	if ((double)ns < FIRST_NS)
		return 0;
	i = 1 + floor(log((double)ns / FIRST_NS) / log(GROWTH));
	return i < GAIN_BUCKETS - 1 ? (unsigned)i : GAIN_BUCKETS - 1;
}

static struct gain_block *
block_at(struct gain *g, struct instant now)
{
	uint64_t number = now.ns / (uint64_t)GAIN_BLOCK_NS;
	struct gain_block *b = &g->block[number % GAIN_BLOCKS];

	if (b->number != number)
		*b = (struct gain_block){.number = number};
	return b;
}

/* The first pause of a server that began before one instant and ended, if at
 * all, after another; NULL: none. */
static const struct recent_hazard *
pause_between(const struct recent *all, uint32_t triggers, unsigned server,
    struct instant from, struct instant to)
{
	const struct recent_hazard *first = NULL;
	unsigned over_before = 0;
	uint64_t kept =
	    all->hazards < RECENT_HAZARDS ? all->hazards : RECENT_HAZARDS;

	for (uint64_t i = 1; i <= kept; i++) {
		const struct recent_hazard *h =
		    &all->hazard[(all->hazards - i) % RECENT_HAZARDS];
		bool over =
		    instant_is_set(h->end) && instant_before(h->end, from);

		/* Kinds overlap, but not many. */
		if (over && ++over_before > 2 * HAZARD_KIND_COUNT)
			break;
		if (!over && h->server == server &&
		    (triggers >> h->kind & 1) != 0 &&
		    instant_before(h->seen, to))
			first = h;
	}
	return first;
}

/* When the request would have gone to the other server; false: never.  again:
 * it would have been there a second time; paused: it was there in a pause. */
static bool
moved_at(const struct gain *g, const struct gain_seen *seen,
    const struct gain_request *r, struct instant *at, bool *again, bool *paused)
{
	struct instant end =
	    instant_is_set(r->answered) ? r->answered : r->finished;
	const struct recent_hazard *h = pause_between(
	    seen->hazards, seen->triggers, r->server, r->written, end);

	*again = false;
	*paused = h != NULL;
	*at = r->written;
	if (h == NULL)
		return instant_is_set(g->wake[r->server]) &&
		       instant_before(r->written, g->wake[r->server]);
	if (!instant_before(r->written, h->seen))
		return true; /* sent there in the first place */
	*again = true;
	*at = h->seen;
	return r->repeatable;
}

static void
sample_add(struct gain *g, const struct gain_request *r)
{
	if (!r->failed)
		g->sample[g->samples++ % GAIN_SAMPLES] =
		    instant_since(r->finished, r->written);
}

static int
ascending(const void *va, const void *vb)
{
	const int64_t *a = va, *b = vb;

	return (*a > *b) - (*a < *b);
}

static unsigned
kept(uint64_t made, unsigned places)
{
	return made < places ? (unsigned)made : places;
}

void
gain_check(struct gain_checks *c, bool in_pause, int64_t ns)
{
	int64_t sorted[GAIN_CHECKS];
	unsigned n;

	if (in_pause) {
		c->pause_ns[c->pause++ % GAIN_CHECKS] = ns;
		return;
	}
	c->calm_ns[c->calm++ % GAIN_CHECKS] = ns;
	n = kept(c->calm, GAIN_CHECKS);
	memcpy(sorted, c->calm_ns, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), ascending);
	c->calm_median_ns = sorted[n / 2];
}

/* One of a ring, by a number that does not follow the clients'. */
static int64_t
draw(const int64_t *ring, unsigned n, uint64_t number)
{
	uint64_t lot = number * UINT64_C(0x9e3779b97f4a7c15);

	return ring[(lot >> 32) % n];
}

/* How much longer the other server takes while this one pauses. */
static int64_t
slower(const struct gain_seen *seen, unsigned server, uint64_t number)
{
	const struct gain_checks *here = seen->checks[server];
	const struct gain_checks *there = seen->checks[1 - server];
	int64_t ns;

	if (!gain_checks_suffice(here, there))
		return 0;
	ns = draw(there->pause_ns, kept(there->pause, GAIN_CHECKS), number) -
	     here->calm_median_ns;
	return ns > 0 ? ns : 0;
}

static void
would_count(struct gain_block *b, int64_t ns, uint32_t draws)
{
	b->would[bucket_of(ns)] += draws;
	if (ns > b->would_max_ns)
		b->would_max_ns = ns;
}

/* What the request would have taken; b counts it. */
static void
estimate(const struct gain *g, const struct gain_seen *seen,
    const struct gain_request *r, struct instant at, bool again,
    struct gain_block *b)
{
	int64_t was = instant_since(r->finished, r->first_byte), would;
	uint64_t number = g->requests * GAIN_DRAWS;

	b->met++;
	if (g->samples < GAIN_SAMPLES_LEAST ||
	    pause_between(
		seen->hazards, seen->triggers, 1 - r->server, at, at) != NULL) {
		b->unknown++;
		would_count(b, was, GAIN_DRAWS);
		return;
	}
	b->again += again;
	b->saved += r->failed;
	for (unsigned i = 0; i < GAIN_DRAWS; i++, number++) {
		would =
		    instant_since(at, r->first_byte) +
		    draw(g->sample, kept(g->samples, GAIN_SAMPLES), number) +
		    slower(seen, r->server, ~number);
		would_count(
		    b, again && !r->failed && was < would ? was : would, 1);
	}
}

/* What steering would have been for: a part of the pauses. */
static void
full_count(struct gain_block *b, const struct recent *all,
    const struct gain_request *r)
{
	struct instant end =
	    instant_is_set(r->answered) ? r->answered : r->finished;
	const struct recent_hazard *h =
	    pause_between(all, 1U << HAZARD_GC, r->server, r->written, end);

	if (h == NULL || h->cause != TALECHAIN_CAUSE_ALLOCATION)
		return;
	b->full++;
	b->full_once += !r->repeatable && instant_before(r->written, h->seen);
}

void
gain_note(
    struct gain *g, const struct gain_seen *seen, const struct gain_request *r)
{
	struct gain_block *b = block_at(g, r->finished);
	int64_t was = instant_since(r->finished, r->first_byte);
	struct instant at;
	bool again, paused;

	g->requests++;
	b->requests++;
	b->failed += r->failed;
	b->was[bucket_of(was)]++;
	if (was > b->was_max_ns)
		b->was_max_ns = was;
	full_count(b, seen->hazards, r);
	if (moved_at(g, seen, r, &at, &again, &paused)) {
		estimate(g, seen, r, at, again, b);
	} else {
		would_count(b, was, GAIN_DRAWS);
		if (!paused)
			sample_add(g, r);
	}
	/* Those that were there in the pause leave a queue behind them. */
	if (paused && instant_before(g->wake[r->server], r->finished))
		g->wake[r->server] = r->finished;
}
