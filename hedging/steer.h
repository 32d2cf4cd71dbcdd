/* steer.h: swaps before a collection, so that no request meets one.
 *
 * The active server fills its young generation, the backup does not.  Shortly
 * before the active server's is full, the backup becomes active; when the
 * former active server has no request in flight, it is ordered to collect, and
 * is the backup, with an empty young generation.
 *
 *   ACTIVE --near full--> DRAINING --nothing in flight--> COLLECTING
 *      ^                      ^                               |
 *      |            grown     |    it does not collect   collected
 *      |        +-------------+-------- TIRED <-------+       |
 *      |        |                                     +-------+
 *      +----- FRESH <-------------------------------------------
 *
 * Pure, as the rest of this folder: values in, decisions out.  Hedging still
 * covers collections that steering does not prevent.  Rules S1 to S9 are in
 * docs/hedging.md.  Single threaded; O(1), some 100 ns a tick. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "hedging/hedging.h"
#include "talechain/talechain.h"

enum steer_phase {
	STEER_OFF, /* not steered: see enum steer_missing */
	STEER_ACTIVE,
	STEER_DRAINING,	  /* gets no new requests; collects when idle */
	STEER_COLLECTING, /* has been ordered to collect */
	STEER_FRESH,	  /* has collected since it last served */
	STEER_TIRED,	  /* did not collect when it was ordered to */
	STEER_PHASE_COUNT
};
/* "fresh".  Static text. */
const char *steer_phase_name(enum steer_phase phase);

/* Conditions of steering that a server lacks. */
#define STEER_MISSING(X)                                         \
	X(NOTHING, "")                                           \
	X(SWITCHED_OFF, "hedging.steer is off")                  \
	X(WATCHING, "hedging.mode is watch")                     \
	X(ALONE, "there is one server")                          \
	X(HEAP, "its heap is not visible")                       \
	X(CONCURRENT, "its collector does not stop it for long") \
	X(WAY, "its way to collect fails (auto: no agent)")

enum steer_missing {
#define STEER_X(symbol, text) STEER_MISSING_##symbol,
	STEER_MISSING(STEER_X)
#undef STEER_X
};
/* A clause for an operator; "" for NOTHING.  Static text. */
const char *steer_missing_text(enum steer_missing missing);

/* Why the active server collected by itself (S6). */
#define STEER_MISSES(X)                                                     \
	X(FORECAST, "forecast")	  /* sooner than was expected */            \
	X(LATE, "late")		  /* near full, the other was not fresh */  \
	X(DRAIN, "drain")	  /* after the swap, with requests in it */ \
	X(CAUSE, "other_cause")	  /* not because it was full */             \
	X(NOT_READY, "not_ready") /* other server not ready, or S7 rest */

enum steer_miss {
#define STEER_X(symbol, name) STEER_MISS_##symbol,
	STEER_MISSES(STEER_X)
#undef STEER_X
	    STEER_MISS_COUNT
};
/* "forecast".  Static text. */
const char *steer_miss_name(enum steer_miss miss);

/* The heap of a server now, as far as known; from the profiler. */
struct steer_heap {
	bool known;
	bool concurrent; /* ZGC, Shenandoah: nothing to steer around */
	bool mixes;	 /* G1: after marking, it collects in small edens */
	bool way;	 /* it can be ordered to collect */
	uint64_t used, capacity;	 /* of eden as it is now, bytes */
	uint64_t old_used, old_capacity; /* old generation; 0: unknown */
	uint64_t collections;		 /* so far: young and full ones */
	enum talechain_cause cause;	 /* of the last collection */
};

#define STEER_GROWTHS 100 /* periods of 100 ms: ten seconds */

/* How much the use of heaps that serve grew in a period. */
struct steer_growth {
	uint64_t bytes;
	uint64_t step;	   /* largest difference of two readings */
	uint64_t requests; /* that were finished */
};

struct steer_server {
	enum steer_phase phase;
	enum steer_missing missing;
	struct steer_heap heap; /* as last seen */
	struct instant since;	/* begin of the phase */

	/* Private to steer.c. */
	uint64_t peak;	/* most used since the last collection */
	uint64_t stale; /* heap.used from before that collection; 0: none */
	struct instant stale_since;
	double limit;	/* part of capacity at which it collects; 0: unknown */
	double usual;	/* largest capacity lately */
	uint64_t moved; /* requests finished when heap.used moved */
	struct instant left;	    /* since when it gets no new requests */
	bool turning;		    /* FRESH by order, which may not be over */
	bool again;		    /* S4: to collect again, though empty */
	unsigned repeats;	    /* of that, since it served */
	struct instant order_again; /* TIRED: when */
	struct instant full_again;  /* S5: no full collection before this */
	struct instant full_ordered;
	struct instant full_began; /* of a full one under way, or unset */
	uint64_t full_of;	   /* old bytes when full_ordered was set */
	uint64_t full_left;	   /* old bytes after the full collection */
	double full_ns_per_byte;   /* its duration; 0: none was seen */
	bool caught;		   /* it collects by itself and was active */
	enum steer_phase other;	   /* of the other server then */
};

struct steer {
	bool on;
	struct steer_server server[HEDGING_SERVERS];
	uint64_t swaps, provoked, full, unmet, unanswered, shares;
	uint64_t missed[STEER_MISS_COUNT];
	int64_t share_ns; /* S7: length of the latest time of sharing */

	/* Private to steer.c. */
	unsigned active;
	struct instant shared_until;
	double late; /* S7: late misses of the latest seconds, fading */
	struct instant late_at;
	double part;		/* S1: swap at this part of full */
	unsigned since_miss;	/* swaps since the latest miss */
	int64_t turn_ns;	/* from a swap to FRESH, moving average */
	struct instant swapped; /* the latest swap by steering */
	struct instant busy;	/* when a request was last in flight */
	uint64_t finished;	/* requests finished until then */
	struct steer_growth growth[STEER_GROWTHS];
	struct instant period; /* begin of the present one */
	unsigned at;	       /* its index */
	unsigned passed;       /* periods since the tick before, at least 1 */
	/* Forecast: bytes per ns, in the mean and at most; bytes per request;
	 * the largest step, bytes. */
	double mean, most, per_request, step;
};

enum steer_order_kind {
	STEER_ORDER_NONE,
	STEER_ORDER_COLLECT, /* collect the young generation now */
	STEER_ORDER_FULL,    /* collect the old generation, too */
	STEER_ORDER_STOP,    /* withdraw the order: the server is needed */
	STEER_ORDER_DONE,    /* end the order: the server has collected */
};

struct steer_order {
	enum steer_order_kind kind;
	unsigned server;
};

/* Start with steering off and nothing known. */
void steer_init(struct steer *st);
/* Forget all that is known of a server. */
void steer_forget(struct steer *st, unsigned server);

/* steer_tick(st, h, heap, now, order):
 * Check both heaps (HEDGING_SERVERS of them); swap if that is due.  Returns a
 * set of enum hedging_action, and in *order an order to a server.  Call every
 * 10 ms; without requests in flight it may be a second later, if
 * steer_may_rest. */
unsigned
steer_tick(struct steer *st, struct hedging *h, const struct steer_heap *heap,
    struct instant now, struct steer_order *order);

/* True if the next tick may come a second late: no server drains or collects,
 * and by its present growth the active one will not be near full so soon. */
bool steer_may_rest(const struct steer *st, const struct hedging *h);

/* How much of its young generation is used, 0 .. 1 and above; < 0: unknown. */
double steer_used(const struct steer *st, unsigned server);

/* The time until the active server is near full at its present rate, ns; < 0:
 * unknown. */
int64_t steer_left_ns(const struct steer *st);
