/* client_spool.h: what a client has not taken yet.
 *
 *   from the server --> [ behind ] --> ( spool ) --> [ out ] --> to the client
 *
 * Bytes for a client lie in c->out.  When more than STREAM_BUFFER_BYTES do, it
 * is slow: what follows is written to a file, piece by piece, so that the
 * server is done with it at its own speed.  When the client has taken what is
 * in memory and in the file, all is as before.  A client that keeps up never
 * has a file and costs a comparison.  Proxy thread only. */
#pragma once

#include "proxy/client/client.h"

/* The chain to append the next bytes for a client to. */
static inline struct chain *
client_tail(struct client *c)
{
	return c->slow ? &c->behind : &c->out;
}

/* Account for bytes that were appended for a client.
 *   file  what it does not take may be written to a file: not the bytes of
 *         an event stream or a tunnel, which end with no request
 * Returns whether there is room for more; if not, who sends must wait until
 * all has been taken. */
bool client_takes(struct client *c, bool file);

/* True if anything is to be written to a client. */
bool client_has_more(struct client *c);

/* Write some of the bytes for a client: as send(2), or EIO if the file cannot
 * be read.  flags: 0 or MSG_MORE, which does not hold for the file; c->corked
 * says whether the kernel may keep what was written last. */
ssize_t client_write(struct client *c, int flags);

/* True if the next bytes for a client are in a file: others should have their
 * turn. */
static inline bool
client_in_file(const struct client *c)
{
	return c->spool_sent > 0 && c->spool_sent < c->spool.bytes;
}

/* Forget all that is to be written to a client. */
void client_drop_output(struct client *c);
