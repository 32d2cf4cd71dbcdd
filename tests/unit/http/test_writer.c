/*
 * test_writer.c: numbers and texts against snprintf.
 */
#include "http/writer.h"

#include <inttypes.h>
#include <stdio.h>

#include "tests/unit/unit.h"

TEST(test_numbers)
{
	/* goal: numbers of every length are written as snprintf writes them */
	char out[64], expected[64];

	for (unsigned i = 0; i < 100000; i++) {
		uint64_t n = i == 0   ? 0
			     : i == 1 ? UINT64_MAX
				      : unit_draw(UINT64_MAX) >> unit_draw(64);
		struct writer w = {.at = out, .capacity = sizeof(out)};

		writer_decimal(&w, n);
		writer_text(&w, " ");
		writer_hex(&w, n);
		snprintf(expected, sizeof(expected), "%" PRIu64 " %016" PRIx64,
		    n, n);
		assert_false(w.full);
		assert_int_equal(w.length, strlen(expected));
		assert_memory_equal(out, expected, w.length);
	}
}

TEST(test_full)
{
	/* goal: what does not fit is left out, and so is what comes after */
	char out[8] = "........";
	struct writer w = {.at = out, .capacity = 6};

	writer_text(&w, "four");
	writer_text(&w, "six");
	assert_true(w.full);
	writer_text(&w, "2");
	assert_int_equal(w.length, 4);
	assert_memory_equal(out, "four....", 8);
}

TEST(test_copy)
{
	/* goal: a copy is terminated and cut where the room ends */
	char out[5];

	writer_copy(out, sizeof(out), "abc");
	assert_string_equal(out, "abc");
	writer_copy(out, sizeof(out), "abcd");
	assert_string_equal(out, "abcd");
	writer_copy(out, sizeof(out), "abcde");
	assert_string_equal(out, "abcd");
}
