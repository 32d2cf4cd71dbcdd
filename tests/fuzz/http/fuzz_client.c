/*
 * Goal: no response makes the client read outside it, and what is accepted
 * lies within its bytes; one that is complete stays so when more bytes come.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "http/client/client.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Parse the first n bytes, in memory of their own. */
static int
parse(const uint8_t *data, size_t n, bool ended, struct http_response *out)
{
	const char *why = NULL;
	char *copy = malloc(n);
	int result;

	assert(copy != NULL || n == 0);
	if (n > 0)
		memcpy(copy, data, n);
	result = http_response_parse(copy, n, ended, out, &why);
	assert(result >= 0 || why != NULL);
	if (result > 0) {
		assert(out->status >= 100 && out->status <= 599);
		assert(out->body >= copy);
		assert(out->body + out->length <= copy + n);
	}
	free(copy);
	return result;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct http_response part, whole;
	size_t cut;

	if (size == 0)
		return 0;
	cut = data[0] % size;
	data++;
	size--;
	if (parse(data, cut, false, &part) > 0) {
		assert(parse(data, size, true, &whole) > 0);
		assert(
		    part.status == whole.status && part.length == whole.length);
	}
	assert(parse(data, size, true, &whole) != 0);
	return 0;
}
