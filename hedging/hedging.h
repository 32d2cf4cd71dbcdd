/*
 * hedging.h: who is active, what is sent again, and when enough is enough.
 *
 * A pure policy: values in, decisions out.  No sockets, no clock (every call
 * is told the time), no allocation, no thread.  The proxy asks and obeys.
 * The rules and the evidence for them are in docs/hedging.md; the labels in
 * comments (E1, T1, B2, ...) are the rule numbers used there.
 *
 *                 connect ok           warm-up done
 *   DOWN --> CONNECTING -------> WARMING -------> READY
 *    ^           |                  |               |
 *    +-----------+------------------+---------------+   exit, refused
 *
 * One READY server is the active one.  A hazard (a set of kinds) is a flag
 * beside the state, not a state.
 */
#ifndef TAILOR_HEDGING_H
#define TAILOR_HEDGING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/instant.h"
#include "talechain/hazard.h"

#define HEDGING_SERVERS 2

enum server_state {
	SERVER_DOWN,
	SERVER_CONNECTING, /* a process is there; its port is being tried */
	SERVER_WARMING,	   /* answers; gets warm-up requests only */
	SERVER_READY,
};
const char *server_state_name(enum server_state state);

/* Why a further attempt was started. */
enum hedge_trigger {
	HEDGE_FIRST,	 /* not a hedge: the request's first attempt */
	HEDGE_GC,	 /* the active collects garbage */
	HEDGE_SAFEPOINT, /* the active is stopped at a safepoint */
	HEDGE_EXIT,	 /* the active's process is gone */
	HEDGE_TIMER,	 /* no signal, but late (T6) */
	HEDGE_FAILURE,	 /* the attempt failed before it answered (T7) */
	HEDGE_TRIGGER_COUNT
};
const char *hedge_trigger_name(enum hedge_trigger trigger);

/* Why a request was not hedged.  Counted one by one. */
#define HEDGE_REFUSALS(X)                                               \
	X(NONE, "none")                                                 \
	X(WATCHING, "watching")			  /* mode is not act */ \
	X(METHOD, "method")			  /* E1 */              \
	X(BODY_SIZE, "body_size")		  /* E2 */              \
	X(BODY_INCOMPLETE, "body_incomplete")	  /* E2 */              \
	X(UPGRADE, "upgrade")			  /* E3 */              \
	X(COMMITTED, "committed")		  /* E4 */              \
	X(ATTEMPTS, "attempts")			  /* E5 */              \
	X(DEADLINE, "deadline")			  /* E6 */              \
	X(OPTOUT, "optout")			  /* E7 */              \
	X(CLIENT_GONE, "client_gone")		  /* E8 */              \
	X(STANDBY_NOT_READY, "standby_not_ready") /* T2 */              \
	X(HAZARD_OVER, "hazard_over")		  /* T3 */              \
	X(NOT_WORTH_IT, "not_worth_it")		  /* T4 */              \
	X(INFLIGHT_LIMIT, "inflight_limit")	  /* B1 */              \
	X(BUDGET, "budget")			  /* B2 */              \
	X(STORM, "storm")			  /* B3 */              \
	X(BREAKER, "breaker")			  /* B4 */              \
	X(PUSHBACK, "pushback")			  /* B5 */

enum hedge_refusal {
#define HEDGE_X(symbol, name) HEDGE_REFUSED_##symbol,
	HEDGE_REFUSALS(HEDGE_X)
#undef HEDGE_X
	    HEDGE_REFUSAL_COUNT
};
const char *hedge_refusal_name(enum hedge_refusal refusal);

/* Limits, all from the configuration; see its table for meaning and range. */
struct hedging_limits {
	bool act;	   /* false: watch; never swap, hedge or fail over */
	uint32_t triggers; /* bit 1 << enum hazard_kind: what to act on */
	unsigned servers;  /* 1 or 2 */
	unsigned connections_max[HEDGING_SERVERS]; /* in flight per server */
	unsigned hedge_inflight_max;		   /* B1, per server */
	double budget_ratio;	  /* B2: tokens earned per finished request */
	unsigned budget_burst;	  /* B2: capacity, starts full */
	unsigned swap_rate_max;	  /* B3: swaps in any second */
	int64_t storm_hold_ns;	  /* B3 */
	int64_t min_remaining_ns; /* E6; 0: the other server's p50 */
	int64_t min_pause_ns;	  /* T4; 0: off */
	int64_t warming_override_ns;
	unsigned ready_inflight;  /* L8: drained below this before return */
	unsigned warmup_requests; /* 0: no warm-up */
	unsigned warmup_concurrency;
	unsigned warmup_rate_per_s;
	double warmup_p95_factor; /* until p95 within this of the active's */
	int64_t warmup_max_ns;
};

/* What the policy must know of a request to judge it; made on the fly. */
struct hedge_view {
	bool method_allowed; /* safe method, or a rule of the configuration */
	bool body_complete;
	bool body_kept; /* whole body still held, within the limit */
	bool upgrade;
	bool opted_out;
	bool client_gone;
	struct instant deadline; /* INSTANT_NONE: none */
};

/* One request's attempts: the race for its one response. */
enum attempt_state {
	ATTEMPT_NONE,
	ATTEMPT_RUNNING, /* queued, being written, or awaited */
	ATTEMPT_HELD,	 /* ended with an answer we would rather not send */
	ATTEMPT_WON,	 /* committed: its bytes go to the client */
	ATTEMPT_LOST,	 /* the other one won, or the client left */
	ATTEMPT_FAILED,	 /* ended without a usable answer */
};

#define RACE_ATTEMPTS 2

struct race {
	struct {
		enum attempt_state state;
		int server; /* valid unless ATTEMPT_NONE */
		enum hedge_trigger trigger;
		int status; /* of its head, 0: none yet */
	} attempt[RACE_ATTEMPTS];
	unsigned started; /* attempts so far, 0 .. RACE_ATTEMPTS */
	int winner;	  /* index, -1: not committed */
};

/* Statistics and state of one server; read freely, written by the policy. */
struct hedging_server {
	enum server_state state;
	uint32_t hazards;	       /* bit per enum hazard_kind, now */
	struct instant hazard_since;   /* oldest of them */
	struct instant pushback_until; /* B5 */
	double breaker_tokens;	       /* B4 */
	unsigned inflight;	       /* attempts that may still win */
	unsigned hedges;	       /* of those, hedges */
	unsigned draining;	       /* losers still being read */
	unsigned warmup_sent, warmup_done, warmup_inflight;
	struct instant warmup_since;
	int64_t latency_p50_ns, latency_p95_ns; /* hazard-free, recent window */
	uint64_t internal[64]; /* windows and rates: the policy's own */
};

struct hedging {
	struct hedging_limits limits;
	struct hedging_server server[HEDGING_SERVERS];
	unsigned active;
	double tokens; /* B2 */
	struct instant storm_until;
	uint64_t swaps, hedges_sent, storms;
	uint64_t requests_finished;
	uint64_t internal[64];
};

/* Results of an event: what the proxy should do now. */
enum hedging_consequence {
	HEDGING_SWAPPED = 1, /* the active changed: new requests go there */
	HEDGING_SWEEP = 2,   /* ask hedging_ask for all in flight, oldest 1st */
	HEDGING_WARMUP = 4,  /* ask hedging_warmup_due */
	HEDGING_STORM = 8,   /* a storm began: log it once */
};

/* Start with all servers DOWN and server 0 active. */
void hedging_init(struct hedging *h, const struct hedging_limits *limits);

/* New limits from a reload; states and counters stay. */
void hedging_limits_set(struct hedging *h, const struct hedging_limits *limits);

/* Server life cycle.  Each returns a set of enum hedging_consequence. */
unsigned hedging_server_connecting(
    struct hedging *h, unsigned server, struct instant now);
/* It answered a probe: warms up, or is READY when there is no warm-up or the
 * other server is not READY (somebody has to serve). have_history tells
 * whether there are requests to warm it with. */
unsigned hedging_server_up(
    struct hedging *h, unsigned server, bool have_history, struct instant now);
unsigned
hedging_server_down(struct hedging *h, unsigned server, struct instant now);

/* A hazard as posted by the profiler.  EXIT begin also means DOWN. */
unsigned hedging_hazard(
    struct hedging *h, const struct hazard *hazard, struct instant now);

/* An operator's wish.  Returns 0 consequences if the other is not READY. */
unsigned hedging_switch(struct hedging *h, struct instant now);

/*
 * hedging_choose(h, now):
 * The server for a new request or a first attempt: its index, or
 * HEDGING_UNAVAILABLE (answer 503) or HEDGING_FULL (in-flight limit: wait
 * in the proxy's queue).
 */
#define HEDGING_UNAVAILABLE (-1)
#define HEDGING_FULL (-2)
int hedging_choose(const struct hedging *h, struct instant now);

/*
 * hedging_ask(h, race, view, trigger, now, server):
 * May this request get one more attempt, because of trigger?
 * Returns HEDGE_REFUSED_NONE and the server in *server, and then has spent a
 * token: the proxy must start that attempt.  Otherwise the reason.
 * A HEDGE_FAILURE re-try is not charged to the budget (the first attempt is
 * over, so no load is added) but counts as an attempt.
 */
enum hedge_refusal hedging_ask(struct hedging *h, const struct race *race,
    const struct hedge_view *view, enum hedge_trigger trigger,
    struct instant now, int *server);

/* The trigger that a server's present hazards amount to; HEDGE_FIRST: none. */
enum hedge_trigger
hedging_hazard_trigger(const struct hedging *h, unsigned server);

/* A request left the table, whatever its outcome: earns budget (B2). */
void hedging_request_end(struct hedging *h, struct instant now);

/* Races.  These also keep the servers' in-flight counts. */
void race_init(struct race *r);

/* Begin an attempt; returns its index.  Asserts started < RACE_ATTEMPTS. */
int race_start(struct hedging *h, struct race *r, unsigned server,
    enum hedge_trigger trigger, struct instant now);

/* What to do with an attempt's bytes, or next. */
enum race_step {
	RACE_COLLECT,	/* acceptable: keep its bytes, commit when due */
	RACE_HOLD,	/* not acceptable, another may do better: keep, wait */
	RACE_DISCARD,	/* a loser's: read and throw away */
	RACE_WAIT,	/* nothing now: another attempt is running */
	RACE_TRY,	/* start an attempt on *server */
	RACE_SEND_HELD, /* commit attempt *held: the best answer there is */
	RACE_GIVE_UP,	/* no answer will come: 502, or 503 if never sent */
};

/* A response head arrived for an attempt. */
enum race_step race_head(struct hedging *h, struct race *r, int attempt,
    int status, struct instant now);

/*
 * race_commit(h, r, attempt, now):
 * This attempt's response is about to be forwarded.  True: it is the winner,
 * and the other running attempt, if any, is now LOST (drain it).  False: the
 * race was already decided; discard.  At most one call ever returns true.
 */
bool
race_commit(struct hedging *h, struct race *r, int attempt, struct instant now);

/* How an attempt that can no longer win came to its end. */
enum attempt_end {
	ATTEMPT_END_COMPLETE, /* its response was complete */
	ATTEMPT_END_FAILED,   /* refused, reset, cut short, malformed, late */
	ATTEMPT_END_UNSENT,   /* never written: cancelled for free */
};

/*
 * race_ended(h, r, attempt, end, latency_ns, written, view, now, server):
 * An attempt is over: its response is complete (also after race_commit), it
 * failed, or it was a loser that has been drained or closed.
 *   latency_ns  from its first byte written to its end; < 0 unknown
 *   written     at least one byte of the request was handed to the server
 * Returns the next step for the request: after a winner or a loser always
 * RACE_WAIT; after a failure of the last running attempt RACE_TRY (with
 * *server; only if the request may be sent again: T7), RACE_SEND_HELD (with
 * the attempt in *server) or RACE_GIVE_UP.
 */
enum race_step race_ended(struct hedging *h, struct race *r, int attempt,
    enum attempt_end end, int64_t latency_ns, bool written,
    const struct hedge_view *view, struct instant now, int *server);

/* The client left before commit: running attempts become losers. */
void race_abandon(struct hedging *h, struct race *r, struct instant now);

/* A loser stopped being in flight because it is now being drained, and the
 * end of that drain.  Keeps server[].draining (L8). */
void hedging_drain_begin(struct hedging *h, unsigned server);
void hedging_drain_end(struct hedging *h, unsigned server, struct instant now);

/* B5: a server asked for quiet. */
void hedging_pushback(
    struct hedging *h, unsigned server, int64_t hold_ns, struct instant now);

/*
 * hedging_warmup_due(h, server, now, next):
 * How many warm-up requests to send to a WARMING server now.  *next is when
 * to ask again (INSTANT_NONE: not warming).  Each one sent is told with
 * hedging_warmup_sent and ended with hedging_warmup_done, which returns
 * consequences (the server may now be READY).
 */
unsigned hedging_warmup_due(struct hedging *h, unsigned server,
    struct instant now, struct instant *next);
void hedging_warmup_sent(struct hedging *h, unsigned server);
unsigned hedging_warmup_done(struct hedging *h, unsigned server, bool ok,
    int64_t latency_ns, struct instant now);

/* Time-driven changes (warm-up maximum, override, storm end).  Call at least
 * every 10 ms.  Returns consequences. */
unsigned hedging_tick(struct hedging *h, struct instant now);

#endif
