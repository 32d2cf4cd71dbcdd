/*
 * fuzz_http_response.c: libFuzzer target, response heads and bodies.
 *
 * Seeds: tests/unit/proxy/http_corpus/seeds.py with responses.txt.  The
 * first byte chooses the method that is answered if it is below 2, else it is
 * part of the message, so that seeds need none.  Aborts if
 *   - the outcome depends on how the bytes arrive;
 *   - what was written for a client is not a message that passes unchanged;
 *   - a line written has a byte no line may have;
 *   - a head is refused with anything but 502.
 */
#include "tests/unit/proxy/http_corpus/run.h"

#include <strings.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "broken: %s\n", what);
	abort();
}

static void
check_written(const struct run *r)
{
	const char *at = r->written, *end = at + r->written_length;
	unsigned status = r->head.status, framings = 0;

	while (at < end) {
		const char *cr = memchr(at, '\r', (size_t)(end - at));

		check(cr != NULL && cr + 1 < end && cr[1] == '\n', "line end");
		for (const char *p = at; p < cr; p++)
			check(*p == '\t' || (unsigned char)*p >= ' ', "byte");
		framings += strncasecmp(at, "content-length:", 15) == 0;
		framings += strncasecmp(at, "transfer-encoding:", 18) == 0;
		check(strncasecmp(at, "upgrade:", 8) != 0, "upgrade");
		check(cr != at || cr + 2 == end, "empty line before the end");
		at = cr + 2;
	}
	check(framings <= 1, "two framings");
	if (status < 200 || status == 204)
		check(framings == 0, "framing without body");
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct run_input in = {
	    .limits = {.request_line_max = 1024,
		.field_line_max = 1024,
		.head_max = 4096,
		.fields_max = 20,
		.body_max = 65536},
	    .method = HTTP_METHOD_GET,
	};
	struct run *whole, *bytes, *cut;
	const char *wrong;

	if (size > 0 && data[0] < 2) {
		in.method = data[0] ? HTTP_METHOD_HEAD : HTTP_METHOD_POST;
		data++;
		size--;
	}
	if (size == 0)
		return 0;
	in.bytes = (const char *)data;
	in.length = size;
	whole = run_message(&in, size, 1);
	bytes = run_message(&in, 1, 1);
	cut = run_message(&in, 1 + data[size / 2] % size, 7);
	wrong = run_differs(whole, bytes);
	check(wrong == NULL, wrong);
	wrong = run_differs(whole, cut);
	check(wrong == NULL, wrong);
	if (whole->head_done) {
		check(whole->written_length > 0, "does not fit");
		check_written(whole);
		wrong = run_not_fixed(whole, &in);
		check(wrong == NULL, wrong);
	} else if (whole->refusal.reason != NULL) {
		check(whole->refusal.status == 502, "status");
	}
	run_free(&whole);
	run_free(&bytes);
	run_free(&cut);
	return 0;
}
