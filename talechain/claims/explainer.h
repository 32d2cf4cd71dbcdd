/* explainer.h: from a tale to claims, and what their rooms share.
 *
 *   tale -> chain (tale/chain.h): where the request was, when
 *        -> threads (threads.c, waits.c): what each thread did
 *        -> legs and claims (path.c, walk.c, cause_*.c, sums.c): causes of each
 *           time
 *        -> checks (check.c): what contradicts itself is not observed
 *        -> segments (tile.c): claims become a tiling of [0, total]
 *
 * Then words/ makes sentences of them, and render/ draws them.
 *
 * A claim gives a cause for a piece of time.  Where claims overlap, the one of
 * higher rank wins, because it says more: a collection stops a thread whatever
 * the thread did.  Each leg of the critical path cuts its claims to itself, so
 * a claim about one thread never covers a time in which the request was
 * elsewhere.
 *
 * All times are ns since the tale's t0; NEVER: it did not happen or was not
 * seen.  Private to talechain/. */
#pragma once

#include "talechain/claims/story.h"
#include "talechain/tale/chain.h"

/* From the weakest claim to the strongest. */
enum claim_rank {
	RANK_NOTHING,	  /* a leg of which nothing is known */
	RANK_GAP,	  /* not observed: only if no other claim explains it */
	RANK_STAGE,	  /* a leg whose nature is known from its two ends */
	RANK_APP,	  /* as the application's events say */
	RANK_APP_RATE,	  /* and how slow that was */
	RANK_THREAD,	  /* what the thread did, as the scheduler saw it */
	RANK_THREAD_RATE, /* and how slow that was */
	RANK_OTHER,	  /* which was for another request */
	RANK_TAKEN,	  /* it had a CPU, and the host or interrupts took it */
	RANK_LOSS, /* the scheduler's events were lost: threads are unknown */
	RANK_CLASSES,
	RANK_FAULT,
	RANK_RECLAIM, /* mostly within a fault */
	RANK_SOFTIRQ,
	RANK_STOLEN,	    /* the host took the CPU from one of these */
	RANK_CPU,	    /* ready, but without a CPU */
	RANK_STOP,	    /* the whole process was stopped */
	RANK_CONTRADICTION, /* its events cannot all be true */
	RANK_TCP,
	RANK_UNREAD,	/* events of that time had not been read yet */
	RANK_UNSAMPLED, /* the kernel's events were not recorded */
	RANK_SUM,	/* but it is known how much in all */
	RANK_SAFEPOINT,
	RANK_GC,
	RANK_ASLEEP, /* it would have slept without such a pause, too */
	RANK_EXIT,
};

/* Why a piece of time passed, and what is known of it. */
struct claim {
	int64_t begin_ns, end_ns;
	enum tale_cause cause;
	enum claim_rank rank;
	int attempt;  /* 0, 1; -1: not at a server */
	uint32_t tid; /* the thread that worked or waited, 0: not known */
	uint32_t pid; /* of STOPPED: the process */
	uint32_t
	    other; /* the thread it waited for or lost its CPU to, 0: none */
	uint32_t last;	/* of PREEMPTED: as of an interval */
	int cpu;	/* -1: not known */
	bool likely;	/* one of its ends, or its cause, is inferred */
	uint64_t value; /* of the cause: bytes, idle state, vector, ... */
	unsigned call;	/* of a wait: the system call, plus 1; 0: none */
	/* Of a sleep: the call on a socket that it was in, or that came next;
	 * borrowed from the tale, or NULL. */
	const struct talechain_event *peer;
	/* LOCK, SLEEP: the thread that it waited for slept until timers. */
	bool timer;
	bool unseen;	  /* of RUNQ: as of an interval */
	const char *note; /* static text that says more, or NULL */
	const struct tale_pause *pause; /* borrowed from the tale, or NULL */
};

enum thread_state {
	THREAD_RUN,
	THREAD_SLEEP,
	THREAD_BLOCKED,
	THREAD_DISK,
	THREAD_STOPPED,
	THREAD_READY,
	THREAD_PREEMPTED,
	THREAD_THROTTLED,
};

/* Reason for a sleep, as far as the sleeps around it show. */
enum thread_wait {
	WAIT_OTHER,
	WAIT_LOCK,	  /* the thread waited again after each timeout */
	WAIT_INTERPRETER, /* and the threads of its process take turns so */
	WAIT_MONITOR,	  /* its stack has HotSpot's monitors */
	WAIT_EITHER,	  /* for a lock, or until its own timers */
	WAIT_TURNS,	  /* the same, of an interpreter lock's timers */
};

/* One state of a thread, from one moment to another, as the scheduler saw
 * it. */
struct thread_interval {
	uint32_t tid;
	enum thread_state state;
	int64_t begin_ns, end_ns;
	int cpu;	/* where it ran or was to run, -1: not known */
	uint32_t other; /* READY, PREEMPTED: what ran; else: what woke it */
	/* READY: what ran just before it, 0: none; PREEMPTED: what ran later
	 * than the other, if between them more may have run, else 0 */
	uint32_t last;
	uint32_t other_pid;
	int64_t woken_ns; /* when it was woken, or NEVER */
	unsigned context; /* enum talechain_context of the waker */
	uint64_t vector;  /* of a waking softirq */
	unsigned call;	/* off its CPU: in which system call, plus 1; 0: none */
	uint64_t futex; /* the word that it slept on, 0: none, or not known */
	enum thread_wait wait;
	bool inferred;	   /* its begin, as no event shows the thread before */
	bool unseen;	   /* READY: what had the CPU for most of it */
	const char *doubt; /* static: what its events contradict, or NULL */
};

/* How the threads of a thread's process wait for each other. */
struct thread_process {
	unsigned switches; /* timeouts of 5 ms within waits of that thread */
	bool switched;	   /* that thread had such waits */
	bool lock;	   /* timeouts of 5 ms in its process are for a lock */
	bool interpreter;  /* which more than one thread waited for */
	bool moves;	   /* its runtime moves work between its threads */
};

struct explainer {
	const struct tale *t;
	struct story *s;
	struct tale_chain chain;
	bool watched[TALE_THREADS]; /* all switches of that thread are */
	struct thread_process process[TALE_THREADS];
	int64_t leg_begin_ns, leg_end_ns; /* what claims are cut to */
	struct claim *claim;		  /* owned */
	size_t claims;
	struct claim *segment_claim; /* owned; of each segment */
	int64_t switches_end_ns;     /* no switch after it is in the tale */
	/* By tid, then time; no overlap in a tid; owned. */
	struct thread_interval *interval;
	size_t intervals;
	/* The tale's THREAD events, the last of each thread last; owned. */
	const struct tale_entry **name;
	size_t names;
	int64_t longest_ns; /* the longest latency_ns of an event */
	bool failed;	    /* out of memory, once and for all */
};

/* --- claim.c --- */

/* Cut a claim to [begin, end].  False: nothing is left of it. */
bool claim_cut(struct claim *c, int64_t begin_ns, int64_t end_ns);
/* Make a claim, cut to the present leg; an empty one is none. */
void claim_add(struct explainer *ex, const struct claim *c);
/* The request of Tailor's that was last at the other end of a call's connection
 * as that was made, 0: none, or that end is not Tailor's.
 *   end   the type of the event that shows Tailor's end
 *   type  of the event that names the request, and the connection in arg */
uint64_t request_at(const struct explainer *ex, const struct talechain_event *v,
    enum talechain_type end, enum talechain_type type, unsigned arg);
/* Id of the other request that a claim says a thread was busy with, or 0. */
uint64_t claim_request(const struct claim *c);

/* --- names.c: threads, by their last THREAD event --- */

#define NAME_SIZE 64 /* of a server or thread */

/* "qtp-12[815]", "thread 815"; returns out. */
char *
thread_name(const struct explainer *ex, uint32_t tid, char *out, size_t size);
/* The name alone; "" if no event has it. */
void
thread_text(const struct explainer *ex, uint32_t tid, char *out, size_t size);
/* The process of a thread that some event names, or 0. */
uint32_t thread_pid(const struct explainer *ex, uint32_t tid);
/* The attempt whose server's process a thread is of, or -1. */
int thread_attempt(const struct explainer *ex, uint32_t tid);

/* Threads that are known by the names that their makers give them. */
enum thread_role {
	/* The kernel's, which do io_uring's calls in a process (SQPOLL): no
	 * event shows for which thread of the program. */
	ROLE_IO_URING,
	ROLE_COMPILER,	/* HotSpot's */
	ROLE_COLLECTOR, /* HotSpot's */
	ROLE_VM,	/* with which HotSpot stops the others */
	/* Tailor's own, whose switches are in no event while it sleeps between
	 * sweeps: it may stand at both ends of a time in which another had the
	 * CPU. */
	ROLE_OBSERVER,
};
bool thread_is(const struct explainer *ex, uint32_t tid, enum thread_role role);

/* --- threads.c: what each thread did --- */

/* Fill in ex->watched, interval, name, process. */
void threads_find(struct explainer *ex);
/* True if the kernel records all that a thread does: only then is what it did
 * between two events known. */
bool thread_is_watched(const struct explainer *ex, uint32_t tid);
/* True if what a thread computes may be for any request of its process, as the
 * runtime moves work between threads, which no event shows. */
bool thread_moves_work(const struct explainer *ex, uint32_t tid);
/* The interval of a thread after p (NULL: its first), if that begins before a
 * moment (INT64_MAX: at any); NULL: there is none. */
const struct thread_interval *threads_next(const struct explainer *ex,
    uint32_t tid, const struct thread_interval *p, int64_t before_ns);
/* How long an interval is within [begin, end], ns, >= 0. */
int64_t interval_within_ns(
    const struct thread_interval *p, int64_t begin_ns, int64_t end_ns);

/* --- waits.c: timed waits that are taken up again at once are one --- */

/* Join such waits in ex->interval, and say what each sleep was for. */
void waits_join(struct explainer *ex);
/* The reason for a sleep, by the functions in its stack; EITHER: not known. */
enum thread_wait
waits_by_stack(const struct explainer *ex, const struct thread_interval *p);
/* True if a timer ended a sleep. */
bool thread_timer_ended(const struct thread_interval *p);
/* True if another thread of its process ended what an interval shows. */
bool
thread_is_peer(const struct explainer *ex, const struct thread_interval *p);
/* A thread's state in an interval, as a cause; WORK: it ran. */
enum tale_cause
interval_cause(const struct explainer *ex, const struct thread_interval *p);

/* --- root.c: the end of a chain of waits --- */

#define ROOT_DEEP 8

/* Threads each of which waited for the next, from the one that was waited for
 * to the one that did something else, in [begin, end]. */
struct root {
	uint32_t tid[ROOT_DEEP];
	unsigned count; /* >= 1 */
	int64_t begin_ns, end_ns;
	bool open; /* what the last one did is not known, or the chain is
		    * longer, or leads back to one of its threads */
};

/* Find the chain; waiter waited for tid in [begin, end]. */
void root_find(const struct explainer *ex, struct root *r, uint32_t waiter,
    uint32_t tid, int64_t begin_ns, int64_t end_ns);

enum root_timer {
	ROOT_NO_TIMER,	   /* it did something else, or that is not known */
	ROOT_SLEPT,	   /* a timer ended its sleep */
	ROOT_KEEPS_TIMERS, /* timers do so again and again, or in epoll */
};
/* How timers ended what the last thread did. */
enum root_timer root_timer(const struct explainer *ex, const struct root *r);

/* --- stack.c --- */

/* The first entry, + 1, of the stack that a thread had in a wait that ended at
 * a moment; 0: none. */
size_t stack_after(const struct explainer *ex, uint32_t tid, int64_t ns);
/* The first of some functions, by a part of its name, that is in the program's
 * stack, or the kernel's, of the wait that a thread ended at a moment; -1:
 * none.  *known: whether there is such a stack, with names. */
int stack_find(const struct explainer *ex, uint32_t tid, int64_t ns,
    bool of_kernel, const char *const part[], int parts, bool *known);
/* True if an entry is a sample of a thread that computed; out receives the
 * innermost function, "?" if it has no name. */
bool stack_sample(const struct explainer *ex, size_t entry, uint32_t tid,
    char out[STORY_FRAME]);

/* --- where.c --- */

/* The call that shows whom a thread of an attempt's server slept for: its own
 * receipt on a connection that leads elsewhere, or the one it connected.  NULL:
 * that is not known. */
const struct talechain_event *wait_peer(
    const struct explainer *ex, int attempt, const struct thread_interval *p);
/* True if a system call, plus 1, waits for many connections, as an event loop's
 * does. */
bool call_is_loop(unsigned call);
/* Where a piece was waited for, by its claim. */
void claim_where(
    const struct explainer *ex, const struct claim *c, struct story_segment *g);

/* --- other.c: requests that a server's thread had besides this one --- */

/* When the thread that sends the response next responds to another request,
 * after another thread had received this one: NEVER, or the end of a leg from
 * the present one's end on, which the claim is then of. */
int64_t other_responded(const struct explainer *ex, struct claim *c);
/* The request that a thread of an attempt's server was busy with when this one
 * came, or 0 if that is not known. */
uint64_t other_request(
    const struct explainer *ex, int attempt, uint32_t tid, int64_t came_ns);
/* True if a thread of an attempt's server has another request at a moment: it
 * received on another connection of its port, and has not sent there since. */
bool other_is_with(
    const struct explainer *ex, int attempt, uint32_t tid, int64_t ns);
/* Claim what a thread computed within the leg for other requests, as the thread
 * of an event loop does: right after it received one, or right before it
 * responded to one. */
void cause_other(struct explainer *ex, int attempt, uint32_t tid);
/* The other requests of all pieces: s->request. */
void requests_list(struct explainer *ex);

/* --- walk.c, cause_thread.c, cause_peer.c, cause_taken.c: threads --- */

/* A leg's time while the walk goes through its threads. */
struct thread_walk {
	struct explainer *ex;
	const struct claim *like;
	int64_t from_ns; /* the leg's begin */
	unsigned depth;	 /* hand-overs to another thread, nested */
	/* The sleep that another thread's part explains, or NULL; only where
	 * the runtime moves work. */
	const struct thread_interval *waiter;
	int steps;
};

/* Claim [from, to] by what a thread did, backwards from its end, following
 * threads of its process that woke it if they had the request.
 *   like  cause = that of running; attempt, tid, note, as in a claim */
void threads_walk(struct explainer *ex, const struct claim *like,
    int64_t from_ns, int64_t to_ns);
/* Claim [from, to] of an interval by what the thread did. */
void cause_interval(const struct thread_walk *w,
    const struct thread_interval *p, int64_t from_ns, int64_t to_ns);
/* Claim a sleep that another thread of its process ended.
 *   c  the claim so far: its times, thread, call */
void cause_peer(const struct thread_walk *w, const struct thread_interval *p,
    struct claim *c);
/* Claim what the host or interrupts took of the CPU in a thread's run; no
 * longer than their accounts grew meanwhile.
 *   run  the claim of that run */
void cause_taken(struct explainer *ex, const struct claim *run);

/* --- cause_pause.c, cause_tcp.c: claims over the present leg --- */

/* How strong the claim of each kind of pause is. */
extern const enum claim_rank pause_ranks[HAZARD_KIND_COUNT];
/* Claim the pauses of an attempt's server. */
void cause_pauses(struct explainer *ex, int attempt);
/* Claim the time in which the server loaded and compiled many classes. */
void cause_classes(struct explainer *ex, int attempt);
/* True if an event says that a server was busy with classes. */
bool cause_is_classes(
    const struct explainer *ex, const struct tale_entry *e, int attempt);
/* Claim the time in which a signal stopped the process that had an attempt. */
void cause_stops(struct explainer *ex, int attempt);
/* Claim times in which the observer did not look, or events were lost. */
void cause_gaps(struct explainer *ex);
/* Claim times without the kernel's events, of a leg that would need them. */
void cause_unsampled(struct explainer *ex, const struct claim *leg);
/* Claim the time from the last event on, if the observer was late and events of
 * the request's end are missing: what Tailor did is not known, either. */
void cause_unread(struct explainer *ex);
/* Claim times of lost events; RANK_LOSS where threads' claims would be
 * wrong. */
void cause_losses(struct explainer *ex, enum claim_rank rank);
/* Claim what held back bytes sent on a flow; like: attempt and thread. */
void cause_tcp(struct explainer *ex, const struct claim *like, uint64_t cookie,
    const char *what);

/* --- sums.c: what a server's thread did from receiving an attempt's request
 * until it sent, added up --- */

struct epoch_sums {
	int64_t begin_ns, end_ns;
	int64_t way_ns; /* since Tailor's send, 0: not known */
	uint32_t tid;
	unsigned marks; /* enum talechain_epoch */
	int64_t ran_ns, ready_ns, preempted_ns, slept_ns, lock_ns, disk_ns;
	int64_t stolen_ns, handled_ns, fault_ns; /* of ran_ns */
};

/* The next sums of an attempt that lie within a time; false: none. */
bool sums_next(const struct explainer *ex, int attempt, int64_t from_ns,
    int64_t to_ns, struct epoch_sums *out);
/* Claim the present leg, from their begin to their end, by them. */
void
sums_claim(struct explainer *ex, int attempt, const struct epoch_sums *sums);

/* --- path.c: legs and their claims --- */

/* Claim each leg of the request's way, and what explains it. */
void path_claim(struct explainer *ex);

/* --- rates.c: which computing was slow, once all claims are made --- */

/* One believable RATE event. */
struct rate_period {
	uint64_t signal;
	int server, cpu; /* -1: none */
	double count, base, usual;
	int64_t begin_ns, end_ns;
};

/* Claim computing at low IPC, or on a slow clock. */
void cause_rates(struct explainer *ex);
/* Read an entry's rate.  False: it is none, or cannot be true. */
bool rate_period_of(const struct explainer *ex, const struct tale_entry *e,
    struct rate_period *out);

/* --- check.c: what contradicts itself is not observed, whatever was
 * claimed --- */

/* Once all claims are made: no two threads on a CPU at a time, no thread that
 * computes longer than its process's CPU clock went, no wait longer than
 * between its ends. */
void check_claims(struct explainer *ex);
/* The segments tile the request and the causes add up, or nothing is
 * explained. */
void check_tiles(struct explainer *ex);

/* --- tile.c: segments and their claims, cause_ns and coverage --- */

/* Give each moment to the strongest claim about it: ex->segment_claim, and the
 * story's segments, cause_ns, coverage, known. */
void tile_make(struct explainer *ex);
/* How sure most of a cause's time is. */
enum story_confidence
tile_confidence(const struct explainer *ex, enum tale_cause cause);
/* The longest piece of a cause, of the threads that have most of it: a thread
 * that took the CPU in thirty short pieces counts for more than one that took
 * it once.  NULL: none.  *segment: which it is. */
const struct claim *tile_longest(
    const struct explainer *ex, enum tale_cause cause, size_t *segment);

/* --- explainer.c --- */

/* Find all claims of a tale, which must outlive *ex, and what of its story they
 * settle: all but words and picture.  If memory runs out, ex->failed is set.
 * Release with explainer_fini, which leaves the story. */
void explainer_init(struct explainer *ex, const struct tale *t);
void explainer_fini(struct explainer *ex);
