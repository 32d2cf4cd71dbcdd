/* Goal: what a server's responses say of its heap is taken as it is meant:
 * nonsense and responses that were overtaken are ignored, another process's
 * count is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "proxy/upstream/server.h"

static const struct http_limits limits = {
    .head_max = 16384,
    .fields_max = HTTP_FIELDS_MAX,
};

static struct server server;

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

static void
test_heap(void **state)
{
	static const char *const nonsense[] = {
	    "",
	    "Tailor-Heap:\r\n",
	    "Tailor-Heap: 1 2\r\n",
	    "Tailor-Heap: 1 2 3 4\r\n",
	    "Tailor-Heap: 1  2 3\r\n",
	    "Tailor-Heap: 1 0 3\r\n",
	    "Tailor-Heap: 1,2,3\r\n",
	    "Tailor-Heap: -1 2 3\r\n",
	    "Tailor-Heap: 1 2 3MB\r\n",
	    "Tailor-Heap: 1 1000000000000000000000 3\r\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(nonsense) / sizeof(nonsense[0]); i++) {
		respond(nonsense[i], 0);
		assert_false(instant_is_set(server.heap.seen));
	}
	respond("tailor-heap:  10 64 7 \r\n", 0);
	is(10, 64, 7);
	assert_int_equal(server.heap.live, 0);
	for (size_t i = 0; i < sizeof(nonsense) / sizeof(nonsense[0]); i++)
		respond(nonsense[i], 1);
	is(10, 64, 7);
	respond("Tailor-Heap: 999999999999999999 64 7\r\n", 2);
	is(999999999999999999, 64, 7);
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_heap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
