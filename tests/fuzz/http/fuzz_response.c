/*
 * fuzz_response.c: libFuzzer target, response heads and bodies.
 *
 * Seeds: tests/unit/http/corpus/seeds.py with responses.txt.  The
 * first byte chooses the method that is answered if it is below 2, else it is
 * part of the message, so that seeds need none.  Aborts if
 *   - the outcome depends on how the bytes arrive;
 *   - what was written for a client is not a message that passes unchanged;
 *   - a line written has a byte no line may have;
 *   - a head is refused with anything but 502.
 */
#include "tests/fuzz/http/check_http.h"

static void
check_written(const struct run *r)
{
	const char *at = r->written, *end = at + r->written_length;
	unsigned status = r->head.status, framings = 0;

	while (at < end) {
		const char *cr = check_line(at, end, &framings);

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
	    .limits = CHECK_LIMITS,
	    .method = HTTP_METHOD_GET,
	};
	struct run *whole;
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
	whole = check_arrival(&in);
	if (whole->head_done) {
		check(whole->written_length > 0, "does not fit");
		check_written(whole);
		wrong = run_not_fixed(whole, &in);
		check(wrong == NULL, wrong);
	} else if (whole->refusal.reason != NULL) {
		check(whole->refusal.status == 502, "status");
	}
	run_free(&whole);
	return 0;
}
