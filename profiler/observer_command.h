/*
 * observer_command.h: what the attach thread and the observer hand each other.
 *
 * Two rings of small records, one in each direction, each with one writer
 * and one reader: orders go to the observer, and the sources it has finished
 * with come back to be unmapped.  Neither side waits for the other inside
 * the ring; a full ring is reported, and only the attach thread may then
 * sleep and try again.
 *
 * Cost: one acquire load when there is nothing.
 */
#ifndef TAILOR_PROFILER_OBSERVER_COMMAND_H
#define TAILOR_PROFILER_OBSERVER_COMMAND_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/instant.h"
#include "talechain/talechain.h"

enum command_kind {
	COMMAND_CHANNEL,      /* poll this channel */
	COMMAND_CHANNEL_END,  /* its writer is gone: drain it, give it back */
	COMMAND_PAGE,	      /* poll this hsperfdata page of a server */
	COMMAND_PAGE_END,     /* stop that, give it back */
	COMMAND_SERVER_START, /* the server is process pid */
	COMMAND_SERVER_EXIT,  /* that process is gone */
	COMMAND_RATE,	      /* write this rate into the stream */
};

/* One rate of a period that ended at at; see talechain.h, RATE. */
struct rate {
	enum talechain_rate signal;
	int server, cpu; /* whose, -1: not a server's, not a CPU's */
	uint64_t count, base, usual_milli;
	int64_t interval_ns;
};

struct observer_command {
	enum command_kind kind;
	unsigned server;
	pid_t pid;
	int status;    /* wait status of an exit, if known, else 0 */
	bool releases; /* the observer will give a source back for it */
	struct instant at;
	void *
	    source; /* struct channel or struct hsperf_page; its owner changes */
	struct rate rate; /* of COMMAND_RATE */
};

/* Holds every source that can exist (1024 channels) and some more. */
#define COMMAND_RING_SLOTS 2048

struct command_ring {
	uint64_t tail __attribute__((aligned(64))); /* writer */
	uint64_t head __attribute__((aligned(64))); /* reader */
	struct observer_command slot[COMMAND_RING_SLOTS]
	    __attribute__((aligned(64)));
};

/* Append a copy.  False when the ring is full.  The writing thread only. */
static inline bool
command_push(struct command_ring *r, const struct observer_command *o)
{
	uint64_t tail = r->tail;

	/* Acquire: the reader is done with the slot before we reuse it. */
	if (tail - __atomic_load_n(&r->head, __ATOMIC_ACQUIRE) ==
	    COMMAND_RING_SLOTS)
		return false;
	r->slot[tail % COMMAND_RING_SLOTS] = *o;
	__atomic_store_n(&r->tail, tail + 1, __ATOMIC_RELEASE);
	return true;
}

/* Take the oldest.  False when there is none.  The reading thread only. */
static inline bool
command_pop(struct command_ring *r, struct observer_command *out)
{
	uint64_t head = r->head;

	if (head == __atomic_load_n(&r->tail, __ATOMIC_ACQUIRE))
		return false;
	*out = r->slot[head % COMMAND_RING_SLOTS];
	__atomic_store_n(&r->head, head + 1, __ATOMIC_RELEASE);
	return true;
}

#endif
