/*
 * ledger.h: what hedging cost and what it was worth.
 *
 * Sent, won, lost, refused by reason, time saved as losers showed it, and the
 * load that it added beside what Little's law says it must: a hazard catches
 * rate * W requests in flight, so hedges are rate * W * f a second, and W * f
 * of all requests (W: mean latency, f: hazards of the active server a
 * second).  Proxy thread only.
 */
#ifndef TAILOR_PROXY_STATS_LEDGER_H
#define TAILOR_PROXY_STATS_LEDGER_H

#include "base/instant.h"
#include "base/json.h"

struct proxy;

/* The counters at one time. */
struct ledger_mark {
	struct instant at;
	uint64_t requests, latency_ns; /* finished, and together */
	uint64_t hedges, hazards;
};

/* Two marks a minute apart: the recent past is one to two minutes. */
struct ledger {
	struct ledger_mark start, older, newer;
};

/* What happened between a mark and now. */
struct ledger_window {
	double seconds;
	double mean_latency_s; /* W */
	double hazards_per_s;  /* f */
	double predicted;      /* W f */
	double actual;	       /* hedges per request */
};

void ledger_init(struct proxy *p);

/* Every tick. */
void ledger_tick(struct proxy *p, struct instant now);

/* The last one or two minutes (or since the start, if that is less). */
void ledger_recent(const struct proxy *p, struct ledger_window *out);

/* All of it as a JSON document. */
void ledger_write(const struct proxy *p, struct json *j);

#endif
