/*
 * Goal: with a real JVM, a collection becomes a hazard that begins and ends,
 * learnt from outside of it: from hsperfdata, or from libjvm's probes, and
 * these count as the JVM does.  More collectors: long_jvm.c.
 */
#include "jvm.h"

#include <signal.h>
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
	fixture_start(f);
	profiler_server_process(f->profiler, 0, j.pid);
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
	fixture_start(f);
	profiler_server_process(f->profiler, 0, getpid());
	assert_true(eventually(jvm_has_source, f));
	profiler_stats(f->profiler, &s);
	assert_int_not_equal(s.server[0].source, PROFILER_SOURCE_PROBES);
	fixture_free(f);
}

int
main(void)
{
	return jvm_unit_run();
}
