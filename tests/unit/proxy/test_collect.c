/* Goal: what a server's responses say of its heap is taken as it is meant:
 * nonsense is counted and, like responses that were overtaken, ignored; another
 * process's count is not. */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <string.h>

#include "proxy/upstream/server.h"

static const struct http_limits limits = {
    .head_max = 16384,
    .fields_max = HTTP_FIELDS_MAX,
};

static const struct config_server config = {.name = "a"};
static struct server server = {.config = &config};

/* A response with these lines, ms after the start. */
static void
respond(const char *lines, int64_t ms)
{
	static struct http_head head;
	struct http_refusal refusal = {0};
	char text[1024];

	snprintf(text, sizeof(text),
	    "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n%s\r\n", lines);
	if (http_parse_response(&limits, HTTP_METHOD_GET, text, strlen(text),
		&head, &refusal) < 0)
		fail_msg("%s", refusal.reason);
	collect_heap_note(
	    &server, &head, (struct instant){(uint64_t)(ms + 1) * NS_PER_MS});
}

static void
is(uint64_t used, uint64_t full, uint64_t collections)
{
	assert_int_equal(server.heap.used, used);
	assert_int_equal(server.heap.full, full);
	assert_int_equal(server.heap.collections, collections);
}

TEST(test_heap)
{
	static const char *const nonsense[] = {
	    "Tailor-Heap:\r\n",
	    "Tailor-Heap: 1 2\r\n", /* more: fuzz_heap */
	    "Tailor-Heap: 1 64 3, 1 64 3\r\n",
	    "Tailor-Heap: 1 64 3\r\nTailor-Heap: 1 64 3\r\n",
	    "Tailor-Heap: 1 64 3\r\nX-Tailor-A: b\r\ntailor-heap: \r\n",
	};
	const size_t count = sizeof(nonsense) / sizeof(nonsense[0]);

	respond("", 0);
	assert_int_equal(server.heap_malformed, 0);
	for (size_t i = 0; i < count; i++) {
		respond(nonsense[i], 0);
		assert_false(instant_is_set(server.heap.seen));
		assert_int_equal(server.heap_malformed, i + 1);
	}
	respond("tailor-heap:  10 64 7 \r\n", 0);
	is(10, 64, 7);
	assert_int_equal(server.heap.live, 0);
	for (size_t i = 0; i < count; i++)
		respond(nonsense[i], 1);
	is(10, 64, 7);
	assert_int_equal(server.heap_malformed, 2 * count);
	/* At most 2^50. */
	respond("Tailor-Heap: 1125899906842624 64 7\r\n", 2);
	is(UINT64_C(1) << 50, 64, 7);
	respond("Tailor-Heap: 1 64 8\r\n", 3);
	/* From before the collection. */
	respond("Tailor-Heap: 60 64 7\r\n", 4);
	is(1, 64, 8);
	assert_int_equal(server.heap.live, 1);
	respond("Tailor-Heap: 5 64 8\r\n", 4);
	assert_int_equal(server.heap.live, 1);
	is(5, 64, 8);
	/* And a process that was started since. */
	respond("Tailor-Heap: 60 64 0\r\n", 1004);
	is(60, 64, 0);
	assert_int_equal(server.heap.live, 0);
}

/* Goal: what a server said before it went wrong is not believed for long, and
 * what it says later at once; the log has a line a minute. */
TEST(test_malformed)
{
	memset(&server, 0, sizeof(server));
	server.config = &config;
	respond("Tailor-Heap: 10 64 7\r\n", 0);
	respond("Tailor-Heap: many\r\n", 999);
	assert_true(instant_is_set(server.heap.seen));
	assert_int_equal(server.heap_logged.ns, 1000 * NS_PER_MS);
	respond("Tailor-Heap: many\r\n", 1000);
	assert_false(instant_is_set(server.heap.seen));
	respond("Tailor-Heap: 12 64 7\r\n", 1001);
	is(12, 64, 7);
	assert_int_equal(server.heap_logged.ns, 1000 * NS_PER_MS);
	respond("Tailor-Heap: many\r\n", 60998);
	assert_int_equal(server.heap_logged.ns, 1000 * NS_PER_MS);
	respond("Tailor-Heap: many\r\n", 60999);
	assert_int_equal(server.heap_logged.ns, 61000 * NS_PER_MS);
	assert_int_equal(server.heap_malformed, 4);
}
