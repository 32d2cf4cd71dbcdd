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
 * most TALE_LOOKBACK_SLOTS for one; 4.5 MiB.  Private to this folder. */
#pragma once

#include "talechain/tale/tale_struct.h"

#define CHECKPOINT_SLOTS 1024
#define CHECKPOINTS 64
#define STATE_PLACES 1024 /* of threads and flows; a power of two */
#define STATE_SERVERS 4
#define STATE_PARTS 3 /* of a Java thread's name */

/* Positions are kept as their low 32 bits: the stream has fewer slots. */
struct state_thread {
	uint32_t tid; /* 0: none */
	uint32_t low;
};

/* A connection with one or both ends on this machine.  begun: the position of
 * the first event of what is under way to an end; index 0: the end with the
 * lower port, 1: with the higher. */
struct state_flow {
	uint32_t ports; /* 0: none */
	uint32_t begun[2];
	bool under_way[2];
};

/* The stream's state after all slots before position. */
struct stream_state {
	uint64_t position;
	uint64_t since;	  /* nothing before this position is known */
	uint64_t rate_ns; /* when the last RATE was read, 0: none */
	struct state_thread left[STATE_PLACES]; /* left its CPU, not back */
	uint64_t lost_ns; /* before it switches are missing; 0: none */
	struct state_thread name[STATE_PLACES]; /* last THREAD; 2 places */
	struct state_thread java[STATE_PLACES]; /* JVM_THREAD, by part */
	struct state_flow flow[STATE_PLACES];
	/* call: by thread, its last call on a socket.  forward: by local port,
	 * the last call that sent.  attempt: by the cookie's low half, Tailor's
	 * last. */
	struct state_thread call[STATE_PLACES], forward[STATE_PLACES];
	struct state_thread attempt[STATE_PLACES];
	struct timeline_slot unsampled; /* last META_UNSAMPLED; seq 0: none */
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
/* Switches are missing until a moment: those before it say nothing of the time
 * after it, even if they are read later. */
void stream_state_lost(struct stream_state *s, uint64_t until_ns);
void stream_state_name(struct stream_state *s, uint64_t position,
    const struct timeline_slot *slot);
void stream_state_java(struct stream_state *s, uint64_t position,
    const struct timeline_slot *slot);
void
stream_state_mark(struct stream_state *s, const struct timeline_slot *slot);

/* The place of a thread's name: of its two places the one that has the name,
 * else a free one, else the older one.  Threads of other numbers share them. */
struct state_thread *stream_state_named(struct stream_state *s, uint32_t tid);

/* Read the slot that a place names into *out.  False: the place is not the
 * thread's, or the slot has been overwritten. */
bool
stream_state_fetch(struct timeline_reader *reader, const struct stream_state *s,
    const struct state_thread *of, uint32_t tid, struct timeline_slot *out);

/* The position of the first event of the bytes under way to the local end of a
 * connection; s->position: none are. */
uint64_t stream_state_flow(
    const struct stream_state *s, uint16_t local, uint16_t remote);

/* Find the stream's state after all slots before a position.  out->position is
 * later if these have been overwritten.
 *   c  NULL: follow only the last TALE_LOOKBACK_SLOTS */
void
checkpoints_find(struct tale_checkpoints *c, struct timeline_reader *reader,
    uint64_t position, struct stream_state *out);

/* The reader that was given to tale_checkpoints_new. */
struct timeline_reader *checkpoints_reader(const struct tale_checkpoints *c);
