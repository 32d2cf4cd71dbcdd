/* gain.h: in watch mode, what acting would have changed.
 *
 * The estimate is made when a request has finished.  Acting sends a request to
 * the other server in two cases:
 *   - It is at a server when the proxy notices a pause of that server, and is
 *     safe to repeat.  It is sent a second time; the first response wins.
 *   - It arrives during the pause, or before the server has finished the
 *     requests that met the pause.  It goes to the other server only.
 * The time at the other server is drawn, GAIN_DRAWS times for each request: the
 * time of one of the last GAIN_SAMPLES requests outside pauses, plus a delay.
 * The delay is how much longer health checks of the other server took during
 * pauses of this one than checks of this one outside pauses.  At the begin of a
 * pause threads compete with the collector for CPUs and the other server wakes
 * up, so requests sent within GAIN_BEGIN_NS of it use only the delays of checks
 * that were sent as the pause was noticed.
 *
 * Not known: how slow the other server would be under these requests; without
 * health checks, how slow it is at all.  docs/lab/hedging.md compares the
 * estimate with the effect of acting.
 *
 * Cost: a few comparisons and two additions per request, a microsecond for one
 * that met a pause; some 260 KiB in watch mode.  Keeps a day, in blocks of a
 * quarter of an hour.  Proxy thread; pure. */
#pragma once

#include "proxy/stats/recent.h"

#define GAIN_BLOCKS 96
#define GAIN_BLOCK_NS (900 * NS_PER_S)
#define GAIN_BUCKETS 320 /* each 5 % wider, from 10 us to 60 s */
#define GAIN_SAMPLES 256
#define GAIN_SAMPLES_LEAST 20 /* fewer: no estimate */
#define GAIN_CHECKS 64
#define GAIN_CHECKS_LEAST 5 /* fewer: not used */
#define GAIN_DRAWS 16
#define GAIN_BEGIN_NS (5 * NS_PER_MS)

struct gain_block {
	uint64_t number; /* time / GAIN_BLOCK_NS; otherwise out of date */
	uint64_t requests;
	uint64_t met;	  /* requests in a pause, or in its wake */
	uint64_t again;	  /* of met: acting would have sent them twice */
	uint64_t failed;  /* requests with 502, 503 or 504 */
	uint64_t saved;	  /* of failed: with acting they would succeed */
	uint64_t unknown; /* of met: no samples to estimate from, or the other
			   * server was in a pause too */
	/* Requests at a server during a collection for a full eden, which
	 * steering would move to a time without requests; of those, requests
	 * that hedging cannot help, as they were there before it and are not
	 * safe to repeat. */
	uint64_t full, full_once;
	int64_t was_max_ns, would_max_ns;
	uint32_t was[GAIN_BUCKETS];   /* measured latencies */
	uint32_t would[GAIN_BUCKETS]; /* estimated; GAIN_DRAWS per request */
};

/* Kinds of health checks, by when they were sent. */
enum gain_when {
	GAIN_CALM,  /* outside pauses */
	GAIN_BEGIN, /* when a pause of the other server was noticed */
	GAIN_LATER, /* later in a pause of the other server */
	GAIN_WHENS
};

/* How long health checks of one server took: the latest of each kind. */
struct gain_checks {
	struct {
		int64_t ns[GAIN_CHECKS]; /* ring */
		int64_t ascending[GAIN_CHECKS];
		uint64_t n; /* ever */
	} of[GAIN_WHENS];
};

/* Add the length of a check.  ns >= 0. */
void gain_check(struct gain_checks *c, enum gain_when when, int64_t ns);

/* True if there are enough checks to find how much slower the other server
 * (there) is while this one (here) pauses. */
bool gain_checks_suffice(
    const struct gain_checks *here, const struct gain_checks *there);

struct gain {
	struct instant wake[2];	      /* by server: end of the wake */
	int64_t sample[GAIN_SAMPLES]; /* ring: response times outside pauses */
	uint64_t samples, requests;
	struct gain_block block[GAIN_BLOCKS];
};

/* A finished request of one attempt. */
struct gain_request {
	unsigned server;
	bool repeatable; /* safe to send twice */
	bool failed;
	struct instant first_byte; /* from the client */
	struct instant written;	   /* to the server */
	struct instant committed;  /* time of commit if acting; or none */
	struct instant finished;
};

/* Pauses and checks of the servers.
 *   triggers  bits of enum hazard_kind: the kinds on which acting would react
 *   checks    by server; borrowed */
struct gain_seen {
	const struct recent *hazards;
	uint32_t triggers;
	const struct gain_checks *checks[2];
};

/* Add a request to the estimate. */
void gain_note(
    struct gain *g, const struct gain_seen *seen, const struct gain_request *r);

/* Return the lower edge of bucket i. */
int64_t gain_bucket_ns(unsigned i);
