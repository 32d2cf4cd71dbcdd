/* checkpoint.h: what a slice must know of the stream before it begins.
 *
 * A pause may have begun long before a request, a thread may have left its CPU,
 * the request's bytes may have lain in a socket.  Walking back for each tale
 * costs more than the tale.  So the state of the stream is followed once, slot
 * by slot, and kept every CHECKPOINT_SLOTS; a slice begins at the nearest one.
 * The state holds positions, not events: an event that has been overwritten
 * meanwhile is not known any more.
 *
 * Cost: one reading of each slot of the stream, over all tales together, but at
 * most TALE_LOOKBACK_SLOTS for one; 4.5 MiB.  Private to this room. */
#pragma once

#include "talechain/tale/tale_struct.h"

#define CHECKPOINT_SLOTS 1024
#define CHECKPOINTS 64
#define STATE_PLACES 1024 /* of threads and flows; a power of two */
#define STATE_SERVERS 4
#define STATE_PARTS 3 /* of a Java thread's name */

/* Positions are kept as their low halves: the stream is shorter. */
struct state_thread {
	uint32_t tid; /* 0: none */
	uint32_t low;
};

/* A connection with both its ends on this machine, or one: the first event of
 * what is under way to the end of the lower port, and of the higher. */
struct state_flow {
	uint32_t ports; /* 0: none */
	uint32_t begun[2];
	bool under_way[2];
};

/* After all slots before position. */
struct stream_state {
	uint64_t position;
	uint64_t since;	  /* and after that: nothing older is known */
	uint64_t rate_ns; /* when the last RATE was read, 0: none */
	struct state_thread left[STATE_PLACES]; /* switched out, not back */
	struct state_thread name[STATE_PLACES]; /* the last THREAD, in pairs */
	struct state_thread java[STATE_PLACES]; /* JVM_THREAD, by part */
	struct state_flow flow[STATE_PLACES];
	/* By thread: its last call on a socket; by its port: the last call that
	 * sent on one; by the low half of its cookie: Tailor's last attempt. */
	struct state_thread call[STATE_PLACES], forward[STATE_PLACES];
	struct state_thread attempt[STATE_PLACES];
	struct timeline_slot unsampled; /* the last; seq 0: none */
	/* Pauses that have begun and not ended; seq 0: none. */
	struct timeline_slot open[STATE_SERVERS][SOURCES][HAZARD_KIND_COUNT];
};

/* Key of a part of a Java thread's name, in stream_state.java. */
static inline uint32_t
state_java_key(uint64_t tid, unsigned part)
{
	return (uint32_t)tid << 2 | part;
}

/* Follow the stream by one slot, which has this position. */
void stream_state_step(struct stream_state *s, uint64_t position,
    const struct timeline_slot *slot);

/* Parts of stream_state_step: for a switch, a name, a part of a Java name, and
 * a beginning or end of a pause. */
void stream_state_switch(struct stream_state *s, uint64_t position,
    const struct timeline_slot *slot);
void stream_state_name(struct stream_state *s, uint64_t position,
    const struct timeline_slot *slot);
void stream_state_java(struct stream_state *s, uint64_t position,
    const struct timeline_slot *slot);
void
stream_state_mark(struct stream_state *s, const struct timeline_slot *slot);

/* Where the name of a thread is, or goes: of its two places, which it shares
 * with threads of other numbers, else the one that was written first. */
struct state_thread *stream_state_named(struct stream_state *s, uint32_t tid);

/* Copy the slot of a thread's entry.  False: there is none any more. */
bool
stream_state_fetch(struct timeline_reader *reader, const struct stream_state *s,
    const struct state_thread *of, uint32_t tid, struct timeline_slot *out);

/* Where what is under way to an end of a connection began; position: nothing is
 * under way. */
uint64_t stream_state_flow(
    const struct stream_state *s, uint16_t local, uint16_t remote);

/* The stream's state after all slots before a position; out->position is later
 * if they have been overwritten.
 *   c  NULL: from TALE_LOOKBACK_SLOTS before */
void
checkpoints_find(struct tale_checkpoints *c, struct timeline_reader *reader,
    uint64_t position, struct stream_state *out);

/* The reader that they were made with. */
struct timeline_reader *checkpoints_reader(const struct tale_checkpoints *c);
