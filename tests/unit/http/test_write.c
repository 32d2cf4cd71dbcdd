/*
 * test_write.c: heads written again.
 *
 * What the gate adds and takes away is written out in full here, because
 * servers and clients see exactly these bytes.
 */
#include "http/http.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/unit.h"

static const struct http_limits limits = {
    .head_max = 16384,
    .fields_max = HTTP_FIELDS_MAX,
    .body_max = 1 << 20,
};

static void
parse_request(const char *text, struct http_head *head)
{
	struct http_refusal refusal = {0, NULL};
	int err =
	    http_parse_request(&limits, text, strlen(text), head, &refusal);

	if (err != 0)
		fail_msg("%u %s", refusal.status, refusal.reason);
}

static void
parse_response(
    enum http_method method, const char *text, struct http_head *head)
{
	struct http_refusal refusal = {0, NULL};
	int err = http_parse_response(
	    &limits, method, text, strlen(text), head, &refusal);

	if (err != 0)
		fail_msg("%u %s", refusal.status, refusal.reason);
}

static void
expect_response(enum http_method method, const char *in, const char *request_id,
    const char *expected)
{
	struct http_head head;
	char out[4096];
	int length;

	parse_response(method, in, &head);
	length = http_write_response(&head, request_id, out, sizeof(out) - 1);
	assert_true(length > 0);
	out[length] = '\0';
	assert_string_equal(out, expected);
}

#define TOLD                                      \
	"X-Forwarded-For: 10.0.0.1\r\n"           \
	"x-forwarded-for: 10.0.0.2, 10.0.0.3\r\n" \
	"X-Forwarded-For:\r\n"                    \
	"X-Forwarded-Proto: https\r\n"            \
	"X-Forwarded-Host: outside.example\r\n"   \
	"X-Forwarded-Port: 443\r\n"               \
	"Forwarded: for=10.0.0.1\r\n"             \
	"Accept: */*\r\n\r\n"

/* Ends of what is written for a server. */
#define TO_A "X-Forwarded-Proto: http\r\nX-Forwarded-Host: a\r\n"
#define NO_ID "Tailor-Request: 0000000000000000\r\n"

/* Client's fields that a trusted proxy may have named in Connection. */
#define NAMED                                                   \
	"GET / HTTP/1.1\r\nHost: a\r\n"                         \
	"Connection: X-Auth-User, X-Real-IP, TE\r\n"            \
	"X-Auth-User: u\r\nX-Real-IP: 10.0.0.1\r\nTE: trailers" \
	"\r\n\r\n"

#define FROM_1 "GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 10.0.0.1\r\n\r\n"

#define IDS                                                  \
	"GET / HTTP/1.1\r\nHost: a\r\n"                      \
	"x-request-id: theirs\r\ntraceparent: 00-t-p-01\r\n" \
	"tracestate: s\r\nTailor-Request: 1\r\n\r\n"

static const struct {
	const char *in;
	struct http_forward forward;
	const char *expected;
} requests[] = {
    /* A stranger's word about where it comes from is not passed on. */
    {"GET / HTTP/1.1\r\nHost: a\r\n" TOLD, {.client = "192.0.2.9"},
	"GET / HTTP/1.1\r\nHost: a\r\nAccept: */*\r\n"
	"X-Forwarded-For: 192.0.2.9\r\n" TO_A NO_ID},
    /* A trusted proxy's is, and itself added. */
    {"GET / HTTP/1.1\r\nHost: a\r\n" TOLD,
	{.client = "2001:db8::9", .trusted = true},
	"GET / HTTP/1.1\r\nHost: a\r\n"
	"X-Forwarded-Proto: https\r\n"
	"X-Forwarded-Host: outside.example\r\n"
	"X-Forwarded-Port: 443\r\n"
	"Forwarded: for=10.0.0.1\r\n"
	"Accept: */*\r\n"
	"X-Forwarded-For: 10.0.0.1, 10.0.0.2, 10.0.0.3, 2001:db8::9\r\n" NO_ID},
    {"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
	{.client = "2001:db8::9", .trusted = true},
	"GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 2001:db8::9\r\n" TO_A
	    NO_ID},
    /* Connection does not remove what a trusted proxy told, */
    {"GET / HTTP/1.1\r\nHost: a\r\n"
     "Connection: X-Forwarded-For, X-Forwarded-Port, Forwarded\r\n"
     "X-Forwarded-For: 10.0.0.1\r\nX-Forwarded-Port: 443\r\n"
     "Forwarded: for=10.0.0.1\r\n\r\n",
	{.trusted = true},
	"GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-Port: 443\r\n"
	"Forwarded: for=10.0.0.1\r\nX-Forwarded-For: 10.0.0.1\r\n" TO_A NO_ID},
    /* nor any field that it may have added, but fields of a stranger's own;
     * hop-by-hop fields go in any case. */
    {NAMED, {.trusted = true},
	"GET / HTTP/1.1\r\nHost: a\r\n"
	"X-Auth-User: u\r\nX-Real-IP: 10.0.0.1\r\n" TO_A NO_ID},
    {NAMED, {.trusted = false},
	"GET / HTTP/1.1\r\nHost: a\r\nX-Real-IP: 10.0.0.1\r\n" TO_A NO_ID},
    /* Of a request that names no host, no head is written that names an empty
     * one: the attempt adds its server's. */
    {"GET / HTTP/1.0\r\n\r\n", {.client = NULL},
	"GET / HTTP/1.1\r\nX-Forwarded-Proto: http\r\n" NO_ID},
    /* A client without address (a Unix socket) adds no empty field. */
    {FROM_1, {.client = NULL}, "GET / HTTP/1.1\r\nHost: a\r\n" TO_A NO_ID},
    {FROM_1, {.trusted = true},
	"GET / HTTP/1.1\r\nHost: a\r\n"
	"X-Forwarded-For: 10.0.0.1\r\n" TO_A NO_ID},
    /* Ids we give replace the client's, those we do not are kept. */
    {IDS, {.tailor_request = 0xfedcba9876543210u},
	"GET / HTTP/1.1\r\nHost: a\r\n"
	"x-request-id: theirs\r\ntraceparent: 00-t-p-01\r\n"
	"tracestate: s\r\n" TO_A "Tailor-Request: fedcba9876543210\r\n"},
    {IDS, {.tailor_request = 0xfedcba9876543210u, .request_id = "ours"},
	"GET / HTTP/1.1\r\nHost: a\r\n"
	"traceparent: 00-t-p-01\r\ntracestate: s\r\n" TO_A
	"X-Request-Id: ours\r\nTailor-Request: fedcba9876543210\r\n"},
    /* Via names the version that was received, after others. */
    {"GET / HTTP/1.1\r\nHost: a\r\nVia: 1.1 p\r\n\r\n", {.via = true},
	"GET / HTTP/1.1\r\nHost: a\r\nVia: 1.1 p\r\n" TO_A
	"Via: 1.1 tailor\r\n" NO_ID},
    {"GET / HTTP/1.0\r\nHost: a\r\n\r\n", {.via = true},
	"GET / HTTP/1.1\r\nHost: a\r\n" TO_A "Via: 1.0 tailor\r\n" NO_ID},
};

TEST(test_requests)
{
	struct http_head head;
	char out[4096];
	int length;

	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		parse_request(requests[i].in, &head);
		length = http_write_request(
		    &head, &requests[i].forward, out, sizeof(out) - 1);
		assert_true(length > 0);
		out[length] = '\0';
		assert_string_equal(out, requests[i].expected);
	}
}

TEST(test_capacity)
{
	/* goal: a buffer too small is told, whatever its size; none overrun */
	struct http_forward forward = {.client = "192.0.2.9", .via = true};
	struct http_head request, response;
	char whole[512];
	int length, answer_length;

	parse_request("GET /abc HTTP/1.1\r\nHost: a\r\nx: y\r\n\r\n", &request);
	parse_response(HTTP_METHOD_GET,
	    "HTTP/1.1 200 OK\r\nx: y\r\nContent-Length: 0\r\n\r\n", &response);
	length = http_write_request(&request, &forward, whole, sizeof(whole));
	answer_length =
	    http_write_response(&response, "id", whole, sizeof(whole));
	assert_true(length > 0 && answer_length > 0);
	for (int n = 0; n <= length; n++) {
		char *out = test_malloc((size_t)n + 1);

		assert_int_equal(
		    http_write_request(&request, &forward, out, (size_t)n),
		    n == length ? length : -ENOBUFS);
		assert_int_equal(
		    http_write_response(&response, "id", out, (size_t)n),
		    n >= answer_length ? answer_length : -ENOBUFS);
		test_free(out); /* cmocka looks at the bytes around it */
	}
}

TEST(test_response_id)
{
	/* goal: an id is added where the server gave none; what is of its
	 * connection, and its framing, is left out */
	expect_response(HTTP_METHOD_GET,
	    "HTTP/1.0 200 Fine\r\nX-Request-ID: theirs\r\n"
	    "Server-Timing: db;dur=3\r\nConnection: close\r\n\r\n",
	    "ours",
	    "HTTP/1.1 200 Fine\r\nX-Request-ID: theirs\r\n"
	    "Server-Timing: db;dur=3\r\n");
	expect_response(HTTP_METHOD_GET,
	    "HTTP/1.1 200 \r\nContent-Length: 12\r\n\r\n", "ours",
	    "HTTP/1.1 200 OK\r\nX-Request-Id: ours\r\n");
	expect_response(HTTP_METHOD_GET,
	    "HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n", NULL,
	    "HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n");
}

TEST(test_slices_point_into_the_buffer)
{
	/* goal: every slice lies in the bytes given, so they can be moved */
	static const char *const ins[] = {
	    "GET http://b HTTP/1.1\r\nHost: b\r\nx:\r\n\r\n",
	    "GET http://b?q HTTP/1.1\r\nHost: b\r\nx: y\r\n\r\n",
	    "OPTIONS http://b HTTP/1.1\r\nHost: b\r\n\r\n",
	    "\r\nGET /x HTTP/1.1\r\nHost: a:80\r\n\r\n",
	};
	struct http_head head;

	for (size_t i = 0; i < sizeof(ins) / sizeof(ins[0]); i++) {
		const char *from = ins[i], *to = from + strlen(from);
		struct slice all[3 + 2 * HTTP_FIELDS_MAX];
		size_t n = 0;

		parse_request(from, &head);
		all[n++] = head.method_text;
		all[n++] = head.target;
		all[n++] = head.authority;
		for (unsigned f = 0; f < head.fields; f++) {
			all[n++] = head.field[f].name;
			all[n++] = head.field[f].value;
		}
		while (n-- > 0) {
			assert_true(all[n].at >= from);
			assert_true(all[n].at + all[n].length <= to);
		}
	}
}

static void
expect_trailers(const char *in, const char *expected)
{
	char out[512];
	int n = http_write_trailers(
	    (struct slice){in, strlen(in)}, out, sizeof(out));

	assert_true(n >= 0);
	assert_int_equal(n, strlen(expected));
	assert_memory_equal(out, expected, (size_t)n);
}

/* What would change a message's frame, way or reader never trails it. */
TEST(test_trailers)
{
	static const char *const never[] = {"Content-Length", "Host", "TE",
	    "transfer-encoding", "Trailer", "Connection", "Cookie",
	    "Set-Cookie", "Authorization", "WWW-Authenticate", "Expires",
	    "Cache-Control", "Content-Type", "Content-Encoding", "If-Match",
	    "X-Forwarded-For", "Forwarded", "Via", "Tailor-Pushback",
	    "X-Tailor-Hedge", "X-Request-Id", "Location", "Date", "Vary",
	    "Access-Control-Allow-Origin", "Retry-After", "Upgrade", "Close"};
	char line[64];

	expect_trailers("", "");
	expect_trailers("X-Sum:\t 1 \r\netag:w\r\n", "X-Sum: 1\r\netag: w\r\n");
	expect_trailers("A: 1\r\nHost: b\r\nServer-Status:\r\n",
	    "A: 1\r\nServer-Status: \r\n");
	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++) {
		snprintf(line, sizeof(line), "%s: x\r\n", never[i]);
		expect_trailers(line, "");
	}
	assert_int_equal(
	    http_write_trailers((struct slice){"A: 1\r\n", 6}, line, 5),
	    -ENOBUFS);
}

TEST(test_takes_trailers)
{
	static const struct {
		const char *lines;
		bool takes;
	} cases[] = {
	    {"TE: trailers\r\n", true},
	    {"TE: gzip, TRAILERS;q=1\r\n", false},
	    {"TE: gzip\r\nTE: deflate , Trailers\r\n", true},
	    {"TE: trailersx\r\n", false},
	    {"Trailer: trailers\r\n", false},
	    {"", false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct http_head head;
		char text[128];

		snprintf(text, sizeof(text),
		    "GET / HTTP/1.1\r\nHost: a\r\n%s\r\n", cases[i].lines);
		parse_request(text, &head);
		assert_int_equal(http_takes_trailers(&head), cases[i].takes);
	}
}

/* RFC 7239: quotes where a colon would end the value. */
TEST(test_rfc7239)
{
	static const struct {
		const char *client, *expected;
	} cases[] = {
	    {"192.0.2.1", "Forwarded: for=192.0.2.1;host=\"a:80\";proto=http"},
	    {"2001:db8::1",
		"Forwarded: for=\"[2001:db8::1]\";host=\"a:80\";proto=http"},
	    {NULL, "Forwarded: for=unknown;host=\"a:80\";proto=http"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct http_forward forward = {
		    .client = cases[i].client,
		    .forwarded = true,
		};
		struct http_head head;
		char out[1024];
		int n;

		parse_request("GET / HTTP/1.1\r\nHost: a:80\r\n"
			      "Forwarded: for=me\r\n\r\n",
		    &head);
		n = http_write_request(&head, &forward, out, sizeof(out) - 1);
		assert_true(n > 0);
		out[n] = '\0';
		assert_non_null(strstr(out, cases[i].expected));
		assert_null(strstr(out, "for=me"));
	}
}
