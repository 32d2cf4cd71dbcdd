/* Goal: a path pattern matches the paths that it names and no others, however
 * a client writes them; what servers disagree about matches none.  The fuzz
 * target compares both with a slow reference. */
#include "tests/unit/unit.h"

#include <string.h>

#include "base/array.h"
#include "base/path_pattern.h"

static bool
matches(const char *pattern, const char *target)
{
	struct path path;

	return path_read(target, strlen(target), &path) &&
	       path_pattern_matches(pattern, path);
}

TEST(test_matches)
{
	static const struct {
		const char *pattern, *target;
		bool matches;
	} cases[] = {
	    {"/", "/", true},
	    {"/", "", true},
	    {"/", "?q=/a", true},
	    {"/", "/a", false},
	    {"/a", "/a", true},
	    {"/a", "/a?b/c", true},
	    {"/a", "/A", false},
	    {"/a", "/a/", false},
	    {"/a", "/ab", false},
	    {"/ab", "/a", false},
	    {"/a/", "/a/", true},
	    {"/a/", "/a", false},
	    {"/*", "/a", true},
	    {"/*", "/", false},
	    {"/*", "/a/b", false},
	    {"/a/*", "/a/", false},
	    {"/*/", "/a/", true},
	    {"/*/_search", "/a/_search", true},
	    {"/*/_search", "/a/b/_search", false},
	    {"/*/_search", "/_search", false},
	    {"/**", "/", true},
	    {"/**", "/a/b/c/", true},
	    {"/a/**", "/a", true},
	    {"/a/**", "/a/", true},
	    {"/a/**", "/ab", false},
	    {"/**/b", "/b", true},
	    {"/**/b", "/a/b/b", true},
	    {"/**/b", "/a/b/", false},
	    {"/**/b/**/c", "/b/c", true},
	    {"/**/b/**/c", "/a/b/b/a/c/c", true},
	    {"/**/b/**/c", "/a/c/b", false},
	    {"/**/*/c", "/c", false},
	    {"/**/*/c", "/a/c", true},
	    {"/**/**", "/", true},
	    /* decoded, and as a pattern is written */
	    {"/a b", "/a%20b", true},
	    {"/caf\xc3\xa9", "/caf%C3%a9", true},
	    {"/a", "/%61", true},
	    {"/*", "/%61", true},
	    {"/$count", "/%24count", true},
	    {"/...", "/...", true},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		print_message("%s %s\n", cases[i].pattern, cases[i].target);
		assert_int_equal(matches(cases[i].pattern, cases[i].target),
		    cases[i].matches);
	}
}

TEST(test_paths_that_match_none)
{
	static const char *const targets[] = {"*", "a", "http://a/b", "//",
	    "//a", "/a//b", "/.", "/..", "/a/./b", "/a/../b", "/%2e/b",
	    "/%2E%2e/b", "/.%2e", "/a/.", "/a;", "/a;b", "/;", "/%3b", "/a\\b",
	    "/a%5cb", "/a%2fb", "/a%2Fb", "/%3f", "/%23", "/a#b", "/%25",
	    "/%252e", "/%00", "/%1f", "/%7f", "/%", "/%4", "/%4g", "/%g4",
	    "/a b", "/\x01", "/\x7f"};
	struct path path;

	for (size_t i = 0; i < COUNT(targets); i++) {
		print_message("%s\n", targets[i]);
		assert_false(path_read(targets[i], strlen(targets[i]), &path));
	}
	assert_false(path_read("/a\0b", 4, &path));
}

TEST(test_judge)
{
	static const struct {
		const char *pattern, *why; /* its beginning, NULL: good */
	} cases[] = {
	    {"/", NULL},
	    {"/a/*/**/b/", NULL},
	    {"/a$(b)+.c,d=e:f@g!~'&", NULL},
	    {"/caf\xc3\xa9", NULL},
	    {"", "a path pattern begins with /"},
	    {"a", "a path pattern begins with /"},
	    {"*", "a path pattern begins with /"},
	    {"/a*", "* is a whole segment"},
	    {"/*a/b", "* is a whole segment"},
	    {"/***", "* is a whole segment"},
	    {"//", "a path with an empty segment"},
	    {"/a//b", "a path with an empty segment"},
	    {"/a/../b", "a path with . or .."},
	    {"/.", "a path with . or .."},
	    {"/a?b", "a pattern is compared with the path alone"},
	    {"/a#b", "a pattern is compared with the path alone"},
	    {"/a%20", "a pattern has no % escapes"},
	    {"/a b", "a pattern has no spaces"},
	    {"/a;b", "a path with ; or \\"},
	    {"/a\\b", "a path with ; or \\"},
	    {"/a\tb", "it has a control byte"},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		const char *why = path_pattern_judge(cases[i].pattern);

		print_message("%s\n", cases[i].pattern);
		if (cases[i].why == NULL)
			assert_null(why);
		else
			assert_ptr_equal(
			    why, why != NULL ? strstr(why, cases[i].why) : "");
	}
}

TEST(test_limits)
{
	char text[2 * (PATH_SEGMENTS_MAX + 1) + 1] = "";
	char wide[PATH_PATTERN_MAX + 2];

	for (unsigned i = 0; i < PATH_SEGMENTS_MAX; i++)
		strcat(text, "/a");
	assert_null(path_pattern_judge(text));
	strcat(text, "/a");
	assert_string_equal(
	    path_pattern_judge(text), "the pattern has more than 16 segments");
	memset(wide, 'a', sizeof(wide));
	wide[0] = '/';
	wide[PATH_PATTERN_MAX] = '\0';
	assert_null(path_pattern_judge(wide));
	wide[PATH_PATTERN_MAX] = 'a';
	wide[PATH_PATTERN_MAX + 1] = '\0';
	assert_string_equal(
	    path_pattern_judge(wide), "the pattern has more than 256 bytes");
}
