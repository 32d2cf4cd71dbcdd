/* routes.h: which routes have a place of their own, in accounts, histograms and
 * metrics; all others are "other".
 *
 * There are few places, and a client may request any path.  A place that no
 * route ever had is given to the first one that comes.  Then a route must have
 * been requested ROUTE_SHOWN times, and more than twice as often as the route
 * with the fewest requests, which loses its place to it.  Counts are halved
 * every five minutes.  What gets a 4xx makes no route.
 *
 *   FREE --named--> TAKEN --a busier one--> LOST --its books are closed--> FREE
 *
 * The proxy thread names places, and gives them up; the analysis thread, which
 * writes what is kept by place, frees them.  So a name that it reads does not
 * change meanwhile, and what it has of a place is of one route. */
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
	uint64_t requests;	  /* the proxy thread's count, halved */
};

struct routes {
	struct route_place place[ROUTE_PLACES];
	_Atomic uint64_t lost; /* places, ever; any thread reads */

	/* The proxy thread's. */
	struct busiest candidate[ROUTE_CANDIDATES];
	struct instant halved;
	unsigned used;	  /* places that some route had */
	unsigned changes; /* of what routes_find says */
};

/* All places are free but the first, which is "other".  Before the threads
 * start. */
void routes_init(struct routes *r);

/* The place of a route, or ROUTE_OTHER.  Proxy or analysis thread. */
unsigned routes_find(const struct routes *r, const char *name);

/* The state of a place.  Any thread; the name of a place that is not FREE may
 * then be read. */
static inline enum route_state
routes_state(const struct routes *r, unsigned place)
{
	/* The name was written before. */
	return (enum route_state)atomic_load_explicit(
	    &r->place[place].state, memory_order_acquire);
}

/* A request of the route at a place; or of one without a place, by a key that
 * is not 0: whether it may have one now, which routes_take gives it.  Proxy
 * thread. */
void routes_count(struct routes *r, unsigned place, struct instant now);
bool routes_bid(struct routes *r, uint64_t key, struct instant now);
void routes_take(struct routes *r, uint64_t key, const char *name);

/* Nothing is kept of a LOST place any more.  Analysis thread. */
void routes_free(struct routes *r, unsigned place);
