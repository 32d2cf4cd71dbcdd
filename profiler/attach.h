/*
 * attach.h: the thread that does everything that may block.
 *
 * It accepts writers of channels (channel_listener.h), watches the servers' processes and
 * finds their performance pages (process.h), and hands what is ready to the
 * observer through a ring of orders.  Sources come back through a second ring
 * when the observer has finished with them; only then are they unmapped.
 *
 * It sleeps in poll(): a spinning observer or a busy
 * proxy never waits for it.  What it is woken for, the end of a server, is
 * urgent, so it has no low priority.
 */
#ifndef TAILOR_PROFILER_ATTACH_H
#define TAILOR_PROFILER_ATTACH_H

#include <pthread.h>
#include <stdbool.h>

#include "profiler/channel_listener.h"
#include "profiler/jvm/usdt.h"
#include "profiler/kernel/kernel.h"
#include "profiler/observer_command.h"
#include "profiler/process.h"
#include "profiler/profiler.h"
#include "profiler/rates_read.h"

struct attach {
	struct channel_listener listener;
	struct process process[PROFILER_SERVERS];
	unsigned servers;
	struct kernel *kernel; /* borrowed; NULL: none */
	struct {
		pid_t pid, jvm;
	} watched[PROFILER_SERVERS]; /* what the kernel was told */
	struct instant count_at;     /* when to ask it for its losses */
	struct usdt *usdt;	     /* borrowed; NULL: no probes */
	struct rates_reader rates;
	struct command_ring *commands; /* borrowed; this thread writes */
	struct command_ring *released; /* borrowed; this thread reads */
	unsigned out;		       /* sources ending, not yet returned */
	struct pollfd *polled;	       /* owned */
	int wake;		       /* owned eventfd; any thread writes */
	/* any thread reads, under lock */
	pthread_mutex_t lock;
	struct profiler_stats shown; /* only what this thread knows */
	/* the thread that started it */
	pthread_t thread;
	bool running;
	uint32_t stop; /* relaxed atomic */
};

/* Everything but the thread.  Options are borrowed for its life. */
int attach_init(struct attach *a, const struct profiler_options *options,
    uint32_t first_number);
void attach_fini(struct attach *a);

int attach_start(struct attach *a);
void attach_stop(struct attach *a);

/* Release what the observer has given back.  On this thread, or when both
 * threads have stopped. */
void attach_collect(struct attach *a);

/* Any thread: look at what has changed. */
void attach_wake(struct attach *a);

/* Any thread: what this thread knows of stats. */
void attach_stats(struct attach *a, struct profiler_stats *out);

/* For door and process, on this thread: hand an order to the observer. */
void attach_command(struct attach *a, const struct observer_command *o);

/* For door: the server a channel belongs to, -1 if none (yet). */
int attach_server_of(const struct attach *a, const struct channel *c);

/* For process: servers' processes have changed, look at all channels. */
void attach_assign(struct attach *a);

#endif
