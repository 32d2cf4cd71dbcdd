/* backlog.c: queueing time is moved to what kept the server busy before.
 *
 * A server's busy period begins when a request finds it empty.  A request's
 * time in a QUEUE is divided as the time of the period so far was: a cause has
 * its part, and what the server spent computing stays queueing, because it is
 * load and not a hazard.  The accounts show a part of all requests; a gap
 * between them ends a period, so that too little is moved rather than too
 * much. */
#include "blame/set.h"

#include "base/array.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct busy {
	double sum[BLAME_CAUSES]; /* of the period so far */
	double all;
	int64_t end_ns; /* of the latest request */
	bool begun;
};

static int64_t
begin_of(const struct blame_account *a)
{
	return a->end_ns - a->total_ns;
}

static int
begin_compare(const void *a, const void *b, void *row)
{
	const struct blame_account *x =
	    (struct blame_account *)row + *(const uint32_t *)a;
	const struct blame_account *y =
	    (struct blame_account *)row + *(const uint32_t *)b;
	int order = COMPARE(x->server, y->server);

	if (order == 0)
		order = COMPARE(begin_of(x), begin_of(y));
	return order != 0 ? order : COMPARE(x->id, y->id);
}

/* Whether this request found the server empty, or may have: of those between
 * it and the latest one there may be no account. */
static bool
busy_over(const struct busy *b, const struct blame_account *a)
{
	return !b->begun || a->in_flight == 0 || begin_of(a) >= b->end_ns;
}

static void
busy_add(struct busy *b, const struct blame_set *s, size_t i)
{
	const int64_t *part = s->part + i * s->shape.causes;

	for (unsigned c = 0; c < s->shape.causes; c++) {
		if (s->shape.cause[c].kind == BLAME_QUEUE)
			continue;
		b->all += (double)part[c];
		if (s->shape.cause[c].kind == BLAME_HAZARD)
			b->sum[c] += (double)part[c];
	}
	b->begun = true;
	if (s->row[i].end_ns > b->end_ns)
		b->end_ns = s->row[i].end_ns;
}

static void
queue_move(
    const struct busy *b, const struct blame_set *s, size_t i, double *extra)
{
	double queued = 0;

	for (unsigned c = 0; c < s->shape.causes; c++)
		if (s->shape.cause[c].kind == BLAME_QUEUE)
			queued += (double)s->part[i * s->shape.causes + c];
	if (queued == 0 || b->all == 0)
		return;
	for (unsigned c = 0; c < s->shape.causes; c++)
		extra[i * s->shape.causes + c] += queued * b->sum[c] / b->all;
}

int
blame_backlog(struct blame_set *s, double *extra)
{
	uint32_t *at = malloc((s->rows + 1) * sizeof(*at));
	struct busy b = {0};
	int server = -1;

	if (at == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < s->rows; i++)
		at[i] = (uint32_t)i;
	qsort_r(at, s->rows, sizeof(*at), begin_compare, s->row);
	for (size_t k = 0; k < s->rows; k++) {
		const struct blame_account *a = &s->row[at[k]];

		if (a->server != server || busy_over(&b, a))
			b = (struct busy){.end_ns = INT64_MIN};
		server = a->server;
		queue_move(&b, s, at[k], extra);
		busy_add(&b, s, at[k]);
	}
	free(at);
	return 0;
}
