/* gain.h: in watch mode, what acting would have changed.
 *
 * Owns an estimate, made when a request has finished.  One that was at a server
 * when the proxy noticed a pause of it would have been sent to the other one
 * then, if it is safe to repeat.  One that was sent during the pause, or while
 * the server still had requests of it, would have gone to the other one, safe
 * or not.  There it would have taken as long as a recent request outside pauses
 * did (one of the last GAIN_SAMPLES), and as much longer as health checks there
 * took while this server paused than those here outside pauses.  The begin of a
 * pause is another matter than the rest of it: threads must find a CPU that the
 * collector has not, and the other server wakes up.  So for what would have
 * been sent there within GAIN_BEGIN_NS of it only checks count that were sent
 * as the pause was noticed.  The first of two responses wins.  Each such
 * request is drawn GAIN_DRAWS times.
 *
 * What it does not know: how slow the other server would be under these
 * requests; without health checks, how slow it is at all.  docs/lab/hedging.md
 * has the estimate beside what acting did.
 *
 * Cost: a few comparisons and two additions a request, a microsecond one that
 * met a pause; some 260 KiB in watch mode.  A day, by quarters of an hour, is
 * kept.  Proxy thread; pure. */
#pragma once

#include "proxy/stats/recent.h"

#define GAIN_BLOCKS 96
#define GAIN_BLOCK_NS (900 * NS_PER_S)
#define GAIN_BUCKETS 320 /* each 5 % wider, from 10 us to 60 s */
#define GAIN_SAMPLES 256
#define GAIN_SAMPLES_LEAST 20 /* fewer: no estimate */
#define GAIN_CHECKS 64
#define GAIN_CHECKS_LEAST 5 /* fewer: they say nothing */
#define GAIN_DRAWS 16
#define GAIN_BEGIN_NS (5 * NS_PER_MS)

struct gain_block {
	uint64_t number; /* time / GAIN_BLOCK_NS; another: of an older lap */
	uint64_t requests;
	uint64_t met;	  /* at their server in a pause, or in its wake */
	uint64_t again;	  /* of those, that would have been sent twice */
	uint64_t failed;  /* with 502, 503 or 504 */
	uint64_t saved;	  /* of those, that would not have failed */
	uint64_t unknown; /* met, but nothing to estimate from, or the other
			   * server was in a pause too */
	/* At their server in a collection because eden was full, which steering
	 * has while no request is there; of those, that may be sent once only
	 * and were there first, so that acting does not help them. */
	uint64_t full, full_once;
	int64_t was_max_ns, would_max_ns;
	uint32_t was[GAIN_BUCKETS];
	uint32_t would[GAIN_BUCKETS]; /* GAIN_DRAWS for each request */
};

/* When a health check began. */
enum gain_when {
	GAIN_CALM,  /* outside pauses */
	GAIN_BEGIN, /* as a pause of the other server was noticed */
	GAIN_LATER, /* later in such a pause */
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

/* True if checks say how much slower the server there is while this one
 * pauses. */
bool gain_checks_suffice(
    const struct gain_checks *here, const struct gain_checks *there);

struct gain {
	struct instant wake[2];	      /* by server: end of its last request */
	int64_t sample[GAIN_SAMPLES]; /* ring: response times outside pauses */
	uint64_t samples, requests;
	struct gain_block block[GAIN_BLOCKS];
};

/* A finished request of one attempt. */
struct gain_request {
	unsigned server;
	bool repeatable; /* would have been sent again */
	bool failed;
	struct instant first_byte; /* from the client */
	struct instant written;	   /* to the server */
	struct instant committed;  /* when acting would have chosen this
				    * response; or none */
	struct instant finished;
};

/* Pauses and checks of the servers.  triggers: bits of enum hazard_kind,
 * without those that are waited out.  checks: by server; borrowed. */
struct gain_seen {
	const struct recent *hazards;
	uint32_t triggers;
	const struct gain_checks *checks[2];
};

/* Add a request to the estimate. */
void gain_note(
    struct gain *g, const struct gain_seen *seen, const struct gain_request *r);

/* The lower edge of bucket i. */
int64_t gain_bucket_ns(unsigned i);
