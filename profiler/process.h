/*
 * process.h: one server's process, from unknown to gone and back.
 *
 *           assigned, or found listening
 *   UNKNOWN ------------------------------> RUNNING
 *      ^                                       |
 *      +---------------------------------------+
 *            pidfd readable, a thread of it killed, or assigned 0
 *
 * While UNKNOWN and with an address, the listener is searched every 200 ms.
 * While RUNNING its pidfd is polled, and a performance page is searched until
 * there is one.  A supervisor may give the pid of a wrapper whose child is the
 * JVM: if the listener descends from that process, the listener's page is read.
 *
 * All of it runs on the attach thread.
 */
#ifndef TAILOR_PROFILER_PROCESS_H
#define TAILOR_PROFILER_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "profiler/finder.h"
#include "profiler/jvm/hsperf_page.h"
#include "profiler/observer_command.h"
#include "profiler/proc.h"
#include "profiler/profiler.h"

struct attach;

struct process {
	struct attach *attach; /* borrowed: receives our commands */
	const struct profiler_server *server; /* borrowed */
	unsigned index;
	pid_t pid;		  /* 0: UNKNOWN */
	int pidfd;		  /* owned, -1 */
	int thread[PROC_THREADS]; /* owned, -1: handles of some threads */
	pid_t ended;		  /* the last one; may still hold its port */
	pid_t jvm;		  /* owner of the page: pid or a descendant */
	bool listener_known;
	int threads;	       /* number watched */
	bool threads_unknown;  /* the kernel has no handles for threads */
	unsigned threads_seen; /* times they were searched */
	struct finder finder;
	uint64_t hidden; /* socket without a holder in the last search */
	struct hsperf_page *page; /* handed to the observer; only its constant
				 * part is read here */
	char why[PAGE_TEXT];	  /* why there is no page */
	char where[PAGE_TEXT];	  /* why its process is not known */
	unsigned page_tries;
	bool probed; /* its collections are seen without the page */
	struct instant find_at, page_at, thread_at; /* next attempts */
	struct instant doubt_end; /* a thread ended: check until then */
	uint64_t assigned_seen;	  /* last value of assigned handled */
	/* any thread writes: generation << 32 | pid */
	uint64_t assigned;
};

void process_init(struct process *p, struct attach *a, unsigned index,
    const struct profiler_server *server);
void process_fini(struct process *p);

/* Any thread: set the server's process, 0 = gone. */
void process_assign(struct process *p, pid_t pid);

/*
 * process_turn(p, readable, thread, now):
 * Do what is due.  readable: its pidfd is; thread: a thread's is.  Returns the
 * time until something is due, ns; -1 for never.
 */
int64_t
process_turn(struct process *p, bool readable, bool thread, struct instant now);

/* The observer has released a page. */
void process_page_returned(struct process *p, struct hsperf_page *page);

/* Whether pid is this server's process or one below it. */
bool process_owns(const struct process *p, pid_t pid);

/* Describe the sources in use; agents: how many report for this server. */
void process_describe(const struct process *p, unsigned agents,
    enum profiler_source *source, char detail[PAGE_TEXT]);

#endif
