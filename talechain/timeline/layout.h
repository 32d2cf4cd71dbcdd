/* layout.h: the bytes of a timeline stream's file.
 *
 *  0       4   6   8       12      16       24       32       72
 *  +-------+---+---+-------+-------+--------+--------+--------+----+-----+
 *  | magic |ver|slt|header |slot   |gener-  |start   |boot id |pid |zero |
 *  | "TLST"|u16|u16|u32 B  |_log2  |ation   |u64 ns  |40 B    |u32 |     |
 *  +-------+---+---+-------+-------+--------+--------+--------+----+-----+
 *  128: head u64, the position of the next event (stored after its slot)
 *  4096: slot[0 .. 1 << slot_log2), struct timeline_slot, 96 B each
 *
 * slt = bytes of a slot, pid = the writer's.  Everything but head is constant
 * before the file gets its name, so a process that can open it sees a whole
 * header.  Private to timeline.c (the writer) and reader.c. */
#pragma once

#include "talechain/timeline/timeline.h"

#define TIMELINE_MAGIC UINT32_C(0x54534c54) /* "TLST" in memory */
#define TIMELINE_VERSION 1
#define TIMELINE_HEADER_BYTES 4096
#define TIMELINE_SLOT_LOG2_MIN 10
#define TIMELINE_SLOT_LOG2_MAX 24
#define TIMELINE_WORDS (sizeof(struct timeline_slot) / sizeof(uint64_t))

struct timeline_header {
	uint32_t magic;
	uint16_t version, slot_bytes;
	uint32_t header_bytes, slot_log2;
	uint64_t generation;
	uint64_t start_ns;
	char boot_id[40];
	uint32_t pid;
	uint8_t zero[52];
	uint64_t head; /* written by the observer, read by all */
	uint8_t zero2[56];
};
_Static_assert(sizeof(struct timeline_header) == 192, "three lines");
_Static_assert(offsetof(struct timeline_header, generation) == 16, "");
_Static_assert(offsetof(struct timeline_header, boot_id) == 32, "");
_Static_assert(offsetof(struct timeline_header, pid) == 72, "");
_Static_assert(offsetof(struct timeline_header, head) == 128, "own line");

/* The writer's end. */
struct timeline {
	struct timeline_header *header; /* owned mapping */
	struct timeline_slot *slot;
	uint64_t next, mask;
	size_t bytes; /* of the mapping */
	char *path;   /* owned; NULL: anonymous */
	int fd;	      /* owned, holds the lock; -1: anonymous */
};

/* Size of a stream of 2^slot_log2 slots with its header, bytes. */
static inline size_t
timeline_bytes(unsigned slot_log2)
{
	return TIMELINE_HEADER_BYTES +
	       (sizeof(struct timeline_slot) << slot_log2);
}
