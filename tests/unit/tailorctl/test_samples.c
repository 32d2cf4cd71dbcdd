/* Goal: samples come out of Prometheus text exactly, junk does not. */
#include <string.h>

#include "tests/unit/unit.h"

#include "tailorctl/samples.h"

static const char text[] = "# HELP a What it is 1\n"
			   "a 1\n"
			   "\n"
			   "b{x=\"y z\",w=\"\\\"} 9\"} -2.5e3\r\n"
			   "no_number x\n"
			   "no_value\n"
			   "space_first 1 1700000000\n"
			   " indented 3\n"
			   "a_bucket{le=\"+Inf\"} 4\n"
			   "long 11111111111111111111111111111111111111111\n"
			   "open{x=\"1 5\n"
			   "last 7";

TEST(test_all)
{
	static const struct {
		const char *name;
		double value;
	} want[] = {
	    {"a", 1},
	    {"b{x=\"y z\",w=\"\\\"} 9\"}", -2500},
	    {"space_first", 1},
	    {"a_bucket{le=\"+Inf\"}", 4},
	    {"last", 7},
	};
	const char *at = text, *end = text + strlen(text);
	struct metric_sample s;

	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		assert_true(samples_next(&at, end, &s));
		assert_int_equal(s.length, strlen(want[i].name));
		assert_memory_equal(s.name, want[i].name, s.length);
		assert_true(s.value == want[i].value);
		assert_int_equal(sample_is_part(&s),
		    strncmp(want[i].name, "a_bucket", 8) == 0);
	}
	assert_false(samples_next(&at, end, &s));
}

/* Goal: what only grows is known by its name, whatever its labels. */
TEST(test_sums)
{
	static const struct {
		const char *name;
		bool sum;
	} want[] = {
	    {"a_total", true},
	    {"a_total{b=\"c\"}", true},
	    {"a_bucket{le=\"1\"}", true},
	    {"a_sum", true},
	    {"a_count", true},
	    {"_total", false},
	    {"a_open", false},
	    {"a{b=\"_total", false},
	    {"a_total_bytes", false},
	};

	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		const struct metric_sample s = {
		    want[i].name, strlen(want[i].name), 1};
		assert_int_equal(sample_is_sum(&s), want[i].sum);
	}
}
