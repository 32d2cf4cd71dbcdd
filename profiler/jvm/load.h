/* load.h: load our agent into a JVM that runs, as `jcmd PID JVMTI.agent_load`
 * does, or read or set one of its flags, as `jcmd PID VM.set_flag` does,
 * without a second JVM.
 *
 *   KNOCK    SIGQUIT, if there is no socket yet: the JVM opens one
 *   CONNECT  until it is there
 *   REPLY    asked; until it has answered
 *
 * Never blocks: a step per turn, of the attach thread.  Only the JVM's own
 * user, or root, may.  A JVM that does not handle SIGQUIT would end by it, and
 * one that does not take it as a knock would print its threads into the
 * service's output.  So it is sent once to a process, and only if the JVM
 * attaches (no_attach), if it will take the file that says so (its user's or,
 * from JDK 11 on, root's; one in its working directory comes first), and if it
 * has no listener yet (from JDK 14 on one without its socket makes another).
 * Source: OpenJDK's attachListener_posix.cpp; the protocol is version 1, since
 * JDK 6. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/instant.h"

#define LOAD_TEXT 120

enum load_state {
	LOAD_IDLE,
	LOAD_CONNECT,
	LOAD_REPLY,
	LOAD_DONE,
	LOAD_FAILED,
};

struct load {
	enum load_state state;
	pid_t pid;
	int fd;		/* owned, -1: none */
	char knock[64]; /* the file that says what SIGQUIT is for; "": none */
	char socket[64];
	pid_t knocked; /* this process has got SIGQUIT */
	/* set by the caller */
	unsigned java;	       /* hsperf_page.java */
	const char *no_attach; /* hsperf_page.no_attach */
	char request[640];
	size_t request_bytes;
	bool returns; /* what was loaded returns a code, too */
	size_t length;
	char reply[64];
	struct instant deadline;
	char why[LOAD_TEXT]; /* of LOAD_FAILED */
};

/* load_fini closes the connection and removes the knock.  The attach thread. */
void load_init(struct load *l);
void load_fini(struct load *l);

/* load_begin(l, pid, library, options, now):
 * Begin.  library is an absolute path, which the JVM must see as the same file,
 * and so must what is at the path in options. */
void load_begin(struct load *l, pid_t pid, const char *library,
    const char *options, struct instant now);

/* The same, to set a flag of the JVM that is manageable; with value NULL, to
 * read it. */
void load_flag(struct load *l, pid_t pid, const char *flag, const char *value,
    struct instant now);
/* The flag's value, once the state is LOAD_DONE.  False: there is no such flag,
 * or its value is no number. */
bool load_flag_value(const struct load *l, uint64_t *value);

/* Do what can be done now.  Returns when to call again, ns; -1: never. */
int64_t load_turn(struct load *l, struct instant now);
