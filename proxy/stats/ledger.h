/* ledger.h: what hedging cost and what it was worth.
 *
 * Sent, won, lost, refused by reason, time saved as losers showed it, and the
 * load that it added beside what Little's law says it must: a hazard catches
 * rate * W requests in flight, so hedges are rate * W * f a second, and W * f
 * of all requests (W: mean latency, f: hazards of the active server a
 * second).  Proxy thread only. */
#pragma once

#include "base/instant.h"

struct metrics;

/* The counters at one time. */
struct ledger_mark {
	struct instant at;
	uint64_t requests, latency_ns; /* finished, and together */
	uint64_t hedges, hazards;
};

/* The last two marks are a minute apart: since .older it is one to two minutes,
 * or the time since the start if that is less. */
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

/* Second attempts sent, of all triggers; to one server. */
uint64_t ledger_sent(const struct metrics *m);
uint64_t ledger_sent_to(const struct metrics *m, unsigned server);
