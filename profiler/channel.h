/*
 * channel.h: one channel as the observer polls it.
 *
 * Made by the attach thread (or before the start, for the proxy), handed to
 * the observer, given back when its writer is gone and it has been drained,
 * then freed by the side that made it.  A channel from outside is a sealed
 * memfd that we map read-only: its writer can neither shrink it nor make us
 * write.  What it holds is hostile: each event is copied, then judged by the
 * kind of channel it came from.
 */
#ifndef TAILOR_PROFILER_CHANNEL_H
#define TAILOR_PROFILER_CHANNEL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "profiler/activity.h"
#include "profiler/handshake.h"
#include "profiler/output.h"
#include "talechain/timeline/cursor.h"

struct kernel_owners;

struct channel {
	/* constant once made */
	struct talechain_channel *memory; /* owned mapping */
	size_t bytes;
	int memfd; /* owned; -1 for a channel inside this process */
	uint32_t number;
	enum talechain_kind kind;
	bool from_kernel; /* its events tell whose they are */
	pid_t pid;	  /* its writer, as the kernel says */
	/* borrowed; of the kernel's: whose events are whose, else NULL */
	const struct kernel_owners *owners;
	/* the attach thread writes, the observer reads: relaxed atomic */
	int server; /* -1: not of a server we know */
	/* the observer's own */
	struct talechain_cursor cursor;
	uint64_t abandoned_told; /* part of cursor.abandoned already told */
	uint64_t rejected_told;
	uint64_t torn_told;
	bool ending;
	uint64_t end_budget; /* events still taken from an ending channel */
	/* of an agent's channel, the observer's own too */
	int joined; /* the watch it is counted in, -1: none */
	bool in_gc;
	bool dead;
	uint64_t state; /* last state word */
	struct activity activity;
};

/*
 * channel_new_inside(out, number, kind, name, slot_log2):
 * Make a channel whose writer is a thread of ours.
 * channel_new_outside(out, number, hello, pid):
 * Make one for another process; memfd is what it will be sent.
 * Both touch all pages.  Return 0, -EINVAL, -ENOMEM or another negative errno.
 */
int channel_new_inside(struct channel **out, uint32_t number,
    enum talechain_kind kind, const char *name, unsigned slot_log2);
int channel_new_outside(struct channel **out, uint32_t number,
    const struct handshake *hello, pid_t pid);
void channel_free(struct channel **cp);

/* What a channel is for that BPF programs write, and where it lies. */
struct channel_place {
	int fd; /* borrowed: a map of the kernel */
	off_t offset;
	size_t bytes;
	unsigned slot_log2;
	enum talechain_kind kind;
	char name[TALECHAIN_NAME_BYTES];
};

/*
 * channel_new_kernel(out, number, place, owners):
 * Make one that BPF programs write: lay it out, map it read only.
 *   owners  whose events are whose, must outlive it; NULL: all are of the
 *           server that c->server names
 * Returns as the others.
 */
int channel_new_kernel(struct channel **out, uint32_t number,
    const struct channel_place *place, const struct kernel_owners *owners);

/*
 * channel_drain(c, o, limit, now):
 * Copy up to limit waiting events into the stream.  Returns how many slots
 * were dealt with; fewer than limit means that it is empty for now.
 * The observer only.
 */
unsigned channel_drain(
    struct channel *c, struct output *o, unsigned limit, struct instant now);

/*
 * channel_drained(c, o, now):
 * For an ending channel: whether nothing more will come out of it.  What its
 * dead writer left half-written is then counted as abandoned.
 */
bool channel_drained(struct channel *c, struct output *o, struct instant now);

#endif
