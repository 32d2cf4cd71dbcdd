/*
 * Goal: with real JVMs, every collection that the JVM itself logs becomes one
 * hazard that begins and ends, learnt from outside of them: from hsperfdata,
 * or from libjvm's probes.
 */
#include "jvm.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/permission.h"

static void
follow_with_page(const char *collector)
{
	const char *options[] = {collector, NULL};
	struct fixture *f = malloc(sizeof(*f));
	struct profiler_stats s;
	struct jvm j;

	fixture_init(f);
	f->options.server[0].agent = false;
	assert_true(jvm_start(&j, f, options));
	fixture_start(f);
	profiler_server_process(f->profiler, 0, j.pid);
	fixture_wait_source(f, 0, PROFILER_SOURCE_HSPERFDATA);
	profiler_stats(f->profiler, &s);
	print_message("%s\n", s.server[0].detail);
	jvm_check_counts(f, &j, 3);
	assert_true(fixture_count(f, HAZARD_SAFEPOINT, true) > 0);
	fixture_end_exit(f);
	jvm_check_events(f, 0);
	fixture_fini(f);
	free(f);
}

/* Goal: hsperfdata alone, Serial: hazards equal the JVM's own count. */
static void
test_page_serial(void **state)
{
	(void)state;
	follow_with_page("-XX:+UseSerialGC");
}

/* Goal: the same for Parallel. */
static void
test_page_parallel(void **state)
{
	(void)state;
	follow_with_page("-XX:+UseParallelGC");
}

/* Goal: the same for G1, its remark and cleanup pauses included. */
static void
test_page_g1(void **state)
{
	(void)state;
	follow_with_page("-XX:+UseG1GC");
}

/* Goal: a concurrent collector's cycles leave no hazard in force. */
static void
follow_concurrent(const char *collector)
{
	const char *options[] = {collector, NULL};
	struct fixture *f = malloc(sizeof(*f));
	struct jvm j;

	fixture_init(f);
	if (!jvm_start(&j, f, options)) {
		fixture_start(f);
		fixture_fini(f);
		free(f);
		jvm_skip("this JVM does not have that collector");
	}
	fixture_start(f);
	profiler_server_process(f->profiler, 0, j.pid);
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
	fixture_fini(f);
	free(f);
}

static void
test_page_z(void **state)
{
	(void)state;
	follow_concurrent("-XX:+UseZGC");
}

static void
test_page_shenandoah(void **state)
{
	(void)state;
	follow_concurrent("-XX:+UseShenandoahGC");
}

/* By the probes of libjvm alone, with nothing at all in the JVM. */
static void
probes_start(struct fixture *f, struct jvm *j, const char *collector)
{
	const char *options[] = {collector, "-XX:-UsePerfData", NULL};
	struct profiler_stats s;

	fixture_init(f);
	f->options.server[0].agent = false;
	f->options.server[0].hsperfdata = false;
	f->options.server[0].probes = PROFILER_PROBES_ON;
	f->options.server[0].program = "java";
	fixture_start(f);
	assert_true(jvm_start(j, f, options));
	profiler_server_process(f->profiler, 0, j->pid);
	assert_true(eventually(jvm_has_source, f));
	profiler_stats(f->profiler, &s);
	if (s.server[0].source == PROFILER_SOURCE_PROBES) {
		fixture_wait_sweeps(f);
		return;
	}
	jvm_stop(j);
	fixture_fini(f);
	free(f);
	jvm_skip("BPF is not permitted, or libjvm has no probes");
}

static void
follow_with_probes(const char *collector)
{
	struct fixture *f = malloc(sizeof(*f));
	struct jvm j;

	probes_start(f, &j, collector);
	jvm_check_counts(f, &j, 3);
	assert_true(fixture_events(f, TALECHAIN_JVM_SAFEPOINT_BEGIN) > 0);
	fixture_end_exit(f);
	jvm_check_events(f, 1);
	fixture_fini(f);
	free(f);
}

/*
 * Goal: a JVM that follows one that was killed is seen without attaching
 * again, and what its predecessor died in is not held against it.
 */
static void
test_probes_restart(void **state)
{
	const char *options[] = {"-XX:+UseSerialGC", "-XX:-UsePerfData", NULL};
	struct fixture *f = malloc(sizeof(*f));
	unsigned before;
	struct jvm j;

	(void)state;
	probes_start(f, &j, "-XX:+UseSerialGC");
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
	fixture_fini(f);
	free(f);
}

/* Goal: probes of libjvm, Serial: hazards equal the JVM's own count. */
static void
test_probes_serial(void **state)
{
	(void)state;
	follow_with_probes("-XX:+UseSerialGC");
}

/* Goal: the same for Parallel. */
static void
test_probes_parallel(void **state)
{
	(void)state;
	follow_with_probes("-XX:+UseParallelGC");
}

/* Goal: the same for G1. */
static void
test_probes_g1(void **state)
{
	(void)state;
	follow_with_probes("-XX:+UseG1GC");
}

/* Goal: a libjvm that is not there costs the probes and nothing else. */
static void
test_probes_missing(void **state)
{
	struct fixture *f = malloc(sizeof(*f));
	struct profiler_stats s;

	(void)state;
	fixture_init(f);
	f->options.server[0].probes = PROFILER_PROBES_ON;
	f->options.server[0].program = "/no/such/libjvm.so";
	fixture_start(f);
	profiler_server_process(f->profiler, 0, getpid());
	assert_true(eventually(jvm_has_source, f));
	profiler_stats(f->profiler, &s);
	assert_int_not_equal(s.server[0].source, PROFILER_SOURCE_PROBES);
	fixture_fini(f);
	free(f);
}

/* A JVM whose page is switched off, found to be one while it runs. */
static void
follow_without_page(const char *option)
{
	const char *options[] = {"-XX:+UseSerialGC", option, NULL};
	struct fixture *f = malloc(sizeof(*f));
	struct permission permission;
	struct profiler_stats s;
	struct jvm j;

	permission_read(&permission);
	if (!permission_to_trace(&permission)) {
		free(f);
		jvm_skip("BPF is not permitted");
	}
	fixture_init(f);
	f->options.server[0].agent = false;
	f->options.server[0].probes = PROFILER_PROBES_AUTO;
	fixture_start(f);
	assert_true(jvm_start(&j, f, options));
	profiler_server_process(f->profiler, 0, j.pid);
	fixture_wait_source(f, 0, PROFILER_SOURCE_PROBES);
	profiler_stats(f->profiler, &s);
	assert_non_null(strstr(s.server[0].detail, "HotSpot"));
	jvm_check_counts(f, &j, 3);
	fixture_end_exit(f);
	jvm_check_events(f, 1);
	fixture_fini(f);
	free(f);
}

/* Goal: auto uses the probes where hsperfdata is off. */
static void
test_auto_no_perf_data(void **state)
{
	(void)state;
	follow_without_page("-XX:-UsePerfData");
}

/* Goal: the same where it is not in a file. */
static void
test_auto_no_shared_page(void **state)
{
	(void)state;
	follow_without_page("-XX:+PerfDisableSharedMem");
}

/* Goal: auto leaves libjvm alone where there is a page. */
static void
test_auto_page(void **state)
{
	const char *options[] = {"-XX:+UseSerialGC", NULL};
	struct fixture *f = malloc(sizeof(*f));
	struct profiler_stats s;
	struct jvm j;

	(void)state;
	fixture_init(f);
	f->options.server[0].agent = false;
	f->options.server[0].probes = PROFILER_PROBES_AUTO;
	assert_true(jvm_start(&j, f, options));
	fixture_start(f);
	profiler_server_process(f->profiler, 0, j.pid);
	fixture_wait_source(f, 0, PROFILER_SOURCE_HSPERFDATA);
	jvm_check_counts(f, &j, 3);
	profiler_stats(f->profiler, &s);
	assert_null(strstr(s.server[0].detail, "probes"));
	fixture_end_exit(f);
	jvm_check_events(f, 0);
	fixture_fini(f);
	free(f);
}

/* Goal: a JVM without a page is said to be one, and what to do. */
static void
test_no_page(void **state)
{
	const char *options[] = {"-XX:+UseSerialGC", "-XX:-UsePerfData", NULL};
	struct fixture *f = malloc(sizeof(*f));
	struct profiler_stats s;
	struct jvm j;

	(void)state;
	fixture_init(f);
	assert_true(jvm_start(&j, f, options));
	fixture_start(f);
	profiler_server_process(f->profiler, 0, j.pid);
	fixture_wait_source(f, 0, PROFILER_SOURCE_PIDFD);
	profiler_stats(f->profiler, &s);
	assert_non_null(strstr(s.server[0].detail, "-UsePerfData"));
	jvm_stop(&j);
	fixture_end_exit(f);
	fixture_fini(f);
	free(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_page_serial),
	    cmocka_unit_test(test_page_parallel),
	    cmocka_unit_test(test_page_g1),
	    cmocka_unit_test(test_page_z),
	    cmocka_unit_test(test_page_shenandoah),
	    cmocka_unit_test(test_probes_serial),
	    cmocka_unit_test(test_probes_parallel),
	    cmocka_unit_test(test_probes_g1),
	    cmocka_unit_test(test_probes_restart),
	    cmocka_unit_test(test_probes_missing),
	    cmocka_unit_test(test_auto_no_perf_data),
	    cmocka_unit_test(test_auto_no_shared_page),
	    cmocka_unit_test(test_auto_page),
	    cmocka_unit_test(test_no_page),
	};
	int status;

	if (!jvm_group_begin(&status))
		return status;
	return cmocka_run_group_tests(tests, NULL, jvm_group_teardown);
}
