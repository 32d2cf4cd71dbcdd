/*
 * outgoing.h: a request on its way to a server: what of it has been written.
 *
 * The head is in two pieces (the request's, the same for all its attempts,
 * and the attempt's own lines), the body a chain that is either kept, because
 * another attempt may need it, or consumed as it goes.  No sockets here: the
 * uplink asks what to write next and tells how much was taken.
 */
#ifndef TAILOR_PROXY_OUTGOING_H
#define TAILOR_PROXY_OUTGOING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "proxy/buffer.h"

#define OUTGOING_HEADS 2

struct outgoing {
	/* set by the user */
	struct iovec head[OUTGOING_HEADS]; /* borrowed */
	struct chain *body;		   /* borrowed; NULL: none */
	bool keep_body;			   /* the body may be needed again */
	bool body_whole;		   /* nothing will be appended to it */
	bool upgrade;			   /* 101 would be an answer */
	bool trailers;			   /* keep those of the answer */
	bool urgent;			   /* not at the turn's end: now */
	/* progress */
	size_t head_sent;
	struct chain_cursor cursor; /* into a kept body */
	uint64_t sent_bytes;
	void *copy; /* owned; see outgoing_keep_rest */
};

/* What to write next; returns how many places of iov (CHAIN_IOV) it took, 0
 * when there is nothing now. */
int outgoing_iov(const struct outgoing *o, struct iovec *iov);

/* n bytes of that were written. */
void outgoing_advance(struct outgoing *o, struct block_pool *pool, size_t n);

/* Whether nothing more will have to be written. */
bool outgoing_done(const struct outgoing *o);

/*
 * Copy what is left, so that its owner may go, and refer to nothing of the
 * owner's any more.  False if that is too much (64 KiB), unknown, or there is
 * no memory: o is unchanged then.
 */
bool outgoing_keep_rest(struct outgoing *o);

/* Forget it; frees the copy. */
void outgoing_fini(struct outgoing *o);

#endif
