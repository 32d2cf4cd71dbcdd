/*
 * Goal: no response makes tailorctl read outside it; what is accepted lies
 * within the bytes and can be read as metrics.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tailorctl/response.h"
#include "tailorctl/samples.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *why = NULL, *at, *end;
	struct response response;
	struct sample s;

	if (response_parse((const char *)data, size, &response, &why) < 0) {
		assert(why != NULL);
		return 0;
	}
	assert(response.status >= 100 && response.status <= 599);
	assert(response.body >= (const char *)data);
	assert(response.body + response.length <= (const char *)data + size);
	at = response.body;
	end = at + response.length;
	while (samples_next(&at, end, &s))
		assert(s.length > 0 && s.name + s.length < end);
	return 0;
}
