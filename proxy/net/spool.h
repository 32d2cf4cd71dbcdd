/* spool.h: bytes that wait for a slow peer in a file.
 *
 * A spool holds a request's body that is too large to wait in memory until it
 * is whole, or the part of a response that a slow client has not taken: without
 * it a slow client occupies a server's connection for as long as it likes.  A
 * spool is a file without a name: it is gone with its descriptor.  New bytes go
 * to its end and are sent from any place, so a body can be sent again.
 *
 * A spool is never truncated: sendfile queues the file's own pages until the
 * peer has read them, and truncation writes zeros into those pages.
 *
 * Cost: a write of 64 KiB is a copy into the page cache (20 us); the proxy
 * thread blocks when the kernel makes writers wait for the disk, and when pages
 * that were evicted are read back; closing a file takes 90 to 260 ms per GiB.
 * Proxy thread only. */
#pragma once

#include <sys/types.h>

#include "proxy/net/buffer.h"

#define SPOOL_PIECE ((size_t)65536) /* fewer bytes are not worth a write */

/* Responses get half of all bytes and files at most, so that slow readers leave
 * room for uploads, which cannot wait elsewhere. */
enum spool_use {
	SPOOL_REQUEST,
	SPOOL_RESPONSE,
};
#define SPOOL_USES 2

enum spool_result {
	SPOOL_OK,
	SPOOL_LIMIT,  /* bytes_max or files_max is reached */
	SPOOL_FAILED, /* the file system refuses; errno says why */
};

/* All spools of a tailor. */
struct spools {
	/* set by limits_apply */
	const char *directory; /* borrowed; "" = none may be made */
	uint64_t bytes_max;
	unsigned files_max;
	/* now, in total and per use */
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

/* One spool.  All zero: it has no file. */
struct spool {
	bool open;
	enum spool_use use;
	int fd; /* owned */
	uint64_t bytes;
};

/* Append all of data to the spool, opening its file if there is none, and give
 * the blocks back.  SPOOL_LIMIT and SPOOL_FAILED are counted; the bytes not
 * written stay in data then. */
enum spool_result spool_add(struct spools *all, struct spool *s,
    struct chain *data, struct block_pool *pool, enum spool_use use);

/* Send the spool's bytes from offset at on to a socket: a part per call, so
 * others get their turn.  As send(2); EIO if the file cannot be read. */
ssize_t spool_send(const struct spool *s, uint64_t at, int fd);

/* Close the spool's file, if there is one. */
void spool_close(struct spools *all, struct spool *s);

/* Check that a file can be made in a directory, which is made if it is missing,
 * with those above it (rundir_make).  0 or -errno. */
int spool_try(const char *directory);
