/*
 * fuzz_body.c: libFuzzer target, the body decoder alone.
 *
 * The first byte chooses the framing, whether trailers are kept and whether it
 * is a client's; the second how the rest is cut.  Aborts
 * if
 *   - payload, end or outcome depend on where the bytes are cut;
 *   - payload is not part of the input, or longer than allowed;
 *   - chunks written from the payload do not decode to it again;
 *   - much that is not payload was taken for little that is;
 *   - trailers that are kept depend on cuts, or are no whole lines.
 */
#include "http/http.h"
#include "tests/fuzz/check.h"

#include <string.h>

#define BODY_MAX 4096

struct result {
	enum http_body_event event; /* the last one */
	struct http_refusal refusal;
	size_t used;
	size_t length;
	char payload[BODY_MAX];
	bool complete;
};

static void
take(struct result *r, const char *in, size_t end, struct slice data)
{
	check(data.at >= in && data.at + data.length <= in + end, "outside");
	check(data.length > 0, "empty run");
	check(data.length <= BODY_MAX - r->length, "more than allowed");
	memcpy(r->payload + r->length, data.at, data.length);
	r->length += data.length;
}

static void
decode(struct result *r, struct http_body *b, const char *in, size_t length,
    size_t step)
{
	size_t end = 0;

	memset(r, 0, sizeof(*r));
	r->event = HTTP_BODY_MORE;
	while (end < length && !b->done) {
		end = step < length - end ? end + step : length;
		do {
			struct slice data = {NULL, 0};
			size_t used;

			r->event = http_body_feed(b, in + r->used,
			    end - r->used, &used, &data, &r->refusal);
			check(used <= end - r->used, "used too much");
			r->used += used;
			if (r->event == HTTP_BODY_BAD)
				return;
			if (r->event == HTTP_BODY_DATA)
				take(r, in, end, data);
		} while (r->event == HTTP_BODY_DATA && r->used < end);
	}
	r->complete = http_body_eof(b);
}

static void
check_same(const struct result *a, const struct result *b)
{
	bool bad = a->event == HTTP_BODY_BAD;

	check(bad == (b->event == HTTP_BODY_BAD), "one was refused");
	check(a->complete == b->complete, "one is complete");
	if (bad) {
		check(a->refusal.status == b->refusal.status, "status");
		check(strcmp(a->refusal.reason, b->refusal.reason) == 0,
		    "reason");
	} else {
		check(a->used == b->used, "ends elsewhere");
		check(a->length == b->length &&
			  memcmp(a->payload, b->payload, a->length) == 0,
		    "payload");
	}
}

/* Trailers that are kept are the same, and lines that may be passed on. */
static void
check_trailers(const struct http_body *a, const struct http_body *b)
{
	check(a->kept <= HTTP_TRAILERS_MAX, "too many trailers");
	check(a->kept == b->kept &&
		  (a->kept == 0 || memcmp(a->keep, b->keep, a->kept) == 0),
	    "trailers");
	check(a->kept == 0 || (a->kept > 2 && memcmp(a->keep + a->kept - 2,
						  "\r\n", 2) == 0),
	    "half a trailer");
}

/* Payload as chunks of our own, decoded again. */
static void
check_again(const struct result *r, size_t step)
{
	static char out[2 * BODY_MAX + 64];
	static struct result second;
	struct http_body b;
	size_t n = 0;

	if (r->length > 0) {
		n = (size_t)snprintf(out, sizeof(out), "%zx\r\n", r->length);
		memcpy(out + n, r->payload, r->length);
		n += r->length;
		n += (size_t)snprintf(out + n, sizeof(out) - n, "\r\n");
	}
	n += (size_t)snprintf(out + n, sizeof(out) - n, "0\r\n\r\nrest");
	http_body_init(&b, HTTP_FRAMING_CHUNKED, 0, BODY_MAX);
	decode(&second, &b, out, n, step);
	check(second.complete && second.used == n - 4, "not whole again");
	check(second.length == r->length &&
		  memcmp(second.payload, r->payload, r->length) == 0,
	    "not the same again");
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum http_framing framings[] = {HTTP_FRAMING_CHUNKED,
	    HTTP_FRAMING_CHUNKED, HTTP_FRAMING_LENGTH, HTTP_FRAMING_CLOSE};
	static struct result whole, bytes, cut;
	static char trailers[3][HTTP_TRAILERS_MAX];
	struct http_body a, b, c;
	const char *in;
	size_t length;

	if (size < 3)
		return 0;
	in = (const char *)data + 2;
	length = size - 2;
	http_body_init(
	    &a, framings[data[0] % 4], (uint64_t)data[1] * 32, BODY_MAX);
	a.request = (data[0] & 8) != 0;
	b = c = a;
	if ((data[0] & 4) != 0) {
		http_body_keep_trailers(&a, trailers[0]);
		http_body_keep_trailers(&b, trailers[1]);
		http_body_keep_trailers(&c, trailers[2]);
	}
	decode(&whole, &a, in, length, length);
	decode(&bytes, &b, in, length, 1);
	decode(&cut, &c, in, length, 1 + data[1]);
	check_same(&whole, &bytes);
	check_same(&whole, &cut);
	if (a.done) {
		check_trailers(&a, &b);
		check_trailers(&a, &c);
	}
	check_again(&whole, 1 + data[1]);
	check(a.overhead <= 4097 + 8 * (a.total + 1), "overhead");
	return 0;
}
