/* spool.h: bytes that wait for a slow peer in a file.
 *
 * A request's body that is too large to wait in memory until it is whole, and
 * what a server has sent and a slow client has not taken: without them a slow
 * client would hold a server's connection for as long as it likes.  A spool
 * is a file without a name: it is gone with its descriptor.  It is written at
 * its end and sent from any place, so a body can be sent again.
 *
 * Cost: a write of 64 KiB is a copy into the page cache (20 us); the proxy
 * thread waits when the kernel makes writers wait for the disk, and when it
 * reads back what was evicted.  Proxy thread only. */
#pragma once

#include <sys/types.h>

#include "proxy/net/buffer.h"

#define SPOOL_PIECE ((size_t)65536) /* worth a write */

/* Closing a large file takes the kernel 90 to 260 ms a GiB.  It is cut by so
 * much at a time (0.4 to 1 ms) until no more is left, then closed. */
#define SPOOL_CUT (UINT64_C(4) << 20)
#define SPOOL_CUTS 64 /* files at a time; others are closed at once */

/* Responses get half of all the room, in bytes and in files, so that slow
 * readers leave some for uploads, which have no other place. */
enum spool_use {
	SPOOL_REQUEST,
	SPOOL_RESPONSE,
};
#define SPOOL_USES 2

enum spool_result {
	SPOOL_OK,
	SPOOL_LIMIT,  /* as much as there may be is in files */
	SPOOL_FAILED, /* the file system refuses; errno says why */
};

/* One of them.  All zero: none. */
struct spool {
	bool open;
	enum spool_use use;
	int fd; /* owned */
	uint64_t bytes;
};

/* All spools of a tailor. */
struct spools {
	/* set by limits_apply */
	const char *directory; /* borrowed; "" = none may be made */
	uint64_t bytes_max;
	unsigned files_max;
	/* now, in all and of each use */
	struct spool_room {
		unsigned files;
		uint64_t bytes;
	} now, used[SPOOL_USES];
	/* ever */
	struct {
		uint64_t files, bytes;
		uint64_t limited, failed; /* refused */
	} use[SPOOL_USES];
	/* closed, and in now and used as long as they are cut */
	struct spool cut[SPOOL_CUTS];
	unsigned cuts;
};

/* Write all of data to the spool's end, opening its file if there is none, and
 * give its blocks back.  SPOOL_LIMIT and SPOOL_FAILED are counted; what has not
 * been written is still in data then. */
enum spool_result spool_add(struct spools *all, struct spool *s,
    struct chain *data, struct block_pool *pool, enum spool_use use);

/* Write to a socket what lies at that place, a part of it at a time so that
 * others get their turn.  As send(2); EIO if the file cannot be read. */
ssize_t spool_send(const struct spool *s, uint64_t at, int fd);

/* Close its file, if there is one, or begin to cut it. */
void spool_close(struct spools *all, struct spool *s);

/* Cut one file.  Every tick; 1 ms at most. */
void spools_tick(struct spools *all);

/* Close all that are being cut. */
void spools_fini(struct spools *all);

/* Whether files can be made in that directory; makes it, and those above it,
 * if need be (rundir_make).  0 or -errno. */
int spool_try(const char *directory);
