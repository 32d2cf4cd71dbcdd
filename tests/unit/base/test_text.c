/*
 * Goal: words from outside are inert and fit their place; lengths have the
 * digits that a person reads; lines break between words.
 */
#include "tests/unit/unit.h"

#include <stdlib.h>

#include "base/text.h"

TEST(test_text)
{
	struct text x = {0};
	char out[16], ms[32], *text;
	size_t n;

	assert_string_equal(text_safe(out, 16, "plain"), "plain");
	assert_string_equal(
	    text_safe(out, 16, "123456789012345"), "123456789012345");
	assert_string_equal(
	    text_safe(out, 16, "1234567890123456"), "123456789012...");
	assert_string_equal(text_safe(out, 16, "\x1b[1m\\"), "\\x1b[1m\\x5c");
	assert_string_equal(
	    text_safe(out, 16, "1234567890\x1bX"), "1234567890\\x1bX");
	assert_string_equal(
	    text_safe(out, 16, "12345678901\x1bX"), "12345678901...");
	assert_string_equal(text_safe(out, 16, ""), "");
	assert_string_equal(text_ms(ms, 31234), "0.031 ms");
	assert_string_equal(text_ms(ms, 120000), "0.12 ms");
	assert_string_equal(text_ms(ms, 1900000), "1.90 ms");
	assert_string_equal(text_ms(ms, 46123456), "46.1 ms");
	text_wrap(&x,
	    "one two three four five six seven eight nine ten eleven twelve "
	    "thirteen fourteen fifteen",
	    0, 4);
	assert_int_equal(text_take(&x, &text, &n), 0);
	assert_string_equal(text,
	    "one two three four five six seven eight nine ten eleven twelve "
	    "thirteen\n    fourteen fifteen\n");
	free(text);
	/* A word that is too long is cut, one that does not fit goes down. */
	text_add(&x, "%70s", "");
	text_wrap(&x, "0123456789 01234567890123456789x", 70, 60);
	assert_int_equal(text_take(&x, &text, &n), 0);
	assert_int_equal(n, 71 + 71 + 80 + 63);
	free(text);
}
