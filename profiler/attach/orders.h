/* orders.h: orders of the proxy to a server's runtime: collect now.
 *
 * The proxy thread leaves an order in an atomic word; the attach thread writes
 * it to the agent in the server's JVM.  Where there is no agent, it loads ours,
 * once for each process, if that is allowed.
 *
 * With PROFILER_COLLECT_PERIODIC an order sets the JVM's flag
 * G1PeriodicGCInterval to 1: G1 collects within a second and begins to mark.
 * Without an order the flag is 0 while the JVM is steered, because G1 reads a
 * new value only after the old interval has passed.  The user's value is read
 * before and restored at the end; if the flag is 0 or 1 (an earlier tailor may
 * have been killed), the user's value is taken from the JVM's arguments. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "profiler/attach/listener.h"
#include "profiler/jvm/load.h"

/* G1PeriodicGCInterval of one JVM; the attach thread's own. */
struct orders_periodic {
	pid_t pid;		  /* the JVM's process; 0: none */
	bool read;		  /* own and is are known */
	bool ordered;		  /* the JVM is to collect */
	uint64_t own;		  /* the user's value, ms */
	uint64_t is, want, asked; /* now, wanted, requested; ms */
	bool failed;		  /* last request failed: only undo a 1 */
	struct instant again;	  /* no new request before */
	struct instant usable;	  /* G1 obeys within a second from then on */
};

struct orders {
	struct orders_periodic periodic[PROFILER_SERVERS];
	struct load load[PROFILER_SERVERS];
	pid_t tried[PROFILER_SERVERS]; /* the process of the latest load */
	bool logged[PROFILER_SERVERS];
	/* atomic words: any thread writes these */
	uint32_t load_agents; /* 1: agents may be loaded */
	/* The order: 0: none; ORDERS_STOP; PROFILER_COLLECT_FULL; or bytes. */
	uint64_t wanted[PROFILER_SERVERS];
	/* the attach thread writes: orders can be carried out */
	uint32_t understood[PROFILER_SERVERS];
};

#define ORDERS_STOP 1

/* Begin without orders.  orders_fini may wait for 300 ms, to withdraw orders
 * in force. */
void orders_init(struct orders *o);
void orders_fini(struct orders *o);

/* Any thread: leave an order; attach_wake must follow. */
void orders_leave(struct orders *o, unsigned server, uint64_t order);

/* Pass orders on, and load agents.  Returns the time until something is due,
 * ns; -1: never.  The attach thread. */
int64_t orders_turn(
    struct orders *o, const struct channel_listener *d, struct instant now);
