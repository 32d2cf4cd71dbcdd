/*
 * Goal: no bytes of a server make the response scanner read outside them,
 * overflow, or depend on how they were cut into pieces.
 *
 * The first byte of the input chooses the pieces and whether the request was
 * a HEAD; the rest is the server's.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "loadgen/send/response.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t
feed(struct load_response *r, const uint8_t *data, size_t size, size_t piece)
{
	size_t at = 0;

	while (at < size && !response_is_over(r)) {
		size_t n = size - at < piece ? size - at : piece;
		/* A copy of its own: reading past it is found. */
		char *copy = malloc(n);
		if (copy == NULL)
			abort();
		memcpy(copy, data + at, n);
		size_t used = response_feed(r, copy, n);
		free(copy);
		if (used > n || (used < n && !response_is_over(r)))
			abort();
		at += used;
	}
	response_end(r);
	return at;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char kept[2][RESPONSE_HEAD_MAX];
	struct load_response whole, pieces;

	if (size == 0)
		return 0;
	response_init(&whole, kept[0], data[0] & 1);
	response_init(&pieces, kept[1], data[0] & 1);
	size_t a = feed(&whole, data + 1, size - 1, size);
	size_t b = feed(&pieces, data + 1, size - 1, 1 + (data[0] >> 1));
	if ((a != b && whole.state == RESPONSE_COMPLETE) ||
	    whole.state != pieces.state || whole.status != pieces.status ||
	    whole.body_bytes != pieces.body_bytes ||
	    whole.keep_alive != pieces.keep_alive ||
	    whole.timing.duration_ns != pieces.timing.duration_ns)
		abort();
	if (whole.body_bytes > size)
		abort();
	return 0;
}
