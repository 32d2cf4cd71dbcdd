/* buffer.c: blocks, chains of them, and cursors into chains. */
#include "proxy/net/buffer.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MERGE_MAX 2048 /* most bytes to copy in order to save a block */

void
block_pool_init(struct block_pool *pool, size_t blocks_max)
{
	*pool = (struct block_pool){.blocks_max = blocks_max};
}

void
block_pool_fini(struct block_pool *pool)
{
	struct block *b;

	while ((b = pool->free) != NULL) {
		pool->free = b->next;
		free(b);
	}
	pool->blocks -= pool->available;
	pool->available = 0;
}

struct block *
block_take(struct block_pool *pool)
{
	struct block *b = pool->free;

	if (b != NULL) {
		pool->free = b->next;
		pool->available--;
	} else {
		if (pool->blocks < pool->blocks_max)
			b = malloc(sizeof(*b));
		if (b == NULL) {
			pool->refused++;
			return NULL;
		}
		pool->blocks++;
	}
	b->next = NULL;
	b->begin = b->end = BLOCK_HEADROOM;
	return b;
}

void
block_give(struct block_pool *pool, struct block *b)
{
	if (b == NULL)
		return;
	b->next = pool->free;
	pool->free = b;
	pool->available++;
}

void
block_compact(struct block *b)
{
	size_t n = block_bytes(b);

	if (b->begin == BLOCK_HEADROOM)
		return;
	memmove(b->data + BLOCK_HEADROOM, b->data + b->begin, n);
	b->begin = BLOCK_HEADROOM;
	b->end = (uint32_t)(BLOCK_HEADROOM + n);
}

void
chain_clear(struct chain *c, struct block_pool *pool)
{
	struct block *b;

	while ((b = c->head) != NULL) {
		c->head = b->next;
		block_give(pool, b);
	}
	*c = (struct chain){0};
}

void
chain_append(struct chain *c, struct block *b)
{
	b->next = NULL;
	if (c->tail != NULL)
		c->tail->next = b;
	else
		c->head = b;
	c->tail = b;
	c->bytes += block_bytes(b);
	c->blocks++;
}

void
chain_move(struct chain *to, struct chain *from)
{
	if (from->head == NULL)
		return;
	if (to->tail != NULL)
		to->tail->next = from->head;
	else
		to->head = from->head;
	to->tail = from->tail;
	to->bytes += from->bytes;
	to->blocks += from->blocks;
	*from = (struct chain){0};
}

void
chain_merge(struct chain *to, struct chain *from, struct block_pool *pool)
{
	struct block *b = from->head, *tail = to->tail;
	size_t n = from->bytes;

	if (b == NULL || b != from->tail || tail == NULL || n > MERGE_MAX ||
	    n > block_room(tail)) {
		chain_move(to, from);
		return;
	}
	memcpy(tail->data + tail->end, b->data + b->begin, n);
	tail->end += (uint32_t)n;
	to->bytes += n;
	chain_clear(from, pool);
}

int
chain_add(struct chain *c, struct block_pool *pool, const char *text, size_t n)
{
	struct chain more = {0};
	struct block *b = c->tail;
	size_t fits = b == NULL ? 0 : block_room(b);
	size_t part;

	/* Fill the new blocks first: a failure must not change the chain. */
	if (fits > n)
		fits = n;
	for (size_t rest = n - fits; rest > 0; rest -= part) {
		struct block *fresh = block_take(pool);

		if (fresh == NULL) {
			chain_clear(&more, pool);
			return -ENOMEM;
		}
		part = block_room(fresh) < rest ? block_room(fresh) : rest;
		memcpy(fresh->data + fresh->end, text + (n - rest), part);
		fresh->end += (uint32_t)part;
		chain_append(&more, fresh);
	}
	if (fits > 0) {
		memcpy(b->data + b->end, text, fits);
		b->end += (uint32_t)fits;
		c->bytes += fits;
	}
	chain_move(c, &more);
	return 0;
}

void
chain_frame(struct chain *c)
{
	char line[BLOCK_HEADROOM];
	struct block *b;

	for (b = c->head; b != NULL; b = b->next) {
		int n;

		if (block_bytes(b) == 0)
			continue;
		n = snprintf(line, sizeof(line), "%zx\r\n", block_bytes(b));
		assert(n > 0 && (uint32_t)n <= b->begin);
		b->begin -= (uint32_t)n;
		memcpy(b->data + b->begin, line, (size_t)n);
		memcpy(b->data + b->end, "\r\n", 2);
		b->end += 2;
		c->bytes += (size_t)n + 2;
	}
}

int
chain_frame_end(struct chain *c, struct block_pool *pool)
{
	return chain_add(c, pool, "0\r\n\r\n", 5);
}

int
chain_iov(const struct chain *c, struct iovec *iov, int max)
{
	return cursor_iov(c, &(struct chain_cursor){0}, iov, max);
}

void
chain_consume(struct chain *c, struct block_pool *pool, size_t n)
{
	assert(n <= c->bytes);
	c->bytes -= n;
	while (c->head != NULL) {
		struct block *b = c->head;
		size_t have = block_bytes(b);

		if (n < have) {
			b->begin += (uint32_t)n;
			return;
		}
		n -= have;
		c->head = b->next;
		if (c->head == NULL)
			c->tail = NULL;
		c->blocks--;
		block_give(pool, b);
	}
}

int
cursor_iov(const struct chain *c, const struct chain_cursor *at,
    struct iovec *iov, int max)
{
	const struct block *b = at->block != NULL ? at->block : c->head;
	uint32_t skip = at->block != NULL ? at->offset : 0;
	int n = 0;

	for (; b != NULL && n < max; b = b->next, skip = 0) {
		size_t have = block_bytes(b) - skip;

		if (have == 0)
			continue;
		/* writev takes char * but only reads. */
		iov[n].iov_base =
		    (void *)(uintptr_t)(b->data + b->begin + skip);
		iov[n].iov_len = have;
		n++;
	}
	return n;
}

void
cursor_advance(const struct chain *c, struct chain_cursor *at, size_t n)
{
	if (at->block == NULL) {
		at->block = c->head;
		at->offset = 0;
	}
	while (at->block != NULL) {
		size_t have = block_bytes(at->block) - at->offset;

		/* Stay on the last block: more may be appended to it. */
		if (n < have || at->block->next == NULL) {
			assert(n <= have);
			at->offset += (uint32_t)n;
			return;
		}
		n -= have;
		at->block = at->block->next;
		at->offset = 0;
	}
	assert(n == 0);
}
