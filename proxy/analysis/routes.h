/* routes.h: which routes have a place of their own, in accounts, histograms and
 * metrics; all others are "other".
 *
 * There are few places, and a client may request any path.  While some place
 * has never been used, a new route gets it at once.  After that, a route must
 * have been requested ROUTE_SHOWN times, and more than twice as often as the
 * route with the fewest requests, which then loses its place.  Counts are
 * halved every five minutes.  A request with a 4xx response makes no route.
 *
 *   FREE --named--> TAKEN --busier route--> LOST --figures written--> FREE
 *
 * The proxy thread sets TAKEN and LOST; the analysis thread, which writes the
 * figures of each place, sets FREE.  So a name does not change while the
 * analysis thread reads it, and all figures of a place are of one route. */
#pragma once

#include <stdatomic.h>

#include "base/busiest.h"
#include "talechain/store/accounts.h"

#define ROUTE_PLACES 33 /* with "other", which is the first */
#define ROUTE_OTHER 0u
#define ROUTE_OTHER_NAME "other"
#define ROUTE_SHOWN 3
#define ROUTE_CANDIDATES 64
#define ROUTE_HALVED_NS (300 * NS_PER_S)

enum route_state { ROUTE_FREE, ROUTE_TAKEN, ROUTE_LOST };

struct route_place {
	atomic_uint state;	  /* enum route_state */
	char name[ACCOUNT_ROUTE]; /* written while FREE */
	uint64_t requests;	  /* proxy thread; halved now and then */
};

struct routes {
	struct route_place place[ROUTE_PLACES];
	_Atomic uint64_t lost; /* places ever lost; any thread reads */

	/* Proxy thread only. */
	struct busiest candidate[ROUTE_CANDIDATES];
	struct instant halved;
	unsigned used;	  /* places that some route has or had */
	unsigned changes; /* changes of the results of routes_find */
};

/* Make all places free but the first, which is "other".  Call it before the
 * threads start. */
void routes_init(struct routes *r);

/* Return the place of a route, or ROUTE_OTHER.  Proxy or analysis thread. */
unsigned routes_find(const struct routes *r, const char *name);

/* Return the state of a place.  Any thread; if it is not FREE, the caller may
 * then read the place's name. */
static inline enum route_state
routes_state(const struct routes *r, unsigned place)
{
	/* Acquire: the name was written before the state. */
	return (enum route_state)atomic_load_explicit(
	    &r->place[place].state, memory_order_acquire);
}

/* Count a request.  Proxy thread.
 *   routes_count  of the route that has this place
 *   routes_bid    of a route without a place; true: it may have one now, call
 *                 routes_take
 *   routes_take   give the route a place
 *   key           identifies the route; not 0 */
void routes_count(struct routes *r, unsigned place, struct instant now);
bool routes_bid(struct routes *r, uint64_t key, struct instant now);
void routes_take(struct routes *r, uint64_t key, const char *name);

/* Free a LOST place, when all its figures are written.  Analysis thread. */
void routes_free(struct routes *r, unsigned place);
