/*
 * check_http.h: what must hold of requests and of responses.
 */
#pragma once

#include <strings.h>

#include "tests/fuzz/check.h"
#include "tests/unit/http/corpus/run.h"

#define CHECK_LIMITS                                                   \
	{                                                              \
		.head_max = 4096, .fields_max = 20, .body_max = 65536, \
	}

/* The message taken at once, byte by byte and cut in places that it chooses
 * itself: the same each time.  Free with run_free. */
static inline struct run *
check_arrival(const struct run_input *in)
{
	size_t size = in->length;
	unsigned char chosen = (unsigned char)in->bytes[size / 2];
	struct run *whole = run_message(in, size, 1);
	struct run *bytes = run_message(in, 1, 1);
	struct run *cut = run_message(in, 1 + chosen % size, 7);
	const char *wrong = run_differs(whole, bytes);

	check(wrong == NULL, wrong);
	wrong = run_differs(whole, cut);
	check(wrong == NULL, wrong);
	run_free(&bytes);
	run_free(&cut);
	return whole;
}

/* The next line of a head, without any parser: where its CRLF is. */
static inline const char *
check_line(const char *at, const char *end, unsigned *framings)
{
	const char *cr = memchr(at, '\r', (size_t)(end - at));

	check(cr != NULL && cr + 1 < end && cr[1] == '\n', "line end");
	for (const char *p = at; p < cr; p++)
		check(*p == '\t' || (unsigned char)*p >= ' ', "byte");
	*framings += strncasecmp(at, "content-length:", 15) == 0;
	*framings += strncasecmp(at, "transfer-encoding:", 18) == 0;
	return cr;
}
