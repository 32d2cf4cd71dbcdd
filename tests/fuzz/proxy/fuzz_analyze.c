/*
 * fuzz_analyze.c: libFuzzer target, the body of an analyze request.
 *
 * Aborts if
 *   - what is taken for an id is empty, too long, or has a byte that would
 *     have to be escaped somewhere;
 *   - the difference of two stamps could overflow;
 *   - blanks after the body change what was read.
 */
#include "proxy/analysis/analyze.h"
#include "tests/fuzz/check.h"

#include <stdlib.h>
#include <string.h>

#define BOOT_ID "0b0f34f2-5f83-4a51-8f4f-1dd6a0e5e5d1"

/* From memory of exactly that size, so that reading beyond is seen. */
static int
feed(const uint8_t *data, size_t n, size_t blanks, char id[65],
    struct tale_client *stamps)
{
	char *exact = malloc(n + blanks > 0 ? n + blanks : 1);
	int err;

	check(exact != NULL, "memory");
	memset(exact, ' ', n + blanks);
	if (n > 0)
		memcpy(exact, data, n);
	err = analyze_parse(exact, n + blanks, BOOT_ID, id, stamps);
	free(exact);
	return err;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char id[65] = "", again[65] = "";
	struct tale_client stamps, same;
	int err;

	if (size > ANALYZE_BODY_MAX)
		return 0;
	err = feed(data, size, 0, id, &stamps);
	check(stamps.scheduled.ns <= INT64_MAX / 2 &&
		  stamps.sent.ns <= INT64_MAX / 2 &&
		  stamps.received.ns <= INT64_MAX / 2,
	    "stamps");
	check(feed(data, size, 1, again, &same) == err, "blanks");
	if (err < 0)
		return 0;
	check(*id != '\0' && strlen(id) <= 64, "length");
	for (const char *c = id; *c != '\0'; c++)
		check(*c > ' ' && *c < 0x7f && strchr("\"\\/", *c) == NULL,
		    "byte");
	check(strcmp(id, again) == 0 && stamps.sent.ns == same.sent.ns &&
		  stamps.scheduled.ns == same.scheduled.ns &&
		  stamps.received.ns == same.received.ns &&
		  stamps.same_host == same.same_host,
	    "the same");
	return 0;
}
