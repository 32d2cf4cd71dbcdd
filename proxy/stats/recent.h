/*
 * recent.h: the last ten minutes, for people who look at a page.
 *
 * The proxy thread notes what happens in a few small rings (struct live) and
 * copies them when somebody asks (struct live_view); the analysis thread
 * draws the copy.  Cost: some 20 KiB, and a few additions per request.
 */
#ifndef TAILOR_PROXY_STATS_RECENT_H
#define TAILOR_PROXY_STATS_RECENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/instant.h"
#include "talechain/events/hazard.h"
#include "talechain/store/store.h"

#define LIVE_SLICES 60
#define LIVE_SLICE_NS (10 * NS_PER_S)
#define LIVE_WINDOW_NS (LIVE_SLICES * LIVE_SLICE_NS)
#define LIVE_BUCKETS 22
#define LIVE_HAZARDS 512
#define LIVE_SERVERS 2

/* Requests that finished in one slice of time. */
struct live_slice {
	uint64_t number; /* time / LIVE_SLICE_NS; another: of an older lap */
	uint32_t requests, slow;
	uint32_t bucket[LIVE_BUCKETS]; /* see live_bucket_edge_ns */
};

struct live_hazard {
	uint8_t server, kind, cause;
	struct instant begin, end; /* end not set: not over */
};

struct live {
	struct live_slice slice[LIVE_SLICES];
	struct live_hazard hazard[LIVE_HAZARDS];
	uint64_t hazards; /* ever */
};

/* Note a finished request, and a hazard's begin or end.  Proxy thread. */
void
live_request(struct live *l, struct instant now, int64_t total_ns, bool slow);
void live_note_hazard(struct live *l, const struct hazard *h);

/* The upper edge of bucket i: 1, 2, 5, 10, ... times 10 us; the last has
 * none (INT64_MAX). */
int64_t live_bucket_edge_ns(unsigned i);

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
	struct live live;
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

struct proxy;

/* Take a picture of now; NULL: no memory.  Proxy thread. */
struct live_view *live_view_new(struct proxy *p);
void live_view_free(struct live_view **vp);

/*
 * live_render(v, slow, n, html, text, length):
 * The page, or its JSON twin (tailor.live/1).
 *   slow  kept tales, the latest first, n of them
 * The caller frees *text.  0 or -ENOMEM.
 */
int
live_render(const struct live_view *v, const struct tale_summary *const *slow,
    unsigned n, bool html, char **text, size_t *length);

/* The policy that goes with the page. */
#define LIVE_POLICY_BYTES 256
char *live_policy(const struct live_view *v, char out[LIVE_POLICY_BYTES]);

#endif
