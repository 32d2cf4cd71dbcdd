/*
 * Goal: no reply makes tailorctl read outside it; what is accepted lies
 * within the bytes and can be read as metrics.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tailorctl/reply.h"
#include "tailorctl/samples.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *why = NULL, *at, *end;
	struct reply reply;
	struct sample s;

	if (reply_parse((const char *)data, size, &reply, &why) < 0) {
		assert(why != NULL);
		return 0;
	}
	assert(reply.status >= 100 && reply.status <= 599);
	assert(reply.body >= (const char *)data);
	assert(reply.body + reply.length <= (const char *)data + size);
	at = reply.body;
	end = at + reply.length;
	while (samples_next(&at, end, &s))
		assert(s.length > 0 && s.name + s.length < end);
	return 0;
}
