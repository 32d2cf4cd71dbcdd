/* hedging.h: which server is active, which requests are sent again, and the
 * limits on both.
 *
 * A pure policy: values in, decisions out.  No sockets, no clock (the caller
 * passes the time), no allocation, no thread.  The proxy carries out the
 * decisions.  The rules are in docs/hedging.md; the labels in comments (E1, T1,
 * B2, ...) are the rule numbers used there.
 *
 *                 connect ok           warm-up done
 *   DOWN --> CONNECTING -------> WARMING -------> READY
 *    ^           |                  |               |
 *    +-----------+------------------+---------------+   exit, refused
 *
 * One READY server is the active one.  A hazard (a set of kinds) is a flag
 * beside the state, not a state. */
#pragma once

#include "hedging/window.h"
#include "talechain/events/hazard.h"

#define HEDGING_SERVERS 2
#define HEDGING_SWAPS_KEPT 32 /* instants of the latest swaps (B3) */

enum server_state {
	SERVER_DOWN,
	SERVER_CONNECTING, /* process runs; port not accepting yet */
	SERVER_WARMING,	   /* responds; gets warm-up requests and hedges */
	SERVER_READY,
};
/* The name used in metrics and logs: "ready".  Static text, "?" if out of
 * range.  The same holds for the two functions below. */
const char *server_state_name(enum server_state state);

/* Why a further attempt was started. */
enum hedge_trigger {
	HEDGE_FIRST, /* not a hedge: the request's first attempt */
#define HEDGE_X(symbol, code, words, colour, stops, ...) \
	HAZARD_IF_##stops(HEDGE_##symbol, )
	HAZARD_KINDS(HEDGE_X) /* the active server's hazard */
#undef HEDGE_X
	HEDGE_TIMER,   /* no hazard, but the response is late (T6) */
	HEDGE_FAILURE, /* the attempt failed before a response (T7) */
	HEDGE_TRIGGER_COUNT
};
/* "gc", "first", ... */
const char *hedge_trigger_name(enum hedge_trigger trigger);

/* Why a request was not hedged.  Each refusal is counted. */
#define HEDGE_REFUSALS(X)                                             \
	X(NONE, "none")                                               \
	X(WATCHING, "watching")			/* mode is not act */ \
	X(METHOD, "method")			/* E1 */              \
	X(BODY_SIZE, "body_size")		/* E2 */              \
	X(BODY_INCOMPLETE, "body_incomplete")	/* E2 */              \
	X(UPGRADE, "upgrade")			/* E3 */              \
	X(COMMITTED, "committed")		/* E4 */              \
	X(ATTEMPTS, "attempts")			/* E5 */              \
	X(DEADLINE, "deadline")			/* E6 */              \
	X(OPTOUT, "optout")			/* E7 */              \
	X(CLIENT_GONE, "client_gone")		/* E8 */              \
	X(PRIVATE, "private")			/* E9 */              \
	X(BACKUP_NOT_READY, "backup_not_ready") /* T2 */              \
	X(HAZARD_OVER, "pause_over")		/* T3 */              \
	X(INFLIGHT_LIMIT, "inflight_limit")	/* B1 */              \
	X(BUDGET, "budget")			/* B2 */              \
	X(STORM, "storm")			/* B3 */              \
	X(FAILING, "failing")			/* B4 */              \
	X(PUSHBACK, "pushback")			/* B5 */

enum hedge_refusal {
#define HEDGE_X(symbol, name) HEDGE_REFUSED_##symbol,
	HEDGE_REFUSALS(HEDGE_X)
#undef HEDGE_X
	    HEDGE_REFUSAL_COUNT
};
/* "budget", "inflight_limit", ... */
const char *hedge_refusal_name(enum hedge_refusal refusal);

/* Limits from the configuration; config/keys.txt has their meanings.  A
 * budget_burst of 0 is twice the larger connections_max. */
struct hedging_limits {
	bool act; /* false: watch only; never swap, hedge or fail over */
	uint32_t triggers; /* bit 1 << enum hazard_kind: what to act on */
	unsigned servers;  /* 1 or 2 */
	/* In flight per server: attempts, losers being drained and warm-up
	 * requests together, because each of them holds a connection. */
	unsigned connections_max[HEDGING_SERVERS];
	unsigned aside_max[HEDGING_SERVERS]; /* attempts without a slot */
	double budget_ratio;	  /* B2: tokens earned per finished request */
	unsigned budget_burst;	  /* B2: capacity, starts full */
	unsigned warmup_requests; /* 0: no warm-up */
	int64_t warmup_max_ns;
	double mirror_ratio;	   /* M: copies per finished request; 0: none */
	double timer_ratio;	   /* T6: tokens per finished request; 0: off */
	int64_t timer_delay_ns;	   /* T6: delay; 0: use timer_percentile */
	unsigned timer_percentile; /* T6: of latencies, 1 .. 100; 0: 99 */
};

/* The facts about a request that the policy needs; built for each call. */
struct hedge_view {
	bool method_allowed; /* safe method, or allowed by a rule */
	bool body_complete;
	bool body_kept; /* whole body still held, within the limit */
	bool upgrade;
	bool opted_out;
	bool client_gone;
	bool private;		 /* its client has a connection of its own */
	struct instant deadline; /* INSTANT_NONE: none */
};

/* One request's attempts: the race for its one response. */
enum attempt_state {
	ATTEMPT_NONE,
	ATTEMPT_RUNNING, /* queued, being written, or awaited */
	ATTEMPT_HELD,	 /* complete; sent only if nothing better comes */
	ATTEMPT_WON,	 /* committed: its bytes go to the client */
	ATTEMPT_LOST,	 /* the other attempt won, or the client left */
	ATTEMPT_FAILED,	 /* ended without a usable response */
};

#define RACE_ATTEMPTS 2
#define RACE_WRITES 2 /* of one request, on all servers */

struct race_attempt {
	enum attempt_state state;
	int server; /* valid unless ATTEMPT_NONE */
	enum hedge_trigger trigger;
	int status; /* of its response; 0: no head yet */
	bool ended; /* race_ended was called */
	bool aside; /* holds no slot: see race_release_slot */
};

struct race {
	struct race_attempt attempt[RACE_ATTEMPTS];
	unsigned started; /* attempts so far, 0 .. RACE_ATTEMPTS */
	unsigned writes;  /* done, or still possible by a running attempt */
	int winner;	  /* index of an attempt, -1: not committed */
	bool returned;	  /* T7: retried at the first server */
};

/* T4: the latest pause of one kind, and how long to wait for its end. */
struct pause_wait {
	struct window lengths; /* of ended pauses with served set */
	bool served;	       /* its server was active as it began */
	int64_t after_ns; /* act this long after its begin; INT64_MAX: never */
	int64_t price_ns; /* b of threshold.h; 0: not known */
};

/* Statistics and state of one server; read freely, written by the policy. */
struct hedging_server {
	enum server_state state;
	uint32_t hazards;	       /* bit per enum hazard_kind, now */
	uint32_t waiting;	       /* T4: hazards not acted upon yet */
	struct instant hazard_since;   /* begin of the oldest; unset: none */
	struct instant hazard_over;    /* end of the latest hazard */
	struct instant pushback_until; /* B5 */
	double errors; /* B4: share of errors in recent outcomes, 0 .. 1 */
	struct instant erred; /* B4: time of latest outcome, if an error */
	bool failing;	      /* B4: errs much more often than the other one */
	unsigned inflight;    /* attempts that may win or have won */
	unsigned hedges;      /* attempts in flight that are hedges */
	unsigned aside;	      /* attempts without a slot */
	unsigned draining;    /* losers still being read */
	unsigned warmup_done, warmup_inflight;
	struct instant warmup_since;
	/* Of the latest 128 responses without a hazard; 0: none yet. */
	int64_t latency_p50_ns, latency_p95_ns, latency_p99_ns;
	bool steered, fresh; /* by steer.h; fresh: in STEER_FRESH */
	bool withdrawn;	     /* DOWN, but requests in flight finish there */

	/* Private to the policy. */
	struct instant kind_since[HAZARD_KIND_COUNT];
	struct instant warmup_next; /* earliest time of the next warm-up */
	bool hedged_last;	    /* B1: the latest slot went to a hedge */
	bool collected;		    /* at least one whole collection seen */
	struct instant marking;	    /* T10: begin of marking; unset: none */
	struct window latency;
	struct window warmup_latency;
	struct pause_wait wait[HAZARD_KIND_COUNT]; /* T4 */
};

struct hedging {
	struct hedging_limits limits;
	struct hedging_server server[HEDGING_SERVERS];
	unsigned active;
	bool shared;   /* S7, by steer.h: both servers get new requests */
	double tokens; /* B2 */
	struct instant storm_until;
	uint64_t swaps, storms;
	uint64_t hedges_cancelled; /* never written, refunded */
	uint64_t swaps_refused;	   /* T2: no server could take over */
	uint64_t hazards_expired;  /* no end within a minute */
	uint64_t hazards_active;   /* of the active server, acted upon */
	uint64_t swaps_marking;	   /* T10 */
	uint64_t waited_out[HAZARD_KIND_COUNT]; /* T4: ended without action */
	uint64_t regret_ns[HAZARD_KIND_COUNT];	/* T4 */
	uint64_t requests_finished;
	uint64_t refused[HEDGE_REFUSAL_COUNT]; /* by hedging_decide (B6) */

	/* Private to the policy. */
	struct instant swap_at[HEDGING_SWAPS_KEPT]; /* ring, by swaps */
	double mirror_tokens;			    /* M: copies not sent yet */
	double timer_tokens;			    /* T6 */
	struct instant ticked;
	bool sweep_wanted; /* a hedge was refused for a temporary reason */
	struct instant sweep_after;
};

/* Actions of the proxy after an event; bits of a set. */
enum hedging_action {
	HEDGING_SWAPPED = 1, /* another server is active: send requests there */
	HEDGING_SWEEP = 2,  /* hedging_decide for all in flight, oldest first */
	HEDGING_WARMUP = 4, /* call hedging_warmup_due */
	HEDGING_STORM = 8,  /* a storm began: log it once */
	HEDGING_CANCEL = 16, /* a hazard is over: drop unwritten hedges for
			      * which hedging_hedge_obsolete holds (T3) */
};

/* Start with all servers DOWN and server 0 active. */
void hedging_init(struct hedging *h, const struct hedging_limits *limits);

/* New limits from a reload; states and counters stay.  Actions that follow (a
 * swap, say) are returned by the next hedging_tick. */
void hedging_limits_set(struct hedging *h, const struct hedging_limits *limits);

/* Server life cycle.  Each returns a set of enum hedging_action.  An event that
 * changes nothing (up when READY, down when DOWN) is harmless. */
unsigned hedging_server_connecting(
    struct hedging *h, unsigned server, struct instant now);
/* A server responded to a probe: it is WARMING now; or READY at once, if there
 * is no warm-up, in watch mode, or if the other server is not READY, so that
 * this is the only one.  For that reason a warm-up also ends when the other
 * server leaves READY. */
unsigned
hedging_server_up(struct hedging *h, unsigned server, struct instant now);
unsigned
hedging_server_down(struct hedging *h, unsigned server, struct instant now);
/* As hedging_server_down, for a server that is taken out of service: if it was
 * up, its requests in flight finish there, and only its pauses cause hedges,
 * until it is reported down or up. */
unsigned hedging_server_withdrawn(
    struct hedging *h, unsigned server, struct instant now);
/* Reset the state of a server to DOWN, as another server takes its place.
 * Asserts that no attempt and no copy is under way there. */
void hedging_server_forget(struct hedging *h, unsigned server);

/* A hazard as posted by the profiler.  The begin of EXIT also means DOWN; its
 * end means that a new process runs, without hazards.  A record out of range,
 * or an end without its begin, is ignored. */
unsigned hedging_hazard(
    struct hedging *h, const struct hazard *hazard, struct instant now);

/* T4: when to call hedging_tick next, because a pause then has lasted long
 * enough to act upon; INSTANT_NONE: no pause is waited out.  Changes whenever a
 * hazard begins or ends. */
struct instant hedging_wait_until(const struct hedging *h);

/* True if a server that has collected garbage before had no whole collection
 * since that time; false if steering knows that it need not collect. */
bool hedging_collection_due(
    const struct hedging *h, unsigned server, struct instant since);

/* An operator's command; works in watch mode, too.  Returns 0 actions if the
 * other server is not READY or is in a hazard.  No SWEEP: requests in flight
 * finish where they are. */
unsigned hedging_switch(struct hedging *h, struct instant now);

/* The active server was removed and its place is empty: the other one, whatever
 * its state, is active.  Also in watch mode.  Returns actions. */
unsigned hedging_active_removed(struct hedging *h, struct instant now);

/* The server for a new request or a first attempt, the active one unless both
 * share requests: its index, or HEDGING_UNAVAILABLE (respond 503) or
 * HEDGING_FULL (in-flight limit: wait in the proxy's queue). */
#define HEDGING_UNAVAILABLE (-1)
#define HEDGING_FULL (-2)
int hedging_choose(const struct hedging *h);

/* For a request that has waited long for a slot of the active server: the
 * backup, if a swap to it is possible and it is less than half full (the rest
 * is for hedges); else HEDGING_UNAVAILABLE. */
int hedging_overflow(const struct hedging *h, struct instant now);

/*
 * hedging_probe_wanted(h, server), hedging_probe_done(h, server, ok, now):
 * True if only a probe can show that a server has recovered: that server gets
 * no requests and its latest outcomes are errors (B4), or it is UNRESPONSIVE.
 * A probe is an outcome.  Returns actions.
 */
bool hedging_probe_wanted(const struct hedging *h, unsigned server);
unsigned hedging_probe_done(
    struct hedging *h, unsigned server, bool ok, struct instant now);

/* As hedging_choose, for a request in the queue.  A request whose first attempt
 * failed goes to the other server if that is up, warm or not. */
int hedging_choose_for(const struct hedging *h, const struct race *race);

/* True if one more request may be sent to a server (B1). */
bool hedging_has_room(const struct hedging *h, unsigned server);

/* True if a request that was written once could now go to the server that its
 * latest attempt did not use: that server is up, without a hazard, with room.
 */
bool hedging_has_other(const struct hedging *h, const struct race *race,
    const struct hedge_view *view);

/* True if a request may be hedged at all (E1, E2, E3, E7, E9). */
bool hedging_may_repeat(const struct hedge_view *view);

/* T7: why a request whose last attempt has failed is not sent again; NONE: it
 * is, at once or when the other server has room.  At least one attempt was
 * started. */
enum hedge_refusal hedging_retry_refusal(const struct hedging *h,
    const struct race *race, const struct hedge_view *view, struct instant now);

/* B1: true if a free slot of this server is to be offered to a hedge before a
 * queued request.  For a time when requests are queued and hedges were refused
 * for INFLIGHT_LIMIT. */
bool hedging_hedge_turn(const struct hedging *h, unsigned server);

/* Decide whether this request gets one more attempt because of trigger.
 * Returns HEDGE_REFUSED_NONE and the server in *server, and has then spent a
 * token: the proxy must start that attempt.  Otherwise returns the reason,
 * permanent ones before temporary ones; *server is unchanged.  A HEDGE_FAILURE
 * retry counts as an attempt but is not charged to the budget: the first
 * attempt is over, so no load is added.  A lone attempt whose 5xx head has
 * arrived is not hedged (COMMITTED).  O(1). */
enum hedge_refusal hedging_decide(struct hedging *h, const struct race *race,
    const struct hedge_view *view, enum hedge_trigger trigger,
    struct instant now, int *server);

/* True if hedging_decide is to be called at once, with the server's trigger,
 * for a first attempt just started on that server: the server is in a hazard
 * and the other one is still warming up, so new requests stay, but the other
 * may respond sooner. */
bool hedging_hedge_at_start(
    const struct hedging *h, unsigned server, struct instant now);

/* The kinds of hazards to act upon as soon as they begin, bits of enum
 * hazard_kind: without kinds that are waited out (T4) or that only make the
 * server slow (T10). */
static inline uint32_t
hedging_acted_on(const struct hedging *h)
{
	return h->limits.triggers & HAZARDS_STOPPING &
	       ~(uint32_t)HAZARDS_WAITED;
}

/* The trigger for a server's present hazards; HEDGE_FIRST: none, or none that
 * is acted upon (T4). */
enum hedge_trigger
hedging_hazard_trigger(const struct hedging *h, unsigned server);

/* True if an attempt other than this running one may still win: another one
 * runs, is held, or may yet be started.  A start is ruled out only by facts
 * that stay: the mode, a single server, the request itself, attempts used up.
 * False: holding back the response of this attempt gains nothing.  O(1). */
bool hedging_may_overtake(const struct hedging *h, const struct race *race,
    int attempt, const struct hedge_view *view);

/* True if the latest attempt is a hedge whose hazard is over while the first
 * attempt still runs.  The caller then ends it with ATTEMPT_END_UNSENT if no
 * byte of the hedge was written: the token is refunded, and the request may be
 * hedged again (T3). */
bool hedging_hedge_obsolete(const struct hedging *h, const struct race *race);

/* T6, for a first attempt just started on server: the delay without a response
 * head after which to call hedging_decide with HEDGE_TIMER.  < 0: no timer,
 * because it is off, this request was not picked, or no latency is known
 * yet. */
int64_t hedging_timer_ns(struct hedging *h, unsigned server);

/* A request has finished, with any outcome: add to the budget (B2). */
void hedging_request_end(struct hedging *h);

/* Races.  These functions also keep the servers' in-flight counts. */
void race_init(struct race *r);

/* Begin an attempt; returns its index.  Asserts started < RACE_ATTEMPTS. */
int race_start(struct hedging *h, struct race *r, unsigned server,
    enum hedge_trigger trigger);

/* The next step for an attempt's response, or for the request. */
enum race_step {
	RACE_COLLECT,	/* acceptable response: keep its bytes, commit it */
	RACE_HOLD,	/* not acceptable: keep it, wait for the other */
	RACE_DISCARD,	/* a loser's response: drain it */
	RACE_WAIT,	/* nothing now: another attempt is running */
	RACE_TRY,	/* start an attempt on *server, HEDGE_FAILURE */
	RACE_QUEUE,	/* as RACE_TRY, but *server is full: wait in the queue
			 * until hedging_choose names a server, start there */
	RACE_SEND_HELD, /* commit the attempt in *server: the best so far */
	RACE_RESTART,	/* no server has seen any of the request, and none can
			 * take it now: queue it like a new request */
	RACE_GIVE_UP,	/* no response will come: 502 */
};

/*
 * race_may_rewrite(r, view), race_rewrite(r):
 * A kept connection was lost before any byte of a response.  race_may_rewrite:
 * true if the attempt may write its request again on a new connection; a
 * request is written RACE_WRITES times in all if it may be repeated, else once.
 * race_rewrite counts that write.
 */
bool race_may_rewrite(const struct race *r, const struct hedge_view *view);
void race_rewrite(struct race *r);

/* Let an attempt that waits rather than works (a tunnel, an event stream, a
 * response that takes long) give its slot (connections_max) back; it counts in
 * server[].aside until it ends.  False, and nothing changes, if aside_max is
 * reached, or the attempt is not in flight or has given its slot back. */
bool race_release_slot(struct hedging *h, struct race *r, int attempt);

/* A response head arrived for an attempt.  An informational one (1xx but not
 * 101) changes nothing: RACE_WAIT. */
enum race_step race_head(struct race *r, int attempt, int status);

/* This attempt's response is about to be forwarded.  True: it is the winner,
 * and the other running attempt, if any, is now LOST (drain it).  False: the
 * race was already decided; discard.  At most one call ever returns true.
 * After RACE_SEND_HELD, call it for the HELD attempt.  The winner counts as in
 * flight until race_ended. */
bool race_commit(struct hedging *h, struct race *r, int attempt);

/* How an attempt ended. */
enum attempt_end {
	ATTEMPT_END_COMPLETE, /* its response was complete */
	ATTEMPT_END_FAILED,   /* refused, reset, cut short, malformed, late */
	ATTEMPT_END_UNSENT,   /* never written: cancelled for free */
};

/* An attempt is over: its response is complete (also after race_commit), it
 * failed, or it was a loser that has been drained or closed.
 *   latency_ns  from its first byte written to its end; < 0 unknown
 *   written     at least one byte of the request was handed to the server
 * Call it once per attempt; a loser whose race no longer exists may be left
 * out.  A LOST attempt is not in flight, only draining.
 * Returns the next step for the request.  After a winner or a loser: RACE_WAIT.
 * After a failure of the last running attempt: RACE_TRY or RACE_QUEUE (with
 * *server; only if the request may be sent again: T7), RACE_SEND_HELD (with the
 * attempt in *server), RACE_RESTART (the race is as after race_init) or
 * RACE_GIVE_UP.  A first attempt that ended UNSENT while it was the only one is
 * undone: RACE_RESTART.  An acceptable response that is complete but not
 * committed: RACE_SEND_HELD, at once.  *server is -1 for the other steps. */
enum race_step race_ended(struct hedging *h, struct race *r, int attempt,
    enum attempt_end end, int64_t latency_ns, bool written,
    const struct hedge_view *view, struct instant now, int *server);

/* A held response whose end was reported, but of which the server still has a
 * part, is cut: it can no longer be sent (W2).  After a commit: no change. */
void race_cut(struct race *r, int attempt);

/* True if another attempt is running beside this one. */
bool race_has_rival(const struct race *r, int attempt);

/* The request's deadline passes and this attempt has no response head: count an
 * error of its server (B4), unless a pause of the server explains it.
 *   since  when the attempt was written */
void race_late(struct hedging *h, const struct race *r, int attempt,
    struct instant since, struct instant now);

/* The client left: running attempts, and a winner still being forwarded,
 * become losers.  The race can no longer be won. */
void race_abandon(struct hedging *h, struct race *r);

/* The begin and the end of a loser's drain: between them the loser is not in
 * flight but counts in server[].draining (L8).  The end returns actions, as a
 * swap may have waited for it. */
void hedging_drain_begin(struct hedging *h, unsigned server);
unsigned
hedging_drain_end(struct hedging *h, unsigned server, struct instant now);

/* B5: a server asked for no hedges for hold_ns.  Lasts a minute at most, which
 * is also the meaning of hold_ns < 0 (gRPC's "do not retry").  A later call
 * never shortens that time; it ends when the server goes down. */
void hedging_pushback(
    struct hedging *h, unsigned server, int64_t hold_ns, struct instant now);

/* How many warm-up requests to send to a WARMING server now, or copies of
 * recent requests to a READY backup (M).  *next is when to call again
 * (INSTANT_NONE: not warming; wait for HEDGING_WARMUP).  Report each request
 * with hedging_warmup_sent, and its end with hedging_warmup_done, which returns
 * actions (the server may now be READY). */
unsigned hedging_warmup_due(struct hedging *h, unsigned server,
    struct instant now, struct instant *next);
void hedging_warmup_sent(struct hedging *h, unsigned server);
unsigned hedging_warmup_done(struct hedging *h, unsigned server, bool ok,
    int64_t latency_ns, struct instant now);

/* Changes driven by time: the end of a warm-up, the override, the return of a
 * server that has caught up, hedges that were refused for a temporary reason.
 * Call at least every 10 ms; O(1).  Returns actions. */
unsigned hedging_tick(struct hedging *h, struct instant now);
