/* Goal: rules match the method and the target they name, and what they
 * remember of targets is bounded, whatever the targets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <malloc.h>
#include <string.h>

#include "proxy/rules.h"

static char search[] = "POST ^/[^ ]*/_(search|count)$";
static char purge[] = "PURGE ^/cache/";
/* for each byte of a target the matcher may be in a state of its own */
static char hungry[] = "POST ^/.*x....................q$";
static char broken[] = "POST (";

static struct slice
slice_of(const char *text)
{
	return (struct slice){text, strlen(text)};
}

static void
test_matches(void **state)
{
	static const struct {
		const char *method, *target;
		bool matches;
	} cases[] = {
	    {"POST", "/index/_search", true},
	    {"POST", "/index/_count", true},
	    {"POST", "/index/_search/more", false},
	    {"POST", "/cache/1", false},
	    {"PURGE", "/cache/1", true},
	    {"PURGE", "/index/_search", false},
	    {"PUT", "/index/_search", false},
	    {"POS", "/index/_search", false},
	    {"POSTS", "/index/_search", false},
	};
	struct config c = {
	    .hedging = {.allow_rules = 2, .allow = {search, purge}}};
	struct rules rules;

	(void)state;
	assert_int_equal(rules_init(&rules, &c), 0);
	for (int again = 0; again < 400; again++) /* renewed several times */
		for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
			assert_int_equal(
			    rules_match(&rules, slice_of(cases[i].method),
				slice_of(cases[i].target)),
			    cases[i].matches);
	rules_fini(&rules);
}

static void
test_long_targets(void **state)
{
	static char target[RULE_TARGET_MAX + 2];
	struct config c = {.hedging = {.allow_rules = 1, .allow = {search}}};
	struct slice whole = {target, RULE_TARGET_MAX};
	struct rules rules;

	(void)state;
	assert_int_equal(rules_init(&rules, &c), 0);
	memset(target, '/', sizeof(target));
	memcpy(target + RULE_TARGET_MAX - 7, "_search", 7);
	assert_true(rules_match(&rules, slice_of("POST"), whole));
	memcpy(target + RULE_TARGET_MAX - 6, "_search", 7);
	whole.length++;
	assert_false(rules_match(&rules, slice_of("POST"), whole));
	rules_fini(&rules);
}

static void
test_no_rules(void **state)
{
	struct config none = {0};
	struct config bad = {
	    .hedging = {.allow_rules = 2, .allow = {search, broken}}};
	struct rules rules;

	(void)state;
	assert_int_equal(rules_init(&rules, &none), 0);
	assert_false(rules_match(&rules, slice_of("POST"), slice_of("/")));
	rules_fini(&rules);
	assert_int_equal(rules_init(&rules, &bad), -EINVAL);
	assert_int_equal(rules.count, 0);
}

/* Memory in use; a sanitizer's own allocator does not say. */
static size_t
in_use(void)
{
	return mallinfo2().uordblks;
}

static void
test_memory(void **state)
{
	struct config c = {.hedging = {.allow_rules = 1, .allow = {hungry}}};
	struct slice target = {NULL, 1000};
	char text[1000] = "/";
	uint32_t dice = 7;
	size_t before = in_use(), most = 0;
	struct rules rules;

	(void)state;
	if (before == 0) {
		print_message("skipped, because a sanitizer's allocator does "
			      "not say what is in use\n");
		skip();
	}
	assert_int_equal(rules_init(&rules, &c), 0);
	target.at = text;
	for (int i = 0; i < 60; i++) {
		for (size_t k = 1; k < sizeof(text); k++) {
			dice = dice * 1664525 + 1013904223;
			text[k] = "xyz/"[dice >> 30];
		}
		rules_match(&rules, slice_of("POST"), target);
		if (in_use() - before > most)
			most = in_use() - before;
	}
	assert_true(most > 1000000); /* it does remember */
	assert_true(most < (RULE_FED_MAX + 1000) * 4096);
	rules_fini(&rules);
	/* but for small blocks that libc keeps at hand */
	assert_true(in_use() <= before + 512 * 1024);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_matches),
	    cmocka_unit_test(test_long_targets),
	    cmocka_unit_test(test_no_rules),
	    cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
