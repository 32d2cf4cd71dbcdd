/* Goal: no text makes the reader of metrics read outside it. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tailorctl/samples.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text;
	const char *at, *end;
	struct metric_sample s;

	if (size == 0)
		return 0;
	/* A copy of its own: reading past it is found. */
	at = text = malloc(size);
	assert(text != NULL);
	memcpy(text, data, size);
	end = text + size;
	while (samples_next(&at, end, &s))
		assert(s.length > 0 && s.name + s.length < end);
	free(text);
	return 0;
}
