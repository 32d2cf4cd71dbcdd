/* routes.c: places of routes, and candidates for a place.  Searches are linear,
 * as there are few of both. */
#include "proxy/analysis/routes.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static void
state_set(struct routes *r, unsigned place, enum route_state state)
{
	atomic_store_explicit(
	    &r->place[place].state, state, memory_order_release);
}

void
routes_init(struct routes *r)
{
	memset(r, 0, sizeof(*r));
	snprintf(r->place[ROUTE_OTHER].name, ACCOUNT_ROUTE, ROUTE_OTHER_NAME);
	state_set(r, ROUTE_OTHER, ROUTE_TAKEN);
	r->used = 1;
}

unsigned
routes_find(const struct routes *r, const char *name)
{
	for (unsigned i = 0; i < ROUTE_PLACES; i++)
		if (routes_state(r, i) == ROUTE_TAKEN &&
		    strcmp(r->place[i].name, name) == 0)
			return i;
	return ROUTE_OTHER;
}

static void
halve(struct routes *r, struct instant now)
{
	if (!instant_is_set(r->halved))
		r->halved = now;
	while (instant_since(now, r->halved) >= ROUTE_HALVED_NS) {
		r->halved = instant_plus(r->halved, ROUTE_HALVED_NS);
		for (unsigned i = 0; i < ROUTE_PLACES; i++)
			r->place[i].requests /= 2;
		busiest_halve(r->candidate, ROUTE_CANDIDATES);
	}
}

void
routes_count(struct routes *r, unsigned place, struct instant now)
{
	halve(r, now);
	r->place[place].requests++;
}

/* The first place in a state; ROUTE_OTHER: there is none. */
static unsigned
place_in(const struct routes *r, enum route_state state)
{
	for (unsigned i = ROUTE_OTHER + 1; i < r->used; i++)
		if (routes_state(r, i) == state)
			return i;
	return ROUTE_OTHER;
}

/* Return the place with the fewest requests; all places are in use. */
static unsigned
least_busy(const struct routes *r)
{
	unsigned least = ROUTE_OTHER + 1;

	for (unsigned i = least + 1; i < ROUTE_PLACES; i++)
		if (r->place[i].requests < r->place[least].requests)
			least = i;
	return least;
}

bool
routes_bid(struct routes *r, uint64_t key, struct instant now)
{
	struct busiest *one;
	uint64_t shown;
	unsigned least;

	halve(r, now);
	if (r->used < ROUTE_PLACES)
		return true;
	one = busiest_add(r->candidate, ROUTE_CANDIDATES, key, 1);
	shown = one->count - one->error;
	if (shown < ROUTE_SHOWN)
		return false;
	if (place_in(r, ROUTE_FREE) != ROUTE_OTHER)
		return true;
	least = least_busy(r);
	if (place_in(r, ROUTE_LOST) == ROUTE_OTHER &&
	    shown > 2 * r->place[least].requests) {
		state_set(r, least, ROUTE_LOST);
		atomic_fetch_add(&r->lost, 1);
		r->changes++;
	}
	return false;
}

void
routes_take(struct routes *r, uint64_t key, const char *name)
{
	struct busiest *one = busiest_find(r->candidate, ROUTE_CANDIDATES, key);
	unsigned place =
	    r->used < ROUTE_PLACES ? r->used++ : place_in(r, ROUTE_FREE);

	assert(place != ROUTE_OTHER);
	snprintf(r->place[place].name, ACCOUNT_ROUTE, "%s", name);
	r->place[place].requests = one != NULL ? one->count - one->error : 1;
	if (one != NULL)
		*one = (struct busiest){.key = 0};
	state_set(r, place, ROUTE_TAKEN);
	r->changes++;
}

void
routes_free(struct routes *r, unsigned place)
{
	state_set(r, place, ROUTE_FREE);
}
