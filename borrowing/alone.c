/* alone.c: a queue with several workers, replayed (alone.h). */
#include "borrowing/alone.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static struct alone_request *
request(struct alone *a, uint64_t number)
{
	return number >= a->first && number < a->next
		   ? &a->request[number % ALONE_REQUESTS]
		   : NULL;
}

static struct instant
later(struct instant one, struct instant other)
{
	return instant_before(one, other) ? other : one;
}

/* Return what borrowing has cost a request that runs. */
static int64_t
cost_ns(const struct alone_request *r, struct instant now)
{
	struct instant end = instant_before(now, r->until) ? now : r->until;

	return instant_before(r->from, end)
		   ? r->cost_ns +
			 (int64_t)ceil(
			     (double)instant_since(end, r->from) * r->loss)
		   : r->cost_ns;
}

/* The service time of a request alone, so far. */
static int64_t
service_ns(const struct alone_request *r, struct instant now)
{
	int64_t ns;

	if (r->service_ns >= 0)
		return r->service_ns;
	ns = instant_since(now, r->begun) - cost_ns(r, now);
	return ns > 0 ? ns : 0;
}

/* Have the first worker that is free serve a request. */
static void
serve(const struct alone *a, struct instant *free, struct alone_request *r,
    struct instant now)
{
	unsigned first = 0;

	for (unsigned i = 1; i < a->workers; i++)
		if (instant_before(free[i], free[first]))
			first = i;
	r->start = later(r->arrived, free[first]);
	free[first] = instant_plus(r->start, service_ns(r, now));
}

static void
replay(struct alone *a, struct instant now)
{
	struct instant free[ALONE_WORKERS];

	memcpy(free, a->free, a->workers * sizeof(free[0]));
	for (uint64_t i = a->first; i < a->next; i++)
		serve(a, free, request(a, i), now);
}

void
alone_init(struct alone *a, unsigned workers)
{
	assert(workers >= 1 && workers <= ALONE_WORKERS);
	memset(a, 0, sizeof(*a));
	a->workers = workers;
}

uint64_t
alone_start(struct alone *a, struct instant arrived, struct instant now)
{
	if (a->next - a->first == ALONE_REQUESTS)
		serve(a, a->free, request(a, a->first++), now);
	a->request[a->next % ALONE_REQUESTS] = (struct alone_request){
	    .arrived = arrived, .begun = now, .service_ns = -1};
	return a->next++;
}

void
alone_overlap(struct alone *a, uint64_t number, struct instant until,
    double loss, struct instant now)
{
	struct alone_request *r = request(a, number);

	if (r == NULL)
		return;
	r->cost_ns = cost_ns(r, now);
	r->from = now;
	r->until = until;
	r->loss = loss;
}

void
alone_finish(struct alone *a, uint64_t number, struct instant now)
{
	struct alone_request *r = request(a, number);

	if (r == NULL || r->service_ns >= 0)
		return;
	r->service_ns = service_ns(r, now);
	while ((r = request(a, a->first)) != NULL && r->service_ns >= 0) {
		serve(a, a->free, r, now);
		a->first++;
	}
}

int64_t
alone_delay_ns(struct alone *a, uint64_t number, struct instant now)
{
	const struct alone_request *r = request(a, number);
	int64_t late_ns;

	if (r == NULL)
		return INT64_MAX;
	replay(a, now);
	late_ns = instant_since(r->begun, r->start);
	return (late_ns > 0 ? late_ns : 0) + cost_ns(r, now);
}
