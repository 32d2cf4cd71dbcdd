/* Goal: only a file that others cannot read gives a token, and only a request
 * that has exactly this token is let in. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "proxy/admin/token.h"

#define GOOD "0123456789abcdef"

static char path[64];

static void
file_make(const char *text, mode_t mode)
{
	FILE *f;

	unlink(path);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fputs(text, f) < 0, 0);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(path, mode), 0);
}

TEST(test_files)
{
	static const struct {
		const char *text;
		mode_t mode;
		int err;
		const char *why;
	} cases[] = {
	    {GOOD "\n", 0600, 0, ""},
	    {GOOD, 0640, 0, ""},
	    {GOOD "\n", 0644, -EPERM,
		"others can read or write it: chmod o= /"},
	    {GOOD "\n", 0602, -EPERM,
		"others can read or write it: chmod o= /"},
	    {"0123456789abcde\n", 0600, -EINVAL,
		"it is shorter than 16 characters"},
	    {GOOD "\n\n", 0600, -EINVAL, "not one line of visible ASCII"},
	    {GOOD "\n" GOOD "\n", 0600, -EINVAL,
		"not one line of visible ASCII"},
	    {GOOD " " GOOD "\n", 0600, -EINVAL,
		"not one line of visible ASCII"},
	    {GOOD "\r\n", 0600, -EINVAL, "not one line of visible ASCII"},
	    {"", 0600, -EINVAL, "it is empty"},
	};
	char longest[TOKEN_MAX + 3], why[TOKEN_WHY] = "";
	struct token t;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		t.length = 7;
		file_make(cases[i].text, cases[i].mode);
		assert_int_equal(token_read(path, &t, why), cases[i].err);
		assert_int_equal(t.length, cases[i].err == 0 ? 16 : 7);
		if (strstr(why, cases[i].why) == NULL)
			assert_string_equal(why, cases[i].why);
	}
	memset(longest, 'x', sizeof(longest));
	longest[TOKEN_MAX] = '\n';
	longest[TOKEN_MAX + 1] = '\0';
	file_make(longest, 0600);
	assert_int_equal(token_read(path, &t, why), 0);
	assert_int_equal(t.length, TOKEN_MAX);
	longest[TOKEN_MAX] = 'x';
	file_make(longest, 0600);
	assert_int_equal(token_read(path, &t, why), -EINVAL);
	unlink(path);
	assert_int_equal(token_read(path, &t, why), -ENOENT);
	assert_int_equal(token_read("", &t, why), 0);
	assert_int_equal(t.length, 0);
}

static bool
is_in(const struct token *t, const char *lines)
{
	static const struct http_limits limits = {
	    .head_max = 16384,
	    .fields_max = HTTP_FIELDS_MAX,
	};
	struct http_refusal refusal = {0};
	static struct http_head head;
	char text[512];

	snprintf(
	    text, sizeof(text), "GET / HTTP/1.1\r\nHost: a\r\n%s\r\n", lines);
	if (http_parse_request(&limits, text, strlen(text), &head, &refusal))
		fail_msg("%s", refusal.reason);
	return token_is_in(t, &head);
}

TEST(test_requests)
{
	struct token t = {.text = GOOD, .length = 16}, none = {.length = 0};

	assert_true(is_in(&t, "Authorization: Bearer " GOOD "\r\n"));
	assert_true(is_in(&t, "authorization:bearer " GOOD " \r\n"));
	assert_false(is_in(&t, ""));
	assert_false(is_in(&t, "Authorization: " GOOD "\r\n"));
	assert_false(is_in(&t, "Authorization: Basic " GOOD "\r\n"));
	assert_false(is_in(&t, "Authorization: Bearer\r\n"));
	assert_false(is_in(&t, "Authorization: Bearer " GOOD "0\r\n"));
	assert_false(is_in(&t, "Authorization: Bearer 0123456789abcdee\r\n"));
	assert_false(is_in(&t, "Authorization: Bearer 1123456789abcdef\r\n"));
	assert_false(is_in(&t, "Authorization: Bearer  " GOOD "\r\n"));
	assert_false(is_in(&t, "X-Authorization: Bearer " GOOD "\r\n"));
	assert_false(is_in(&none, "Authorization: Bearer " GOOD "\r\n"));
	assert_false(is_in(&none, "Authorization: Bearer \r\n"));
}

int
main(void)
{
	char directory[] = "/tmp/tailor-token-XXXXXX";
	int failed;

	if (mkdtemp(directory) == NULL)
		return 1;
	snprintf(path, sizeof(path), "%s/token", directory);
	failed = unit_run(NULL, NULL);
	unlink(path);
	rmdir(directory);
	return failed;
}
