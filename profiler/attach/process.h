/* process.h: one server's processes, from unknown to gone and back.
 *
 *           assigned, or found listening
 *   UNKNOWN ------------------------------> RUNNING
 *      ^                                       |
 *      +---------------------------------------+
 *            pidfd readable, a thread of it killed, or assigned 0
 *
 * While UNKNOWN and with an address, the listener is searched every 200 ms.
 * A server is a set of processes (finder.h); one of them is its main process:
 * the one assigned, or the holder of the socket that is above the others.
 * While RUNNING the main one's pidfd is polled.  If it ends and another of the
 * set still listens, that is the main one from then on; else the server has
 * ended.  A performance page is searched in all of the set that serve until
 * there is one.
 *
 * The set is searched until a search finds nothing new; then the kernel's
 * programs follow it (attach.c), and it is searched anew if the address has
 * other sockets.  Without these programs it is searched every minute.
 *
 * All of it runs on the attach thread. */
#pragma once

#include "base/permission.h"
#include "profiler/attach/sender.h"
#include "profiler/processes/finder.h"
#include "profiler/jvm/hsperf_page.h"
#include "profiler/kernel/kernel.h"
#include "profiler/processes/proc.h"
#include "profiler/runtimes/follow.h"

struct process {
	/* borrowed, set by the caller: what is informed of the processes */
	struct command_sender *sender;
	struct kernel *kernel; /* NULL: none */
	struct runtimes *runtimes;
	struct profiler_server server;
	unsigned index;
	struct family family;	    /* includes pid; empty: UNKNOWN */
	unsigned generation;	    /* counts begins and ends of the server */
	unsigned searched;	    /* counts searches that found more */
	unsigned left_out;	    /* processes without room, maximum so far */
	bool changed;		    /* new processes: assign channels anew */
	bool followed;		    /* the kernel keeps the set up to date */
	bool settled;		    /* the last search found nothing new */
	pid_t pid;		    /* the main one; 0: UNKNOWN */
	char name[PROC_NAME_BYTES]; /* of the main process */
	int pidfd;		    /* owned, -1 */
	int thread[PROC_THREADS];   /* owned, -1: handles of some threads */
	pid_t ended;		    /* last main one; may still hold its port */
	pid_t jvm;		    /* owner of the page: one of the family */
	bool jvm_serves;	    /* the JVM is known to serve */
	int threads;		    /* number of threads watched */
	bool threads_unknown;	    /* the kernel has no handles for threads */
	unsigned threads_seen;	    /* times threads were searched */
	struct finder finder;
	bool at_other;	 /* searched at the server's other address */
	uint64_t hidden; /* socket without a holder in the last search */
	struct hsperf_page *page;  /* handed to the observer; only its constant
				 * part is read here */
	char why[PAGE_TEXT];	   /* why there is no page */
	char where[PAGE_TEXT];	   /* why its process is not known */
	char fix[PERMISSION_TEXT]; /* what changes that */
	bool foreign;		   /* we may not examine its process */
	unsigned page_tries;
	unsigned page_vain;   /* searches, since one could find more */
	uint64_t page_extent; /* process_extent() at the last one */
	struct instant find_at, page_at, thread_at; /* next attempts */
	struct instant sockets_at; /* when to compare the address's sockets */
	struct instant doubt_end;  /* a thread ended: check until then */
	uint64_t assigned_seen;	   /* value of assigned that was handled last */
	/* as set in the kernel's programs and the probes of runtimes */
	unsigned watched_generation;
	pid_t watched_jvm;
	/* any thread writes: generation << 32 | pid */
	uint64_t assigned;
};

/* Initialize; the caller sets the borrowed fields afterwards. */
void process_init(
    struct process *p, unsigned index, const struct profiler_server *server);
void process_fini(struct process *p);

/* Put another server in this place, and forget the one before without reporting
 * its end. */
void process_set(struct process *p, const struct profiler_server *server,
    struct instant now);

/* Any thread: set the server's process, 0 = gone. */
void process_assign(struct process *p, pid_t pid);

/* Do what is due.  readable: its pidfd is readable; thread: a thread's is.
 * Returns the time until something is due, ns; -1 for never. */
int64_t
process_turn(struct process *p, bool readable, bool thread, struct instant now);

/* Free a page that the observer has released. */
void process_page_returned(struct process *p, struct hsperf_page *page);

/* Have the kernel's programs and the probes of runtimes follow the set. */
void process_watch(struct process *p);

/* Bring the set up to date with what the kernel followed. */
void process_refresh(struct process *p);
/* Bring the set up to date with these processes; if count is 0, do nothing.
 * For process_refresh and tests. */
void process_follow(struct process *p, const pid_t *pid, unsigned count);

/* True if pid is one of the server's processes, or below its main one.  Reads
 * /proc. */
bool process_owns(const struct process *p, pid_t pid);

/* SERVING: a process holds a socket that listens on the server's address, as
 * workers do that share the socket.  SERVING_NOT: it is a helper, whose pauses
 * stop no request.  SERVING_PERHAPS: it is the main process and nothing listens
 * there yet, or the address is not known.  Reads /proc. */
enum serving {
	SERVING_NOT,
	SERVING_PERHAPS,
	SERVING,
};
enum serving process_serves(const struct process *p, pid_t pid);

/* Describe the sources in use; agents: how many report for this server. */
void process_describe(const struct process *p, unsigned agents,
    enum profiler_source *source, char detail[PAGE_TEXT]);
