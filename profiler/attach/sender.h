/* sender.h: the attach thread's way to the observer.
 *
 * Commands go through a ring, and end the observer's rest.  The ring has room
 * for all sources, so it is full only while the observer is behind. */
#pragma once

#include "profiler/channels/command.h"
#include "profiler/observer/observer_rest.h"

struct command_sender {
	struct command_ring *commands; /* borrowed; this thread writes */
	struct observer_rest *rest;    /* borrowed; to wake the observer */
	unsigned out;		       /* sources ending, not yet released */
	uint32_t stop; /* the attach thread is to end; relaxed atomic */
};

/* Send a command; waits while the ring is full, unless stop is set.  The
 * observer owns the command's source afterwards.  Attach thread only. */
void sender_send(struct command_sender *s, const struct observer_command *o);

/* The shorter of two waits, ns; -1: never. */
static inline int64_t
sooner_ns(int64_t a_ns, int64_t b_ns)
{
	if (a_ns < 0 || (b_ns >= 0 && b_ns < a_ns))
		return b_ns;
	return a_ns;
}
