/* Goal: the client reads no further than a response goes, and no longer than
 * its deadline. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "http/client/client.h"

/* The result of an exchange with a server that has already sent text. */
static int
exchange(const char *text, size_t length, bool closes, int64_t limit_ms,
    struct http_response *out, char sent[256])
{
	const struct http_request q = {.method = "POST",
	    .target = "/x",
	    .host = "h",
	    .json = "{}",
	    .token = "0123456789abcdef"};
	struct instant deadline =
	    instant_plus(instant_now(), limit_ms * NS_PER_MS);
	const char *why = NULL;
	int fd[2], err;
	ssize_t n;

	assert_int_equal(
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd), 0);
	assert_int_equal(write(fd[1], text, length), length);
	if (closes)
		assert_int_equal(shutdown(fd[1], SHUT_WR), 0);
	err = http_client_exchange(fd[0], &q, deadline, out, &why);
	assert_true((err == -EPROTO) == (why != NULL));
	n = read(fd[1], sent, 255);
	assert_true(n > 0);
	sent[n] = '\0';
	close(fd[1]);
	return err;
}

TEST(test_exchange)
{
	static const struct {
		const char *text;
		bool closes;
		int err;
		const char *body;
	} cases[] = {
	    {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab", false, 0, "ab"},
	    {"HTTP/1.1 200 OK\r\ncontent-length:2\r\n\r\nabc", false, 0, "ab"},
	    {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", false, 0, ""},
	    {"HTTP/1.0 200 OK\r\n\r\nabc", true, 0, "abc"},
	    {"HTTP/1.0 200 OK\r\n\r\nabc", false, -ETIMEDOUT, NULL},
	    {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", true, -EPROTO,
		NULL},
	    {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n", true, -EPROTO, NULL},
	    {"", true, -EPROTO, NULL},
	    {"", false, -ETIMEDOUT, NULL},
	};
	struct http_response r;
	char sent[256];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(
		    exchange(cases[i].text, strlen(cases[i].text),
			cases[i].closes,
			cases[i].err == -ETIMEDOUT ? 50 : 120000, &r, sent),
		    cases[i].err);
		assert_string_equal(sent, "POST /x HTTP/1.0\r\nHost: h\r\n"
					  "Authorization: Bearer "
					  "0123456789abcdef\r\n"
					  "Content-Type: application/json\r\n"
					  "Content-Length: 2\r\n\r\n{}");
		if (cases[i].err == 0) {
			assert_int_equal(r.status, 200);
			assert_int_equal(r.length, strlen(cases[i].body));
			assert_memory_equal(r.body, cases[i].body, r.length);
		}
		http_response_fini(&r);
	}
}

/* Goal: a head without an end is refused as soon as it is too long. */
TEST(test_long_head)
{
	const size_t n = HTTP_CLIENT_HEAD_MAX + 1;
	static const char begin[] = "HTTP/1.1 200 OK\r\nX: ";
	char *text = malloc(n);
	struct http_response r;
	const char *why = NULL;

	assert_non_null(text);
	memset(text, 'x', n);
	memcpy(text, begin, sizeof(begin) - 1);
	assert_int_equal(http_response_parse(text, n - 1, false, &r, &why), 0);
	assert_int_equal(
	    http_response_parse(text, n, false, &r, &why), -EPROTO);
	free(text);
}
