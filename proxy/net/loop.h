/* loop.h: the event loop of the proxy thread, and what all rooms of proxy/
 * share: timers, blocks of memory, files for slow peers, and deferred work.
 *
 * This is the lowest room of proxy/.  A turn is one round: libevent reports
 * sockets, a callback runs for each, and then loop_turn_end does the work that
 * the callbacks put off.  Work that could call back into its caller is put off
 * until the event's callback is over: callbacks never nest.
 *
 * Writes wait for the end of the turn, or until LOOP_WRITES of them wait.  That
 * keeps the code for reading, then that for writing, in the processor's caches,
 * and a receiver woken by the first write is awake for the others.  Before its
 * write a request has not been sent: bytes that come from its server until then
 * are no response to it.
 *
 * Proxy thread only.  To put work off and run it later costs some 6 ns. */
#pragma once

#include <event2/event.h>

#include "proxy/net/spool.h"
#include "proxy/net/timer.h"

#define LOOP_WRITES 64

/* Work is done in the order of these stages; new work joins its stage. */
enum loop_stage {
	LOOP_POLICY,  /* actions after hazards, failures and free slots */
	LOOP_INPUT,   /* requests that have been read already */
	LOOP_CONNECT, /* connections that wait for their turn to be opened */
	LOOP_SERVERS, /* requests to be written: servers begin on them */
	LOOP_CLIENTS, /* responses to be written */
};
#define LOOP_STAGES (LOOP_CLIENTS + 1)

/* A piece of work; a member of the struct that it works on. */
struct work {
	TAILQ_ENTRY(work) link;
	void (*run)(void *user);
	void *user;
	enum loop_stage stage;
	bool waits;
};

/* Pieces of work, linked by work.link. */
TAILQ_HEAD(work_list, work);

struct loop {
	struct event_base *base; /* owned */
	struct timers timers;
	struct block_pool blocks;
	struct spools spools;
	struct work_list work[LOOP_STAGES];
	unsigned writes;	/* waiting, to servers and clients */
	uint64_t turns;		/* begun so far */
	uint64_t events_failed; /* sockets that could not be watched */
};

/* 0 or -errno; call loop_fini in both cases. */
int loop_init(struct loop *l);
void loop_fini(struct loop *l);

/* Watch a socket, or no longer.  If the kernel cannot, *watched is false, the
 * failure is counted, and the timer fires when this turn is over, with forced
 * set. */
void loop_want(struct loop *l, struct event *e, struct timer *timer,
    bool *watched, bool want);

/* Set up a piece of work, before anything else is done with it. */
void work_init(
    struct work *w, enum loop_stage stage, void (*run)(void *user), void *user);

/* Put a piece of work off: it runs once, after the work that waits in its stage
 * already.  Does nothing if it waits. */
void loop_put_off(struct loop *l, struct work *w);

/* Cancel a piece of work, if it waits. */
void loop_drop(struct loop *l, struct work *w);

/* An event's callback is over: do the work that it put off.  Writes are done
 * only if LOOP_WRITES of them wait. */
void loop_event_end(struct loop *l);

/* Wait for events and run their callbacks: the begin of a turn.  0 or -EIO. */
int loop_turn_begin(struct loop *l);

/* The turn is over: fire the timers that are due, and do all work. */
void loop_turn_end(struct loop *l);
