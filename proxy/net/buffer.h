/* buffer.h: the proxy's memory for bytes in motion.
 *
 * All bytes live in blocks of one size from one pool.  A chain is a list of
 * blocks; bytes move from socket to chain to socket by handing blocks over,
 * not by copying.  Each block keeps room before its data for a chunk-size
 * line and after it for the chunk's end, so that framing needs no copy
 * either.  The pool grows on demand up to a limit and never shrinks: after
 * warm-up nothing is allocated.
 *
 * Proxy thread only. */
#pragma once

#include <sys/uio.h>

#include "http/http.h"

#define BLOCK_HEADROOM 32 /* for a chunk-size line */
#define BLOCK_TAILROOM 8  /* for "\r\n0\r\n\r\n" */
/* A little over 16 KiB, so that a head of that size fits with what Tailor adds
 * to it, and one that is larger is seen to be. */
#define BLOCK_BYTES ((size_t)16384)
#define BLOCK_SPARE 1024
/* Bytes that may wait in memory for one slow peer: more than most responses. */
#define STREAM_BUFFER_BYTES (16 * BLOCK_BYTES)
/* When all blocks take more, a slow client's response has two of them. */
#define BUFFERS_BYTES_MAX ((size_t)256 << 20)
#define BLOCK_DATA (BLOCK_BYTES + BLOCK_SPARE + BLOCK_HEADROOM)
#define CHAIN_IOV 16

struct block {
	struct block *next;
	uint32_t begin, end; /* the bytes held: data[begin .. end) */
	char data[BLOCK_DATA + BLOCK_TAILROOM];
};

struct block_pool {
	struct block *free; /* owned */
	size_t blocks;	    /* made so far */
	size_t available;   /* of those, in the free list */
	size_t blocks_max;
	uint64_t refused; /* requests for a block that failed */
};

struct chain {
	struct block *head, *tail; /* owned */
	size_t bytes;
	size_t blocks; /* of them, full or not */
};

/* A place in a chain, for sending it without consuming it. */
struct chain_cursor {
	const struct block *block; /* NULL: at the chain's beginning */
	uint32_t offset;	   /* bytes of the block already passed */
};

/* An empty pool, of at most blocks_max blocks; fini frees those given back. */
void block_pool_init(struct block_pool *pool, size_t blocks_max);
void block_pool_fini(struct block_pool *pool);

/* An empty block, or NULL at the limit or out of memory (counted). */
struct block *block_take(struct block_pool *pool);
void block_give(struct block_pool *pool, struct block *b);

/* Bytes held, and bytes that may still be added (tail room excluded). */
static inline size_t
block_bytes(const struct block *b)
{
	return b->end - b->begin;
}
static inline size_t
block_room(const struct block *b)
{
	return b->end < BLOCK_DATA ? BLOCK_DATA - b->end : 0;
}

/* Move what is held to the block's start, so that more fits behind it. */
void block_compact(struct block *b);

/* Bytes that a chain keeps from others: a block that is not full costs as much
 * as a full one, and a peer that sends 3 KB at a time fills none. */
static inline size_t
chain_held(const struct chain *c)
{
	return c->blocks * BLOCK_BYTES;
}

/* Drop everything. */
void chain_clear(struct chain *c, struct block_pool *pool);

/* Take a block over at the end.  Empty blocks are allowed and skipped. */
void chain_append(struct chain *c, struct block *b);

/* Move all blocks of from to the end of to. */
void chain_move(struct chain *to, struct chain *from);

/* The same, but a few bytes are copied into to's last block rather than
 * keeping a block of their own: a peer that trickles must not cost a block a
 * byte. */
void chain_merge(struct chain *to, struct chain *from, struct block_pool *pool);

/* Copy n bytes to the end.  0 or -ENOMEM (then nothing was added). */
int
chain_add(struct chain *c, struct block_pool *pool, const char *text, size_t n);

/* Turn each block of c into one chunk of a chunked body, in place.
 * chain_frame_end adds the last chunk.  0 or -ENOMEM. */
void chain_frame(struct chain *c);
int chain_frame_end(struct chain *c, struct block_pool *pool);

/* Fill iov with the chain's beginning; returns how many were used. */
int chain_iov(const struct chain *c, struct iovec *iov, int max);

/* Drop n bytes from the beginning. */
void chain_consume(struct chain *c, struct block_pool *pool, size_t n);

/* The same for a chain that is kept: what lies behind the cursor. */
int cursor_iov(const struct chain *c, const struct chain_cursor *at,
    struct iovec *iov, int max);
void cursor_advance(const struct chain *c, struct chain_cursor *at, size_t n);

/* Decode all of *in.  Payload goes to the end of out.  *in becomes NULL when
 * its block was handed on or used up; bytes behind the body's end stay in it.
 * Returns HTTP_BODY_MORE, HTTP_BODY_DONE or HTTP_BODY_BAD (also when there is
 * no memory: refusal's reason is "no_memory"). */
enum http_body_event body_pull(struct http_body *decoder, struct block **in,
    struct chain *out, struct block_pool *pool, struct http_refusal *refusal);
