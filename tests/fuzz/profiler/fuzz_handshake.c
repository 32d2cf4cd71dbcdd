/*
 * fuzz_handshake.c: any bytes as a request for a channel.
 *
 * What is accepted says, written out again, exactly the same; and what may
 * still become a request is refused at the latest when it is too long.
 */
#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "profiler/channels/channel.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data, *why = NULL;
	struct handshake h;
	char again[HANDSHAKE_BYTES];
	int err, n;

	if (size == 0)
		text = "";
	err = handshake_parse(&h, text, size, &why);
	assert(why != NULL);
	if (err == -EAGAIN) {
		assert(size < HANDSHAKE_BYTES);
		assert(memchr(text, '\n', size) == NULL);
		return 0;
	}
	if (err < 0) {
		assert(err == -EPROTO);
		return 0;
	}
	n = snprintf(again, sizeof(again), "TALECHAIN 1 %d %u %u %s\n",
	    (int)h.kind, h.slot_log2, (unsigned)h.tid, h.name);
	assert((size_t)n == size && memcmp(again, text, size) == 0);
	return 0;
}
