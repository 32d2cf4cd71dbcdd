/* backlog.c: move waits to the hazards that left them behind.
 *
 * A server's busy period begins when a request finds it empty.  A request's
 * time in a QUEUE is divided in proportion to the causes of the period so far.
 * Its time for a CPU is divided in proportion to the causes of the requests
 * that overlap with it, because a pause gathers requests, which then run at
 * once.  Each hazard gets its part; the part of computing stays where it is,
 * because that is load and not a hazard.  The accounts show a part of all
 * requests; a gap between them ends a period, so that too little is moved
 * rather than too much. */
#include "blame/set.h"

#include "base/array.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Neighbours on each side, by begin, that may overlap with a request. */
#define BESIDE 64

struct busy {
	double sum[BLAME_CAUSES]; /* by column, of the period so far */
	int64_t end_ns;		  /* of the latest request */
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

/* True if no account shows the server busy when this request came.  Requests
 * without an account may have kept it busy. */
static bool
busy_over(const struct busy *b, const struct blame_account *a)
{
	return !b->begun || a->in_flight == 0 || begin_of(a) >= b->end_ns;
}

static void
parts_add(double *sum, const struct blame_set *s, size_t i)
{
	for (unsigned k = 0; k < s->columns; k++)
		sum[k] += (double)s->part[i * s->columns + k];
}

/* True if time of this kind can leave such a wait behind: requests that wait
 * for a CPU hold up a queue, but a queue holds up no CPU. */
static bool
leaves(enum blame_kind kind, enum blame_kind wait)
{
	return kind == BLAME_HAZARD ||
	       (kind == BLAME_CPU && wait == BLAME_QUEUE);
}

/* Add the waits of one kind in row i, without those in gone, to r's parts of
 * the row, divided in proportion to the causes of sum. */
static void
wait_move(const double *sum, const struct blame_set *s, size_t i,
    enum blame_kind wait, uint64_t gone, struct blame_removable *r)
{
	double waited = 0, all = 0;

	for (uint64_t left = s->present; left != 0; left &= left - 1) {
		unsigned c = (unsigned)__builtin_ctzll(left);
		enum blame_kind kind = s->shape.cause[c].kind;

		if (kind == wait && (gone >> c & 1) == 0)
			waited += (double)blame_part(s, i, c);
		if (leaves(kind, wait) || kind == BLAME_BASE ||
		    kind == BLAME_UNEXPLAINED)
			all += sum[s->column[c]];
	}
	if (waited == 0 || all == 0)
		return;
	for (unsigned k = 0; k < r->causes; k++) {
		unsigned c = r->cause[k];

		if (leaves(s->shape.cause[c].kind, wait) &&
		    (s->present >> c & 1) != 0)
			r->part[i * r->causes + k] +=
			    waited * sum[s->column[c]] / all;
	}
}

/* Sum the parts of row at[k] and of the rows that overlap with it. */
static void
beside_add(double *sum, const struct blame_set *s, const uint32_t *at, size_t k)
{
	const struct blame_account *a = &s->row[at[k]];
	size_t end = k + BESIDE < s->rows ? k + BESIDE + 1 : s->rows;

	memset(sum, 0, s->columns * sizeof(*sum));
	for (size_t j = k < BESIDE ? 0 : k - BESIDE; j < end; j++) {
		const struct blame_account *b = &s->row[at[j]];

		if (b->server == a->server && begin_of(b) <= a->end_ns &&
		    b->end_ns >= begin_of(a))
			parts_add(sum, s, at[j]);
	}
}

static bool
waits_for_cpu(const struct blame_set *s, size_t i)
{
	for (unsigned k = 0; k < s->columns; k++)
		if (s->shape.cause[s->cause[k]].kind == BLAME_CPU &&
		    s->part[i * s->columns + k] > 0)
			return true;
	return false;
}

int
blame_backlog(struct blame_set *s, uint64_t gone, struct blame_removable *r)
{
	uint32_t *at = malloc((s->rows + 1) * sizeof(*at));
	double sum[BLAME_CAUSES];
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
		wait_move(b.sum, s, at[k], BLAME_QUEUE, gone, r);
		parts_add(b.sum, s, at[k]);
		b.begun = true;
		if (a->end_ns > b.end_ns)
			b.end_ns = a->end_ns;
		if (waits_for_cpu(s, at[k])) {
			beside_add(sum, s, at, k);
			wait_move(sum, s, at[k], BLAME_CPU, gone, r);
		}
	}
	free(at);
	return 0;
}
