/* message.h: a request on its way to a server, and how much of it was written.
 *
 * The head is in two pieces: one that all attempts of the request share, and
 * the attempt's own lines.  The body is complete, lies in memory or in a file,
 * and is not changed, because another attempt may need it.  A tunnel's bytes
 * are different: they are sent, and consumed, as they come. */
#pragma once

#include "proxy/net/spool.h"

/* Two pieces of the head, and a small body (request.small). */
#define OUTGOING_HEADS 3

struct message {
	/* set by the user */
	struct iovec head[OUTGOING_HEADS]; /* borrowed */
	const struct chain *body;	   /* borrowed; NULL: none in memory */
	const struct spool *file;	   /* borrowed; NULL: none in a file */
	bool upgrade;			   /* a 101 response is allowed */
	bool trailers;			   /* keep the response's trailers */
	bool urgent;			   /* write now, not at turn's end */
	/* a tunnel */
	struct chain *stream; /* borrowed; NULL: none */
	bool ended;	      /* nothing will be appended to stream */
	/* progress */
	size_t head_sent;
	struct chain_cursor cursor; /* into the body */
	uint64_t file_sent;
	uint64_t sent_bytes;
	void *copy; /* owned; see message_keep_rest */
};

/* Write the next bytes to a socket, as many as it takes.  Returns their number,
 * 0 if there is nothing to write now, or -1 with errno as send(2), or EIO if
 * the file cannot be read. */
ssize_t message_write(struct message *o, int fd, struct block_pool *pool);

/* True if the next bytes of a message are in a file.  The caller should let
 * other connections have their turn before it writes them. */
static inline bool
message_in_file(const struct message *o)
{
	return o->file != NULL && o->file_sent > 0 &&
	       o->file_sent < o->file->bytes;
}

/* True if a message has a body that is not empty. */
static inline bool
message_has_body(const struct message *o)
{
	return o->body != NULL || o->file != NULL ||
	       o->head[OUTGOING_HEADS - 1].iov_len > 0;
}

/* True if nothing more of a message will have to be written. */
bool message_done(const struct message *o);

/* Copy the bytes that are not written yet, so that the buffers they are in may
 * be freed.  False, and o does not change, if these are more than 64 KiB or in
 * a file, more may follow (a tunnel), or there is no memory. */
bool message_keep_rest(struct message *o);

/* Free the copy, if there is one, and clear the message. */
void message_fini(struct message *o);
