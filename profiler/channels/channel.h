/* channel.h: one channel as the observer polls it.
 *
 * Made by the attach thread (or before the start, for the proxy), handed to the
 * observer, released when its writer is gone and it has been drained, then
 * freed by the side that made it.  A channel from outside is a sealed memfd
 * that we map read-only: its writer can neither shrink it nor make us write.
 * Its content is untrusted: each event is copied, then validated by the kind of
 * channel it came from. */
#pragma once

#include "profiler/channels/output.h"
#include "talechain/timeline/cursor.h"

#define HANDSHAKE_BYTES 128 /* a longer first line is refused */

struct handshake {
	enum talechain_kind kind;
	unsigned slot_log2;
	uint32_t tid;
	char name[TALECHAIN_NAME_BYTES]; /* terminated */
};

/* Read the line with which a writer requests a channel.  Returns 0; -EAGAIN
 * when it is not complete and may still become one; -EPROTO with *why set to a
 * short static reason. */
int handshake_parse(
    struct handshake *out, const char *text, size_t length, const char **why);

struct kernel_owners;
struct stalls;

struct channel {
	/* constant once made */
	struct talechain_channel *memory; /* owned mapping */
	size_t bytes;
	int memfd; /* owned; -1 for a channel inside this process */
	uint32_t number;
	enum talechain_kind kind;
	bool from_kernel; /* events carry their own pid */
	int cpu;	  /* whose events of the kernel it has; -1: no CPU's */
	pid_t pid;	  /* of the writer, from SO_PEERCRED */
	/* borrowed; maps events to servers; NULL if not the kernel's */
	const struct kernel_owners *owners;
	struct stalls *stalls; /* borrowed; NULL if not the kernel's */
	/* the attach thread writes, the observer reads: relaxed atomic */
	int server; /* whose channel this is; -1: no server's */
	/* the observer's own */
	struct talechain_cursor cursor;
	struct instant taken;  /* of the last event; at first: of the channel */
	struct output_gap gap; /* overwritten, and not yet reported; or none */
	uint64_t abandoned_reported; /* part of cursor.abandoned */
	uint64_t rejected_reported;
	uint64_t torn_reported;
	bool ending;
	uint64_t end_budget; /* events still read from an ending channel */
	/* the observer's own, for channels of agents */
	int joined; /* server whose hazard_state counts it; -1: none */
	bool in_gc;
	bool marking;
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

/* A channel that BPF programs write: its purpose and place. */
struct channel_place {
	int fd; /* borrowed: a map of the kernel */
	off_t offset;
	size_t bytes;
	struct handshake is; /* tid 0 */
};

/* Make one that BPF programs write: lay it out, map it read only.
 *   owners  maps events to servers, must outlive the channel; NULL: all events
 *           are of the server in the channel's field server
 * Returns as the others. */
int channel_new_kernel(struct channel **out, uint32_t number,
    const struct channel_place *place, const struct kernel_owners *owners);

/* Copy up to limit waiting events into the stream.  Returns how many slots were
 * handled; fewer than limit means that it is empty for now.  The observer
 * only. */
unsigned channel_drain(struct channel *c, struct observer_output *o,
    unsigned limit, struct instant now);

/* True once an ending channel is drained.  Events that its dead writer left
 * half-written are then counted as abandoned.  The observer only. */
bool channel_drained(
    struct channel *c, struct observer_output *o, struct instant now);
