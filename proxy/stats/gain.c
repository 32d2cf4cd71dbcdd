/* gain.c: the estimate for a request, and a day of estimates. */
#include "proxy/stats/gain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/random.h"
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

/* Find a server's first pause that was noticed before to and has not ended
 * before from; NULL: none. */
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

		/* Hazards may overlap, but no more than two of each kind. */
		if (over && ++over_before > 2 * HAZARD_KIND_COUNT)
			break;
		if (!over && h->server == server &&
		    (triggers >> h->kind & 1) != 0 &&
		    instant_before(h->noticed, to))
			first = h;
	}
	return first;
}

static struct instant
committed(const struct gain_request *r)
{
	return instant_is_set(r->committed) ? r->committed : r->finished;
}

/* How a request would have gone to the other server. */
struct move {
	const struct recent_hazard *pause; /* met at its server, or NULL */
	struct instant at;
	bool again; /* it would have been sent a second time */
};

static bool
over_at(const struct recent_hazard *h, struct instant at)
{
	return instant_is_set(h->end) && instant_before(h->end, at);
}

/* Find how acting would have sent a request to the other server; false: not at
 * all. */
static bool
moves(const struct gain *g, const struct gain_seen *seen,
    const struct gain_request *r, struct move *m)
{
	*m = (struct move){.at = r->written,
	    .pause = pause_between(seen->hazards, seen->triggers, r->server,
		r->written, committed(r))};
	if (m->pause == NULL)
		return instant_is_set(g->wake[r->server]) &&
		       instant_before(r->written, g->wake[r->server]);
	if (!instant_before(r->written, m->pause->noticed))
		return true; /* sent there in the first place */
	m->again = true;
	m->at = m->pause->noticed;
	return r->repeatable && !over_at(m->pause, m->at);
}

static void
sample_add(struct gain *g, const struct gain_request *r)
{
	if (!r->failed)
		g->sample[g->samples++ % GAIN_SAMPLES] =
		    instant_since(r->finished, r->written);
}

static unsigned
kept(uint64_t made, unsigned places)
{
	return made < places ? (unsigned)made : places;
}

void
gain_check(struct gain_checks *c, enum gain_when when, int64_t ns)
{
	int64_t *sorted = c->of[when].ascending;
	unsigned n;

	c->of[when].ns[c->of[when].n++ % GAIN_CHECKS] = ns;
	n = kept(c->of[when].n, GAIN_CHECKS);
	memcpy(sorted, c->of[when].ns, n * sizeof(*sorted));
	array_sort_int64(sorted, n);
}

bool
gain_checks_suffice(
    const struct gain_checks *here, const struct gain_checks *there)
{
	return here->of[GAIN_CALM].n >= GAIN_CHECKS_LEAST &&
	       (there->of[GAIN_BEGIN].n >= GAIN_CHECKS_LEAST ||
		   there->of[GAIN_LATER].n >= GAIN_CHECKS_LEAST);
}

/* Return an index below n, random with respect to the requests. */
static unsigned
draw(uint64_t number, unsigned n)
{
	return (unsigned)(splitmix64(&number) % n);
}

/* Draw how much longer the other server takes at that time of a pause of this
 * one: a check there, minus the check here outside pauses that has the same
 * rank.  Equal ranks are compared because delays that also occur outside pauses
 * are in the samples of requests already. */
static int64_t
slower(const struct gain_seen *seen, unsigned server, const struct move *m,
    uint64_t number)
{
	const struct gain_checks *here = seen->checks[server];
	const struct gain_checks *there = seen->checks[1 - server];
	enum gain_when when;
	unsigned n, calm, rank;
	int64_t ns;

	if (m->pause == NULL || !gain_checks_suffice(here, there))
		return 0;
	when = instant_since(m->at, m->pause->noticed) < GAIN_BEGIN_NS
		   ? GAIN_BEGIN
		   : GAIN_LATER;
	if (there->of[when].n < GAIN_CHECKS_LEAST)
		when = when == GAIN_BEGIN ? GAIN_LATER : GAIN_BEGIN;
	n = kept(there->of[when].n, GAIN_CHECKS);
	calm = kept(here->of[GAIN_CALM].n, GAIN_CHECKS);
	rank = draw(number, n);
	ns = there->of[when].ascending[rank] -
	     here->of[GAIN_CALM].ascending[rank * calm / n];
	return ns > 0 ? ns : 0;
}

static void
would_count(struct gain_block *b, int64_t ns, uint32_t draws)
{
	b->would[bucket_of(ns)] += draws;
	if (ns > b->would_max_ns)
		b->would_max_ns = ns;
}

/* Count in b how long the request would have taken. */
static void
estimate(const struct gain *g, const struct gain_seen *seen,
    const struct gain_request *r, const struct move *m, struct gain_block *b)
{
	int64_t was = instant_since(r->finished, r->first_byte), would;
	uint64_t number = g->requests * GAIN_DRAWS;
	unsigned samples = kept(g->samples, GAIN_SAMPLES);

	b->met++;
	if (g->samples < GAIN_SAMPLES_LEAST ||
	    pause_between(seen->hazards, seen->triggers, 1 - r->server, m->at,
		m->at) != NULL) {
		b->unknown++;
		would_count(b, was, GAIN_DRAWS);
		return;
	}
	b->again += m->again;
	b->saved += r->failed;
	for (unsigned i = 0; i < GAIN_DRAWS; i++, number++) {
		would = instant_since(m->at, r->first_byte) +
			g->sample[draw(number, samples)] +
			slower(seen, r->server, m, ~number);
		would_count(
		    b, m->again && !r->failed && was < would ? was : would, 1);
	}
}

/* Count a request that met a pause of the kind that steering is for. */
static void
full_count(struct gain_block *b, const struct recent *all,
    const struct gain_request *r)
{
	const struct recent_hazard *h = pause_between(
	    all, 1U << HAZARD_GC, r->server, r->written, committed(r));

	if (h == NULL || h->cause != TALECHAIN_CAUSE_ALLOCATION)
		return;
	b->full++;
	b->full_once +=
	    !r->repeatable && instant_before(r->written, h->noticed);
}

void
gain_note(
    struct gain *g, const struct gain_seen *seen, const struct gain_request *r)
{
	struct gain_block *b = block_at(g, r->finished);
	int64_t was = instant_since(r->finished, r->first_byte);
	struct move m;

	g->requests++;
	b->requests++;
	b->failed += r->failed;
	b->was[bucket_of(was)]++;
	if (was > b->was_max_ns)
		b->was_max_ns = was;
	full_count(b, seen->hazards, r);
	if (moves(g, seen, r, &m)) {
		estimate(g, seen, r, &m, b);
	} else {
		would_count(b, was, GAIN_DRAWS);
		if (m.pause == NULL)
			sample_add(g, r);
	}
	/* Requests that met the pause leave a queue behind. */
	if (m.pause != NULL && instant_before(g->wake[r->server], r->finished))
		g->wake[r->server] = r->finished;
}
