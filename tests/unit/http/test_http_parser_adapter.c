/*
 * test_http_parser_adapter.c: the second opinion, alone.
 *
 * What the gate refuses never reaches http-parser, so its own side of the
 * agreement is tested here: that it says what it read, and that it does not
 * hide a folded line or an end in another place.
 */
#include "http/http_parser_adapter.h"

#include <string.h>

#include "tests/unit/unit.h"

static void
assert_text(struct http_lib_text text, const char *expected)
{
	assert_int_equal(text.length, strlen(expected));
	assert_memory_equal(text.at, expected, text.length);
}

static enum http_lib_result
read_text(bool request, const char *text, struct http_lib_head *head)
{
	const struct http_lib_text whole = {text, strlen(text)};

	return http_lib_read(request, &whole, 1, head);
}

TEST(test_request)
{
	/* goal: all parts of a request, whatever it says about a body */
	struct http_lib_head head;

	assert_int_equal(read_text(true,
			     "M-SEARCH /x?y HTTP/1.0\r\nHost: a\r\nempty:\r\n"
			     "Content-Length: 5\r\n\r\n",
			     &head),
	    HTTP_LIB_OK);
	assert_string_equal(head.method, "M-SEARCH");
	assert_text(head.target, "/x?y");
	assert_int_equal(head.major, 1);
	assert_int_equal(head.minor, 0);
	assert_false(head.chunked);
	assert_true(head.has_content_length);
	assert_int_equal(head.content_length, 5);
	assert_int_equal(head.fields, 3);
	assert_text(head.field[0].name, "Host");
	assert_text(head.field[0].value, "a");
	assert_text(head.field[1].name, "empty");
	assert_int_equal(head.field[1].value.length, 0);
	assert_int_equal(read_text(true,
			     "POST / HTTP/1.1\r\nHost: a\r\n"
			     "Transfer-Encoding: chunked\r\n\r\n",
			     &head),
	    HTTP_LIB_OK);
	assert_true(head.chunked);
	assert_false(head.has_content_length);
}

TEST(test_response)
{
	/* goal: all parts of a response */
	struct http_lib_head head;

	assert_int_equal(
	    read_text(false, "HTTP/1.1 404 Not here\r\nx: y \r\n\r\n", &head),
	    HTTP_LIB_OK);
	assert_int_equal(head.status, 404);
	assert_text(head.reason, "Not here");
	assert_text(head.field[0].value, "y ");
}

TEST(test_refused)
{
	static const struct {
		const char *text;
		enum http_lib_result result;
	} rows[] = {
	    /* an unknown method has a refusal of its own */
	    {"FOO / HTTP/1.1\r\n\r\n", HTTP_LIB_METHOD},
	    {"GET / HTTP/x\r\n\r\n", HTTP_LIB_BAD},
	    {"POST / HTTP/1.1\r\nContent-Length: 1\r\n"
	     "Transfer-Encoding: chunked\r\n\r\n",
		HTTP_LIB_BAD},
	    /* a folded value, in two pieces, is not put together */
	    {"GET / HTTP/1.1\r\nx: a\r\n b\r\n\r\n", HTTP_LIB_BAD},
	    /* a head that ends early or not at all is none; an upgrade ends
	     * its parsing, and what follows is not read */
	    {"GET / HTTP/1.1\r\nx: y\r\n", HTTP_LIB_BAD},
	    {"GET / HTTP/1.1\r\nConnection: upgrade\r\n"
	     "Upgrade: x\r\n\r\nrest",
		HTTP_LIB_BAD},
	};
	struct http_lib_head head;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (read_text(true, rows[i].text, &head) != rows[i].result)
			fail_msg("%s", rows[i].text);
}

TEST(test_fields_max)
{
	/* goal: as many fields as there is room for, not one more */
	struct http_lib_head head;
	char text[2048] = "GET / HTTP/1.1\r\n";
	size_t n = strlen(text);

	for (unsigned i = 0; i < HTTP_LIB_FIELDS_MAX; i++, n += 6)
		memcpy(text + n, "x: y\r\n", 6);
	strcpy(text + n, "\r\n");
	assert_int_equal(read_text(true, text, &head), HTTP_LIB_OK);
	assert_int_equal(head.fields, HTTP_LIB_FIELDS_MAX);
	strcpy(text + n, "z: y\r\n\r\n");
	assert_int_equal(read_text(true, text, &head), HTTP_LIB_BAD);
}

TEST(test_long_head)
{
	/* goal: its own limit of 80 KiB is out of the way */
	static char text[200 * 1024];
	struct http_lib_head head;
	size_t n;

	n = strlen(strcpy(text, "GET / HTTP/1.1\r\nx: "));
	memset(text + n, 'y', sizeof(text) - n - 5);
	strcpy(text + sizeof(text) - 5, "\r\n\r\n");
	assert_int_equal(read_text(true, text, &head), HTTP_LIB_OK);
}
