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
#include "hedging/window.h"
#include "talechain/events/hazard.h"

#define HEDGING_SERVERS 2
#define HEDGING_SWAPS_KEPT 32 /* instants of the latest swaps (B3) */

enum server_state {
	SERVER_DOWN,
	SERVER_CONNECTING, /* a process is there; its port is being tried */
	SERVER_WARMING,	   /* answers; gets warm-up requests, and hedges */
	SERVER_READY,
};
/* Its name as in metrics and logs: "ready".  Static text, "?" if out of
 * range; so for the two below. */
const char *server_state_name(enum server_state state);

/* Why a further attempt was started. */
enum hedge_trigger {
	HEDGE_FIRST,	    /* not a hedge: the request's first attempt */
	HEDGE_GC,	    /* the active collects garbage */
	HEDGE_SAFEPOINT,    /* the active is stopped at a safepoint */
	HEDGE_EXIT,	    /* the active's process is gone */
	HEDGE_UNRESPONSIVE, /* the active sends nothing (silence.c) */
	HEDGE_TIMER,	    /* no signal, but late (T6) */
	HEDGE_FAILURE,	    /* the attempt failed before it answered (T7) */
	HEDGE_TRIGGER_COUNT
};
/* "gc", "first", ... */
const char *hedge_trigger_name(enum hedge_trigger trigger);

/* Why a request was not hedged.  Counted one by one, at each asking. */
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
/* "budget", "inflight_limit", ... */
const char *hedge_refusal_name(enum hedge_refusal refusal);

/*
 * Limits from the configuration; see its table for meaning and range.  A
 * budget_burst of 0 is twice the larger connections_max.
 */
struct hedging_limits {
	bool act;	   /* false: watch; never swap, hedge or fail over */
	uint32_t triggers; /* bit 1 << enum hazard_kind: what to act on */
	unsigned servers;  /* 1 or 2 */
	/* In flight per server: attempts, losers being drained and warm-up
	 * requests together, for each of them holds a connection. */
	unsigned connections_max[HEDGING_SERVERS];
	unsigned aside_max[HEDGING_SERVERS]; /* attempts without a slot */
	double budget_ratio;	  /* B2: tokens earned per finished request */
	unsigned budget_burst;	  /* B2: capacity, starts full */
	int64_t min_pause_ns;	  /* T4; 0: off */
	unsigned warmup_requests; /* 0: no warm-up */
	unsigned warmup_rate_per_s;
	int64_t warmup_max_ns;
	double mirror_ratio;	   /* M: copies per finished request; 0: none */
	double timer_ratio;	   /* T6: tokens per finished request; 0: off */
	int64_t timer_delay_ns;	   /* T6: what late means; 0: a percentile */
	unsigned timer_percentile; /* T6: this one, 1 .. 100; 0: 99 */
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
#define RACE_WRITES 2 /* of a request, on whatever connections and servers */

struct race_attempt {
	enum attempt_state state;
	int server; /* valid unless ATTEMPT_NONE */
	enum hedge_trigger trigger;
	int status; /* of its head, 0: none yet */
	bool ended; /* race_ended was called */
	bool aside; /* holds no slot: see race_aside */
};

struct race {
	struct race_attempt attempt[RACE_ATTEMPTS];
	unsigned started; /* attempts so far, 0 .. RACE_ATTEMPTS */
	unsigned writes;  /* done, or possible by a running attempt */
	int winner;	  /* index, -1: not committed */
};

/* Statistics and state of one server; read freely, written by the policy. */
struct hedging_server {
	enum server_state state;
	uint32_t hazards;	       /* bit per enum hazard_kind, now */
	struct instant hazard_since;   /* oldest of them; none: not set */
	struct instant hazard_over;    /* when the last of them had ended */
	struct instant pushback_until; /* B5 */
	double breaker_tokens;	       /* B4 */
	unsigned inflight;	       /* attempts that may win or have won */
	unsigned hedges;	       /* of those, hedges */
	unsigned aside;	   /* attempts that hold no slot (race_aside) */
	unsigned draining; /* losers still being read */
	unsigned warmup_sent, warmup_done, warmup_failed, warmup_inflight;
	struct instant warmup_since;
	/* Of the latest 128 hazard-free answers; 0: none yet. */
	int64_t latency_p50_ns, latency_p95_ns, latency_p99_ns;

	/* The policy's own. */
	struct instant kind_since[HAZARD_KIND_COUNT];
	struct instant warmup_next; /* when the rate allows one more */
	bool hedged_last;	    /* B1: who had the latest slot */
	struct window latency;
	struct window warmup_latency;
	struct window pause[HAZARD_KIND_COUNT]; /* T4 */
};

struct hedging {
	struct hedging_limits limits;
	struct hedging_server server[HEDGING_SERVERS];
	unsigned active;
	double tokens; /* B2 */
	struct instant storm_until;
	uint64_t swaps, hedges_sent, storms;
	uint64_t hedges_cancelled; /* of those sent: never written, refunded */
	uint64_t swaps_refused;	   /* T2: a hazard began, nowhere to go */
	uint64_t hazards_expired;  /* their end was never seen */
	uint64_t requests_finished;
	uint64_t refused[HEDGE_REFUSAL_COUNT]; /* by hedging_ask (B6) */

	/* The policy's own. */
	struct instant swap_at[HEDGING_SWAPS_KEPT]; /* ring, by swaps */
	double mirror_tokens;			    /* M: copies not sent yet */
	double timer_tokens;			    /* T6 */
	struct instant ticked;
	bool sweep_wanted; /* a hedge was refused for a passing reason */
	struct instant sweep_after;
};

/* Results of an event: what the proxy should do now. */
enum hedging_consequence {
	HEDGING_SWAPPED = 1, /* the active changed: new requests go there */
	HEDGING_SWEEP = 2,   /* ask hedging_ask for all in flight, oldest 1st */
	HEDGING_WARMUP = 4,  /* ask hedging_warmup_due */
	HEDGING_STORM = 8,   /* a storm began: log it once */
	HEDGING_CANCEL = 16, /* a hazard is over: unwritten hedges for which
			      * hedging_idle holds may be dropped (T3) */
};

/* Start with all servers DOWN and server 0 active. */
void hedging_init(struct hedging *h, const struct hedging_limits *limits);

/* New limits from a reload; states and counters stay.  What follows from
 * them (a swap, say) is told by the next hedging_tick. */
void hedging_limits_set(struct hedging *h, const struct hedging_limits *limits);

/* Server life cycle.  Each returns a set of enum hedging_consequence.  An
 * event that changes nothing (up when READY, down when DOWN) is harmless. */
unsigned hedging_server_connecting(
    struct hedging *h, unsigned server, struct instant now);
/* It answered a probe: warms up, or is READY when there is no warm-up, we
 * only watch, or the other server is not READY (somebody has to serve; for
 * the same reason a warm-up ends when the other server leaves READY). */
unsigned
hedging_server_up(struct hedging *h, unsigned server, struct instant now);
unsigned
hedging_server_down(struct hedging *h, unsigned server, struct instant now);

/* A hazard as posted by the profiler.  EXIT begin also means DOWN, EXIT end
 * that a new process without hazards is there.  A record out of range, or an
 * end without its begin, is ignored. */
unsigned hedging_hazard(
    struct hedging *h, const struct hazard *hazard, struct instant now);

/* Whether a server that collects now and then (it was seen to) has not, from
 * begin to end, since then. */
bool hedging_collection_due(
    const struct hedging *h, unsigned server, struct instant since);

/* An operator's wish, also when we only watch.  Returns 0 consequences if the
 * other is not READY or is in a hazard.  No SWEEP: requests in flight finish
 * where they are. */
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
 * hedging_overflow(h, now):
 * Where a request may go that has waited long for a slot of the active server:
 * the standby, if it could be swapped to and is less than half full (the rest
 * is for hedges); else HEDGING_UNAVAILABLE.
 */
int hedging_overflow(const struct hedging *h, struct instant now);

/*
 * hedging_probe_wanted(h, server), hedging_probed(h, server, ok, now):
 * Whether only a response to a request of Tailor's own could show that a server
 * is well again: it gets no requests and its breaker is open (B4), or it is
 * UNRESPONSIVE.  Each such response closes the breaker by a token.  Returns
 * consequences.
 */
bool hedging_probe_wanted(const struct hedging *h, unsigned server);
unsigned
hedging_probed(struct hedging *h, unsigned server, bool ok, struct instant now);

/*
 * hedging_choose_for(h, race, now):
 * As hedging_choose, for a request in the queue: one whose first attempt has
 * failed goes to the other server, if that is up, warm or not.
 */
int hedging_choose_for(
    const struct hedging *h, const struct race *race, struct instant now);

/*
 * hedging_has_other(h, race, view):
 * Whether the other server than that of the latest attempt could answer a
 * request that was written once, now: up, without a hazard, with room.
 */
bool hedging_has_other(const struct hedging *h, const struct race *race,
    const struct hedge_view *view);

/* B1: a slot of this server is free; new requests are queued and hedges were
 * refused for INFLIGHT_LIMIT.  True: offer it to a hedge first. */
bool hedging_hedge_turn(const struct hedging *h, unsigned server);

/*
 * hedging_ask(h, race, view, trigger, now, server):
 * May this request get one more attempt, because of trigger?
 * Returns HEDGE_REFUSED_NONE and the server in *server, and then has spent a
 * token: the proxy must start that attempt.  Otherwise the reason, with the
 * ones that cannot pass before those that can; *server is then unchanged.
 * A HEDGE_FAILURE re-try is not charged to the budget (the first attempt is
 * over, so no load is added) but counts as an attempt.
 * A lone 5xx whose head is there is not hedged any more (COMMITTED): it is
 * the answer.  O(1).
 */
enum hedge_refusal hedging_ask(struct hedging *h, const struct race *race,
    const struct hedge_view *view, enum hedge_trigger trigger,
    struct instant now, int *server);

/* Whether to ask, with the server's trigger, for a first attempt that was just
 * started on it: it is in a hazard, and the other one is still warming up, so
 * that new requests stay, but may well answer sooner. */
bool
hedging_at_once(const struct hedging *h, unsigned server, struct instant now);

/* The trigger that a server's present hazards amount to; HEDGE_FIRST: none. */
enum hedge_trigger
hedging_hazard_trigger(const struct hedging *h, unsigned server);

/*
 * hedging_may_overtake(h, race, attempt, view):
 * Whether another attempt than this running one may still give the response:
 * there is one, running or held, or one may yet be started.  Only what cannot
 * change for this request counts against that: the mode, a single server, the
 * request itself, attempts used up.  False: nothing is gained by holding the
 * response of this attempt back.  O(1).
 */
bool hedging_may_overtake(const struct hedging *h, const struct race *race,
    int attempt, const struct hedge_view *view);

/*
 * hedging_idle(h, race):
 * Whether the race's latest attempt is a hedge whose hazard is over while
 * the first attempt still runs.  If nothing of it was written yet, end it
 * with ATTEMPT_END_UNSENT: its token comes back and the request may be
 * hedged again (T3).
 */
bool hedging_idle(const struct hedging *h, const struct race *race);

/*
 * hedging_timer_ns(h, server):
 * T6, for a first attempt just started on server: after how long without a
 * response head to ask with HEDGE_TIMER; < 0: not this one, off, or no answer
 * is known yet to take a percentile of.
 */
int64_t hedging_timer_ns(struct hedging *h, unsigned server);

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
	RACE_TRY,	/* start an attempt on *server, HEDGE_FAILURE */
	RACE_QUEUE,	/* as RACE_TRY, but *server is full: wait in the queue
			 * until hedging_choose names a server, start there */
	RACE_SEND_HELD, /* commit attempt *held: the best answer there is */
	RACE_RESTART,	/* no server has seen any of it, and none can take it
			 * now: it waits in the queue like a new request */
	RACE_GIVE_UP,	/* no answer will come: 502 */
};

/*
 * race_may_rewrite(r, view), race_rewrite(r):
 * A kept connection was lost before any byte of a response.  May the attempt
 * write its request again, on a new connection: RACE_WRITES in all for what
 * may be repeated, one for anything else.  The second counts that write.
 */
bool race_may_rewrite(const struct race *r, const struct hedge_view *view);
void race_rewrite(struct race *r);

/*
 * race_aside(h, r, attempt):
 * The attempt waits rather than works: a tunnel, an event stream, a response
 * that is long in coming.  It gives its slot (connections_max) back and counts
 * in server[].aside until it ends.  False if aside_max is reached, or the
 * attempt is not in flight or aside already; nothing has changed then.
 */
bool race_aside(struct hedging *h, struct race *r, int attempt);

/* A response head arrived for an attempt.  An informational one (1xx but
 * 101) changes nothing: RACE_WAIT. */
enum race_step race_head(struct hedging *h, struct race *r, int attempt,
    int status, struct instant now);

/*
 * race_commit(h, r, attempt, now):
 * This attempt's response is about to be forwarded.  True: it is the winner,
 * and the other running attempt, if any, is now LOST (drain it).  False: the
 * race was already decided; discard.  At most one call ever returns true.
 * Also for a HELD attempt, after RACE_SEND_HELD.  The winner counts as in
 * flight until race_ended.
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
 * Call it once per attempt.  A loser need not be told if its race is gone
 * before its end; a LOST attempt is not in flight, only draining.
 * Returns the next step for the request: after a winner or a loser always
 * RACE_WAIT; after a failure of the last running attempt RACE_TRY or
 * RACE_QUEUE (with *server; only if the request may be sent again: T7),
 * RACE_SEND_HELD (with the attempt in *server), RACE_RESTART (the race is
 * as after race_init) or RACE_GIVE_UP.  The first attempt, ended UNSENT while
 * it is the only one, never happened: RACE_RESTART.  An
 * acceptable response that is complete but not committed yet is also
 * RACE_SEND_HELD, at once.  *server is -1 for the other steps.
 */
enum race_step race_ended(struct hedging *h, struct race *r, int attempt,
    enum attempt_end end, int64_t latency_ns, bool written,
    const struct hedge_view *view, struct instant now, int *server);

/* Whether another attempt runs beside this one, and may still win. */
bool race_has_rival(const struct race *r, int attempt);

/* The client left: running attempts, and a winner still being forwarded,
 * become losers.  The race can no longer be won. */
void race_abandon(struct hedging *h, struct race *r, struct instant now);

/* A loser stopped being in flight because it is now being drained, and the
 * end of that drain.  Keeps server[].draining (L8).  The end returns
 * consequences: the server may have become a target for a waiting swap. */
void hedging_drain_begin(struct hedging *h, unsigned server);
unsigned
hedging_drain_end(struct hedging *h, unsigned server, struct instant now);

/* B5: a server asked for quiet: no hedges to it for hold_ns, a minute at most
 * (also for hold_ns < 0, which is gRPC's "not again").  Never shortened by a
 * later call, forgotten when the server goes down. */
void hedging_pushback(
    struct hedging *h, unsigned server, int64_t hold_ns, struct instant now);

/*
 * hedging_warmup_due(h, server, now, next):
 * How many warm-up requests to send to a WARMING server now, or copies of
 * recent ones to a READY standby (M).  *next is when to ask again
 * (INSTANT_NONE: not warming; HEDGING_WARMUP will say).  Each one sent is told
 * with hedging_warmup_sent and ended with hedging_warmup_done, which returns
 * consequences (the server may now be READY).
 */
unsigned hedging_warmup_due(struct hedging *h, unsigned server,
    struct instant now, struct instant *next);
void hedging_warmup_sent(struct hedging *h, unsigned server);
unsigned hedging_warmup_done(struct hedging *h, unsigned server, bool ok,
    int64_t latency_ns, struct instant now);

/* Time-driven changes (warm-up maximum, override, return of a server that has
 * caught up, hedges that can be asked for again).  Call at least every 10 ms,
 * more often as you like: O(1).  Returns consequences. */
unsigned hedging_tick(struct hedging *h, struct instant now);

#endif
