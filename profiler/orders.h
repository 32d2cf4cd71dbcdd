/* orders.h: what the proxy has a server's runtime do: to collect, now.
 *
 * The proxy thread leaves an order in an atomic word; the attach thread writes
 * it to the agent in the server's JVM.  Where there is no agent, it loads ours,
 * once for each process, if that is allowed.
 *
 * Or G1PeriodicGCInterval is set to 1, by which G1 collects within a second and
 * begins to mark, until the order is withdrawn.  It is set to 0 as soon as the
 * JVM is found, which shows whether that can be done and ends what an earlier
 * tailor may have left. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "profiler/jvm/load.h"
#include "profiler/profiler.h"

struct attach;

/* G1PeriodicGCInterval of one JVM; the attach thread's own. */
struct orders_periodic {
	pid_t pid;	      /* of this JVM; 0: none */
	int is, want, asked;  /* its values, 0 or 1; is -1: not known */
	bool failed;	      /* the latest; then 1 is only taken back */
	struct instant again; /* not before */
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

void orders_init(struct orders *o);
/* May wait for 300 ms, to take back what is in force. */
void orders_fini(struct orders *o);

/* Any thread: leave an order; attach_wake must follow. */
void orders_leave(struct orders *o, unsigned server, uint64_t order);

/* Pass orders on, and load agents.  Returns the time until something is due,
 * ns; -1: never.  The attach thread. */
int64_t orders_turn(struct orders *o, struct attach *a, struct instant now);
