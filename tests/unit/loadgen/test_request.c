/* Goal: URLs are taken apart, requests carry ids, in every order of use. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "loadgen/send/request.h"
#include "loadgen/send/target.h"

/* Goal: the parts of good URLs. */
TEST(test_url)
{
	struct url u;

	assert_null(url_parse(&u, "http://127.0.0.1:8080/a?b=c"));
	assert_string_equal(u.host, "127.0.0.1");
	assert_string_equal(u.port, "8080");
	assert_string_equal(u.authority, "127.0.0.1:8080");
	assert_string_equal(u.path, "/a?b=c");
	assert_null(url_parse(&u, "http://[::1]:81"));
	assert_string_equal(u.host, "::1");
	assert_string_equal(u.port, "81");
	assert_string_equal(u.authority, "[::1]:81");
	assert_string_equal(u.path, "/");
	assert_null(url_parse(&u, "http://name/"));
	assert_string_equal(u.port, "80");
	assert_null(url_parse(&u, "localhost:8080"));
	assert_string_equal(u.authority, "localhost:8080");
	assert_string_equal(u.path, "/");
	assert_null(url_parse(&u, "http+unix://%2Frun%2fa%20b/x"));
	assert_true(u.local);
	assert_string_equal(u.host, "/run/a b");
	assert_string_equal(u.path, "/x");
}

/* Goal: bad URLs are refused. */
TEST(test_url_refused)
{
	static const char *const wrong[] = {"", "ftp://h/", "https://h/",
	    "http://", "http:///x", "http://:80/", "http://h:/", "http://h:0/",
	    "http://h:65536/", "http://h:8x/", "http://h/ x", "http://h/\x01",
	    "http://h/\xc3\xa9", "http://h/#f", "http://u@h/", "http://[::1/",
	    "http://[::1]x/", "http://h?q", "http+unix:///x",
	    "http+unix://%2/x", "http+unix://%00/x", "http+unix://a%",
	    "http+unix://%zz/"};
	struct url u;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		if (url_parse(&u, wrong[i]) == NULL)
			fail_msg("accepted: %s", wrong[i]);
	}
}

/* A file of URLs; returns its name, to be removed. */
static const char *
urls_file(const char *text)
{
	static char path[] = "/tmp/tailor-urls-XXXXXX";

	memcpy(path + strlen(path) - 6, "XXXXXX", 6);
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(close(fd), 0);
	return path;
}

/* Goal: files of URLs: relative, absolute, comments, other servers. */
TEST(test_urls_file)
{
	char why[128];
	struct target t;
	const char *path = urls_file("# first\n/a\r\n\nhttp://127.0.0.1:9/b\n"
				     "http://127.0.0.1:9\n");

	assert_int_equal(
	    target_open(&t, "http://127.0.0.1:9/x", path, why, sizeof(why)), 0);
	assert_int_equal(t.path_count, 3);
	assert_string_equal(t.paths[0], "/a");
	assert_string_equal(t.paths[1], "/b");
	assert_string_equal(t.paths[2], "/");
	assert_true(target_is_local(&t));
	target_close(&t);
	assert_int_equal(
	    target_open(&t, NULL, path, why, sizeof(why)), -EINVAL);
	assert_non_null(strstr(why, ":2: must be a full URL"));
	assert_int_equal(
	    target_open(&t, "http://127.0.0.1:8/", path, why, sizeof(why)),
	    -EINVAL);
	assert_non_null(strstr(why, ":4: is on another server"));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(
	    target_open(&t, "http://127.0.0.1:8/", path, why, sizeof(why)),
	    -ENOENT);
	path = urls_file("# nothing\n");
	assert_int_equal(
	    target_open(&t, NULL, path, why, sizeof(why)), -EINVAL);
	assert_int_equal(unlink(path), 0);
}

static struct plan o;
static struct target target;
static struct request_texts texts;
static char why[256];

static void
make(const char *url)
{
	assert_int_equal(target_open(&target, url, NULL, why, sizeof(why)), 0);
	assert_int_equal(request_texts_open(&texts, &o, &target,
			     UINT64_C(0x7f3a2c1112345678), why, sizeof(why)),
	    0);
}

static void
unmake(void)
{
	request_texts_close(&texts);
	target_close(&target);
}

static void
reset(void)
{
	memset(&o, 0, sizeof(o));
	o.requests = 1000;
	o.iterations = 20;
	o.warmup = 100;
}

/* Goal: the bytes of a request, all of them. */
TEST(test_request)
{
	const struct request_name name = {.iteration = 1, .number = 412};
	char trace[REQUEST_TRACE_LENGTH + 1];
	char expected[512];

	reset();
	o.headers[o.header_count++] = "Accept: text/plain";
	o.data = "q=1";
	make("http://127.0.0.1:9/a?b");
	const struct request_text *text = request_fill(&texts, &name);
	request_trace_format(&texts.ids, &name, trace);
	(void)snprintf(expected, sizeof(expected),
	    "POST /a?b HTTP/1.1\r\nHost: 127.0.0.1:9\r\n"
	    "User-Agent: tailor-load/%s\r\nAccept: text/plain\r\n"
	    "Content-Type: application/x-www-form-urlencoded\r\n"
	    "Content-Length: 3\r\nx-request-id: 7f3a2c11-01-0412\r\n"
	    "traceparent: %s\r\n\r\nq=1",
	    TAILOR_VERSION, trace);
	assert_int_equal(text->length, strlen(expected));
	assert_memory_equal(text->bytes, expected, text->length);
	unmake();
}

/* Goal: ids are all different, have one length, and warm-ups show. */
TEST(test_ids)
{
	char id[REQUEST_ID_MAX], trace[REQUEST_TRACE_LENGTH + 1];
	char before[REQUEST_TRACE_LENGTH + 1] = "";
	struct request_ids ids;
	struct request_name name = {0};

	reset();
	o.iterations = 1000;
	o.warmup = 20000;
	request_ids_init(&ids, UINT64_MAX, &o);
	name = (struct request_name){.iteration = 7, .number = 20000};
	assert_int_equal(request_id_format(&ids, &name, id), 20);
	assert_string_equal(id, "ffffffff-0007-020000");
	name.warmup = true;
	assert_int_equal(request_id_format(&ids, &name, id), 20);
	assert_string_equal(id, "ffffffff-0007-w20000");
	for (name.number = 1; name.number < 1000; name.number++) {
		request_trace_format(&ids, &name, trace);
		assert_int_equal(strlen(trace), REQUEST_TRACE_LENGTH);
		assert_int_equal(strspn(trace + 3, "0123456789abcdef"), 32);
		assert_int_equal(strspn(trace + 36, "0123456789abcdef"), 16);
		assert_string_not_equal(trace, before);
		memcpy(before, trace, sizeof(before));
	}
}

/* Goal: a request half sent can be resumed after another was written. */
TEST(test_refill)
{
	const struct request_name one = {.iteration = 1, .number = 1};
	const struct request_name two = {.iteration = 1, .number = 2};
	char *copy;

	reset();
	make("http://127.0.0.1:9/");
	const struct request_text *text = request_fill(&texts, &one);
	copy = malloc(text->length);
	assert_non_null(copy);
	memcpy(copy, text->bytes, text->length);
	text = request_fill(&texts, &two);
	assert_memory_not_equal(copy, text->bytes, text->length);
	text = request_fill(&texts, &one);
	assert_memory_equal(copy, text->bytes, text->length);
	free(copy);
	unmake();
}

/* Goal: headers that would break the request are refused. */
TEST(test_headers_refused)
{
	static const char *const wrong[] = {"", "NoColon", "A B: c", ": x",
	    "A: b\r\nC: d", "Content-Length: 5", "transfer-encoding: chunked",
	    "traceparent: 00", "X-Request-Id: 1"};

	assert_int_equal(
	    target_open(&target, "http://127.0.0.1:9/", NULL, why, sizeof(why)),
	    0);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		reset();
		o.headers[o.header_count++] = wrong[i];
		assert_int_equal(request_texts_open(
				     &texts, &o, &target, 1, why, sizeof(why)),
		    -EINVAL);
	}
	reset();
	o.data = "@/nonexistent/file";
	assert_int_equal(
	    request_texts_open(&texts, &o, &target, 1, why, sizeof(why)),
	    -ENOENT);
	target_close(&target);
}
