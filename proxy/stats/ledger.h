/* ledger.h: the cost and the benefit of hedging.
 *
 * Hedges sent, won, lost and refused by reason; the time saved, measured with
 * losers; and the added load beside the load that Little's law predicts: a
 * hazard catches rate * W requests in flight, so there are rate * W * f hedges
 * a second, which is W * f per request (W: mean latency, f: hazards of the
 * active server per second).  Proxy thread only. */
#pragma once

#include "base/instant.h"

struct metrics;

/* The counters at one time. */
struct ledger_mark {
	struct instant at;
	uint64_t requests, latency_ns; /* finished; sum of latencies */
	uint64_t hedges, hazards;
};

/* The last two marks are a minute apart: .older is one to two minutes old, or
 * the start. */
struct ledger {
	struct ledger_mark start, older, newer;
};

/* Load between a mark and now. */
struct ledger_window {
	double seconds;
	double mean_latency_s; /* W */
	double hazards_per_s;  /* f */
	double predicted;      /* W f */
	double actual;	       /* hedges per request */
};

/* Set all marks to the counters as they are now. */
void ledger_init(struct ledger *l, const struct metrics *m);

/* Set a mark if a minute is over.  Every tick. */
void ledger_tick(struct ledger *l, const struct metrics *m, struct instant now);

/* Find the load from a mark until now. */
void ledger_window(const struct ledger_mark *from, const struct metrics *m,
    struct ledger_window *out);

/* Return how many second attempts were sent, by all triggers; or to one
 * server. */
uint64_t ledger_sent(const struct metrics *m);
uint64_t ledger_sent_to(const struct metrics *m, unsigned server);
