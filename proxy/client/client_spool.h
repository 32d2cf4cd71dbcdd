/* client_spool.h: bytes of responses that a client has not taken yet.
 *
 *   from the server --> [ behind ] --> ( spool ) --> [ out ] --> to the client
 *
 * Bytes for a client wait in c->out.  With more than STREAM_BUFFER_BYTES there,
 * the client is slow: further bytes are written to a file, piece by piece, so
 * that the server can send at its own speed.  When the client has taken the
 * bytes in memory and in the file, it is not slow any more.  A client that
 * keeps up never has a file and costs a comparison.  Proxy thread only. */
#pragma once

#include "proxy/client/client.h"

/* The chain to append the next bytes for a client to. */
static inline struct chain *
client_tail(struct client *c)
{
	return c->slow ? &c->behind : &c->out;
}

/* Account for bytes that were appended for a client.
 *   file  true if they may wait in a file: not those of an event stream or a
 *         tunnel, which have no end
 * Returns true if there is room for more; else the sender must wait until the
 * client has taken all. */
bool client_takes(struct client *c, bool file);

/* True if anything is to be written to a client. */
bool client_has_more(struct client *c);

/* Write some of the bytes for a client: as send(2), or EIO if the file cannot
 * be read.  flags: 0 or MSG_MORE, which is ignored for the file.  Sets
 * c->corked if the kernel may hold the written bytes back. */
ssize_t client_write(struct client *c, int flags);

/* True if the next bytes for a client are in a file.  The caller should let
 * other clients have their turn before it writes them. */
static inline bool
client_in_file(const struct client *c)
{
	return c->spool_sent > 0 && c->spool_sent < c->spool.bytes;
}

/* Drop all bytes that wait to be written to a client. */
void client_drop_output(struct client *c);
