/*
 * test_scan.c: scanning and the small helpers.
 *
 * Random bytes of the kind that make lines are compared with a scan that
 * starts again from nothing at each byte.
 */
#include "http/http.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/unit.h"

static const struct http_limits small = {
    .head_max = 40,
    .fields_max = 4,
    .body_max = 10,
};

struct verdict {
	enum http_scan scan;
	unsigned status;
	const char *reason;
	size_t at; /* length of the head; or bytes seen when it was refused */
};

/*
 * The rules as they would be told to a person, for the first n bytes: what is
 * wrong with the last of them, given that nothing was with those before.
 */
static struct verdict
naive_last(bool request, const char *s, size_t n)
{
	unsigned bad = request ? 400 : 502;
	char c = s[n - 1], before = n > 1 ? s[n - 2] : '\0';
	bool empty_first = n >= 2 && s[0] == '\r';
	size_t start = empty_first ? 2 : 0;

	if (c == '\0')
		return (struct verdict){HTTP_SCAN_BAD, bad, "nul", n};
	if (before == '\r' && c != '\n')
		return (struct verdict){HTTP_SCAN_BAD, bad, "bare_cr", n};
	if (c == '\n' && before != '\r' && (request || n == 1))
		return (struct verdict){HTTP_SCAN_BAD, bad, "bare_lf", n};
	if (c == '\r' && !request && n == 1)
		return (struct verdict){HTTP_SCAN_BAD, bad, "leading_crlf", n};
	if (c == '\r' && n == 3 && empty_first)
		return (struct verdict){HTTP_SCAN_BAD, bad, "leading_crlf", n};
	if ((c == ' ' || c == '\t') && n == start + 1)
		return (struct verdict){HTTP_SCAN_BAD, bad, "leading_space", n};
	if ((c == ' ' || c == '\t') && before == '\n')
		return (struct verdict){HTTP_SCAN_BAD, bad, "obs_fold", n};
	if (request && n > small.head_max &&
	    memchr(s + start, '\n', n - start) == NULL)
		return (struct verdict){
		    HTTP_SCAN_BAD, 414, "request_line_too_long", n};
	if (n > small.head_max)
		return (struct verdict){
		    HTTP_SCAN_BAD, request ? 431 : 502, "head_too_large", n};
	if ((n >= 4 && memcmp(s + n - 4, "\r\n\r\n", 4) == 0) ||
	    (n >= 2 && memcmp(s + n - 2, "\n\n", 2) == 0) ||
	    (n >= 3 && memcmp(s + n - 3, "\n\r\n", 3) == 0))
		return (struct verdict){HTTP_SCAN_HEAD, 0, NULL, n};
	return (struct verdict){HTTP_SCAN_MORE, 0, NULL, 0};
}

static struct verdict
naive_scan(bool request, const char *s, size_t n)
{
	struct verdict v = {HTTP_SCAN_MORE, 0, NULL, 0};

	for (size_t i = 1; i <= n && v.scan == HTTP_SCAN_MORE; i++)
		v = naive_last(request, s, i);
	return v;
}

static void
scan_check(bool request, const char *s, size_t n)
{
	struct verdict expected = naive_scan(request, s, n);
	size_t scanned = 0, head = 0, end = 0;
	struct http_refusal refusal = {0, NULL};
	enum http_scan scan = HTTP_SCAN_MORE;

	while (end < n && scan == HTTP_SCAN_MORE) {
		end += 1 + unit_draw(unit_draw(2) == 0 ? 5 : 60);
		if (end > n)
			end = n;
		scan = http_scan(
		    &small, request, s, end, &scanned, &head, &refusal);
		assert_true(scanned <= end);
		if (scan == HTTP_SCAN_MORE)
			assert_int_equal(scanned, end);
	}
	assert_int_equal(scan, expected.scan);
	if (scan == HTTP_SCAN_HEAD)
		assert_int_equal(head, expected.at);
	if (scan != HTTP_SCAN_BAD)
		return;
	assert_string_equal(refusal.reason, expected.reason);
	assert_int_equal(refusal.status, expected.status);
	/* asked again it says the same */
	assert_int_equal(
	    http_scan(&small, request, s, end, &scanned, &head, &refusal),
	    HTTP_SCAN_BAD);
	assert_string_equal(refusal.reason, expected.reason);
}

TEST(test_scan_random)
{
	/* goal: scanning in pieces says what scanning anew would */
	static const char *const parts[] = {"\r\n", "\r\n", "\r\n", "abcdef",
	    "a\x80\xff", "a:b", " ", "\r", "\n", "\t"};
	unsigned seen[3] = {0};

	for (unsigned round = 0; round < 100000; round++) {
		uint64_t kinds = unit_draw(4) == 0 ? 10 : 6;
		bool request = unit_draw(2) == 0;
		size_t n = 0, want = 1 + unit_draw(60);
		char s[80];

		while (n < want) {
			const char *part = parts[unit_draw(kinds)];

			if (unit_draw(200) == 0) {
				s[n++] = '\0';
				continue;
			}
			memcpy(s + n, part, strlen(part));
			n += strlen(part);
		}
		scan_check(request, s, n);
		seen[naive_scan(request, s, n).scan]++;
	}
	assert_true(seen[HTTP_SCAN_MORE] > 1000);
	assert_true(seen[HTTP_SCAN_HEAD] > 1000);
	assert_true(seen[HTTP_SCAN_BAD] > 1000);
}

TEST(test_scan_nothing)
{
	/* goal: an empty buffer is a head that has not begun */
	struct http_refusal refusal;
	size_t scanned = 0, head;

	assert_int_equal(
	    http_scan(&small, true, "", 0, &scanned, &head, &refusal),
	    HTTP_SCAN_MORE);
	assert_int_equal(scanned, 0);
}

TEST(test_scan_looks_once)
{
	/* goal: bytes already scanned are not looked at again */
	char buf[] = "GET / HTTP\r\na: b\r\n\r\n";
	struct http_refusal refusal;
	size_t scanned = 0, head;

	assert_int_equal(
	    http_scan(&small, true, buf, 15, &scanned, &head, &refusal),
	    HTTP_SCAN_MORE);
	memset(buf + 1, '\0', 9); /* would be refused if seen */
	assert_int_equal(http_scan(&small, true, buf, strlen("GET / HTTP") + 10,
			     &scanned, &head, &refusal),
	    HTTP_SCAN_HEAD);
	assert_int_equal(head, 20);
}

TEST(test_slice_is)
{
	/* goal: equal but for ASCII case, and no prefix is enough */
	struct slice s = {"Chunked", 7};

	assert_true(slice_is(s, "chunked"));
	assert_true(slice_is(s, "CHUNKED"));
	assert_false(slice_is(s, "chunke"));
	assert_false(slice_is(s, "chunkeds"));
	assert_false(slice_is(s, ""));
	s.length = 0;
	assert_true(slice_is(s, ""));
}

TEST(test_field_find)
{
	/* goal: the first of several, NULL for none */
	static const char text[] = "GET / HTTP/1.1\r\nHost: a\r\n"
				   "Accept: 1\r\naccept: 2\r\n"
				   "x-tailor-hedge: off\r\n\r\n";
	struct http_limits limits = {
	    .head_max = 1000,
	    .fields_max = 10,
	    .body_max = 10,
	};
	const struct http_field *field;
	struct http_refusal refusal;
	struct http_head head;

	assert_int_equal(
	    http_parse_request(&limits, text, strlen(text), &head, &refusal),
	    0);
	field = http_field_find(&head, HTTP_FIELD_ACCEPT);
	assert_non_null(field);
	assert_true(slice_is(field->value, "1"));
	assert_null(http_field_find(&head, HTTP_FIELD_DATE));
	/* dropped on the way to a server, but there for us to read */
	field = http_field_find(&head, HTTP_FIELD_TAILOR);
	assert_non_null(field);
	assert_true(field->drop);
	assert_true(slice_is(field->value, "off"));
}

TEST(test_limits_without_scan)
{
	/* goal: the parser refuses by itself, before a byte of body is read */
	static const char text[] = "POST /abc HTTP/1.1\r\nHost: a\r\n"
				   "Expect: 100-continue\r\n"
				   "Content-Length: 11\r\n\r\n";
	struct http_limits limits = {
	    .head_max = 1000,
	    .fields_max = 10,
	    .body_max = 10,
	};
	struct http_refusal refusal;
	struct http_head head;

	assert_int_equal(
	    http_parse_request(&limits, text, strlen(text), &head, &refusal),
	    -EPROTO);
	assert_int_equal(refusal.status, 413);
	limits.body_max = 11;
	assert_int_equal(
	    http_parse_request(&limits, text, strlen(text), &head, &refusal),
	    0);
}

/* A response of that status with those lines. */
static void
read_response(enum http_method method, const char *status, const char *lines,
    struct http_head *head)
{
	struct http_limits limits = {.head_max = 1000, .fields_max = 10};
	struct http_refusal refusal;
	static char text[256];

	snprintf(
	    text, sizeof(text), "HTTP/1.1 %s x\r\n%s\r\n\r\n", status, lines);
	if (http_parse_response(
		&limits, method, text, strlen(text), head, &refusal) != 0)
		fail_msg("%s: %s", lines, refusal.reason);
}

TEST(test_what_is_said_of_a_connection)
{
	/* goal: NTLM and Negotiate bind it, in any case and place, and nothing
	 * else does; it is kept as long as Keep-Alive says, and not known for
	 * how long where that says something else */
	static const struct {
		const char *line;
		bool binds;
		unsigned seconds;
	} rows[] = {
	    {"Authorization: NTLM TlRMTVNTUAAB", true, 0},
	    {"authorization: negotiate YIIJvwY=", true, 0},
	    {"Proxy-Authorization: Negotiate YIIJvwY=", true, 0},
	    {"WWW-Authenticate: NTLM", true, 0},
	    {"www-authenticate: Basic realm=\"a\" , ntlm", true, 0},
	    {"WWW-Authenticate: Digest nonce=\"a\",Negotiate,NTLM", true, 0},
	    {"Proxy-Authenticate: Negotiate\tYII=", true, 0},
	    {"Authorization: Basic TlRMTTpOVExN", false, 0},
	    {"Authorization: Bearer NTLM", false, 0},
	    {"Authorization: NTLMv3 a", false, 0},
	    {"Authorization:", false, 0},
	    {"WWW-Authenticate: Basic realm=\"NTLM\"", false, 0},
	    {"WWW-Authenticate: Negotiator", false, 0},
	    {"X-Authenticate: NTLM", false, 0},
	    {"Authorisation: NTLM a", false, 0},
	    {"Keep-Alive: timeout=5", false, 5},
	    {"keep-alive: max=100, Timeout=15", false, 15},
	    {"Keep-Alive: timeout=99999999999999", false,
		HTTP_KEEP_ALIVE_S_MAX},
	    {"Keep-Alive: timeout=0", false, 0},
	    {"Keep-Alive: timeout=", false, 0},
	    {"Keep-Alive: timeout=-5", false, 0},
	    {"Keep-Alive: timeout=5s", false, 0},
	    {"Keep-Alive: max=100", false, 0},
	    {"Keep-Alive: 5", false, 0},
	    {"X: timeout=5", false, 0},
	};
	struct http_head head;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		read_response(HTTP_METHOD_GET, "401", rows[i].line, &head);
		if (http_binds_connection(&head) != rows[i].binds ||
		    head.keep_alive_s != rows[i].seconds)
			fail_msg("%s: %u", rows[i].line, head.keep_alive_s);
	}
}

TEST(test_bodiless_lengths)
{
	/* goal: HEAD and 304 tell a length; 1xx and 204 cannot have one */
	static const struct {
		enum http_method method;
		const char *status;
		bool told;
	} rows[] = {
	    {HTTP_METHOD_HEAD, "200", true},
	    {HTTP_METHOD_GET, "304", true},
	    {HTTP_METHOD_GET, "204", false},
	    {HTTP_METHOD_HEAD, "204", false},
	    {HTTP_METHOD_GET, "103", false},
	};
	struct http_head head;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		read_response(
		    rows[i].method, rows[i].status, "Content-Length: 7", &head);
		assert_int_equal(head.framing, HTTP_FRAMING_NONE);
		assert_true(head.keep_alive);
		assert_int_equal(head.has_content_length, rows[i].told);
		if (rows[i].told)
			assert_int_equal(head.content_length, 7);
	}
}

TEST(test_reason)
{
	/* goal: standard phrases, and none for what nobody knows */
	assert_string_equal(http_reason(200), "OK");
	assert_string_equal(http_reason(417), "Expectation Failed");
	assert_string_equal(http_reason(505), "HTTP Version Not Supported");
	assert_string_equal(http_reason(299), "");
	assert_string_equal(http_reason(0), "");
}
