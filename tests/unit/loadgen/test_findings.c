/* Goal: findings are found again and counted by cause. */
#include "tests/unit/unit.h"

#include <stdio.h>

#include "loadgen/stats/findings.h"

static void
add(struct findings *f, unsigned iteration, uint32_t number, const char *code,
    int64_t share_ns)
{
	struct finding one = {
	    .iteration = iteration, .number = number, .share_ns = share_ns};

	(void)snprintf(one.code, sizeof(one.code), "%s", code);
	assert_int_equal(findings_add(f, &one), 0);
}

/* Goal: a request's finding is its own, and nobody else's. */
TEST(test_lookup)
{
	struct findings f = {0};

	for (uint32_t i = 1; i <= 100; i++)
		add(&f, i % 3, i, i % 2 != 0 ? "odd" : "even", i);
	for (uint32_t i = 1; i <= 100; i++) {
		const struct finding *one = findings_of(&f, i % 3, i);
		assert_non_null(one);
		assert_int_equal(one->share_ns, i);
		assert_null(findings_of(&f, i % 3 + 1, i));
	}
	findings_fini(&f);
	assert_null(findings_of(&f, 1, 1));
}

/* Goal: causes are counted, the most frequent first, with medians. */
TEST(test_causes)
{
	struct findings f = {0};
	struct slow_cause causes[3];

	assert_int_equal(findings_causes(&f, causes, 3), 0);
	add(&f, 1, 1, "gc", 10);
	add(&f, 1, 2, "runq", 7);
	add(&f, 1, 3, "gc", 30);
	add(&f, 2, 1, "unknown", -1);
	add(&f, 2, 2, "gc", 20);
	add(&f, 2, 3, "runq", 5);
	assert_int_equal(findings_causes(&f, causes, 3), 3);
	assert_string_equal(causes[0].code, "gc");
	assert_int_equal(causes[0].count, 3);
	assert_int_equal(causes[0].median_ns, 20);
	assert_string_equal(causes[1].code, "runq");
	assert_int_equal(causes[1].median_ns, 5);
	assert_int_equal(causes[2].median_ns, -1);
	assert_int_equal(findings_causes(&f, causes, 1), 1);
	findings_fini(&f);
}
