/* cursor.h: reading one channel.
 *
 * The observer only.  Everything read from a channel is hostile: values are
 * copied, then judged. */
#pragma once

#include <stddef.h>

#include "base/instant.h"
#include "talechain/talechain.h"

struct talechain_cursor {
	const struct talechain_channel *channel; /* borrowed */
	const struct talechain_event *slot;
	uint64_t next, mask;
	uint64_t taken, lost, torn, abandoned; /* counters */
	uint64_t busy_since_ns; /* slot next first seen half-written */
	uint64_t rejected;	/* impossible sequence numbers or heads seen */
	uint64_t refused;	/* value of the last of them */
};

/* Start reading a mapped channel at its oldest event; what its ring has
 * already overwritten is counted as lost at once.
 *   bytes  of the mapping; it must not shrink while the cursor is used (for
 *          memory of another process: a memfd sealed with F_SEAL_SHRINK)
 * Returns 0 or -EPROTO (not ready, or magic, version, sizes or head wrong). */
int talechain_cursor_init(struct talechain_cursor *c,
    const struct talechain_channel *channel, size_t bytes);

enum talechain_take {
	TALECHAIN_TAKE_OK,
	TALECHAIN_TAKE_NONE,
	TALECHAIN_TAKE_LOST, /* *lost events were overwritten; take again */
};

/* Take the next event; *out is whole with OK and undefined otherwise, *lost
 * is set with LOST.  Touches one cache line when there is none.
 * A slot left half-written for over 1 ms while the writer went on is
 * skipped and counted in abandoned.  The observer only.  Bounded work.
 *
 * Every event is counted once: taken + lost + abandoned == next, always,
 * whatever the writer does; and when an honest writer is done, next == head.
 * An impossible sequence number (of another slot, or 2^40 events ahead) is
 * counted in rejected and the cursor stays where it is. */
enum talechain_take talechain_take(struct talechain_cursor *c,
    struct talechain_event *out, uint64_t *lost, struct instant now);

/* The writer is gone and talechain_take has returned NONE: count the events
 * that it began and never finished as abandoned.  Returns their number (0 or 1
 * for an honest single writer). */
uint64_t talechain_cursor_end(struct talechain_cursor *c);
