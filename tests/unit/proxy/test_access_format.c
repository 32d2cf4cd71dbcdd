/* Goal: whatever bytes a record holds, it becomes exactly one line, and the
 * line is within its bound. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/access_log/record.h"

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
	int c = (int)(random() & 0xff);

	return c == 0 ? '"' : c;
}

static void
test_longest_line_fits(void **state)
{
	/* Goal: the bound holds for the longest values there are. */
	struct access_record r = {.wall_ns = INT64_MAX / 2};

	(void)state;
	r.receive_ns = r.queue_ns = r.connect_ns = r.upstream_ns = r.send_ns =
	    r.total_ns = INT64_MAX;
	r.bytes_in = r.bytes_out = UINT64_MAX;
	r.attempts = r.attempt = r.connections = r.inflight = UINT32_MAX;
	r.status = INT32_MIN;
	r.minor = INT32_MAX;
	fill(r.target, sizeof(r.target), worst_byte);
	memset(r.id, 'i', sizeof(r.id) - 1);
	memset(r.trace_id, 'a', sizeof(r.trace_id) - 1);
	memset(r.client, 'c', sizeof(r.client) - 1);
	memset(r.method, 'M', sizeof(r.method) - 1);
	memset(r.upstream, 'u', sizeof(r.upstream) - 1);
	memset(r.trigger, 't', sizeof(r.trigger) - 1);
	memset(r.flags, 'f', sizeof(r.flags) - 1);
	format(&r);
	r.text = true;
	format(&r);
}

static void
test_any_bytes(void **state)
{
	/* Goal: random bytes: the JSON parses and gives the path back (bytes
	 * that are no UTF-8 become code points); the text is printable. */
	(void)state;
	srandom(1);
	for (int i = 0; i < 20000; i++) {
		struct access_record r = {.status = 200};
		cJSON *tree;

		fill(r.target, 1 + (size_t)(random() % 200), any_byte);
		fill(r.method, 1 + (size_t)(random() % 15), any_byte);
		fill(r.id, 1 + (size_t)(random() % 64), any_byte);
		tree = cJSON_Parse(format(&r));
		assert_non_null(tree);
		assert_non_null(cJSON_GetObjectItem(tree, "path"));
		cJSON_Delete(tree);
		r.text = true;
		for (const char *s = format(&r); *s != '\n'; s++)
			assert_in_range((unsigned char)*s, 0x20, 0x7e);
	}
}

static void
redacted(const char *address, const char *expected)
{
	struct access_record r = {0};

	snprintf(r.client, sizeof(r.client), "%s", address);
	access_redact_client(&r);
	assert_string_equal(r.client, expected);
}

static void
test_redaction(void **state)
{
	/* Goal: what is left of addresses and targets. */
	struct access_record r = {.target = "/a?b=c?d"};

	(void)state;
	access_redact_query(&r);
	assert_string_equal(r.target, "/a?");
	access_redact_query(&r);
	assert_string_equal(r.target, "/a?");
	redacted("192.0.2.199", "192.0.2.0");
	redacted("192.0.2.7", "192.0.2.0");
	redacted("2001:db8:1:2:3:4:5:6", "2001:db8:1::");
	redacted("::1", "::");
	redacted("unix", "unix");
	redacted("", "");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_longest_line_fits),
	    cmocka_unit_test(test_any_bytes),
	    cmocka_unit_test(test_redaction),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
