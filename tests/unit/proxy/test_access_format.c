/* Goal: whatever bytes a record holds, it becomes exactly one line, and the
 * line is within its bound. */
#include "tests/unit/unit.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

#include "config/config.h"
#include "proxy/access_log/record.h"

#define FORMATS (CONFIG_ACCESS_COMBINED + 1)

static char line[ACCESS_LINE_MAX + 1];

static const char *
format(const struct access_record *r)
{
	size_t n = access_format(r, line);

	assert_true(n > 1 && n < ACCESS_LINE_MAX);
	line[n] = '\0';
	assert_int_equal(strlen(line), n);
	assert_ptr_equal(strchr(line, '\n'), line + n - 1);
	return line;
}

static void
fill(char *out, size_t size, int (*byte)(void))
{
	for (size_t i = 0; i + 1 < size; i++)
		out[i] = (char)byte();
	out[size - 1] = '\0';
}

static int
worst_byte(void)
{
	return 0x01; /* six bytes in JSON */
}

static int
any_byte(void)
{
	int c = (int)unit_draw(256);

	return c == 0 ? '"' : c;
}

TEST(test_longest_line_fits)
{
	/* Goal: the bound holds for the longest values there are. */
	struct access_record r = {.wall_ns = INT64_MAX / 2};

	r.receive_ns = r.queue_ns = r.connect_ns = r.upstream_ns = r.send_ns =
	    r.total_ns = INT64_MAX;
	r.bytes_in = r.bytes_out = UINT64_MAX;
	r.attempts = r.attempt = r.connections = r.inflight = UINT32_MAX;
	r.status = INT32_MIN;
	r.minor = INT32_MAX;
	fill(r.target, sizeof(r.target), worst_byte);
	fill(r.host, sizeof(r.host), worst_byte);
	fill(r.referer, sizeof(r.referer), worst_byte);
	fill(r.user_agent, sizeof(r.user_agent), worst_byte);
	memset(r.id, 'i', sizeof(r.id) - 1);
	memset(r.trace_id, 'a', sizeof(r.trace_id) - 1);
	memset(r.client, 'c', sizeof(r.client) - 1);
	memset(r.method, 'M', sizeof(r.method) - 1);
	memset(r.upstream, 'u', sizeof(r.upstream) - 1);
	memset(r.trigger, 't', sizeof(r.trigger) - 1);
	memset(r.termination, 'S', sizeof(r.termination) - 1);
	memset(r.flags, 'f', sizeof(r.flags) - 1);
	for (r.format = 0; r.format < FORMATS; r.format++)
		format(&r);
}

TEST(test_any_bytes)
{
	/* Goal: random bytes: the JSON parses and gives the path back (bytes
	 * that are no UTF-8 become code points); the others are printable. */
	for (int i = 0; i < 20000; i++) {
		struct access_record r = {.status = 200};
		cJSON *tree;

		fill(r.target, 1 + unit_draw(200), any_byte);
		fill(r.method, 1 + unit_draw(15), any_byte);
		fill(r.id, 1 + unit_draw(64), any_byte);
		fill(r.host, 1 + unit_draw(64), any_byte);
		fill(r.referer, 1 + unit_draw(64), any_byte);
		fill(r.user_agent, 1 + unit_draw(64), any_byte);
		tree = cJSON_Parse(format(&r));
		assert_non_null(tree);
		assert_non_null(cJSON_GetObjectItem(tree, "path"));
		assert_true((r.referer[0] != '\0') ==
			    (cJSON_GetObjectItem(tree, "referer") != NULL));
		cJSON_Delete(tree);
		for (r.format = 1; r.format < FORMATS; r.format++)
			for (const char *s = format(&r); *s != '\n'; s++)
				assert_in_range((unsigned char)*s, 0x20, 0x7e);
	}
}

TEST(test_controls_beyond_ascii)
{
	/* Goal: what moves a terminal's cursor or reorders text is escaped in
	 * JSON, too. */
	struct access_record r = {.status = 200,
	    .user_agent = "a\xc2\x9b"
			  "b\xe2\x80\xae\xe2\x81\xa6\xc3\xa9"};

	assert_non_null(
	    strstr(format(&r), "\"a\\u009bb\\u202e\\u2066\xc3\xa9\""));
}

TEST(test_forged_fields)
{
	/* Goal: a field cannot end the place where it stands, in either
	 * format for eyes; what is missing is "-" or nothing. */
	struct access_record r = {.format = CONFIG_ACCESS_TEXT,
	    .client = "c",
	    .method = "GET",
	    .target = "/",
	    .status = 200,
	    .minor = 1,
	    .id = "id",
	    .host = "h:1",
	    .user_agent = "a|b} \"x\\\t\xff"};

	assert_non_null(
	    strstr(format(&r), " 0/0 {h:1||a\\x7cb\\x7d \\\"x\\\\\\x09\\xff} "
			       "\"GET / HTTP/1.1\" id\n"));
	r.format = CONFIG_ACCESS_COMBINED;
	assert_string_equal(format(&r),
	    "c - - [01/Jan/1970:00:00:00 +0000] \"GET / HTTP/1.1\" 200 0 "
	    "\"-\" \"a|b} \\\"x\\\\\\x09\\xff\"\n");
}

static void
redacted(const char *address, const char *expected)
{
	struct access_record r = {0};

	snprintf(r.client, sizeof(r.client), "%s", address);
	access_redact_client(&r);
	assert_string_equal(r.client, expected);
}

TEST(test_redaction)
{
	/* Goal: what is left of addresses and targets. */
	struct access_record r = {
	    .target = "/a?b=c?d", .referer = "https://h/?token=1"};

	access_redact_query(&r);
	assert_string_equal(r.target, "/a?");
	assert_string_equal(r.referer, "https://h/?");
	access_redact_query(&r);
	assert_string_equal(r.target, "/a?");
	redacted("192.0.2.199", "192.0.2.0");
	redacted("192.0.2.7", "192.0.2.0");
	redacted("2001:db8:1:2:3:4:5:6", "2001:db8:1::");
	redacted("::1", "::");
	redacted("unix", "unix");
	redacted("", "");
}
