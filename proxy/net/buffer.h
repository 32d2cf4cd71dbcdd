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
/* A block holds 16 KiB and a little more, so that a head of 16 KiB fits with
 * the fields that Tailor adds, and a larger one is recognized as such. */
#define BLOCK_BYTES ((size_t)16384)
#define BLOCK_SPARE 1024
/* Bytes that may wait in memory for one slow peer: more than most responses. */
#define STREAM_BUFFER_BYTES (16 * BLOCK_BYTES)
/* If all blocks take more than this, a slow client's response may keep two. */
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
	size_t available;   /* blocks in the free list */
	size_t blocks_max;
	uint64_t refused; /* requests for a block that failed */
};

struct chain {
	struct block *head, *tail; /* owned */
	size_t bytes;
	size_t blocks; /* in the list, full or not */
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

/* The bytes in a block, and the room for more (tail room excluded). */
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

/* Move the bytes in a block to its start, so that more fit behind them. */
void block_compact(struct block *b);

/* The memory that a chain takes: a block that is not full costs as much as a
 * full one, and a peer that sends 3 KB at a time fills none. */
static inline size_t
chain_held(const struct chain *c)
{
	return c->blocks * BLOCK_BYTES;
}

/* Give all blocks of a chain back. */
void chain_clear(struct chain *c, struct block_pool *pool);

/* Append a block, which the chain owns then.  An empty block is allowed. */
void chain_append(struct chain *c, struct block *b);

/* Move all blocks of from to the end of to. */
void chain_move(struct chain *to, struct chain *from);

/* As chain_move, but a few bytes are copied into to's last block instead of
 * keeping a block of their own: a peer that sends single bytes must not take a
 * block for each. */
void chain_merge(struct chain *to, struct chain *from, struct block_pool *pool);

/* Append a copy of n bytes.  0 or -ENOMEM (then nothing was added). */
int
chain_add(struct chain *c, struct block_pool *pool, const char *text, size_t n);

/* Turn each block of c into one chunk of a chunked body, in place.
 * chain_frame_end adds the last chunk.  0 or -ENOMEM. */
void chain_frame(struct chain *c);
int chain_frame_end(struct chain *c, struct block_pool *pool);

/* Fill iov with the chain's first bytes; returns how many entries it used. */
int chain_iov(const struct chain *c, struct iovec *iov, int max);

/* Drop n bytes from the beginning. */
void chain_consume(struct chain *c, struct block_pool *pool, size_t n);

/* As chain_iov and chain_consume, for a chain that stays whole: fill iov with
 * the bytes after the cursor, and move the cursor on by n bytes. */
int cursor_iov(const struct chain *c, const struct chain_cursor *at,
    struct iovec *iov, int max);
void cursor_advance(const struct chain *c, struct chain_cursor *at, size_t n);

/* Decode all of *in, and append the payload to out.  *in becomes NULL when its
 * block was moved to out or used up; bytes after the body's end stay in it.
 * Returns HTTP_BODY_MORE, HTTP_BODY_DONE or HTTP_BODY_BAD (also when there is
 * no memory: refusal's reason is "no_memory"). */
enum http_body_event body_pull(struct http_body *decoder, struct block **in,
    struct chain *out, struct block_pool *pool, struct http_refusal *refusal);
