/* message.h: a request on its way to a server: what of it has been written.
 *
 * The head is in two pieces: the request's, the same for all its attempts,
 * and the attempt's own lines.  The body is whole, lies in memory or in a
 * file, and is not changed, because another attempt may need it.  Only the
 * bytes of a tunnel come as they are sent, and are consumed as they go. */
#pragma once

#include "proxy/net/spool.h"

/* The head's two, and a body that waited together with the first. */
#define OUTGOING_HEADS 3

struct message {
	/* set by the user */
	struct iovec head[OUTGOING_HEADS]; /* borrowed */
	const struct chain *body;	   /* borrowed; NULL: none in memory */
	const struct spool *file;	   /* borrowed; NULL: none in a file */
	bool upgrade;			   /* 101 would be an answer */
	bool trailers;			   /* keep those of the answer */
	bool urgent;			   /* not at the turn's end: now */
	/* a tunnel */
	struct chain *stream; /* borrowed; NULL: none */
	bool ended;	      /* nothing will be appended to it */
	/* progress */
	size_t head_sent;
	struct chain_cursor cursor; /* into the body */
	uint64_t file_sent;
	uint64_t sent_bytes;
	void *copy; /* owned; see message_keep_rest */
};

/* Write what comes next to a socket, as far as it takes it.  The number of
 * bytes, 0 if there is nothing to write now, or -1: as send(2), or EIO if the
 * file cannot be read. */
ssize_t message_write(struct message *o, int fd, struct block_pool *pool);

/* True if the next bytes of a message are in a file: others should have their
 * turn. */
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

/* Copy what is left, so that its owner may go, and refer to nothing of the
 * owner's any more.  False if that is too much (64 KiB), unknown, or there is
 * no memory: o is unchanged then. */
bool message_keep_rest(struct message *o);

/* Forget a message; frees the copy. */
void message_fini(struct message *o);
