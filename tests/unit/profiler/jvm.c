/* jvm.c: see the header. */
#include "jvm.h"

#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char classes[64];
char jvm_agent_path[512];

int
jvm_run(const char *const argv[], bool quiet)
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

void
jvm_need_agent(void)
{
	if (access(jvm_agent_path, R_OK) < 0)
		unit_skip("no libtailor-jvm.so in the build directory "
			  "(make agent)");
}

void
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

bool
jvm_start(struct jvm *j, const struct fixture *f, const char *const *options)
{
	const char *argv[24] = {"java", "-Xmx24m", "-Xms24m"};
	char log[128], line[16];
	int n = 3;

	snprintf(j->log, sizeof(j->log), "%s/gc.log", f->directory);
	snprintf(log, sizeof(log), "-Xlog:gc,safepoint:file=%s", j->log);
	argv[n++] = log;
	while (*options != NULL)
		argv[n++] = *options++;
	argv[n++] = "-cp";
	argv[n++] = classes;
	argv[n++] = "Pauses";
	fixture_spawn(argv, &j->pid, &j->in, &j->out);
	if (fgets(line, sizeof(line), j->out) != NULL)
		return strcmp(line, "ready\n") == 0;
	waitpid(j->pid, NULL, 0);
	fclose(j->in);
	fclose(j->out);
	unlink(j->log);
	return false;
}

void
jvm_start_with_agent(struct jvm *j, struct fixture *f, const char *collector)
{
	char agent[700];
	const char *options[] = {collector, agent, NULL};

	fixture_start(f);
	snprintf(agent, sizeof(agent), "-agentpath:%s=socket=%s",
	    jvm_agent_path, f->socket);
	assert_true(jvm_start(j, f, options));
	profiler_server_process(f->profiler, 0, j->pid);
	fixture_wait_source(f, 0, PROFILER_SOURCE_AGENT);
}

void
jvm_start_with_probes(struct jvm *j, struct fixture *f, const char *collector)
{
	const char *options[] = {collector, "-XX:-UsePerfData", NULL};
	struct profiler_stats s;

	f->options.server[0].agent = false;
	f->options.server[0].hsperfdata = false;
	f->options.server[0].probes = PROFILER_PROBES_ON;
	f->options.server[0].program = "java";
	fixture_start(f);
	assert_true(jvm_start(j, f, options));
	profiler_server_process(f->profiler, 0, j->pid);
	assert_true(JVM_HAS_SOURCE(f, s));
	if (s.server[0].source == PROFILER_SOURCE_PROBES) {
		fixture_wait_sweeps(f);
		return;
	}
	jvm_stop(j);
	fixture_free(f);
	unit_skip("BPF is not permitted, or libjvm has no probes");
}

void
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

void
jvm_check_counts(struct fixture *f, struct jvm *j, unsigned rounds)
{
	unsigned pauses, begun, i;

	/*
	 * A cycle of G1 that its start has begun would pause between the two
	 * counts; System.gc() ends it.  The line of a safepoint is written
	 * after the program runs again: that of another safepoint follows it.
	 */
	jvm_ask(j, "gc 1");
	jvm_ask(j, "stacks 1");
	fixture_wait_sweeps(f); /* what is in its log already is seen */
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

void
jvm_check_events(const struct fixture *f, unsigned last)
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

static int
group_setup(void)
{
	static char here[] = __FILE__;
	char source[512], exe[400];
	const char *javac[] = {"javac", "-d", classes, source, NULL};
	const char *java[] = {"java", "-version", NULL};
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	if (n <= 0)
		return -1;
	exe[n] = '\0';
	/* BUILD/unit/profiler/test_jvm... */
	snprintf(jvm_agent_path, sizeof(jvm_agent_path), "%s/libtailor-jvm.so",
	    dirname(dirname(dirname(exe))));
	strcpy(classes, "/tmp/tailor-classes-XXXXXX");
	if (mkdtemp(classes) == NULL)
		return -1;
	snprintf(source, sizeof(source), "%s/Pauses.java", dirname(here));
	if (jvm_run(java, true) != 0 || jvm_run(javac, true) != 0) {
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
jvm_unit_run(void)
{
	signal(SIGPIPE, SIG_IGN);
	if (group_setup() < 0)
		return 1;
	if (classes[0] != '\0')
		return unit_run(NULL, group_teardown);
	printf("skipped: no JDK (java, javac) found\n");
	return 0;
}

void
jvm_follow_with_probes(const char *collector)
{
	struct fixture *f = fixture_new();
	struct jvm j;

	jvm_start_with_probes(&j, f, collector);
	jvm_check_counts(f, &j, 3);
	assert_true(fixture_events(f, TALECHAIN_JVM_SAFEPOINT_BEGIN) > 0);
	fixture_end_exit(f);
	jvm_check_events(f, 1);
	fixture_free(f);
}

void
jvm_follow_with_agent(const char *collector, bool page)
{
	struct fixture *f = fixture_new();
	struct profiler_stats s;
	struct jvm j;

	f->options.server[0].hsperfdata = page;
	jvm_start_with_agent(&j, f, collector);
	fixture_wait_events(f, TALECHAIN_JVM_START, 1);
	if (page) {
		assert_true(JVM_HAS_BOTH(f, s));
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
	fixture_free(f);
}
