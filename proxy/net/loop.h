/* loop.h: the event loop of the proxy thread, and what all of its files share:
 * timers, blocks of memory, files for slow peers, and the work that a turn puts
 * off.
 *
 * This is the lowest room of proxy/.  A turn is one round: libevent reports
 * sockets, a callback runs for each, and then loop_turn_end carries out what
 * they put off.  Work that could lead back into its caller is put off too, and
 * done when the event's callback is over: callbacks never nest.
 *
 * What is to be written waits for the end of the turn, or until LOOP_WRITES
 * pieces wait.  Reading and writing, the kernel's part too, each find their
 * code in the processor's caches then, and a receiver that the first piece woke
 * is awake for the others.  Until then nothing of a request has been sent:
 * bytes that its server sends before are no response to it.
 *
 * Proxy thread only.  Putting work off and taking it up costs some 6 ns. */
#pragma once

#include <event2/event.h>

#include "proxy/net/spool.h"
#include "proxy/net/timer.h"

#define LOOP_WRITES 64

/* Work is done in this order; what comes up meanwhile takes its place in it. */
enum loop_stage {
	LOOP_POLICY,  /* what follows from hazards, failures and free slots */
	LOOP_INPUT,   /* requests that have been read already */
	LOOP_CONNECT, /* connections that wait for their turn to be opened */
	LOOP_SERVERS, /* requests to be written: servers have work to do */
	LOOP_CLIENTS, /* responses to be written */
};
#define LOOP_STAGES (LOOP_CLIENTS + 1)

/* A piece of work; part of what it is about. */
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
	unsigned writes;	/* that wait, of both kinds */
	uint64_t events_failed; /* sockets that could not be watched */
};

/* 0 or -errno; loop_fini also after that. */
int loop_init(struct loop *l);
void loop_fini(struct loop *l);

/* Watch a socket.  False if the kernel cannot: that is counted, and the timer
 * fires when this turn is over, with forced set. */
bool loop_watch(struct loop *l, struct event *e, struct timer *timer);

/* Set up a piece of work, before anything else is done with it. */
void work_init(
    struct work *w, enum loop_stage stage, void (*run)(void *user), void *user);

/* Have a piece of work done once, after what waits in its stage.  Does nothing
 * if it waits. */
void loop_put_off(struct loop *l, struct work *w);

/* Forget a piece of work that waits, if it does. */
void loop_drop(struct loop *l, struct work *w);

/* An event's callback is over: do what it put off, but for writing, unless much
 * waits to be written. */
void loop_event_end(struct loop *l);

/* The turn is over: timers that are due, and all work. */
void loop_turn_end(struct loop *l);
