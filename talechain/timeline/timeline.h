/* timeline.h: the timeline stream: all events in one order, in shared memory.
 *
 * This folder owns the two rings that events go through: the channels, of which
 * it has the reader's side (cursor.h), and the stream, into which the observer
 * copies every event in the order in which it reads them.  The observer is
 * the stream's only writer and never waits for a reader.  Any process may map
 * the stream read-only and follow it; a reader that is overtaken knows how
 * many slots it missed. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/instant.h"
#include "talechain/talechain.h"

/*
 *  0        8          16       20      24        32              96
 *  +--------+----------+--------+-------+---------+----------------+
 *  | seq    | read_ns  |channel |server | reserved| the event, 64 B|
 *  | u64    | u64      |u32     |i32    | u64     |                |
 *  +--------+----------+--------+-------+---------+----------------+
 * seq = 2*p+1 while position p is being written, 2*p+2 once complete.
 */
struct timeline_slot {
	uint64_t seq;
	uint64_t read_ns; /* when the observer copied it */
	uint32_t channel; /* observer's number of the channel it came from */
	int32_t server;	  /* which server it belongs to, -1: none */
	uint64_t reserved;
	struct talechain_event event; /* event.seq: its place in its channel */
};
_Static_assert(sizeof(struct timeline_slot) == 96, "timeline slot");
_Static_assert(offsetof(struct timeline_slot, event) == 32, "timeline slot");

struct timeline;	/* the writer's end, opaque */
struct timeline_reader; /* a reader's end, opaque */

/* Make a stream of 1 << slot_log2 slots (10 .. 24).
 *   path  of the file to make (mode 0640), in a memory file system (tmpfs,
 *         ramfs, hugetlbfs); NULL: anonymous.  A file of a writer that is
 *         gone is replaced; beside a file of another user the stream is made
 *         under another name (timeline_path).
 * Returns 0, -EINVAL, -ENOMEM, -EBUSY (the stream at path has a writer that
 * runs: see timeline_owner), -EMEDIUMTYPE (path is on a disk file system:
 * a store to such a mapping can block for hundreds of milliseconds) or
 * another negative errno of open, fallocate or mmap.  Free with
 * timeline_free, which unlinks the file if it is still ours.  All pages are
 * allocated and mapped now, none later.  Cost: 4 KiB + 96 B * slots. */
int timeline_new(struct timeline **out, const char *path, unsigned slot_log2);
void timeline_free(struct timeline **tp);

/* The stream's path: the one given, or that with a random ending; NULL:
 * anonymous. */
const char *timeline_path(const struct timeline *t);

/* The process that made the stream at path, as it wrote there; 0: unknown. */
pid_t timeline_owner(const char *path);

/* Append one event.  The observer only: no allocation, lock, system call.
 * Returns the position it got. */
uint64_t
timeline_append(struct timeline *t, const struct talechain_event *event,
    uint32_t channel, int server, struct instant read);

/* The position that the next event will get.  Any thread of the process. */
uint64_t timeline_position(const struct timeline *t);

/* Follow a stream by its file (another process) or in the same process.
 * Starts at the oldest slot that is safe to read.
 * Returns 0, -ENOENT no such stream, -EPROTO not a stream of this version or
 * shorter than it says, -EBADMSG a head without the slot before it, or a
 * negative errno.  Free with
 * timeline_reader_close; before timeline_free if made by _from.
 *
 * The file is hostile input: no value in it makes the reader leave the
 * mapping, loop or wait.  If the file is cut after it was mapped, the missing
 * part reads as never written, and timeline_reader_is_cut() returns true.  Only
 * Tailor's own user can cut it (mode 0640), and SIGBUS then ends the writer.
 * Tailor never does: a new Tailor makes a new file. */
int timeline_reader_open(struct timeline_reader **out, const char *path);
int timeline_reader_from(struct timeline_reader **out, struct timeline *t);
void timeline_reader_close(struct timeline_reader **rp);
bool timeline_reader_is_cut(const struct timeline_reader *r);

/* A stream's header. */
struct timeline_about {
	uint64_t generation; /* different for every stream made */
	struct instant start;
	uint64_t slots;
	char boot_id[37]; /* instants compare only within one boot; may be "" */
};
void timeline_reader_about(
    const struct timeline_reader *r, struct timeline_about *out);

enum timeline_read {
	TIMELINE_READ_OK,   /* *out holds the next slot */
	TIMELINE_READ_NONE, /* nothing new yet */
	TIMELINE_READ_LOST, /* overtaken: *lost slots skipped, read again */
};

/* Take the next slot.  *out is set with OK, *lost with LOST.  One thread per
 * reader.  Every position passed is counted once: read, or lost.  When
 * overtaken the reader skips ahead to a quarter of the ring behind the oldest
 * slot, so that it is not overtaken again at once.  Bounded work. */
enum timeline_read timeline_read(
    struct timeline_reader *r, struct timeline_slot *out, uint64_t *lost);

/* Go to a position, clamped to what still exists and is not about to be
 * overwritten (a sixteenth of the ring).  Returns the new position. */
uint64_t timeline_seek(struct timeline_reader *r, uint64_t position);

/* The reader's own position, and the writer's. */
uint64_t timeline_reader_position(const struct timeline_reader *r);
uint64_t timeline_reader_head(const struct timeline_reader *r);
