/* Goal: the names a request goes by are well-formed whatever the client
 * says. */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <string.h>

#include "proxy/request/request_id.h"

#define TRACE "0af7651916cd43dd8448eb211c80319c"
#define PARENT "b7ad6b7169203331"

static const struct http_limits limits = {
    .head_max = 16384,
    .fields_max = HTTP_FIELDS_MAX,
};

static void
head_of(const char *lines, char *text, size_t size, struct http_head *head)
{
	struct http_refusal refusal = {0};

	snprintf(text, size, "GET / HTTP/1.1\r\nHost: a\r\n%s\r\n", lines);
	if (http_parse_request(&limits, text, strlen(text), head, &refusal))
		fail_msg("%s", refusal.reason);
}

TEST(test_external_id)
{
	static const struct {
		const char *lines;
		bool known;
		const char *expected;
	} cases[] = {
	    {"X-Request-Id: abc-1.2_Z\r\n", true, "abc-1.2_Z"},
	    {"X-Request-Id: abc\r\n", false, "00000000000000ff"},
	    {"X-Request-Id: a b\r\n", true, "00000000000000ff"},
	    {"X-Request-Id: \r\n", true, "00000000000000ff"},
	    {"", true, "00000000000000ff"},
	    {"X-Request-Id: 12345678901234567890123456789012345678901234567890"
	     "12345678901234\r\n",
		true,
		"12345678901234567890123456789012345678901234567890"
		"12345678901234"},
	    {"X-Request-Id: 12345678901234567890123456789012345678901234567890"
	     "123456789012345\r\n",
		true, "00000000000000ff"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct http_head head;
		char text[512], id[65];

		head_of(cases[i].lines, text, sizeof(text), &head);
		external_id_read(id, 0xff, &head, cases[i].known);
		assert_string_equal(id, cases[i].expected);
	}
}

TEST(test_trace)
{
	static const struct {
		const char *value;
		bool good;
	} cases[] = {
	    {"00-" TRACE "-" PARENT "-01", true},
	    {"00-" TRACE "-" PARENT "-00", true},
	    {"01-" TRACE "-" PARENT "-01-more", true},
	    {"00-" TRACE "-" PARENT "-01-more", false},
	    {"01-" TRACE "-" PARENT "-01more", false},
	    {"ff-" TRACE "-" PARENT "-01", false},
	    {"00-00000000000000000000000000000000-" PARENT "-01", false},
	    {"00-" TRACE "-0000000000000000-01", false},
	    {"00-" TRACE "-" PARENT "-0", false},
	    {"00-0AF7651916CD43DD8448EB211C80319C-" PARENT "-01", false},
	    {"00_" TRACE "-" PARENT "-01", false},
	    {"", false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct http_head head;
		char text[512], field[200], trace_id[TRACE_ID + 1];

		snprintf(field, sizeof(field), "traceparent: %s\r\n",
		    cases[i].value);
		head_of(field, text, sizeof(text), &head);
		trace_id_read(trace_id, &head);
		assert_string_equal(trace_id, cases[i].good ? TRACE : "");
	}
}
