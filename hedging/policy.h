/* policy.h: what the files of this folder share; private to it.
 *
 * hedging.c chooses servers, servers.c keeps their states, swap.c decides for
 * the pair, warmup.c paces, wait.c waits out short pauses, decide.c allows or
 * refuses hedges, race.c keeps the attempts of one request.  All of them work
 * on struct hedging and nothing else. */
#pragma once

#include "hedging/hedging.h"

#define OUTCOME_WEIGHT 0.125 /* B4: weight of the latest outcome */
/* B4: a server is failing while its share of errors exceeds the other server's
 * by this.  Six errors in a row begin it; eleven good responses end it. */
#define FAILING_FROM 0.5
#define FAILING_UNTIL 0.25
#define ERRED_NS (10 * NS_PER_S)	/* B4: how long the last error counts */
#define ERRORS_FADE_NS (60 * NS_PER_S)	/* B4: backup's errors fall to 1/e */
#define PUSHBACK_MAX_NS (60 * NS_PER_S) /* B5 */
#define HAZARD_MAX_NS (60 * NS_PER_S)	/* later its end counts as lost */
#define SETTLED_SHARE 10	     /* L8: losers left, of connections_max */
#define SETTLE_MIN_NS NS_PER_MS	     /* L8: 2 * p99, but at least this */
#define SWEEP_GAP_NS (5 * NS_PER_MS) /* between two sweeps by the tick */
#define SWAP_RATE_MAX 20	     /* B3: per s; pairs collect a few times */
#define STORM_HOLD_NS NS_PER_S	     /* B3 */
#define TIMER_FLOOR_NS NS_PER_MS     /* T6 */
#define TIMER_CAP_NS NS_PER_S	     /* T6: longest delay */
#define TIMER_BURST_SHARE 10	     /* T6: burst is a tenth of B2's */
/* Sums of fractions: ten times 0.1 must buy one hedge. */
#define TOKEN_ROUNDING 1e-9
/* A server in a hazard of this age is worse than a cold server. */
#define WARMING_OVERRIDE_NS (500 * NS_PER_MS)
/* Warm-up requests in flight: few, to leave the active server on the same
 * machine its share. */
#define WARMUP_CONCURRENCY 2
/* At most 500 a second, so that a warm-up of a fast server does not crowd out
 * its clients' requests; WARMUP_CONCURRENCY limits that of a slower server. */
#define WARMUP_INTERVAL_NS (2 * NS_PER_MS)
/* Interval for a server that responds with errors, only to notice their end. */
#define WARMUP_FAILING_NS (250 * NS_PER_MS)
/* A server is warm once its p95 is within this factor of the active server's; a
 * smaller factor is within the noise. */
#define WARMUP_P95_FACTOR 1.5
#define WARMUP_JUDGED 64 /* warm-up responses that make that p95 */

/* The other server of the pair. */
static inline unsigned
policy_other(unsigned server)
{
	return 1 - server;
}

/* The bit of a kind in a set of hazards. */
static inline uint32_t
policy_bit(enum hazard_kind kind)
{
	return UINT32_C(1) << kind;
}

/* True if a status says that this server cannot serve the request here or now,
 * while another one may: Request Timeout, Misdirected Request, Too Early, Too
 * Many Requests. */
static inline bool
policy_is_elsewhere(int status)
{
	return status == 408 || status == 421 || status == 425 || status == 429;
}

/* W1: true if a response with this status may win at once. */
static inline bool
policy_acceptable(int status)
{
	return status >= 100 && status < 500 && !policy_is_elsewhere(status);
}

/* B4: true if a status is an error of the server.  501 and 505 concern the
 * request. */
static inline bool
policy_is_error(int status)
{
	return status >= 500 && status != 501 && status != 505;
}

/* True if swapping, hedging and failing over are possible at all. */
bool policy_acts(const struct hedging *h);

/* How many connections of a server are in use, for any purpose.  Streams and
 * tunnels, which hold no slot, do not count (S3). */
unsigned policy_load(const struct hedging_server *s);

/* Check for, take or give back the tokens of a hedge (B2, T6). */
bool policy_budget_has(const struct hedging *h, enum hedge_trigger trigger);
void policy_budget_spend(struct hedging *h, enum hedge_trigger trigger);
void policy_budget_refund(struct hedging *h, enum hedge_trigger trigger);

/* True if an attempt of this trigger starts beside a running one: it adds load,
 * so it is charged. */
bool policy_is_hedge(enum hedge_trigger trigger);

/* T1: whether a server may get a second attempt.  NONE: yes; BACKUP_NOT_READY:
 * its state is below least, or it is in a hazard; FAILING. */
enum hedge_refusal policy_target(const struct hedging *h, unsigned server,
    enum server_state least, struct instant now);

/* True if a server may be swapped to. */
bool policy_can_take_over(
    const struct hedging *h, unsigned server, struct instant now);

/* Review the pair after any change: end warm-ups that must not delay
 * service, swap if the table in swap.c says so.  Returns a set of enum
 * hedging_action. */
unsigned policy_review(struct hedging *h, struct instant now);

/* Returns HEDGING_SWEEP if requests wait on a stopped server and the other
 * could take them; else 0, and hedging_tick checks again if it could not. */
unsigned policy_sweep(struct hedging *h, struct instant now);

/* Begin a warm-up.  policy_warmup_over: true if it may end, after enough good
 * responses or warmup_max_ns. */
void policy_warmup_begin(struct hedging_server *s, struct instant now);
bool policy_warmup_over(
    const struct hedging *h, unsigned server, struct instant now);

/* M: a request has finished: earn its share of a copy; returns how many copies
 * are due to a server now. */
void policy_mirror_earn(struct hedging *h);
unsigned
policy_mirrors(const struct hedging *h, unsigned server, struct instant now);

/* T4: policy_wait: a hazard begins, in force since kind_since: decide how long
 * to wait for its end.  policy_waited: it has ended: learn its length.
 * policy_wait_over: returns the hazards of a server whose wait is over. */
void policy_wait(struct hedging *h, const struct hazard *z, struct instant now);
void
policy_waited(struct hedging *h, const struct hazard *z, int64_t length_ns);
uint32_t
policy_wait_over(struct hedging *h, unsigned server, struct instant now);

/* Act on hazards of a server (bits) that are new or whose wait is over. */
unsigned policy_act(
    struct hedging *h, unsigned server, uint32_t hazards, struct instant now);

/* Drop hazards whose end was never seen. */
void
policy_hazards_expire(struct hedging *h, unsigned server, struct instant now);

/* Record the latency of a response. */
void policy_latency(
    struct hedging_server *s, int64_t latency_ns, struct instant now);

/* B4: policy_outcome records how an exchange with a server ended and calls
 * policy_failing_review, which decides again which server is failing. */
void policy_outcome(
    struct hedging *h, unsigned server, bool error, struct instant now);
void policy_failing_review(struct hedging *h);

/* T7: where a request may be retried after its last attempt failed: a server,
 * HEDGING_FULL or HEDGING_UNAVAILABLE. */
int policy_failover(const struct hedging *h, const struct race *r,
    const struct hedge_view *view, struct instant now);

/* T7: true if the server of the first attempt may get the last write, because
 * the second attempt did not reach the other server. */
bool policy_may_return(const struct hedging *h, const struct race *r,
    const struct hedge_view *view);

/* How often a request may be written in all: RACE_WRITES or 1. */
unsigned policy_writes_max(const struct hedge_view *view);

/* The first attempt that still runs, or NULL. */
const struct race_attempt *policy_running(const struct race *r);
