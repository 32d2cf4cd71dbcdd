/*
 * libevent_reserve.c: a small heap for libevent, used when malloc fails.
 */
#include "proxy/net/libevent_reserve.h"

#include <event2/event.h>
#include <malloc.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define CHUNKS 64
#define CHUNK_BYTES ((size_t)1024)

static struct {
	alignas(max_align_t) char data[CHUNK_BYTES];
} chunk[CHUNKS];
static bool taken[CHUNKS];
static uint64_t used;

static void *
reserve_take(size_t n)
{
	if (n > CHUNK_BYTES)
		return NULL;
	for (unsigned i = 0; i < CHUNKS; i++) {
		if (taken[i])
			continue;
		taken[i] = true;
		used++;
		return chunk[i].data;
	}
	return NULL;
}

/* Which chunk p is, or CHUNKS: memory from malloc. */
static size_t
chunk_of(const void *p)
{
	uintptr_t at = (uintptr_t)p, first = (uintptr_t)chunk;

	return at >= first && at < first + sizeof(chunk)
		   ? (at - first) / sizeof(chunk[0])
		   : CHUNKS;
}

static void *
reserve_malloc(size_t n)
{
	void *p = malloc(n);

	if (p == NULL)
		p = reserve_take(n);
	return p;
}

static void
reserve_free(void *p)
{
	size_t i = chunk_of(p);

	if (i < CHUNKS)
		taken[i] = false;
	else
		free(p);
}

static void *
reserve_realloc(void *old, size_t n)
{
	size_t i = chunk_of(old), have;
	void *p;

	if (i == CHUNKS) {
		p = realloc(old, n);
		if (p != NULL || n == 0)
			return p;
		have = old != NULL ? malloc_usable_size(old) : 0;
		p = reserve_take(n);
	} else {
		have = CHUNK_BYTES;
		if (n <= CHUNK_BYTES)
			return old;
		p = malloc(n);
	}
	if (p == NULL)
		return NULL;
	if (old != NULL)
		memcpy(p, old, have < n ? have : n);
	reserve_free(old);
	return p;
}

void
reserve_init(void)
{
	event_set_mem_functions(reserve_malloc, reserve_realloc, reserve_free);
}

uint64_t
reserve_used(void)
{
	return used;
}
