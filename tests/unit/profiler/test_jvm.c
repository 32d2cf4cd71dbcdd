/*
 * Goal: with real JVMs, every collection that the JVM itself logs becomes one
 * hazard that begins and ends, whatever it is learnt from: hsperfdata, the
 * agent (at start or attached later), or both at once.
 *
 * Needs java, javac and jcmd in $PATH and, for the agent, libtailor-jvm.so in
 * the build directory; skips with a reason otherwise.
 */
#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct jvm {
	pid_t pid;
	FILE *in, *out;
	char log[96];
};

static char classes[64];
static char agent_path[512];

/* Run a program to its end; its exit status, -1 if it cannot be run. */
static int
run(const char *const argv[], bool quiet)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		if (quiet) {
			int null = open("/dev/null", O_RDWR);

			dup2(null, 1);
			dup2(null, 2);
		}
		execvp(argv[0], (char *const *)(uintptr_t)argv);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void
reason(const char *why)
{
	print_message("skipped: %s\n", why);
	skip();
}

static void
need_agent(void)
{
	if (access(agent_path, R_OK) < 0)
		reason("no libtailor-jvm.so in the build directory "
		       "(make agent)");
}

/* Send a command and read the line that answers it. */
static void
jvm_ask(struct jvm *j, const char *command)
{
	char line[128];

	if (command != NULL) {
		fprintf(j->in, "%s\n", command);
		fflush(j->in);
	}
	if (fgets(line, sizeof(line), j->out) == NULL)
		fail_msg("the JVM has gone");
}

/* Start one; false if this JVM does not know the collector. */
static bool
jvm_start(struct jvm *j, const struct fixture *f, const char *const *options)
{
	const char *argv[24] = {"java", "-Xmx24m", "-Xms24m"};
	char log[128], line[16];
	int in[2], out[2], n = 3;

	snprintf(j->log, sizeof(j->log), "%s/gc.log", f->directory);
	snprintf(log, sizeof(log), "-Xlog:gc,safepoint:file=%s", j->log);
	argv[n++] = log;
	while (*options != NULL)
		argv[n++] = *options++;
	argv[n++] = "-cp";
	argv[n++] = classes;
	argv[n++] = "Pauses";
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	j->pid = fork();
	assert_true(j->pid >= 0);
	if (j->pid == 0) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		execvp(argv[0], (char *const *)(uintptr_t)argv);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	j->in = fdopen(in[1], "w");
	j->out = fdopen(out[0], "r");
	if (fgets(line, sizeof(line), j->out) != NULL)
		return strcmp(line, "ready\n") == 0;
	waitpid(j->pid, NULL, 0);
	fclose(j->in);
	fclose(j->out);
	unlink(j->log);
	return false;
}

static void
jvm_stop(struct jvm *j)
{
	fprintf(j->in, "quit\n");
	fclose(j->in);
	assert_int_equal(waitpid(j->pid, NULL, 0), j->pid);
	fclose(j->out);
	unlink(j->log);
}

/*
 * The JVM's own count: safepoints in which its log tells of a pause to
 * collect.  Such lines alone (or a GarbageCollectorMXBean) count two where a
 * young collection turns into a full one before the program runs again; and
 * safepoints alone count those that find that there is memory after all.
 */
static unsigned
jvm_pauses(const struct jvm *j)
{
	FILE *log = fopen(j->log, "re");
	bool collected = false;
	char line[512];
	unsigned n = 0;

	assert_non_null(log);
	while (fgets(line, sizeof(line), log) != NULL) {
		if (strstr(line, "Safepoint \"") != NULL) {
			n += collected;
			collected = false;
		} else if (strstr(line, " Pause ") != NULL) {
			collected = true;
		}
	}
	fclose(log);
	return n;
}

/* Make it collect in all its ways, then compare counts. */
static void
check_counts(struct fixture *f, struct jvm *j, unsigned rounds)
{
	unsigned pauses, begun, i;

	fixture_drain(f);
	pauses = jvm_pauses(j);
	begun = fixture_count(f, HAZARD_GC, true);
	/*
	 * An observer that gets no CPU for longer than a whole round reports
	 * no more than 16 of the collections it missed: let it keep up.
	 */
	for (i = 0; i < rounds; i++) {
		jvm_ask(j, "alloc 10");
		fixture_wait_sweeps(f);
		jvm_ask(j, "gc 2");
		jvm_ask(j, "stacks 3");
		fixture_wait_sweeps(f);
	}
	pauses = jvm_pauses(j) - pauses;
	assert_true(pauses >= 2 * rounds);
	fixture_wait_hazards(f, HAZARD_GC, false, begun + pauses);
	/* The process's end comes after everything it did before. */
	jvm_stop(j);
	fixture_wait_hazards(f, HAZARD_EXIT, true, 1);
	fixture_drain(f);
	assert_int_equal(fixture_count(f, HAZARD_GC, true) - begun, pauses);
}

/*
 * What the timeline says, beside the hazards; last: safepoints that begin and
 * never end, because the JVM ends in them.
 */
static void
check_events(const struct fixture *f, unsigned last)
{
	unsigned i, explicit = 0;
	const struct talechain_event *e;

	assert_int_equal(fixture_events(f, TALECHAIN_JVM_GC_BEGIN),
	    fixture_events(f, TALECHAIN_JVM_GC_END));
	assert_int_equal(fixture_events(f, TALECHAIN_JVM_SAFEPOINT_BEGIN),
	    fixture_events(f, TALECHAIN_JVM_SAFEPOINT_END) + last);
	for (i = 0; i < f->slots; i++) {
		e = &f->slot[i].event;
		explicit += e->type == TALECHAIN_JVM_GC_END &&
			    e->arg[0] == TALECHAIN_CAUSE_EXPLICIT;
	}
	/* Every System.gc() of check_counts is known for what it was. */
	assert_true(explicit >= 2);
}

static void
end_exit(struct fixture *f)
{
	/* A new process ends the hazard of the old one's exit. */
	profiler_server_process(f->profiler, 0, getpid());
	fixture_wait_hazards(f, HAZARD_EXIT, false, 1);
	fixture_drain(f);
	fixture_check_balance(f);
}

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
	check_counts(f, &j, 3);
	assert_true(fixture_count(f, HAZARD_SAFEPOINT, true) > 0);
	end_exit(f);
	check_events(f, 0);
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
		reason("this JVM does not have that collector");
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
	end_exit(f);
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

static bool
has_source(void *arg)
{
	struct fixture *f = arg;
	struct profiler_stats s;

	profiler_stats(f->profiler, &s);
	return s.server[0].source != PROFILER_SOURCE_NONE;
}

static bool
has_both(void *arg)
{
	struct fixture *f = arg;
	struct profiler_stats s;

	profiler_stats(f->profiler, &s);
	return strstr(s.server[0].detail, "safepoints from") != NULL;
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
	f->options.server[0].probes = "java";
	fixture_start(f);
	assert_true(jvm_start(j, f, options));
	profiler_server_process(f->profiler, 0, j->pid);
	assert_true(eventually(has_source, f));
	profiler_stats(f->profiler, &s);
	if (s.server[0].source == PROFILER_SOURCE_USDT)
		return;
	jvm_stop(j);
	fixture_fini(f);
	free(f);
	reason("BPF is not permitted, or libjvm has no probes");
}

static void
follow_with_probes(const char *collector)
{
	struct fixture *f = malloc(sizeof(*f));
	struct jvm j;

	probes_start(f, &j, collector);
	check_counts(f, &j, 3);
	assert_true(fixture_events(f, TALECHAIN_JVM_SAFEPOINT_BEGIN) > 0);
	end_exit(f);
	check_events(f, 1);
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
	f->options.server[0].probes = "/no/such/libjvm.so";
	fixture_start(f);
	profiler_server_process(f->profiler, 0, getpid());
	assert_true(eventually(has_source, f));
	profiler_stats(f->profiler, &s);
	assert_int_not_equal(s.server[0].source, PROFILER_SOURCE_USDT);
	fixture_fini(f);
	free(f);
}

/* With the agent from the start; page too, or not. */
static void
follow_with_agent(const char *collector, bool page)
{
	struct fixture *f = malloc(sizeof(*f));
	char agent[700];
	const char *options[] = {collector, agent, NULL};
	struct jvm j;

	fixture_init(f);
	f->options.server[0].hsperfdata = page;
	fixture_start(f);
	snprintf(agent, sizeof(agent), "-agentpath:%s=socket=%s", agent_path,
	    f->socket);
	assert_true(jvm_start(&j, f, options));
	profiler_server_process(f->profiler, 0, j.pid);
	fixture_wait_source(f, 0, PROFILER_SOURCE_AGENT);
	fixture_wait_events(f, TALECHAIN_JVM_START, 1);
	if (page) {
		assert_true(eventually(has_both, f));
		fixture_wait_sweeps(f); /* it has been handed over, too */
	}
	check_counts(f, &j, 3);
	fixture_wait_channels(f, 0);
	fixture_drain(f);
	assert_int_equal(fixture_events(f, TALECHAIN_JVM_DEATH), 1);
	assert_true(fixture_events(f, TALECHAIN_JVM_RATES) > 0);
	if (!page)
		assert_int_equal(fixture_count(f, HAZARD_SAFEPOINT, true), 0);
	end_exit(f);
	check_events(f, 0);
	fixture_fini(f);
	free(f);
}

/* Goal: the agent alone, three collectors. */
static void
test_agent(void **state)
{
	(void)state;
	need_agent();
	follow_with_agent("-XX:+UseSerialGC", false);
	follow_with_agent("-XX:+UseParallelGC", false);
	follow_with_agent("-XX:+UseG1GC", false);
}

/* Goal: agent and page together count each collection once. */
static void
test_both(void **state)
{
	(void)state;
	need_agent();
	follow_with_agent("-XX:+UseSerialGC", true);
	follow_with_agent("-XX:+UseG1GC", true);
}

/* Goal: an agent attached to a running JVM counts from then on; and it finds
 * a Tailor that was not there when it was loaded. */
static void
test_attach(void **state)
{
	const char *options[] = {
	    "-XX:+UseSerialGC", "-XX:+PerfDisableSharedMem", NULL};
	struct fixture *f;
	char pid[16], option[160];
	const char *jcmd[] = {
	    "jcmd", pid, "JVMTI.agent_load", agent_path, option, NULL};
	struct profiler_stats s;
	struct jvm j;

	(void)state;
	need_agent();
	f = malloc(sizeof(*f));
	fixture_init(f);
	assert_true(jvm_start(&j, f, options));
	snprintf(pid, sizeof(pid), "%d", (int)j.pid);
	snprintf(option, sizeof(option), "%s", f->socket);
	assert_int_equal(run(jcmd, true), 0);
	jvm_ask(&j, "gc 1"); /* while nobody listens */
	fixture_start(f);
	profiler_server_process(f->profiler, 0, j.pid);
	fixture_wait_source(f, 0, PROFILER_SOURCE_AGENT);
	profiler_stats(f->profiler, &s);
	assert_string_equal(s.server[0].detail, "agent, no safepoints");
	assert_int_equal(fixture_count(f, HAZARD_GC, true), 0);
	check_counts(f, &j, 2);
	assert_int_equal(fixture_events(f, TALECHAIN_JVM_START), 0);
	end_exit(f);
	fixture_fini(f);
	free(f);
}

/* Goal: when Tailor goes and comes again, the agent does too. */
static void
test_reconnect(void **state)
{
	struct fixture *f;
	char agent[700];
	const char *options[] = {"-XX:+UseSerialGC", agent, NULL};
	struct jvm j;

	(void)state;
	need_agent();
	f = malloc(sizeof(*f));
	fixture_init(f);
	f->options.server[0].hsperfdata = false;
	fixture_start(f);
	snprintf(agent, sizeof(agent), "-agentpath:%s=socket=%s", agent_path,
	    f->socket);
	assert_true(jvm_start(&j, f, options));
	profiler_server_process(f->profiler, 0, j.pid);
	fixture_wait_source(f, 0, PROFILER_SOURCE_AGENT);
	profiler_free(&f->profiler);
	jvm_ask(&j, "gc 3"); /* writes into nowhere */
	fixture_start(f);
	profiler_server_process(f->profiler, 0, j.pid);
	fixture_wait_source(f, 0, PROFILER_SOURCE_AGENT);
	check_counts(f, &j, 1);
	end_exit(f);
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
	fixture_wait_hazards(f, HAZARD_EXIT, true, 1);
	end_exit(f);
	fixture_fini(f);
	free(f);
}

static int
group_setup(void **state)
{
	static char here[] = __FILE__;
	char source[512], exe[400];
	const char *javac[] = {"javac", "-d", classes, source, NULL};
	const char *java[] = {"java", "-version", NULL};
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	(void)state;
	if (n <= 0)
		return -1;
	exe[n] = '\0';
	/* BUILD/unit/profiler/test_jvm */
	snprintf(agent_path, sizeof(agent_path), "%s/libtailor-jvm.so",
	    dirname(dirname(dirname(exe))));
	strcpy(classes, "/tmp/tailor-classes-XXXXXX");
	if (mkdtemp(classes) == NULL)
		return -1;
	snprintf(source, sizeof(source), "%s/Pauses.java", dirname(here));
	if (run(java, true) != 0 || run(javac, true) != 0) {
		rmdir(classes);
		classes[0] = '\0';
	}
	return 0;
}

static int
group_teardown(void **state)
{
	char class[96];

	(void)state;
	snprintf(class, sizeof(class), "%s/Pauses.class", classes);
	unlink(class);
	rmdir(classes);
	return 0;
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
	    cmocka_unit_test(test_agent),
	    cmocka_unit_test(test_both),
	    cmocka_unit_test(test_attach),
	    cmocka_unit_test(test_reconnect),
	    cmocka_unit_test(test_no_page),
	};

	signal(SIGPIPE, SIG_IGN);
	if (group_setup(NULL) < 0)
		return 1;
	if (classes[0] == '\0') {
		printf("skipped: no JDK (java, javac) found\n");
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, group_teardown);
}
