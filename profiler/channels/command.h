/* command.h: commands of the attach thread to the observer.
 *
 * Two rings of small records, each with one writer and one reader: commands go
 * to the observer, and released sources come back to be unmapped.  Neither side
 * waits for the other inside the ring; a full ring is reported, and only the
 * attach thread may then sleep and retry.
 *
 * Cost: one acquire load when there is nothing. */
#pragma once

#include <sys/types.h>

#include "base/instant.h"
#include "talechain/talechain.h"

enum command_kind {
	COMMAND_CHANNEL,      /* poll this channel */
	COMMAND_CHANNEL_END,  /* drain and release this one: no writer */
	COMMAND_PAGE,	      /* poll this hsperfdata page of a server */
	COMMAND_PAGE_END,     /* stop polling the page, release it */
	COMMAND_SERVER_START, /* the server is process pid */
	COMMAND_SERVER_EXIT,  /* process pid is gone */
	COMMAND_NOT_STOPPED,  /* process pid was not stopped at that time */
	COMMAND_RATE,	      /* write this rate into the stream */
};

/* One rate of a period that ended at command.at; see talechain.h, RATE. */
struct rate {
	enum talechain_rate signal;
	int server, cpu; /* -1: not of one server, not of one CPU */
	uint64_t count, base, usual_milli;
	int64_t interval_ns;
};

struct observer_command {
	enum command_kind kind;
	unsigned server;
	pid_t pid;
	int status;    /* wait status of an exit, if known, else 0 */
	bool releases; /* true if the observer will release a source */
	struct instant at;
	void *source;	  /* struct channel or hsperf_page; ownership moves */
	struct rate rate; /* for COMMAND_RATE */
};

/* Room for all sources that can exist (1024 channels) and more. */
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
