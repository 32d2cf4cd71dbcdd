/*
 * outgoing.c: see outgoing.h.
 */
#include "proxy/outgoing.h"

#include <stdlib.h>
#include <string.h>

#define REST_MAX 65536 /* L2: finish writing if no more is left */

int
outgoing_iov(const struct outgoing *o, struct iovec *iov)
{
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
	if (o->body != NULL)
		n += cursor_iov(o->body, &o->cursor, iov + n, CHAIN_IOV - n);
	return n;
}

void
outgoing_advance(struct outgoing *o, struct block_pool *pool, size_t n)
{
	size_t left = o->head[0].iov_len + o->head[1].iov_len - o->head_sent;
	size_t part = left < n ? left : n;

	o->sent_bytes += n;
	o->head_sent += part;
	n -= part;
	if (n == 0)
		return;
	if (o->keep_body)
		cursor_advance(o->body, &o->cursor, n);
	else
		chain_consume(o->body, pool, n);
}

bool
outgoing_done(const struct outgoing *o)
{
	struct iovec iov[CHAIN_IOV];

	return (o->body == NULL || o->body_whole) && outgoing_iov(o, iov) == 0;
}

bool
outgoing_keep_rest(struct outgoing *o)
{
	struct iovec iov[CHAIN_IOV];
	int n = outgoing_iov(o, iov);
	uint64_t sent_bytes = o->sent_bytes;
	size_t total = 0;
	char *copy, *at;

	if (o->body != NULL && !o->body_whole)
		return false;
	for (int i = 0; i < n; i++)
		total += iov[i].iov_len;
	/* A body of more pieces than fit one writev is long enough. */
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
	*o = (struct outgoing){
	    .head = {{copy, total}}, .sent_bytes = sent_bytes, .copy = copy};
	return true;
}

void
outgoing_fini(struct outgoing *o)
{
	free(o->copy);
	*o = (struct outgoing){0};
}
