/* spool.h: bytes that wait for a slow peer in a file.
 *
 * A request's body that is too large to wait in memory until it is whole, and
 * what a server has sent and a slow client has not taken: without them a slow
 * client would hold a server's connection for as long as it likes.  A spool
 * is a file without a name: it is gone with its descriptor.  It is written at
 * its end and sent from any place, so a body can be sent again.
 *
 * It is never made shorter: what sendfile has sent is the file's own pages
 * until the peer has read it, and cutting a file writes zeros into them.
 *
 * Cost: a write of 64 KiB is a copy into the page cache (20 us); the proxy
 * thread waits when the kernel makes writers wait for the disk, and when it
 * reads back what was evicted; closing a file takes 90 to 260 ms a GiB.  Proxy
 * thread only. */
#pragma once

#include <sys/types.h>

#include "proxy/net/buffer.h"

#define SPOOL_PIECE ((size_t)65536) /* worth a write */

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
};

/* One of them.  All zero: none. */
struct spool {
	bool open;
	enum spool_use use;
	int fd; /* owned */
	uint64_t bytes;
};

/* Write all of data to the spool's end, opening its file if there is none, and
 * give its blocks back.  SPOOL_LIMIT and SPOOL_FAILED are counted; what has not
 * been written is still in data then. */
enum spool_result spool_add(struct spools *all, struct spool *s,
    struct chain *data, struct block_pool *pool, enum spool_use use);

/* Write to a socket what lies at that place, a part of it at a time so that
 * others get their turn.  As send(2); EIO if the file cannot be read. */
ssize_t spool_send(const struct spool *s, uint64_t at, int fd);

/* Close its file, if there is one. */
void spool_close(struct spools *all, struct spool *s);

/* Try to make a file in a directory; makes that, and those above it, if need be
 * (rundir_make).  0 or -errno. */
int spool_try(const char *directory);
