/* store.h: the tales of slow requests, kept in a database.
 *
 * This folder owns the directory of kept tales; the analysis thread calls it.
 * Tales are in tales.db, in a directory of its own (0700, files 0600), and
 * survive a restart or a crash of Tailor; or they are in memory and are lost
 * then.  At the bound the oldest sixteenth is deleted.  What is in the file is
 * hostile (db.h): only a bad row is lost, a bad file is put aside.
 *
 * A lock keeps other tailors out; other programs, such as sqlite3, may read the
 * file.
 *
 * Calls read and write files and may wait for a disk.  One thread at a time. */
#pragma once

#include "talechain/events/cause.h"
#include "talechain/tale/tale.h"

struct tale_store; /* opaque */

/* Why a tale was kept: symbol, word. */
#define TALE_REASONS(X)                                             \
	X(TARGET, "target")   /* slower than slow.target */         \
	X(SLOWEST, "slowest") /* among the slowest of its window */ \
	X(FAILED, "failed")   /* likewise of those that failed */   \
	X(PINNED, "pinned")                                         \
	X(ASKED, "asked") /* its client had it analyzed */

enum tale_reason {
#define TALE_X(symbol, word) TALE_REASON_##symbol,
	TALE_REASONS(TALE_X)
#undef TALE_X
	    TALE_REASON_COUNT
};

/* "target"; static text. */
const char *tale_reason_name(enum tale_reason reason);

/* The row of a kept tale, without its events. */
struct tale_summary {
	uint64_t request; /* Tailor's own id */
	char external_id[65];
	char method[16];
	char target[TALE_TEXT];
	int status;
	unsigned attempts;
	char winner[32]; /* the server that responded, "" none */
	char trigger[16];
	char termination[3]; /* "SH"; "--": normal */
	char flags[56];
	int64_t total_ns;    /* first byte to last byte, as the proxy saw it;
			      * compared with slow.target */
	int64_t upstream_ns; /* of the winner, -1: not known */
	int64_t finished_wall_ns; /* CLOCK_REALTIME */
	enum tale_reason reason;
	enum tale_cause cause;
	int64_t share_ns; /* of the cause */
	int64_t
	    timeline_ns; /* length of the timeline, to when the client had all
			  * that was seen: the total shown; includes share_ns */
	char verdict[STORY_TEXT];
	bool earlier_boot; /* recorded before the machine's last start */
	/* Static: why there is no timeline; NULL in a store. */
	const char *missing;
};

/* Fill in the members that come from the request; the rest stays. */
void tale_summarise(struct tale_summary *s, const struct tale_request *r);

#define TALE_STORE_BYTES_MIN (UINT64_C(1) << 20)

struct tale_store_options {
	const char *directory; /* NULL: memory; must stay */
	const char *boot_id;   /* of this boot; "" not known */
	uint64_t bytes_max;    /* of its files */
	unsigned keep;	       /* most tales, 1 .. 65536 */
};

/* Returns 0; -EBUSY another process has it; -EINVAL out of range; or a negative
 * errno of mkdir, open or read.  The directory is made, with those above it
 * that are missing.  Free with tale_store_close. */
int tale_store_open(
    struct tale_store **out, const struct tale_store_options *options);
void tale_store_close(struct tale_store **sp);

/* Keep a tale.  A kept tale of the same request is replaced.  Returns 0; -EFBIG
 * the tale is more than a quarter of the bound (with a bound of 16 MiB or more:
 * than 2.6 MiB, which no tale is); -ENOMEM; or the negative errno of a write
 * that failed, after which the store is as before. */
int tale_store_add(struct tale_store *s, const struct tale *t,
    const struct tale_summary *summary);

/* Move all tales of a store to another one, oldest first; one that cannot be
 * read any more counts as dropped.  Returns 0, or -ENOMEM or the negative errno
 * of a write that failed: that tale and newer ones stay. */
int tale_store_move(struct tale_store *from, struct tale_store *to);

/* The newest tale with that id, or of that request.  0, -ENOENT, -EPROTO it is
 * damaged (and gone now), or another negative errno. */
int tale_store_find(
    struct tale_store *s, const char *external_id, struct tale_summary *out);
int tale_store_find_request(
    struct tale_store *s, uint64_t request, struct tale_summary *out);
/* Read a tale; *out is freed with tale_free.  Errors as above, or -ENOMEM. */
int tale_store_load(
    struct tale_store *s, const char *external_id, struct tale **out);

/* Which tales to list: each member that is set leaves out others. */
struct tale_filter {
	int64_t since_wall_ns; /* 0: all */
	int cause;	       /* enum tale_cause, -1: any */
	const char *path;      /* the target's up to "?"; NULL: any */
};

/* Call take for each tale that passes the filter, newest first, until take
 * returns false.  0 or a negative errno. */
int tale_store_each(struct tale_store *s, const struct tale_filter *filter,
    bool (*take)(void *user, const struct tale_summary *one), void *user);

struct tale_store_stats {
	unsigned tales;
	uint64_t bytes;
	uint64_t added, dropped; /* since opening; dropped: at the bound */
	uint64_t corrupt;	 /* rows and files that Tailor did not write */
};
/* The current figures. */
void tale_store_stats(struct tale_store *s, struct tale_store_stats *out);
