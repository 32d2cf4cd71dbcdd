/* tail.c: puts the accounts of some minutes into a temporary blame_set. */
#include "proxy/analysis/tail.h"

#include "blame/blame.h"

#define MINUTE_NS (60 * NS_PER_S)
/* Accounts of a minute are made at most this long after it. */
#define LATE_NS (2 * NS_PER_S)
#define ALL NULL /* as a route: all of them */

static struct blame_set *
set_new(void)
{
	static struct blame_cause cause[TALE_CAUSE_COUNT];
	static const struct blame_shape shape = {.cause = cause,
	    .causes = TALE_CAUSE_COUNT,
	    .rows_max = ACCOUNTS_KEPT};
	struct blame_set *s = NULL;

	_Static_assert(TALE_CAUSE_COUNT <= BLAME_CAUSES, "columns");
	return blame_new(&s, &shape) == 0 ? s : NULL;
}

static void
set_add(struct blame_set *s, const struct account *one)
{
	int64_t ns[TALE_CAUSE_COUNT] = {0};
	struct blame_account a = {.id = one->id,
	    .end_ns = one->end_wall_ns,
	    .total_ns = one->total_ns,
	    .weight = one->weight,
	    .in_flight = -1};

	for (unsigned k = 0; k < one->parts; k++)
		ns[one->cause[k]] += one->part_ns[k];
	/* An account that cannot be added is left out. */
	(void)blame_add(s, &a, ns, NULL);
}

/* True if an account of a route (ALL: of any) ended in [from, to). */
static bool
is_of(const struct accounts *a, const struct account *one, const char *route,
    int64_t from_ns, int64_t to_ns)
{
	return one->weight > 0 && one->end_wall_ns >= from_ns &&
	       one->end_wall_ns < to_ns &&
	       (route == ALL || strcmp(a->name[one->route].name, route) == 0);
}

/* Find p99 of a route's accounts of a period, and its causes. */
static void
minute_find(const struct accounts *a, const char *route, int64_t from_ns,
    int64_t to_ns, struct tail_minute *out)
{
	size_t first = a->made > a->max ? a->made - a->max : 0;
	struct blame_set *s = set_new();

	*out = (struct tail_minute){.end_wall_ns = 0};
	if (s == NULL)
		return;
	for (size_t i = first; i < a->open; i++)
		if (is_of(a, &a->account[i % a->max], route, from_ns, to_ns))
			set_add(s, &a->account[i % a->max]);
	if (blame_rows(s) > 0) {
		out->end_wall_ns = to_ns;
		out->q_ns = blame_quantile(s, TAIL_P);
		blame_shares(s, TAIL_P, out->share_ns);
	}
	blame_free(&s);
	for (size_t i = first; i < a->open; i++)
		if (is_of(a, &a->account[i % a->max], route, from_ns, to_ns))
			out->beyond +=
			    a->account[i % a->max].total_ns > out->q_ns;
}

static void
route_publish(struct tail *t, unsigned place, const struct tail_minute *m)
{
	bool known = m->beyond >= BLAME_BEYOND;

	for (unsigned c = 0; c < TALE_CAUSE_COUNT; c++)
		atomic_store(
		    &t->share_ns[place][c], known ? m->share_ns[c] : 0);
	atomic_store(&t->q_ns[place], known ? m->q_ns : 0);
}

void
tail_update(struct tail *t, const struct accounts *a, int64_t now_wall_ns)
{
	int64_t minute = (now_wall_ns - LATE_NS) / MINUTE_NS - 1;
	int64_t to_ns = (minute + 1) * MINUTE_NS;
	struct tail_minute m;

	if (minute == t->minute || a->max == 0)
		return;
	t->minute = minute;
	minute_find(
	    a, ALL, to_ns - MINUTE_NS, to_ns, &t->at[minute % TAIL_MINUTES]);
	for (unsigned i = 0; i < ROUTE_PLACES; i++) {
		const char *name = a->routes->place[i].name;

		if (routes_state(a->routes, i) == ROUTE_FREE)
			continue;
		minute_find(a, name, to_ns - MINUTE_NS, to_ns, &m);
		if (m.beyond < BLAME_BEYOND)
			minute_find(a, name, to_ns - TAIL_MINUTES * MINUTE_NS,
			    to_ns, &m);
		route_publish(t, i, &m);
	}
}

void
tail_end(struct tail *t, unsigned place)
{
	route_publish(t, place, &(struct tail_minute){.q_ns = 0});
}
