/* follow.h: which server's collections are seen by probes, and why not.
 *
 * With probes = on the file is known and probed before the server runs.  With
 * auto the runtime is recognised by what the server's process has mapped: V8 is
 * probed, a JVM only if its page in memory is switched off, CPython never.  If
 * a file cannot be probed, another may be: a program may be mapped some moments
 * before the library that has its runtime (Debian's Node).
 * Probing needs privileges, which may be gone once Tailor runs: runtimes_start
 * does what can be done before, for programs that Tailor will start and for
 * servers that run already.  What is recognised later is tried, and logged if
 * refused.
 *
 * All of it runs on the attach thread, runtimes_start before there is one. */
#pragma once

#include <limits.h>
#include <stdbool.h>

#include "base/instant.h"
#include "profiler/options/options.h"
#include "profiler/runtimes/abi.h"
#include "profiler/runtimes/probes.h"

struct runtimes_server {
	struct profiler_server options;
	pid_t pid;     /* the process that is examined; 0: none */
	pid_t watched; /* the process that probes report; 0: none */
	pid_t worker[RUNTIME_WORKERS]; /* the server's processes */
	unsigned workers;
	unsigned tries;
	struct instant due;
	char refused[PATH_MAX];	       /* last file tried; not tried again */
	const struct runtime *runtime; /* the probed one; NULL: none */
	const struct runtime *off;     /* one that could not be probed */
	bool logged;		       /* off was logged */
	char why[PROBES_WHY];	       /* why off could not be probed */
	const char *remedy;
	char detail[100];
};

struct runtimes {
	struct probes *probes; /* owned; NULL: none were needed, or refused */
	struct runtimes_server server[PROFILER_SERVERS];
	unsigned servers;
	uint32_t first_number; /* number of the first channel */
	/* how a channel is handed to the observer */
	void (*add)(void *user, struct channel *c);
	void *user;
};

/* Probe what is known by now.  r->add and r->user are set before.  Never fails.
 *   first_number  number of the first of PROFILER_SERVERS channels */
void runtimes_start(struct runtimes *r, const struct profiler_options *options,
    uint32_t first_number);
void runtimes_close(struct runtimes *r);

/* Put another server in this place; its process is not known yet. */
void runtimes_set(
    struct runtimes *r, unsigned server, const struct profiler_server *is);

/* Set the process of a server; 0: none. */
void runtimes_process(struct runtimes *r, unsigned server, pid_t pid);

/* Set all processes of a server that are known by now. */
void runtimes_workers(
    struct runtimes *r, unsigned server, const pid_t *pid, unsigned count);

/* Examine a server's process if due.  paged: its page in memory is read.
 * Returns the time until it is due again, ns; -1: never. */
int64_t runtimes_turn(
    struct runtimes *r, unsigned server, bool paged, struct instant now);

/* "V8 in /usr/bin/node" if a server's collections are seen, else NULL. */
const char *runtimes_detail(const struct runtimes *r, unsigned server);
