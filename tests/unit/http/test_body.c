/*
 * test_body.c: the body decoder: where bodies end, what is too much, and
 * trailers that are kept.
 */
#include "pieces.h"

#include <stdlib.h>
#include <string.h>

TEST(test_length)
{
	/* goal: exactly Content-Length bytes, however they arrive */
	static const char in[] = "helloGET";
	struct http_refusal refusal;
	struct http_body b;
	struct slice data;
	size_t used;

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

TEST(test_no_body)
{
	/* goal: no body, and one of no bytes, are complete at once */
	struct http_body b;

	http_body_init(&b, HTTP_FRAMING_NONE, 7, 10);
	assert_true(b.done);
	http_body_init(&b, HTTP_FRAMING_LENGTH, 0, 10);
	assert_true(b.done);
	http_body_init(&b, HTTP_FRAMING_CHUNKED, 0, 10);
	assert_false(b.done);
	assert_false(http_body_eof(&b));
}

TEST(test_until_close)
{
	/* goal: a body that ends with the connection, bounded by max */
	struct http_refusal refusal;
	struct http_body b;
	struct slice data;
	size_t used;

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

TEST(test_refused_stays_refused)
{
	/* goal: after a refusal nothing is ever decoded again */
	struct http_refusal refusal;
	struct http_body b;
	struct slice data;
	size_t used;

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

TEST(test_overhead)
{
	/* goal: one byte a chunk is allowed, a line of nothing for it is not */
	char line[300] = "1;";

	assert_int_equal(chunks_until_refused("1\r\nx\r\n", 100000), 100000);
	memset(line + 2, 'e', 200);
	strcpy(line + 202, "\r\nx\r\n");
	/* 206 bytes for one of payload; 4096 are free, and 8 for each byte */
	assert_int_equal(chunks_until_refused(line, 1000), 20);
}

TEST(test_chunk_totals_cannot_wrap)
{
	/* goal: no sum of sizes gets past 64 bits */
	struct http_refusal refusal;
	struct http_body b;
	struct slice data;
	size_t used;

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
TEST(test_trailers_kept)
{
	static const char in[] = "2;x=y\r\nab\r\n0\r\nA: 1\r\nLong-Name:\t2 "
				 "\r\nC:\r\n\r\nrest";
	static const char lines[] = "A: 1\r\nLong-Name:\t2 \r\nC:\r\n";
	const size_t length = sizeof(in) - 1, whole = length - 4;

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
TEST(test_trailers_fill_their_room)
{
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
