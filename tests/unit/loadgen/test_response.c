/* Goal: responses are read the same in any pieces, and hostile ones refused.
 * What is a response is http/'s business, and tested there. */
#include "tests/unit/unit.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "loadgen/send/response.h"

static char kept[RESPONSE_HEAD_MAX];

struct good {
	const char *text;
	uint16_t status;
	uint64_t body_bytes;
	bool keep_alive;
	bool by_close; /* complete only at the end of the stream */
	bool to_head;
};

static const struct good good[] = {
    {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, 5, true, false,
	false},
    {"HTTP/1.1 404 Not Found\r\nconnection: Close\r\ncontent-length: "
     "1\r\n\r\nx",
	404, 1, false, false, false},
    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"
     "A;name=\"v\"\r\n0123456789\r\n0\r\n\r\n",
	200, 15, true, false, false},
    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: CHUNKED\r\n\r\n000\r\nTrailer: "
     "x\r\nContent-Length: 9\r\n\r\n",
	200, 0, true, false, false},
    {"HTTP/1.1 200 OK\r\n\r\nall that comes", 200, 14, false, true, false},
    {"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: "
     "2\r\n\r\nok",
	200, 2, true, false, false},
    {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: "
     "x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
	200, 1, true, false, false},
    {"HTTP/1.1 204 No Content\r\n\r\n", 204, 0, true, false, false},
    {"HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n", 304, 0, true,
	false, false},
    {"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n", 200, 0, true, false,
	true},
};

/* One of each part; http/ has more. */
static const char *const malformed[] = {
    "\r\nHTTP/1.1 200 OK\r\n\r\n",
    "HTTP/1.1 2x0 OK\r\n\r\n",
    "HTTP/1.1 101 Switching Protocols\r\n\r\n",
    "HTTP/1.1 200 OK\r\nA : b\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
    "HTTP/1.1 103 Hints\r\n\r\nHTTP/1.1 200 OK\r\nNo colon\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nxy",
    ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nbad "
     "name: x\r\n\r\n"),
};

static void
check_good(const struct good *g, const struct load_response *r)
{
	if (r->state != RESPONSE_COMPLETE)
		fail_msg("not complete: %s", g->text);
	assert_int_equal(r->status, g->status);
	assert_int_equal(r->body_bytes, g->body_bytes);
	assert_int_equal(r->keep_alive, g->keep_alive);
}

/* Feed in pieces of at most piece bytes (random sizes if seed is given). */
static size_t
feed(struct load_response *r, const char *text, size_t n, size_t piece,
    uint64_t *seed)
{
	size_t at = 0;

	while (at < n && !response_is_over(r)) {
		size_t k = seed != NULL ? 1 + splitmix64(seed) % piece : piece;
		if (k > n - at)
			k = n - at;
		/* A copy of its own, so that reading past it is found. */
		assert(k > 0);
		char *copy = malloc(k);
		assert_non_null(copy);
		memcpy(copy, text + at, k);
		size_t used = response_feed(r, copy, k);
		free(copy);
		assert_true(used == k || response_is_over(r));
		at += used;
	}
	return at;
}

/* Goal: whole, byte by byte and in random pieces: the same result, complete
 * with the last byte and not before it; bytes after it are another's. */
TEST(test_good)
{
	struct load_response r;
	uint64_t seed = 5;
	char text[1024];

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		const struct good *g = &good[i];
		size_t n = strlen(g->text);
		size_t all = (size_t)snprintf(text, sizeof(text), "%s%s",
		    g->text, g->by_close ? "" : "HTTP/1.1");
		for (size_t piece = 1; piece <= all; piece++) {
			response_init(&r, kept, g->to_head);
			assert_int_equal(feed(&r, text, all, piece,
					     piece % 2 == 0 ? &seed : NULL),
			    n);
			assert_int_equal(response_is_over(&r), !g->by_close);
			response_end(&r);
			check_good(g, &r);
		}
		for (size_t cut = 0; cut < n && !g->by_close; cut++) {
			response_init(&r, kept, g->to_head);
			feed(&r, text, cut, cut, NULL);
			response_end(&r);
			assert_false(response_is_over(&r));
		}
	}
}

/* Goal: hostile responses are malformed, in any pieces, and stay so. */
TEST(test_malformed)
{
	struct load_response r;

	for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++) {
		size_t n = strlen(malformed[i]);
		for (size_t piece = 1; piece <= n; piece += n - 1) {
			response_init(&r, kept, false);
			(void)feed(&r, malformed[i], n, piece, NULL);
			if (r.state != RESPONSE_MALFORMED)
				fail_msg("accepted: %s", malformed[i]);
			response_end(&r);
			assert_int_equal(r.state, RESPONSE_MALFORMED);
		}
	}
}

/* Goal: a head, a chunk line and a trailer have a limit; a body has none. */
TEST(test_limits)
{
	static const char *const beginning[] = {"HTTP/1.1 200 OK\r\n",
	    "HTTP/1.1 200 OK\r\nX: ",
	    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;",
	    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: "};
	struct load_response r;
	size_t fed;

	for (size_t i = 0; i < sizeof(beginning) / sizeof(beginning[0]); i++) {
		response_init(&r, kept, false);
		(void)response_feed(&r, beginning[i], strlen(beginning[i]));
		for (fed = 0; fed <= RESPONSE_HEAD_MAX; fed++) {
			if (response_feed(&r, "x", 1) == 0)
				break;
		}
		assert_int_equal(r.state, RESPONSE_MALFORMED);
	}
	response_init(&r, kept, false);
	while (!response_is_over(&r))
		(void)response_feed(&r, "HTTP/1.1 102 Wait\r\n\r\n", 21);
	assert_int_equal(r.state, RESPONSE_MALFORMED);
	response_init(&r, kept, false);
	(void)response_feed(&r, "HTTP/1.1 200 OK\r\n\r\n", 19);
	for (fed = 0; fed < (size_t)2 * RESPONSE_HEAD_MAX; fed++)
		assert_int_equal(response_feed(&r, "x", 1), 1);
}

static int64_t
timing(const char *value)
{
	struct server_timing t;

	server_timing_init(&t);
	server_timing_read(&t, (struct slice){value, strlen(value)});
	return t.duration_ns;
}

/* Goal: the right metric of Server-Timing, in ns. */
TEST(test_server_timing)
{
	assert_int_equal(timing("tailor;dur=2.31, upstream;dur=1.80"), 1800000);
	assert_int_equal(
	    timing("upstream;dur=1, APP;desc=\"a, b;dur=9\";dur=0.5"), 500000);
	assert_int_equal(timing("db;dur=53, cache;dur=1"), 53000000);
	assert_int_equal(timing("miss, db ; x ; dur = \"2\" "), 2000000);
	assert_int_equal(timing("app;dur=1;dur=2"), 1000000);
	assert_int_equal(timing("app;dur=0"), 0);
	assert_int_equal(timing("app;dur=1e3"), -1);
	assert_int_equal(timing("app;dur=-1"), -1);
	assert_int_equal(timing("app;dur=."), -1);
	assert_int_equal(timing("app;dur=1.2.3"), -1);
	assert_int_equal(timing("app;dur=99999999999"), -1);
	assert_int_equal(timing("app;dur=\"1"), -1);
	assert_int_equal(timing("app;desc=\"\\"), -1);
	assert_int_equal(timing(""), -1);
	assert_int_equal(timing(";;;,,,"), -1);
}

/* Goal: headers and trailers of a response are read. */
TEST(test_server_timing_headers)
{
	static const char text[] =
	    "HTTP/1.1 200 OK\r\nserver-timing: db;dur=5\r\n"
	    "Transfer-Encoding: chunked\r\n\r\n0\r\nX: y\r\n"
	    "Server-Timing: app;dur=0.25\r\n\r\n";
	struct load_response r;

	for (size_t piece = 1; piece < sizeof(text); piece++) {
		response_init(&r, kept, false);
		(void)feed(&r, text, strlen(text), piece, NULL);
		assert_int_equal(r.state, RESPONSE_COMPLETE);
		assert_int_equal(r.timing.duration_ns, 250000);
	}
}
