/*
 * test_http_body.c: the body decoder against a naive one.
 *
 * The naive decoder has the whole message in front of it and works line by
 * line, with none of the decoder's states; both are given random messages,
 * most of them damaged somewhere, and the decoder gets them in random pieces.
 */
#include "proxy/http.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <cmocka.h>

#define MESSAGE_MAX 16384
#define ROUNDS 60000

static uint64_t seed = 88172645463325252u;

/* xorshift64: the same messages in every run */
static uint64_t
draw(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % below;
}

struct bytes {
	char at[MESSAGE_MAX];
	size_t length;
};

static void
bytes_add(struct bytes *b, const char *at, size_t length)
{
	assert_true(length <= sizeof(b->at) - b->length);
	memcpy(b->at + b->length, at, length);
	b->length += length;
}

static void
bytes_text(struct bytes *b, const char *text)
{
	bytes_add(b, text, strlen(text));
}

/* A valid chunked message and its payload. */
static void
message_draw(struct bytes *message, struct bytes *payload)
{
	static const char *const extensions[] = {
	    "", "", "", ";a", ";a=b", ";a=\"b;\\\"\"", ";a;b=c"};
	static const char *const trailers[] = {"", "", "x: y\r\n",
	    "a:\r\nb:c\r\n", "Hosts: a\r\n", "x-content-length:1\r\n",
	    "hos: a\r\nhost-: b\r\n"};
	char text[64];

	message->length = payload->length = 0;
	for (uint64_t n = draw(6); n > 0; n--) {
		size_t size = 1 + draw(draw(4) == 0 ? 300 : 20);

		snprintf(text, sizeof(text), draw(2) ? "%.*zx" : "%.*zX",
		    (int)draw(5), size);
		bytes_text(message, text);
		bytes_text(message, extensions[draw(7)]);
		bytes_text(message, "\r\n");
		for (size_t i = 0; i < size; i++) {
			char c = "\r\n0;a1:\0"[draw(8)];

			bytes_add(message, &c, 1);
			bytes_add(payload, &c, 1);
		}
		bytes_text(message, "\r\n");
	}
	bytes_text(message, draw(2) ? "0" : "00");
	bytes_text(message, extensions[draw(7)]);
	bytes_text(message, "\r\n");
	bytes_text(message, trailers[draw(7)]);
	bytes_text(message, "\r\n");
}

/* Change, insert or remove a byte, where it matters more often than not. */
static void
message_damage(struct bytes *m)
{
	size_t at = draw(m->length);
	char c = "\r\n;:= \t\"\\0aFg\0\x7f\x80"[draw(16)];

	switch (draw(3)) {
	case 0:
		m->at[at] = c;
		break;
	case 1:
		memmove(m->at + at + 1, m->at + at, m->length - at);
		m->at[at] = c;
		m->length++;
		break;
	default:
		memmove(m->at + at, m->at + at + 1, m->length - at - 1);
		m->length--;
	}
}

enum verdict { VERDICT_DONE, VERDICT_MORE, VERDICT_BAD };

static bool
is_token(char c)
{
	return c != '\0' && strchr("!#$%&'*+-.^_`|~0123456789"
				   "abcdefghijklmnopqrstuvwxyz"
				   "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
				c) != NULL;
}

static bool
is_value(char c)
{
	return c == '\t' || ((unsigned char)c >= ' ' && c != 0x7f);
}

/*
 * Could s be the beginning of a list of extensions?  *whole tells whether it
 * is one as it stands.
 */
static bool
naive_extensions(const char *s, size_t n, bool *whole)
{
	size_t i = 0, start;

	*whole = false;
	while (i < n) {
		if (s[i++] != ';')
			return false;
		for (start = i; i < n && is_token(s[i]);)
			i++;
		if (i == n) {
			*whole = i > start;
			return true;
		}
		if (i == start)
			return false;
		if (s[i] != '=')
			continue;
		i++;
		if (i < n && s[i] == '"') {
			for (i++; i < n && s[i] != '"'; i++) {
				if (!is_value(s[i]))
					return false;
				if (s[i] == '\\' && ++i < n && !is_value(s[i]))
					return false;
			}
			if (i >= n)
				return true;
			i++;
			continue;
		}
		for (start = i; i < n && is_token(s[i]);)
			i++;
		if (i == start)
			return i == n;
	}
	*whole = true;
	return true;
}

/* A chunk line of n bytes, without CR: could it be (the start of) one? */
static bool
naive_line(const char *s, size_t n, uint64_t *size, bool *whole)
{
	size_t digits = 0;
	char text[20] = "";

	while (digits < n && digits < 17 && s[digits] != '\0' &&
	       strchr("0123456789abcdefABCDEF", s[digits]) != NULL)
		digits++;
	*whole = false;
	if (digits > 16 || (digits == 0 && n > 0))
		return false;
	memcpy(text, s, digits);
	*size = strtoull(text, NULL, 16);
	if (!naive_extensions(s + digits, n - digits, whole))
		return false;
	*whole = *whole && digits > 0;
	return true;
}

static bool
naive_trailer(const char *s, size_t n, bool *whole)
{
	size_t i = 0;

	*whole = false;
	while (i < n && is_token(s[i]))
		i++;
	if (i == n)
		return true;
	if (i == 0 || s[i] != ':')
		return false;
	if ((i == 4 && strncasecmp(s, "host", i) == 0) ||
	    (i == 14 && strncasecmp(s, "content-length", i) == 0) ||
	    (i == 17 && strncasecmp(s, "transfer-encoding", i) == 0))
		return false;
	for (i++; i < n; i++)
		if (!is_value(s[i]))
			return false;
	*whole = true;
	return true;
}

/* Length of the line up to the first CR or LF; *end: 2 if CRLF follows. */
static size_t
naive_line_length(const char *s, size_t n, int *end)
{
	size_t i = 0;

	while (i < n && s[i] != '\r' && s[i] != '\n')
		i++;
	if (i == n)
		*end = 0;
	else if (s[i] == '\r' && i + 1 == n)
		*end = 1;
	else
		*end = s[i] == '\r' && s[i + 1] == '\n' ? 2 : -1;
	return i;
}

static enum verdict
naive_trailers(const struct bytes *m, size_t at, size_t *used)
{
	for (;;) {
		const char *s = m->at + at;
		bool whole;
		int end;
		size_t n = naive_line_length(s, m->length - at, &end);

		if (n == 0) {
			*used = at + 2;
			return end == 2	  ? VERDICT_DONE
			       : end >= 0 ? VERDICT_MORE
					  : VERDICT_BAD;
		}
		if (!naive_trailer(s, n, &whole) || end < 0)
			return VERDICT_BAD;
		if (end > 0 && !whole)
			return VERDICT_BAD;
		if (end < 2)
			return VERDICT_MORE;
		at += n + 2;
	}
}

/* Whether data that came so far is followed by what must follow it. */
static enum verdict
naive_data_end(const char *s, size_t n)
{
	if (n > 0 && s[0] != '\r')
		return VERDICT_BAD;
	if (n > 1 && s[1] != '\n')
		return VERDICT_BAD;
	return n < 2 ? VERDICT_MORE : VERDICT_DONE;
}

static enum verdict
naive_decode(const struct bytes *m, struct bytes *payload, size_t *used)
{
	size_t at = 0;

	payload->length = 0;
	for (;;) {
		const char *s = m->at + at;
		size_t rest = m->length - at;
		uint64_t size = 0;
		bool whole;
		int end;
		size_t n = naive_line_length(s, rest, &end);
		enum verdict verdict;

		if (!naive_line(s, n, &size, &whole) || end < 0)
			return VERDICT_BAD;
		if (end > 0 && !whole)
			return VERDICT_BAD;
		if (end < 2)
			return VERDICT_MORE;
		if (size == 0)
			return naive_trailers(m, at + n + 2, used);
		s += n + 2;
		rest -= n + 2;
		if (size > MESSAGE_MAX - payload->length)
			return VERDICT_BAD;
		if (rest < size) {
			bytes_add(payload, s, rest);
			return VERDICT_MORE;
		}
		bytes_add(payload, s, size);
		verdict = naive_data_end(s + size, rest - size);
		if (verdict != VERDICT_DONE)
			return verdict;
		at = (size_t)(s - m->at) + size + 2;
	}
}

/* Feed what lies in [*at, end); as many events as that takes. */
static enum http_body_event
feed_piece(struct http_body *b, const struct bytes *m, size_t *at, size_t end,
    struct bytes *payload)
{
	struct http_refusal refusal = {0, NULL};
	enum http_body_event event;
	struct slice data;
	size_t used;

	do {
		event = http_body_feed(
		    b, m->at + *at, end - *at, &used, &data, &refusal);
		assert_true(used <= end - *at);
		*at += used;
		if (event == HTTP_BODY_DATA)
			bytes_add(payload, data.at, data.length);
		else if (event == HTTP_BODY_MORE)
			assert_true(*at == end);
		else if (event == HTTP_BODY_BAD)
			assert_non_null(refusal.reason);
		else
			assert_true(b->done);
	} while (event == HTTP_BODY_DATA && *at < end);
	return event;
}

static enum verdict
decode_in_pieces(const struct bytes *m, struct bytes *payload, size_t *used)
{
	enum http_body_event event = HTTP_BODY_MORE;
	struct http_body b;
	size_t at = 0, end = 0;

	payload->length = 0;
	http_body_init(&b, HTTP_FRAMING_CHUNKED, 0, MESSAGE_MAX);
	b.request = true;
	while (end < m->length) {
		end += 1 + draw(draw(3) == 0 ? 200 : 4);
		if (end > m->length)
			end = m->length;
		event = feed_piece(&b, m, &at, end, payload);
		if (event == HTTP_BODY_BAD)
			return VERDICT_BAD;
		if (event == HTTP_BODY_DONE)
			break;
	}
	*used = at;
	assert_int_equal(b.total, payload->length);
	assert_true(http_body_eof(&b) == (event == HTTP_BODY_DONE));
	return event == HTTP_BODY_DONE ? VERDICT_DONE : VERDICT_MORE;
}

static void
test_against_naive(void **state)
{
	/* goal: damaged or not, both decoders see the same in a message */
	static struct bytes message, sent, expected, got;
	unsigned seen[3] = {0};

	(void)state;
	for (unsigned i = 0; i < ROUNDS; i++) {
		size_t expected_used = 0, used = 0;
		enum verdict naive, ours;
		uint64_t damages = draw(4);

		message_draw(&message, &sent);
		bytes_add(&message, "GET /", draw(6));
		for (uint64_t n = 0; n < damages; n++)
			message_damage(&message);
		naive = naive_decode(&message, &expected, &expected_used);
		ours = decode_in_pieces(&message, &got, &used);
		if (naive != ours)
			print_error("round %u: naive %d, ours %d\n%.*s\n", i,
			    (int)naive, (int)ours, (int)message.length,
			    message.at);
		assert_int_equal(naive, ours);
		seen[ours]++;
		if (damages == 0)
			assert_int_equal(ours, VERDICT_DONE);
		if (ours == VERDICT_BAD)
			continue;
		assert_int_equal(got.length, expected.length);
		assert_memory_equal(got.at, expected.at, got.length);
		if (ours == VERDICT_DONE)
			assert_int_equal(used, expected_used);
	}
	print_message("%u whole, %u incomplete, %u bad\n", seen[VERDICT_DONE],
	    seen[VERDICT_MORE], seen[VERDICT_BAD]);
	assert_true(seen[VERDICT_DONE] > ROUNDS / 5);
	assert_true(seen[VERDICT_MORE] > ROUNDS / 200);
	assert_true(seen[VERDICT_BAD] > ROUNDS / 5);
}

static void
test_length(void **state)
{
	/* goal: exactly Content-Length bytes, however they arrive */
	static const char in[] = "helloGET";
	struct http_refusal refusal;
	struct http_body b;
	struct slice data;
	size_t used;

	(void)state;
	http_body_init(&b, HTTP_FRAMING_LENGTH, 5, 5);
	assert_int_equal(
	    http_body_feed(&b, in, 0, &used, &data, &refusal), HTTP_BODY_MORE);
	assert_int_equal(
	    http_body_feed(&b, in, 2, &used, &data, &refusal), HTTP_BODY_DATA);
	assert_int_equal(used, 2);
	assert_false(b.done);
	assert_int_equal(http_body_feed(&b, in + 2, 6, &used, &data, &refusal),
	    HTTP_BODY_DATA);
	assert_int_equal(used, 3);
	assert_int_equal(data.length, 3);
	assert_true(b.done); /* known without another call */
	assert_int_equal(http_body_feed(&b, in + 5, 3, &used, &data, &refusal),
	    HTTP_BODY_DONE);
	assert_int_equal(used, 0);
	assert_true(http_body_eof(&b));
}

static void
test_no_body(void **state)
{
	/* goal: no body, and one of no bytes, are complete at once */
	struct http_body b;

	(void)state;
	http_body_init(&b, HTTP_FRAMING_NONE, 7, 10);
	assert_true(b.done);
	http_body_init(&b, HTTP_FRAMING_LENGTH, 0, 10);
	assert_true(b.done);
	http_body_init(&b, HTTP_FRAMING_CHUNKED, 0, 10);
	assert_false(b.done);
	assert_false(http_body_eof(&b));
}

static void
test_until_close(void **state)
{
	/* goal: a body that ends with the connection, bounded by max */
	struct http_refusal refusal;
	struct http_body b;
	struct slice data;
	size_t used;

	(void)state;
	http_body_init(&b, HTTP_FRAMING_CLOSE, 0, 6);
	assert_int_equal(http_body_feed(&b, "abcd", 4, &used, &data, &refusal),
	    HTTP_BODY_DATA);
	assert_int_equal(http_body_feed(&b, "ef", 2, &used, &data, &refusal),
	    HTTP_BODY_DATA);
	assert_true(http_body_eof(&b));
	http_body_init(&b, HTTP_FRAMING_CLOSE, 0, 6);
	assert_int_equal(
	    http_body_feed(&b, "abcdefg", 7, &used, &data, &refusal),
	    HTTP_BODY_BAD);
	assert_int_equal(refusal.status, 413);
	assert_false(http_body_eof(&b));
}

static void
test_refused_stays_refused(void **state)
{
	/* goal: after a refusal nothing is ever decoded again */
	struct http_refusal refusal;
	struct http_body b;
	struct slice data;
	size_t used;

	(void)state;
	http_body_init(&b, HTTP_FRAMING_CHUNKED, 0, 100);
	assert_int_equal(
	    http_body_feed(&b, "x", 1, &used, &data, &refusal), HTTP_BODY_BAD);
	assert_int_equal(refusal.status, 400);
	assert_int_equal(
	    http_body_feed(&b, "0\r\n\r\n", 5, &used, &data, &refusal),
	    HTTP_BODY_BAD);
	assert_int_equal(used, 0);
	assert_false(http_body_eof(&b));
}

/* How many chunks of one byte with that line pass before a refusal. */
static unsigned
chunks_until_refused(const char *chunk, unsigned most)
{
	struct http_refusal refusal;
	struct http_body b;
	struct slice data;
	unsigned n;

	http_body_init(&b, HTTP_FRAMING_CHUNKED, 0, UINT64_MAX);
	for (n = 0; n < most; n++) {
		size_t at = 0, used, length = strlen(chunk);

		while (at < length) {
			if (http_body_feed(&b, chunk + at, length - at, &used,
				&data, &refusal) == HTTP_BODY_BAD)
				return n;
			at += used;
		}
	}
	return n;
}

static void
test_overhead(void **state)
{
	/* goal: one byte a chunk is allowed, a line of nothing for it is not */
	char line[300] = "1;";

	(void)state;
	assert_int_equal(chunks_until_refused("1\r\nx\r\n", 100000), 100000);
	memset(line + 2, 'e', 200);
	strcpy(line + 202, "\r\nx\r\n");
	/* 206 bytes for one of payload; 4096 are free, and 8 for each byte */
	assert_int_equal(chunks_until_refused(line, 1000), 20);
}

static void
test_chunk_totals_cannot_wrap(void **state)
{
	/* goal: no sum of sizes gets past 64 bits */
	struct http_refusal refusal;
	struct http_body b;
	struct slice data;
	size_t used;

	(void)state;
	http_body_init(&b, HTTP_FRAMING_CHUNKED, 0, UINT64_MAX);
	assert_int_equal(
	    http_body_feed(&b, "1\r\nx", 4, &used, &data, &refusal),
	    HTTP_BODY_DATA);
	assert_int_equal(http_body_feed(&b, "\r\nffffffffffffffff\r\n", 20,
			     &used, &data, &refusal),
	    HTTP_BODY_BAD);
	assert_int_equal(refusal.status, 413);
}

/* Trailer lines are kept whole wherever the bytes are cut. */
static void
test_trailers_kept(void **state)
{
	static const char in[] = "2;x=y\r\nab\r\n0\r\nA: 1\r\nLong-Name:\t2 "
				 "\r\nC:\r\n\r\nrest";
	static const char lines[] = "A: 1\r\nLong-Name:\t2 \r\nC:\r\n";
	const size_t length = sizeof(in) - 1, whole = length - 4;

	(void)state;
	for (size_t cut = 1; cut < whole; cut++) {
		struct bytes m = {0}, payload = {0};
		char *kept = malloc(HTTP_TRAILERS_MAX);
		struct http_body b;
		size_t at = 0;

		bytes_add(&m, in, length);
		http_body_init(&b, HTTP_FRAMING_CHUNKED, 0, 100);
		http_body_keep_trailers(&b, kept);
		feed_piece(&b, &m, &at, cut, &payload);
		while (at < length && !b.done)
			feed_piece(&b, &m, &at, length, &payload);
		assert_true(b.done);
		assert_int_equal(at, whole);
		assert_int_equal(payload.length, 2);
		assert_int_equal(b.kept, sizeof(lines) - 1);
		assert_memory_equal(kept, lines, b.kept);
		free(kept);
	}
}

/* The longest trailers that pass fill their room and no more: ASan watches. */
static void
test_trailers_fill_their_room(void **state)
{
	(void)state;
	for (size_t extra = 0; extra < 4; extra++) {
		/* the limit counts the first byte of the empty line too */
		size_t n = HTTP_TRAILERS_MAX - 2 - 5 + extra - 2;
		char *kept = malloc(HTTP_TRAILERS_MAX), *in = malloc(n + 32);
		struct bytes m = {0}, payload = {0};
		struct http_body b;
		size_t at = 0;

		bytes_add(&m, "0\r\nA: ", 6);
		memset(in, 'v', n);
		bytes_add(&m, in, n);
		bytes_add(&m, "\r\n\r\n", 4);
		http_body_init(&b, HTTP_FRAMING_CHUNKED, 0, 100);
		http_body_keep_trailers(&b, kept);
		feed_piece(&b, &m, &at, m.length, &payload);
		assert_true(b.kept <= HTTP_TRAILERS_MAX);
		if (extra == 0)
			assert_true(b.done);
		free(kept);
		free(in);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_against_naive),
	    cmocka_unit_test(test_length),
	    cmocka_unit_test(test_no_body),
	    cmocka_unit_test(test_until_close),
	    cmocka_unit_test(test_refused_stays_refused),
	    cmocka_unit_test(test_overhead),
	    cmocka_unit_test(test_chunk_totals_cannot_wrap),
	    cmocka_unit_test(test_trailers_kept),
	    cmocka_unit_test(test_trailers_fill_their_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
