/* orders.h: what the proxy has a server's runtime do: to collect, now.
 *
 * The proxy thread leaves an order in an atomic word; the attach thread writes
 * it to the agent in the server's JVM.  Where there is no agent, it loads ours,
 * once for each process, if that is allowed.
 *
 * Or G1PeriodicGCInterval is set to 1, by which G1 collects within a second and
 * begins to mark, until the order is withdrawn.  It is 0 otherwise while the
 * JVM is steered: G1 sees a new value when the old one has passed.  What it was
 * is read before and set at the end; if an earlier tailor was killed (it is 0
 * or 1), the JVM's arguments say what it was. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "profiler/attach/listener.h"
#include "profiler/jvm/load.h"

/* G1PeriodicGCInterval of one JVM; the attach thread's own. */
struct orders_periodic {
	pid_t pid;		  /* of this JVM; 0: none */
	bool read;		  /* own and is are known */
	bool ordered;		  /* it is to collect */
	uint64_t own;		  /* the value that is not ours, ms */
	uint64_t is, want, asked; /* ms */
	bool failed;		  /* the latest; then 1 is only taken back */
	struct instant again;	  /* not before */
	struct instant usable;	  /* from then on G1 sees 1 within a second */
};

struct orders {
	struct orders_periodic periodic[PROFILER_SERVERS];
	struct load load[PROFILER_SERVERS];
	pid_t tried[PROFILER_SERVERS]; /* the process of the latest load */
	bool logged[PROFILER_SERVERS];
	/* atomic words: any thread writes these */
	uint32_t load_agents; /* whether to load it at all */
	/* 0: nothing; ORDERS_STOP; PROFILER_COLLECT_FULL; bytes */
	uint64_t wanted[PROFILER_SERVERS];
	/* the attach thread writes: orders can be carried out */
	uint32_t understood[PROFILER_SERVERS];
};

#define ORDERS_STOP 1

/* Begin without orders.  orders_fini may wait for 300 ms, to take back what is
 * in force. */
void orders_init(struct orders *o);
void orders_fini(struct orders *o);

/* Any thread: leave an order; attach_wake must follow. */
void orders_leave(struct orders *o, unsigned server, uint64_t order);

/* Pass orders on, and load agents.  Returns the time until something is due,
 * ns; -1: never.  The attach thread. */
int64_t orders_turn(
    struct orders *o, const struct channel_listener *d, struct instant now);
