/* attach.h: the thread that does everything that may block.
 *
 * It accepts writers of channels (listener.h), watches the servers'
 * processes, finds their performance pages (process.h), and hands finished
 * sources to the observer through a ring of commands.  The observer releases a
 * source through a second ring; only then is it unmapped.
 *
 * It sleeps in poll(), so a spinning observer or a busy proxy never waits for
 * it.  It handles the end of a server, which is urgent, so it has no low
 * priority. */
#pragma once

#include <pthread.h>

#include "profiler/attach/code_map.h"
#include "profiler/attach/listener.h"
#include "profiler/kernel/kernel.h"
#include "profiler/attach/observed.h"
#include "profiler/observer/observer_rest.h"
#include "profiler/attach/orders.h"
#include "profiler/attach/process.h"
#include "profiler/rates/epochs_read.h"
#include "profiler/rates/rates_read.h"
#include "profiler/runtimes/follow.h"
#include "profiler/rates/steal.h"

struct attach {
	struct channel_listener listener;
	struct process process[PROFILER_SERVERS];
	unsigned servers;
	struct observed observed[PROFILER_SERVERS];
	struct kernel *kernel; /* borrowed; NULL: none */
	uint32_t *check;       /* borrowed, see struct stalls; NULL: none */
	const char *kernel_why, *kernel_fix; /* borrowed; if kernel is NULL */
	struct instant counted; /* when kernel losses were last read */
	struct instant aged;	/* last kernel_peers_age */
	struct runtimes runtimes;
	struct rates_reader rates;
	struct epochs_reader epochs;
	struct steal steal;
	struct orders orders;
	struct code_map_orders code_maps;
	struct command_sender sender;
	struct command_ring *released; /* borrowed; this thread reads */
	struct pollfd *polled;	       /* owned */
	int wake;		       /* owned eventfd; any thread writes */
	uint64_t turns;		       /* so far; any thread reads */
	/* any thread, under lock */
	pthread_mutex_t lock;
	struct profiler_stats shown; /* statistics of this thread */
	struct {
		bool due;
		struct profiler_server is;
	} set[PROFILER_SERVERS]; /* see attach_set */
	/* the thread that started it */
	pthread_t thread;
	bool running;
};

/* Have the kernel's programs follow the processes.  Call it before
 * attach_start. */
void attach_set_kernel(struct attach *a, struct kernel *kernel);

/* Initialize, without the thread.  Options are borrowed for its life. */
int attach_init(struct attach *a, const struct profiler_options *options,
    uint32_t first_number);
void attach_fini(struct attach *a);

/* attach_start starts the thread and returns 0 or a negative errno; attach_stop
 * ends it.  The thread that called attach_init calls both. */
int attach_start(struct attach *a);
void attach_stop(struct attach *a);

/* Free sources that the observer has released.  Called on the attach thread, or
 * when both threads have stopped. */
void attach_collect(struct attach *a);

/* Have the attach thread handle changes.  Any thread; one system call. */
void attach_wake(struct attach *a);

/* Replace a server by *is from the next turn on.  Any thread. */
void
attach_set(struct attach *a, unsigned server, const struct profiler_server *is);

/* Any thread: copy this thread's part of the statistics. */
void attach_stats(struct attach *a, struct profiler_stats *out);
