/*
 * jvm.h: real JVMs that collect when they are told to (Pauses.java), and
 * what a profiler must have seen of them.
 *
 * Needs java, javac and jcmd in $PATH and, for the agent, libtailor-jvm.so in
 * the build directory; skips with a reason otherwise.
 */
#pragma once

#include "fixture.h"

#include <stdio.h>
#include <sys/types.h>

struct jvm {
	pid_t pid;
	FILE *in, *out;
	char log[96];
};

extern char jvm_agent_path[512];

/* unit_run() with the class compiled, and removed; without a JDK nothing runs,
 * which is said. */
int jvm_unit_run(void);

/* Run a program to its end; its exit status, -1 if it cannot be run. */
int jvm_run(const char *const argv[], bool quiet);

/* Skip this test if there is no agent. */
void jvm_need_agent(void);

/* Start one; false if this JVM does not know the collector. */
bool
jvm_start(struct jvm *j, const struct fixture *f, const char *const *options);
void jvm_stop(struct jvm *j);

/* The same with the agent in it, and the profiler, which follows it then. */
void
jvm_start_with_agent(struct jvm *j, struct fixture *f, const char *collector);

/* The same by the probes of libjvm alone, with nothing at all in the JVM; skips
 * the test where that cannot be. */
void
jvm_start_with_probes(struct jvm *j, struct fixture *f, const char *collector);

/* Send a command and read the line that answers it. */
void jvm_ask(struct jvm *j, const char *command);

/* Make it collect in all its ways, then compare counts.  It is stopped. */
void jvm_check_counts(struct fixture *f, struct jvm *j, unsigned rounds);

/*
 * What the timeline says, beside the hazards; last: safepoints that begin and
 * never end, because the JVM ends in them.
 */
void jvm_check_events(const struct fixture *f, unsigned last);

/* Of its first server anything is known; agent and page both. */
#define JVM_HAS_SOURCE(f, s) \
	STATS_ARE(f, s, (s).server[0].source != PROFILER_SOURCE_NONE)
#define JVM_HAS_BOTH(f, s) \
	STATS_ARE(f, s, strstr((s).server[0].detail, "safepoints from") != NULL)

/* Follow one from its start to its end and compare counts: with the probes
 * alone; with the agent, and its page, too, or not. */
void jvm_follow_with_probes(const char *collector);
void jvm_follow_with_agent(const char *collector, bool page);
