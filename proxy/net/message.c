/* message.c: head, body and file of a message written in few system calls. */
#include "proxy/net/message.h"

#include <stdlib.h>
#include <string.h>

#include "proxy/net/socket.h"

#define REST_MAX 65536 /* L2: most bytes to copy and finish writing */

/* Set iov (CHAIN_IOV entries) to the next bytes in memory.  Returns the number
 * of entries used. */
static int
memory_iov(const struct message *o, struct iovec *iov)
{
	const struct chain *body = o->stream != NULL ? o->stream : o->body;
	size_t skip = o->head_sent;
	int n = 0;

	for (int i = 0; i < OUTGOING_HEADS; i++) {
		const struct iovec *h = &o->head[i];

		if (skip >= h->iov_len) {
			skip -= h->iov_len;
			continue;
		}
		iov[n].iov_base = (char *)h->iov_base + skip;
		iov[n++].iov_len = h->iov_len - skip;
		skip = 0;
	}
	if (body != NULL)
		n += cursor_iov(body, &o->cursor, iov + n, CHAIN_IOV - n);
	return n;
}

static uint64_t
file_left(const struct message *o)
{
	return o->file != NULL ? o->file->bytes - o->file_sent : 0;
}

/* Move on by n bytes of those from memory_iov, which were written. */
static void
memory_advance(struct message *o, struct block_pool *pool, size_t n)
{
	size_t part, left = 0;

	for (int i = 0; i < OUTGOING_HEADS; i++)
		left += o->head[i].iov_len;
	left -= o->head_sent;
	part = left < n ? left : n;
	o->head_sent += part;
	n -= part;
	if (n == 0)
		return;
	if (o->stream != NULL)
		chain_consume(o->stream, pool, n);
	else
		cursor_advance(o->body, &o->cursor, n);
}

ssize_t
message_write(struct message *o, int fd, struct block_pool *pool)
{
	struct iovec iov[CHAIN_IOV];
	int pieces = memory_iov(o, iov);
	ssize_t n = 0;

	if (pieces > 0) {
		n = socket_send(
		    fd, iov, pieces, file_left(o) > 0 ? MSG_MORE : 0);
		if (n > 0)
			memory_advance(o, pool, (size_t)n);
	} else if (file_left(o) > 0) {
		n = spool_send(o->file, o->file_sent, fd);
		if (n > 0)
			o->file_sent += (uint64_t)n;
	}
	if (n > 0)
		o->sent_bytes += (uint64_t)n;
	return n;
}

bool
message_done(const struct message *o)
{
	struct iovec iov[CHAIN_IOV];

	return (o->stream == NULL || o->ended) && file_left(o) == 0 &&
	       memory_iov(o, iov) == 0;
}

bool
message_keep_rest(struct message *o)
{
	struct iovec iov[CHAIN_IOV];
	int n = memory_iov(o, iov);
	uint64_t sent_bytes = o->sent_bytes;
	size_t total = 0;
	char *copy, *at;

	if ((o->stream != NULL && !o->ended) || file_left(o) > 0)
		return false;
	for (int i = 0; i < n; i++)
		total += iov[i].iov_len;
	/* With all entries used there may be more pieces. */
	if (total > REST_MAX || n == CHAIN_IOV)
		return false;
	copy = malloc(total > 0 ? total : 1);
	if (copy == NULL)
		return false;
	at = copy;
	for (int i = 0; i < n; i++) {
		memcpy(at, iov[i].iov_base, iov[i].iov_len);
		at += iov[i].iov_len;
	}
	*o = (struct message){
	    .head = {{copy, total}}, .sent_bytes = sent_bytes, .copy = copy};
	return true;
}

void
message_fini(struct message *o)
{
	free(o->copy);
	*o = (struct message){0};
}
