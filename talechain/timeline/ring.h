/* ring.h: reading a ring whose slots carry sequence numbers.
 *
 * Channels and the timeline stream are the same kind of ring: entry i lies in
 * slot i mod slots, whose first word is 2*i+1 while it is being written and
 * 2*i+2 once it is complete.  This file has the reader's half for both: judging
 * a sequence number, copying a slot so that a torn copy is noticed, and where
 * to go on after the reader was overtaken.  Private to this folder.
 *
 * Nothing read from a ring is trusted.  A sequence number can only move the
 * reader forward, by at most RING_JUMP_MAX, and only if it belongs to the
 * slot it stands in; head only refines that by less than a lap.
 *
 * Order: a seqlock per slot.  The first load of seq acquires (so the fields
 * are at least those of that entry); the acquire fence keeps the fields' loads
 * before the second load of seq (so a newer field means a newer seq).  See
 * H.-J. Boehm, "Can Seqlocks Get Along With Programming Language Memory
 * Models?", MSPC 2012. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* No ring lives for longer than this many entries: 22 years at 100 M/s. */
#define RING_INDEX_MAX (UINT64_C(1) << 56)
/* No reader falls behind by more than this: three hours at 100 M/s. */
#define RING_JUMP_MAX (UINT64_C(1) << 40)

/* GCC's ThreadSanitizer does not know fences; every access here is atomic. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtsan"
#endif

/* Slots are structs to their writers and words here. */
#define RING_WORD uint64_t __attribute__((may_alias))

enum ring_state {
	RING_EMPTY,  /* an older lap, or never written: nothing new */
	RING_BUSY,   /* being written right now */
	RING_READY,  /* complete */
	RING_LAPPED, /* a later lap: the reader was overtaken */
	RING_ABSURD, /* no correct writer stores this here */
};

/* Meaning of the sequence number in next's slot.  slots: a power of two. */
static inline enum ring_state
ring_judge(uint64_t seq, uint64_t next, uint64_t slots)
{
	uint64_t i;

	if (seq == 2 * next + 2)
		return RING_READY;
	if (seq < 2 * next + 1)
		return RING_EMPTY;
	if (seq == 2 * next + 1)
		return RING_BUSY;
	i = (seq - 1) / 2;
	if (((i ^ next) & (slots - 1)) != 0 || i - next > RING_JUMP_MAX ||
	    i >= RING_INDEX_MAX)
		return RING_ABSURD;
	return RING_LAPPED;
}

/* Where to go on after RING_LAPPED: a quarter of the ring behind the oldest
 * entry, so as not to be overtaken again at once.  The slot holds entry i, so
 * an honest head is within i+1 .. i+slots; any other is clamped to that. */
static inline uint64_t
ring_resume(uint64_t seq, uint64_t head, uint64_t slots)
{
	uint64_t i = (seq - 1) / 2;

	if (head < i + 1)
		head = i + 1;
	if (head > i + slots)
		head = i + slots;
	return head - slots + slots / 4;
}

/* The sequence number of a slot, for ring_judge. */
static inline uint64_t
ring_seq(const void *slot)
{
	return __atomic_load_n((const RING_WORD *)slot, __ATOMIC_ACQUIRE);
}

/* Copy a slot of n words whose sequence number was seq.  False: the writer
 * changed it meanwhile, and out is undefined. */
static inline bool
ring_copy(uint64_t *out, const void *slot, size_t n, uint64_t seq)
{
	const RING_WORD *word = (const RING_WORD *)slot;
	size_t i;

	out[0] = seq;
	for (i = 1; i < n; i++)
		out[i] = __atomic_load_n(&word[i], __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(&word[0], __ATOMIC_RELAXED) == seq;
}

/* Write entry i of n words, of which words[0] is ignored, into its slot. */
static inline void
ring_store(void *slot, const uint64_t *words, size_t n, uint64_t i)
{
	RING_WORD *word = (RING_WORD *)slot;
	size_t k;

	__atomic_store_n(&word[0], 2 * i + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	for (k = 1; k < n; k++)
		__atomic_store_n(&word[k], words[k], __ATOMIC_RELAXED);
	__atomic_store_n(&word[0], 2 * i + 2, __ATOMIC_RELEASE);
}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
