/*
 * Goal: with a real JVM, a collection becomes a hazard that begins and ends,
 * learnt from outside of it, by hsperfdata or libjvm's probes, or from the
 * agent (at start or attached later), which count as the JVM does.  More
 * collectors: long_jvm.c.
 */
#include "jvm.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Goal: collections are hazards that begin and end, known by the page alone,
 * and called what they were; how many exactly: long_jvm.c. */
TEST(test_page)
{
	const char *options[] = {"-XX:+UseSerialGC", NULL};
	struct fixture *f = fixture_new();
	struct profiler_stats s;
	struct jvm j;

	f->options.server[0].agent = false;
	f->options.server[0].probes = PROFILER_PROBES_AUTO;
	assert_true(jvm_start(&j, f, options));
	fixture_follow(f, j.pid);
	fixture_wait_source(f, 0, PROFILER_SOURCE_HSPERFDATA);
	profiler_stats(f->profiler, &s);
	assert_null(strstr(s.server[0].detail, "probes"));
	for (unsigned i = 1; i <= 3; i++) {
		jvm_ask(&j, "gc 2");
		fixture_wait_hazards(f, HAZARD_GC, false, i);
	}
	assert_true(fixture_count(f, HAZARD_SAFEPOINT, true) > 0);
	jvm_stop(&j);
	fixture_end_exit(f);
	jvm_check_events(f, 0);
	fixture_free(f);
}

/*
 * Goal: a JVM that follows one that was killed is seen without attaching
 * again, and what its predecessor died in is not held against it.
 */
TEST(test_probes_restart)
{
	const char *options[] = {"-XX:+UseSerialGC", "-XX:-UsePerfData", NULL};
	struct fixture *f = fixture_new();
	unsigned before;
	struct jvm j;

	jvm_start_with_probes(&j, f, "-XX:+UseSerialGC");
	jvm_ask(&j, "gc 2");
	fixture_wait_hazards(f, HAZARD_GC, false, 2);
	kill(j.pid, SIGKILL);
	jvm_stop(&j);
	fixture_wait_hazards(f, HAZARD_EXIT, true, 1);
	assert_true(jvm_start(&j, f, options));
	profiler_server_process(f->profiler, 0, j.pid);
	fixture_wait_hazards(f, HAZARD_EXIT, false, 1);
	before = fixture_count(f, HAZARD_GC, false);
	jvm_ask(&j, "gc 3");
	fixture_wait_hazards(f, HAZARD_GC, false, before + 3);
	jvm_stop(&j);
	fixture_wait_hazards(f, HAZARD_EXIT, true, 2);
	profiler_server_process(f->profiler, 0, getpid());
	fixture_wait_hazards(f, HAZARD_EXIT, false, 2);
	fixture_check_balance(f);
	fixture_free(f);
}

/* Goal: probes of libjvm, Serial: hazards equal the JVM's own count. */
TEST(test_probes_serial)
{
	jvm_follow_with_probes("-XX:+UseSerialGC");
}

/* Goal: a libjvm that is not there costs the probes and nothing else. */
TEST(test_probes_missing)
{
	struct fixture *f = fixture_new();
	struct profiler_stats s;

	f->options.server[0].probes = PROFILER_PROBES_ON;
	f->options.server[0].program = "/no/such/libjvm.so";
	fixture_follow(f, getpid());
	assert_true(JVM_HAS_SOURCE(f, s));
	assert_int_not_equal(s.server[0].source, PROFILER_SOURCE_PROBES);
	fixture_free(f);
}

/* --- with the agent ------------------------------------------------------- */

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
	struct profiler_stats s;
	struct fixture *f;
	struct jvm j;

	jvm_need_agent();
	f = fixture_new();
	jvm_start_with_agent(&j, f, "-XX:+UseSerialGC");
	assert_true(JVM_HAS_BOTH(f, s));
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
	jvm_ask(&j, "gc 1"); /* while Tailor does not listen */
	fixture_follow(f, j.pid);
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
	fixture_follow(f, j.pid);
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
