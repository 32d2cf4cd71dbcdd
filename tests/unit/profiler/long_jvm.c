/*
 * Goal: with real JVMs of several collectors, every collection that the JVM
 * itself logs becomes one hazard that begins and ends, learnt from hsperfdata,
 * from libjvm's probes or from the agent.
 *
 * Long: what is read of a page now and then may be two collections or one where
 * the observer gets no CPU for a while; and a JVM takes a second to start.
 */
#include "jvm.h"

static void
follow_with_page(const char *collector)
{
	const char *options[] = {collector, NULL};
	struct fixture *f = fixture_new();
	struct profiler_stats s;
	struct jvm j;

	f->options.server[0].agent = false;
	assert_true(jvm_start(&j, f, options));
	fixture_follow(f, j.pid);
	fixture_wait_source(f, 0, PROFILER_SOURCE_HSPERFDATA);
	profiler_stats(f->profiler, &s);
	print_message("%s\n", s.server[0].detail);
	jvm_check_counts(f, &j, 3);
	assert_true(fixture_count(f, HAZARD_SAFEPOINT, true) > 0);
	fixture_end_exit(f);
	jvm_check_events(f, 0);
	fixture_free(f);
}

/* Goal: hsperfdata alone: hazards equal the JVM's own count, G1's remark and
 * cleanup pauses included. */
TEST(test_page)
{
	follow_with_page("-XX:+UseSerialGC");
	follow_with_page("-XX:+UseParallelGC");
	follow_with_page("-XX:+UseG1GC");
}

/* Goal: a concurrent collector's cycles leave no hazard in force. */
static void
follow_concurrent(const char *collector)
{
	const char *options[] = {collector, NULL};
	struct fixture *f = fixture_new();
	struct jvm j;

	if (!jvm_start(&j, f, options)) {
		fixture_start(f);
		fixture_free(f);
		unit_skip("this JVM does not have that collector");
	}
	fixture_follow(f, j.pid);
	fixture_wait_source(f, 0, PROFILER_SOURCE_HSPERFDATA);
	jvm_ask(&j, "alloc 5");
	jvm_ask(&j, "gc 2");
	/* Its pauses are safepoints, and seen as such. */
	fixture_wait_hazards(f, HAZARD_SAFEPOINT, false, 2);
	jvm_ask(&j, "stacks 1");
	fixture_wait_hazards(
	    f, HAZARD_GC, false, fixture_count(f, HAZARD_GC, true));
	jvm_stop(&j);
	fixture_end_exit(f);
	fixture_free(f);
}

TEST(test_page_z)
{
	follow_concurrent("-XX:+UseZGC");
}

TEST(test_page_shenandoah)
{
	follow_concurrent("-XX:+UseShenandoahGC");
}

/* Goal: the same by the probes; Serial: test_jvm.c. */
TEST(test_probes)
{
	jvm_follow_with_probes("-XX:+UseParallelGC");
	jvm_follow_with_probes("-XX:+UseG1GC");
}

/* Goal: the agent counts each collection; Serial: test_jvm.c. */
TEST(test_agent)
{
	jvm_need_agent();
	jvm_follow_with_agent("-XX:+UseParallelGC", false);
	jvm_follow_with_agent("-XX:+UseG1GC", false);
}

/* Goal: agent and page together count each collection once. */
TEST(test_both)
{
	jvm_need_agent();
	jvm_follow_with_agent("-XX:+UseSerialGC", true);
	jvm_follow_with_agent("-XX:+UseG1GC", true);
}

int
main(void)
{
	return jvm_unit_run();
}
