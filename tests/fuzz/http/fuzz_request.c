/*
 * fuzz_request.c: libFuzzer target, request heads and bodies.
 *
 * Seeds: tests/unit/http/corpus/seeds.py with requests.txt.  Aborts if
 *   - the outcome depends on how the bytes arrive (whole, one by one, cut);
 *   - what was written for a server is not a message that passes unchanged;
 *   - a field written has a byte no field may have, or a name the gate drops;
 *   - both Content-Length and Transfer-Encoding were written, or two of one.
 */
#include "tests/fuzz/http/check_http.h"

/* The lines of a head, without any parser. */
static void
check_written(const char *at, size_t length, unsigned hosts_wanted)
{
	static const char *const never[] = {
	    "connection:", "upgrade:", "te:", "http2-settings:", "expect:",
	    "keep-alive:", "trailer:", "x-tailor-", "proxy-connection:"};
	unsigned framings = 0, hosts = 0;
	const char *end = at + length;

	while (at < end) {
		const char *cr = check_line(at, end, &framings);

		hosts += strncasecmp(at, "host:", 5) == 0;
		for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++)
			check(strncasecmp(at, never[i], strlen(never[i])) != 0,
			    never[i]);
		at = cr + 2;
	}
	check(framings <= 1, "two framings");
	check(hosts == hosts_wanted, "Host");
}

static void
check_bounds(const struct run *r, const struct run_input *in)
{
	const struct http_head *h = &r->head;
	const char *from = in->bytes, *to = from + in->length;

	check(h->target.at >= from && h->target.at + h->target.length <= to,
	    "target outside");
	for (unsigned i = 0; i < h->fields; i++)
		check(h->field[i].name.at >= from &&
			  h->field[i].value.at + h->field[i].value.length <= to,
		    "field outside");
	check(r->used <= in->length, "used more than there is");
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct run_input in = {
	    .limits = CHECK_LIMITS,
	    .request = true,
	    .bytes = (const char *)data,
	    .length = size,
	};
	struct run *whole;
	const char *wrong;

	if (size == 0)
		return 0;
	in.limits.underscore_pass = data[size - 1] & 1;
	whole = check_arrival(&in);
	if (whole->head_done) {
		check(whole->written_length > 0, "does not fit");
		check_written(whole->written, (size_t)whole->written_length - 2,
		    whole->head.authority.length > 0);
		check_bounds(whole, &in);
		wrong = run_not_fixed(whole, &in);
		check(wrong == NULL, wrong);
	} else if (whole->refusal.reason != NULL) {
		check(whole->refusal.status >= 400 &&
			  whole->refusal.status <= 505,
		    "status");
	}
	run_free(&whole);
	return 0;
}
