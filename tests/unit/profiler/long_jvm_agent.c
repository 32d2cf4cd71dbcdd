/*
 * Goal: the agent counts each collection of several collectors, alone and
 * together with hsperfdata.
 *
 * Long: what is read of a page now and then may be two collections or one where
 * the observer gets no CPU for a while; and a JVM takes a second to start.
 */
#include "jvm.h"

#include <stdlib.h>

/* With the agent from the start; page too, or not. */
static void
follow_with_agent(const char *collector, bool page)
{
	struct fixture *f = malloc(sizeof(*f));
	struct jvm j;

	fixture_init(f);
	f->options.server[0].hsperfdata = page;
	jvm_start_with_agent(&j, f, collector);
	fixture_wait_events(f, TALECHAIN_JVM_START, 1);
	if (page) {
		assert_true(eventually(jvm_has_both, f));
		fixture_wait_sweeps(f); /* it has been handed over, too */
	}
	jvm_check_counts(f, &j, 3);
	fixture_wait_channels(f, 0);
	fixture_drain(f);
	assert_int_equal(fixture_events(f, TALECHAIN_JVM_DEATH), 1);
	assert_true(fixture_events(f, TALECHAIN_JVM_RATES) > 0);
	if (!page)
		assert_int_equal(fixture_count(f, HAZARD_SAFEPOINT, true), 0);
	fixture_end_exit(f);
	jvm_check_events(f, 0);
	fixture_fini(f);
	free(f);
}

/* Goal: the agent alone, three collectors. */
TEST(test_agent)
{
	jvm_need_agent();
	follow_with_agent("-XX:+UseSerialGC", false);
	follow_with_agent("-XX:+UseParallelGC", false);
	follow_with_agent("-XX:+UseG1GC", false);
}

/* Goal: agent and page together count each collection once. */
TEST(test_both)
{
	jvm_need_agent();
	follow_with_agent("-XX:+UseSerialGC", true);
	follow_with_agent("-XX:+UseG1GC", true);
}

int
main(void)
{
	int status;

	if (!jvm_group_begin(&status))
		return status;
	return unit_run(NULL, jvm_group_teardown);
}
