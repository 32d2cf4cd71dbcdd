/* load.h: load our agent into a JVM that runs, as `jcmd PID JVMTI.agent_load`
 * does, or read or set one of its flags, as `jcmd PID VM.set_flag` does,
 * without a second JVM.
 *
 *   KNOCK    send SIGQUIT if there is no socket yet: the JVM then opens one
 *   CONNECT  try until the socket accepts
 *   REPLY    send the request, wait for the response
 *
 * Never blocks: the attach thread takes one step per turn.  Only the JVM's own
 * user, or root, may do this.  SIGQUIT ends a JVM that does not handle it, and
 * a JVM that does not take it as a knock prints its threads into the service's
 * output.  So a process gets SIGQUIT once, and only if the JVM lets agents
 * attach (no_attach), if it accepts the knock's file (owned by its user or,
 * from JDK 11 on, by root; a file in its working directory comes first), and if
 * it has no listener yet (from JDK 14 on, a listener without socket makes
 * another).  Source: OpenJDK's attachListener_posix.cpp; the protocol is
 * version 1, since JDK 6. */
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
	pid_t knocked; /* the process that has got SIGQUIT */
	/* set by the caller */
	unsigned java;	       /* hsperf_page.java */
	const char *no_attach; /* hsperf_page.no_attach */
	char request[640];
	size_t request_bytes;
	bool returns; /* the reply has an agent's return code, too */
	bool map;     /* the JVM is to write a map of its code */
	size_t length;
	char reply[64];
	struct instant deadline;
	char why[LOAD_TEXT]; /* reason of LOAD_FAILED */
};

/* load_fini closes the connection and removes the knock.  The attach thread. */
void load_init(struct load *l);
void load_fini(struct load *l);

/* load_begin(l, pid, library, options, now):
 * Begin to load an agent.  The JVM must see the same files as we do at library,
 * an absolute path, and at the path in options. */
void load_begin(struct load *l, pid_t pid, const char *library,
    const char *options, struct instant now);

/* Begin to set a manageable flag of the JVM; with value NULL, to read it. */
void load_flag(struct load *l, pid_t pid, const char *flag, const char *value,
    struct instant now);
/* Begin to have the JVM write a map of its compiled code into its /tmp, as
 * `jcmd PID Compiler.perfmap` does.  The JVM follows links and replaces what is
 * there, so its file is made first, and anything else there is refused. */
void load_code_map(struct load *l, pid_t pid, struct instant now);

/* The flag's value, once the state is LOAD_DONE.  False: there is no such flag,
 * or its value is no number. */
bool load_flag_value(const struct load *l, uint64_t *value);

/* Do what can be done now.  Returns the time until the next call, ns; -1:
 * none is needed. */
int64_t load_turn(struct load *l, struct instant now);
