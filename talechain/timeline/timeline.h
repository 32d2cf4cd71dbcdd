/*
 * timeline.h: the timeline stream, and what happened to one request.
 *
 * The observer copies every event of every channel into one stream in shared
 * memory, in the order in which it reads them.  Any process may map the
 * stream read-only and follow it: there is one writer, it never waits for a
 * reader, and a reader that is overtaken knows how many slots it missed.
 * A request remembers the stream positions between which it lived; slicing
 * picks its events out again and rendering shows them.
 *
 * Slicing and rendering are pure functions over values: no sockets, no clock.
 */
#ifndef TAILOR_TALECHAIN_TIMELINE_TIMELINE_H
#define TAILOR_TALECHAIN_TIMELINE_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/instant.h"
#include "base/json.h"
#include "talechain/events/hazard.h"
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

/*
 * timeline_new(out, path, slot_log2):
 * Make a stream of 1 << slot_log2 slots (10 .. 24).
 *   path  a file in a memory file system (tmpfs, ramfs, hugetlbfs) to make it
 *         under (mode 0640; one that a writer left that is gone is replaced),
 *         or NULL for an anonymous one
 * Returns 0, -EINVAL, -ENOMEM, -EBUSY (the stream at path has a writer that
 * runs: see timeline_owner), -EMEDIUMTYPE (path is on a disk file system:
 * a store to such a mapping can block for hundreds of milliseconds) or
 * another negative errno of open, fallocate or mmap.  Free with
 * timeline_free, which unlinks the file if it is still ours.  All pages are
 * allocated and mapped now, none later.  Cost: 4 KiB + 96 B * slots.
 */
int timeline_new(struct timeline **out, const char *path, unsigned slot_log2);
void timeline_free(struct timeline **tp);

/* The process that made the stream at path, as it wrote there; 0: unknown. */
pid_t timeline_owner(const char *path);

/*
 * Append one event.  The observer only: no allocation, lock, system call.
 * Returns the position it got.
 */
uint64_t
timeline_append(struct timeline *t, const struct talechain_event *event,
    uint32_t channel, int server, struct instant read);

/* The position that the next event will get.  Any thread of the process. */
uint64_t timeline_position(const struct timeline *t);

/*
 * timeline_reader_open(out, path) / timeline_reader_from(out, t):
 * Follow a stream by its file (another process) or in the same process.
 * Starts at the oldest slot that is safe to read.
 * Returns 0, -ENOENT no such stream, -EPROTO not a stream of this version or
 * shorter than it says, or a negative errno.  Free with
 * timeline_reader_close; before timeline_free if made by _from.
 *
 * The file is hostile input: no value in it makes us read outside the
 * mapping, loop or wait.  What cannot be checked is the future: if the file's
 * owner truncates it after we mapped it, reading raises SIGBUS.  Only
 * Tailor's own user can do that (mode 0640), and Tailor never does: a new
 * Tailor makes a new file and the old one lives on until unmapped.
 */
int timeline_reader_open(struct timeline_reader **out, const char *path);
int timeline_reader_from(struct timeline_reader **out, struct timeline *t);
void timeline_reader_close(struct timeline_reader **rp);

/* What a stream says about itself, to tell one from its successor. */
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

/*
 * timeline_read(r, out, lost):
 * Take the next slot.  *out is set with OK, *lost with LOST.  One thread per
 * reader.  Every position passed is counted once: read, or lost.  When
 * overtaken the reader skips ahead to a quarter of the ring behind the
 * oldest slot, so that it is not overtaken again at once.  Bounded work.
 */
enum timeline_read timeline_read(
    struct timeline_reader *r, struct timeline_slot *out, uint64_t *lost);

/*
 * Go to a position, clamped to what still exists and is not about to be
 * overwritten (a sixteenth of the ring).  Returns the new one.
 */
uint64_t timeline_seek(struct timeline_reader *r, uint64_t position);

/* The reader's own position, and the writer's. */
uint64_t timeline_reader_position(const struct timeline_reader *r);
uint64_t timeline_reader_head(const struct timeline_reader *r);

/* Everything about one request that the proxy's table knows. */
#define TALE_ATTEMPTS 2
#define TALE_TEXT 128

struct tale_attempt {
	int server;	     /* -1: no such attempt */
	uint32_t server_pid; /* 0: not known */
	uint64_t cookie;     /* SO_COOKIE of our socket to it, 0: not known */
	char server_name[32];
	char trigger[16]; /* "first", "gc", "exit", "failure", ... */
	char outcome[16]; /* "won", "lost", "failed", "running" */
	struct instant written, first_byte, complete;
	int status; /* 0: none yet */
};

struct tale_request {
	uint64_t id;
	char external_id[65]; /* x-request-id as the client sees it */
	char method[16];
	char target[TALE_TEXT]; /* cut with "..." if longer */
	int status;
	struct instant accepted;   /* if it was the first of its connection */
	struct instant first_byte; /* of the request, from the client */
	struct instant received;   /* complete, entered the table */
	struct instant committed;  /* first byte of the answer written */
	struct instant finished;   /* last byte given to the kernel */
	uint64_t stream_begin, stream_end; /* positions */
	uint64_t cookie; /* SO_COOKIE of the client's socket, 0: not known */
	struct tale_attempt attempt[TALE_ATTEMPTS];
	char flags[64]; /* why not hedged, truncated, ... */
};

/* The client's own stamps, from an analyze request; 0 = not given. */
struct tale_client {
	struct instant scheduled, sent, received;
	bool same_host; /* boot ids equal: clocks are one */
};

/*
 * A request's events in order of time.  Holds what happened to the request
 * itself and what happened meanwhile to the servers that worked on it.
 *
 * An event's own stamp comes from whoever wrote it.  One that cannot be true
 * (after it was read, or a minute before) is shown as such, and sorted by the
 * moment the observer read it.
 */
struct tale; /* opaque */

/*
 * tale_slice(out, reader, request, client, slack_ns):
 * Copy the events of one request out of the stream: those carrying its id,
 * those of its servers (collections, safepoints, exits, hazards), swaps,
 * losses and blind intervals between its first and last instant, widened by
 * slack_ns because events are read a little after they happen; and those of
 * the kernel about its sockets (by their cookies, and the other ends of these
 * on this machine), about Tailor's thread and the servers' threads that had
 * it, and the softirqs and idle CPUs that delayed these.
 * A pause that began earlier (up to TALE_LOOKBACK_SLOTS before) and was not
 * over is found too.
 *   reader  moved; it is left somewhere behind the request
 *   client  may be NULL
 * Returns 0, -ENOMEM, or -ESTALE when the stream has already overwritten the
 * request's beginning (the tale is still made, from what is left, and says
 * so).  Free with tale_free.
 * Cost: reads every slot between the positions, three times if there are
 * events of the kernel; bounded by the stream.  Keeps at most TALE_EVENTS_MAX
 * events, at most half of them from applications and three quarters from the
 * kernel; what was left out is counted and said.
 */
#define TALE_LOOKBACK_SLOTS 16384
#define TALE_EVENTS_MAX 16384
int tale_slice(struct tale **out, struct timeline_reader *reader,
    const struct tale_request *request, const struct tale_client *client,
    int64_t slack_ns);
void tale_free(struct tale **tp);

/* What the tale holds. */
size_t tale_events(const struct tale *t);
const struct timeline_slot *tale_event(const struct tale *t, size_t i);
const struct tale_request *tale_request(const struct tale *t);
uint64_t tale_lost(const struct tale *t); /* events known to be missing */
/*
 * Whether the observer had read the proxy's last word on a request that is
 * finished; if not, it was late, and slicing again a little later finds more.
 */
bool tale_whole(const struct tale *t);

/*
 * talechain_event_request(event, request):
 * Whether the event's type names a request, and which one.
 */
bool
talechain_event_request(const struct talechain_event *event, uint64_t *request);

/* The same of its latency_ns: how long it took, ending at its stamp. */
bool talechain_event_latency(const struct talechain_event *event, uint64_t *ns);

/*
 * talechain_argument(event, n, out):
 * The n-th named value of an event, n = 0, 1, ...; packed arguments
 * ("a:8/b") come apart.  False when there are no more.
 */
struct talechain_value {
	char name[24];
	uint64_t value;
};
bool talechain_argument(const struct talechain_event *event, unsigned n,
    struct talechain_value *out);

/* Name of an event type ("app_start"), or NULL if unknown.  Static text. */
const char *talechain_type_name(unsigned type);
/*
 * Of a signal of RATE events: "ipc", "instructions per cycle", and what to
 * multiply count / base with.  NULL, NULL and 0 of one that is not known.
 */
const char *talechain_rate_name(uint64_t signal);
const char *talechain_rate_unit(uint64_t signal);
double talechain_rate_worth(uint64_t signal);
/* Name of a cause ("allocation"), "unknown" if out of range. */
const char *talechain_cause_name(unsigned cause);

/*
 * The reader's end of one channel, for the observer.  Everything read from a
 * channel is hostile: values are copied, then judged.
 */
struct talechain_cursor {
	const struct talechain_channel *channel; /* borrowed */
	const struct talechain_event *slot;
	uint64_t next, mask;
	uint64_t taken, lost, torn, abandoned; /* counters */
	uint64_t busy_since_ns;		       /* slot next seen half-written */
	uint64_t rejected; /* impossible sequence numbers or heads seen */
	uint64_t refused;  /* the last of them */
};

/*
 * talechain_cursor_init(c, channel, bytes):
 * Start reading a mapped channel at its oldest event; what its ring has
 * already overwritten is counted as lost at once.
 *   bytes  of the mapping; it must not shrink while the cursor is used (for
 *          memory of another process: a memfd sealed with F_SEAL_SHRINK)
 * Returns 0 or -EPROTO (not ready, or magic, version, sizes or head wrong).
 */
int talechain_cursor_init(struct talechain_cursor *c,
    const struct talechain_channel *channel, size_t bytes);

enum talechain_take {
	TALECHAIN_TAKE_OK,
	TALECHAIN_TAKE_NONE,
	TALECHAIN_TAKE_LOST, /* *lost events were overwritten; take again */
};

/*
 * talechain_take(c, out, lost, now):
 * Take the next event; *out is whole with OK and undefined otherwise, *lost
 * is set with LOST.  Touches one cache line when there is none.
 * A slot left half-written for over 1 ms while the writer went on is
 * skipped and counted in abandoned.  The observer only.  Bounded work.
 *
 * Every event is counted once: taken + lost + abandoned == next, always,
 * whatever the writer does; and when an honest writer is done, next == head.
 * An impossible sequence number (of another slot, or 2^40 events ahead) is
 * counted in rejected and the cursor stays where it is.
 */
enum talechain_take talechain_take(struct talechain_cursor *c,
    struct talechain_event *out, uint64_t *lost, struct instant now);

/*
 * talechain_cursor_end(c):
 * The writer is gone and talechain_take has returned NONE: count what it had
 * begun and never finished as abandoned.  Returns how many that were (0 or 1
 * for an honest single writer).
 */
uint64_t talechain_cursor_end(struct talechain_cursor *c);

#endif
