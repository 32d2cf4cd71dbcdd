/*
 * live_view.h: the live page and its JSON twin.
 *
 * The proxy thread copies what is to be seen now into a struct live_view; the
 * analysis thread draws the copy and the tales that are kept.
 */
#ifndef TAILOR_PROXY_ADMIN_LIVE_VIEW_H
#define TAILOR_PROXY_ADMIN_LIVE_VIEW_H

#include "proxy/analysis/analysis.h"
#include "proxy/stats/recent.h"

#define LIVE_SERVERS 2

struct proxy;

struct live_server {
	char name[33], address[64], state[16], source[16];
	bool active;
	uint32_t hazards; /* bit per enum hazard_kind */
	unsigned inflight;
	int64_t p50_ns, p95_ns, p99_ns;
	uint64_t restarts, errors;
};

#define LIVE_NONCE 33

/* What a page shows.  Made on the proxy thread, drawn on the analysis'. */
struct live_view {
	struct analysis_page page; /* draws it */
	struct recent recent;
	struct instant now, started;
	int64_t wall_ns; /* of now */
	int64_t target_ns;
	char mode[8];
	char nonce[LIVE_NONCE]; /* of the page's policy, hexadecimal */
	unsigned servers;
	struct live_server server[LIVE_SERVERS];
	unsigned inflight, clients;
	uint64_t finished, swaps, hedges_won, unexamined;
};

/* What is to be seen now; NULL: no memory.  Proxy thread. */
struct live_view *live_view_new(struct proxy *p);
void live_view_free(struct live_view **vp);

/* The policy that goes with the page. */
#define LIVE_POLICY_BYTES 256
char *live_policy(const struct live_view *v, char out[LIVE_POLICY_BYTES]);

#endif
