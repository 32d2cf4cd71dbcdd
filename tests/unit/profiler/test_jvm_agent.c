/*
 * Goal: the same as in test_jvm.c, learnt from the agent (at start or attached
 * later), or from it and hsperfdata at once.  More collectors:
 * long_jvm.c.
 */
#include "jvm.h"

#include <stdio.h>

/* Goal: the agent alone. */
TEST(test_agent)
{
	jvm_need_agent();
	jvm_follow_with_agent("-XX:+UseSerialGC", false);
}

/* Goal: agent and page together are known to be both, and collections are
 * hazards that begin and end; how many exactly: long_jvm.c. */
TEST(test_both)
{
	struct fixture *f;
	struct jvm j;

	jvm_need_agent();
	f = fixture_new();
	jvm_start_with_agent(&j, f, "-XX:+UseSerialGC");
	assert_true(eventually(jvm_has_both, f));
	fixture_wait_sweeps(f); /* it has been handed over, too */
	jvm_ask(&j, "gc 3");
	fixture_wait_hazards(f, HAZARD_GC, false, 3);
	jvm_stop(&j);
	fixture_end_exit(f);
	fixture_free(f);
}

/* Goal: an agent attached to a running JVM counts from then on; and it finds
 * a Tailor that was not there when it was loaded. */
TEST(test_attach)
{
	const char *options[] = {
	    "-XX:+UseSerialGC", "-XX:+PerfDisableSharedMem", NULL};
	struct fixture *f;
	char pid[16], option[160];
	const char *jcmd[] = {
	    "jcmd", pid, "JVMTI.agent_load", jvm_agent_path, option, NULL};
	struct profiler_stats s;
	struct jvm j;

	jvm_need_agent();
	f = fixture_new();
	assert_true(jvm_start(&j, f, options));
	snprintf(pid, sizeof(pid), "%d", (int)j.pid);
	snprintf(option, sizeof(option), "%s", f->socket);
	assert_int_equal(jvm_run(jcmd, true), 0);
	jvm_ask(&j, "gc 1"); /* while nobody listens */
	fixture_start(f);
	profiler_server_process(f->profiler, 0, j.pid);
	fixture_wait_source(f, 0, PROFILER_SOURCE_AGENT);
	profiler_stats(f->profiler, &s);
	assert_string_equal(s.server[0].detail, "agent, no safepoints");
	assert_int_equal(fixture_count(f, HAZARD_GC, true), 0);
	jvm_check_counts(f, &j, 2);
	assert_int_equal(fixture_events(f, TALECHAIN_JVM_START), 0);
	fixture_end_exit(f);
	fixture_free(f);
}

/* Goal: when Tailor goes and comes again, the agent does too. */
TEST(test_reconnect)
{
	struct fixture *f;
	struct jvm j;

	jvm_need_agent();
	f = fixture_new();
	f->options.server[0].hsperfdata = false;
	jvm_start_with_agent(&j, f, "-XX:+UseSerialGC");
	profiler_free(&f->profiler);
	jvm_ask(&j, "gc 3"); /* writes into nowhere */
	fixture_start(f);
	profiler_server_process(f->profiler, 0, j.pid);
	fixture_wait_source(f, 0, PROFILER_SOURCE_AGENT);
	jvm_check_counts(f, &j, 1);
	fixture_end_exit(f);
	fixture_free(f);
}

int
main(void)
{
	return jvm_unit_run();
}
