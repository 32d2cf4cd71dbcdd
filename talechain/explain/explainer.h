/* explainer.h: the inside of tale_explain(), shared by its parts.
 *
 *   tale -> chain (tale/chain.h): where the request was, when
 *        -> threads (story_threads.c, story_waits.c): what each thread did
 *        -> legs and claims (story_path.c, story_walk.c, cause_*.c,
 *           story_sums.c): causes of each time
 *        -> checks (story_check.c): what contradicts itself is not observed
 *        -> segments (story_tile.c): claims become a tiling of [0, total]
 *        -> verdict (story_verdict.c, story_evidence.c)
 *        -> picture (story_bars.c, story_lanes.c)
 *
 * A claim gives a cause for a piece of time.  Where claims overlap, the one of
 * higher rank wins, because it says more: a collection stops a thread whatever
 * the thread did.  Each leg of the critical path cuts its claims to itself, so
 * a claim about one thread never covers a time in which the request was
 * elsewhere.
 *
 * All times are ns since the tale's t0; NEVER: it did not happen or was not
 * seen.  Private to this room. */
#pragma once

#include "talechain/explain/story.h"
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

/* What a sleep was for, as far as the sleeps around it show. */
enum thread_wait {
	WAIT_OTHER,
	WAIT_LOCK,	  /* it was taken up again after each timeout */
	WAIT_INTERPRETER, /* and the threads of its process take turns so */
	WAIT_MONITOR,	  /* its stack has HotSpot's monitors */
	WAIT_EITHER,	  /* for a lock, or until its own timers */
	WAIT_TURNS,	  /* the same, of an interpreter lock's timers */
};

/* What a thread did from one moment to another, as the scheduler saw it. */
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
	bool switched;	   /* it waited so */
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
	size_t claims, claim_room;
	struct claim *segment_claim; /* owned; of each segment */
	int64_t switches_end_ns;     /* no switch after it is in the tale */
	/* By tid, then time; no overlap in a tid; owned. */
	struct thread_interval *interval;
	size_t intervals, interval_room;
	/* The tale's THREAD events, the last of each thread last; owned. */
	const struct tale_entry **name;
	size_t names, name_room;
	int64_t longest_ns; /* the longest latency_ns of an event */
	size_t lane_room, bar_room, arrow_room, series_room, thread_room;
	bool failed; /* out of memory, once and for all */
};

/* story_threads.c */
void threads_find(struct explainer *ex); /* fills watched, interval */
/* Whether the kernel records all that a thread does: only then is what it
 * did between two events known. */
bool thread_is_watched(const struct explainer *ex, uint32_t tid);
/* Whether what a thread computes may be for any request of its process, as the
 * runtime moves work between threads, which no event shows. */
bool thread_moves_work(const struct explainer *ex, uint32_t tid);
/* The intervals of a thread: *count from the returned on, or NULL. */
const struct thread_interval *
threads_of(const struct explainer *ex, uint32_t tid, size_t *count);

/* story_waits.c: timed waits that are taken up again at once are one. */
void waits_join(struct explainer *ex);
/* Which of some functions, by a part of its name, is in the program's stack of
 * the wait that a thread ended at a moment; -1: none (story_stack.c). */
int stack_find(const struct explainer *ex, uint32_t tid, int64_t ns,
    const char *const part[], int parts);
/* Whether one of some functions is in the kernel's stack of that wait.  *known:
 * whether there is such a stack, with names. */
bool stack_find_kernel(const struct explainer *ex, uint32_t tid, int64_t ns,
    const char *const part[], int parts, bool *known);
/* What a sleep was for, by the functions in its stack; EITHER: not known. */
enum thread_wait
waits_by_stack(const struct explainer *ex, const struct thread_interval *p);
/* Whether a timer ended a sleep. */
bool thread_timer_ended(const struct thread_interval *p);
/* Whether another thread of its process ended what an interval shows. */
bool
thread_is_peer(const struct explainer *ex, const struct thread_interval *p);

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

/* story_root.c: find it.  waiter waited for tid in [begin, end]. */
void root_find(const struct explainer *ex, struct root *r, uint32_t waiter,
    uint32_t tid, int64_t begin_ns, int64_t end_ns);

enum root_timer {
	ROOT_NO_TIMER,	   /* it did something else, or that is not known */
	ROOT_SLEPT,	   /* a timer ended its sleep */
	ROOT_KEEPS_TIMERS, /* timers do so again and again, or in epoll */
};
/* Whether timers ended what the last thread did. */
enum root_timer root_timer(const struct explainer *ex, const struct root *r);

/* A leg's time while the walk goes through its threads. */
struct walk {
	struct explainer *ex;
	const struct claim *like;
	int64_t from_ns; /* the leg's begin */
	unsigned depth;	 /* of threads that had the request from another */
	/* The sleep that another thread's part explains, or NULL; only where
	 * the runtime moves work. */
	const struct thread_interval *waiter;
	int steps;
};

/* Claim [from, to] by what a thread did, backwards from its end, following
 * threads of its process that woke it if they had the request (story_walk.c).
 *   like  cause = that of running; attempt, tid, note, as in a claim */
void threads_walk(struct explainer *ex, const struct claim *like,
    int64_t from_ns, int64_t to_ns);
/* cause_thread.c: claim [from, to] of an interval by what the thread did. */
void cause_interval(const struct walk *w, const struct thread_interval *p,
    int64_t from_ns, int64_t to_ns);

/* cause_peer.c: claim a sleep that another thread of its process ended.
 *   c  the claim so far: its times, thread, call */
void cause_peer(
    const struct walk *w, const struct thread_interval *p, struct claim *c);

/* When the thread that sends the response next responds to another request,
 * after another thread had received this one: NEVER, or the end of a leg from
 * the present one's end on, which the claim is then of (story_other.c). */
int64_t other_responded(const struct explainer *ex, struct claim *c);

/* The request that a thread of an attempt's server was busy with when this one
 * came, or 0 if that is not known (story_other.c). */
uint64_t other_request(
    const struct explainer *ex, int attempt, uint32_t tid, int64_t came_ns);

/* Whether a thread of an attempt's server has another request at a moment: it
 * received on another connection of its port, and has not sent there since. */
bool other_is_with(
    const struct explainer *ex, int attempt, uint32_t tid, int64_t ns);

/* The other request that a claim says a thread was busy with, or 0. */
uint64_t claim_request(const struct claim *c);

/* The other requests of all pieces: s->request (story_other.c). */
void requests_list(struct explainer *ex);

/* What a thread computed within the leg for other requests, as the thread of an
 * event loop does: right after it received one, or right before it responded
 * to one. */
void cause_other(struct explainer *ex, int attempt, uint32_t tid);

/* story_path.c: legs and their claims. */
void path_claim(struct explainer *ex);
/* Make a claim, cut to the leg; an empty one is none. */
void path_add(struct explainer *ex, const struct claim *c);

/* cause_*.c: claims of one kind over the present leg. */
void cause_pauses(struct explainer *ex, int attempt);
/* How strong the claim of each kind of pause is. */
extern const enum claim_rank pause_ranks[HAZARD_KIND_COUNT];
void cause_classes(struct explainer *ex, int attempt);
/* The time in which the process that had an attempt was stopped by a signal. */
void cause_stops(struct explainer *ex, int attempt);
/* Whether an event says that a server was busy with classes. */
bool cause_is_classes(
    const struct explainer *ex, const struct tale_entry *e, int attempt);
void cause_gaps(struct explainer *ex);
/* Times without the kernel's events, of a leg that would need them. */
void cause_unsampled(struct explainer *ex, const struct claim *leg);
/* The time from the last event on, if the observer was late and the events of
 * the request's end are missing: what Tailor did is not known, either. */
void cause_unread(struct explainer *ex);
/* Times of lost events; RANK_LOSS where threads' claims would be wrong. */
void cause_losses(struct explainer *ex, enum claim_rank rank);
/* What held back bytes sent on a flow; like: attempt and thread. */
void cause_tcp(struct explainer *ex, const struct claim *like, uint64_t cookie,
    const char *what);

/* cause_taken.c: of a thread's run, what the host or interrupts took of its
 * CPU.  run: the claim of that run; no longer than their accounts grew
 * meanwhile. */
void cause_taken(struct explainer *ex, const struct claim *run);

/* story_sums.c: what a server's thread did from receiving an attempt's request
 * until it sent, added up. */
struct sums {
	int64_t begin_ns, end_ns;
	int64_t way_ns; /* since Tailor's send, 0: not known */
	uint32_t tid;
	unsigned marks; /* enum talechain_epoch */
	int64_t ran_ns, ready_ns, preempted_ns, slept_ns, lock_ns, disk_ns;
	int64_t stolen_ns, handled_ns, fault_ns; /* of ran_ns */
};

/* The next sums of an attempt that lie within a time; false: none. */
bool sums_next(const struct explainer *ex, int attempt, int64_t from_ns,
    int64_t to_ns, struct sums *out);
/* Claim the present leg, from their begin to their end, by them. */
void sums_claim(struct explainer *ex, int attempt, const struct sums *sums);

/* story_rates.c: which computing was slow, once all claims are made. */
void cause_rates(struct explainer *ex);
/* The CPU time of an attempt's server over a period that a RATE event gives.
 * False: the event is none, or of another server. */
bool rate_cpu_of(const struct explainer *ex, const struct tale_entry *e,
    int attempt, int64_t *begin_ns, int64_t *end_ns, int64_t *cpu_ns);
/* story_check.c: what contradicts itself is not observed, whatever was claimed.
 * Once all claims are made: no two threads on a CPU at a time, no thread that
 * computes longer than its process's CPU clock went, no wait longer than
 * between its ends. */
void check_claims(struct explainer *ex);
/* The segments tile the request and the causes add up, or nothing is
 * explained. */
void check_tiles(struct explainer *ex);

/* The curves under the lanes, once these are there. */
void series_find(struct explainer *ex);

/* story_tile.c: segments and their claims, cause_ns and coverage. */
void tile_make(struct explainer *ex);
/* How sure most of a cause's time is. */
enum story_confidence
tile_confidence(const struct explainer *ex, enum tale_cause cause);
/* The longest piece of a cause, of the threads that have most of it: a thread
 * that took the CPU in thirty short pieces counts for more than one that took
 * it once.  NULL: none.  *segment: which it is. */
const struct claim *tile_longest(
    const struct explainer *ex, enum tale_cause cause, size_t *segment);

/* story_lanes.c: the lane of a kind, number and thread, made if it is new. */
unsigned lane_get(
    struct explainer *ex, enum story_lane_kind kind, int number, uint32_t tid);
unsigned lane_of_claim(struct explainer *ex, const struct claim *c);
unsigned lane_of_event(struct explainer *ex, const struct tale_entry *e);
void lanes_sort(struct explainer *ex);

/* story_bars.c: bars and arrows. */
void bars_draw(struct explainer *ex);
/* Draw like, cut to the picture; nothing if an end is not known. */
void bar_add(struct explainer *ex, const struct story_bar *like);
void arrow_add(struct explainer *ex, const struct story_arrow *like);
/* story_holders.c: lanes of the threads that the request waited for longest. */
void draw_holders(struct explainer *ex);

/* Room for one line of text: terminated, never overrun. */
struct line {
	char *at; /* borrowed */
	size_t size;
};

#define NAME_SIZE 64 /* of a server or thread */

/* story_verdict.c */
/* Append to a line, printf-like; what does not fit is cut. */
void line_add(const struct line *l, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* "a responded in 12.0 ms", of an attempt. */
void say_response(const struct explainer *ex, const struct line *l, int i);
void verdict_write(struct explainer *ex);
/* "softirq NET_RX"; static text. */
const char *softirq_name(uint64_t vector);

/* story_names.c */
/* The attempt whose server's process a thread is of, or -1. */
int thread_attempt(const struct explainer *ex, uint32_t tid);
/* The kernel's threads that do io_uring's calls in a process (SQPOLL), by the
 * names it gives them: no event shows for which thread of the program. */
bool thread_is_io_uring(const struct explainer *ex, uint32_t tid);
/* HotSpot's compilers, by the names it gives them. */
bool thread_is_compiler(const struct explainer *ex, uint32_t tid);
/* Whether it is the thread with which HotSpot stops the others. */
bool thread_is_vm(const struct explainer *ex, uint32_t tid);
/* Tailor's own, whose switches are in no event while it sleeps between sweeps:
 * it may stand at both ends of a time in which another had the CPU. */
bool thread_is_observer(const struct explainer *ex, uint32_t tid);
/* The name of an attempt's server; out is returned. */
char *
attempt_name(const struct explainer *ex, int attempt, char out[NAME_SIZE]);
/* Server and threads of a segment: "a: qtp-12 behind stress-ng". */
void claim_who(
    const struct explainer *ex, const struct claim *c, char *out, size_t size);
/* "a's thread qtp-12", "Tailor"; returns out. */
char *claim_subject(
    const struct explainer *ex, const struct claim *c, char *out, size_t size);
/* "qtp-12", "thread 815"; returns out. */
char *
thread_name(const struct explainer *ex, uint32_t tid, char *out, size_t size);

/* The threads of lanes, bars and pieces: s->thread. */
void threads_list(struct explainer *ex);
/* Whose a thread is: "a", "Tailor", "make[30]", or "" if no event shows it. */
void
thread_owner(const struct explainer *ex, uint32_t tid, char *out, size_t size);
/* "a's compiler C2 CompilerThre[12]", "stress-ng[777]"; returns out. */
char *
thread_owned(const struct explainer *ex, uint32_t tid, char *out, size_t size);

/* The call that shows whom a thread of an attempt's server slept for: its own
 * receipt on a connection that leads elsewhere, or the one it connected.  NULL:
 * that is not known (story_where.c). */
const struct talechain_event *wait_peer(
    const struct explainer *ex, int attempt, const struct thread_interval *p);
/* Whether a system call, plus 1, waits for many connections, as an event loop's
 * does. */
bool call_is_loop(unsigned call);
/* " in futex" for the wait of a claim, and " (3.0 ms of it)" if only that much
 * of its cause is. */
void say_call(
    const struct explainer *ex, const struct claim *c, const struct line *l);
/* " (3.0 ms of it)" if only a part of its cause was behind the same thread;
 * " (at the end of 3.0 ms of it)" if that was seen there at the end only. */
void say_part_of_other(
    const struct explainer *ex, const struct claim *c, const struct line *l);
/* The same of whom it waited for, instead of what woke it.  False: nothing. */
bool say_peer(
    const struct explainer *ex, const struct claim *c, const struct line *l);
/* Where a piece was waited for, by its claim. */
void claim_where(
    const struct explainer *ex, const struct claim *c, struct story_segment *g);

/* story_stack.c: the first entry, + 1, of the stack that a thread had in a wait
 * that ended at a moment; 0: none. */
size_t stack_after(const struct explainer *ex, uint32_t tid, int64_t ns);
/* The stack of a piece in words; false: it has none. */
bool
say_stack(const struct explainer *ex, size_t segment, const struct line *l);
/* Where samples found the thread of a claim computing; false: there are
 * none. */
bool say_samples(
    const struct explainer *ex, const struct claim *c, const struct line *l);

/* story_sums.c, of a claim of RANK_SUM: what it says, and how that is known. */
void say_sums(
    const struct explainer *ex, const struct claim *c, const struct line *l);
void evidence_sums(const struct line *l);

/* story_lock.c: what a thread waited for that another had, and what that did
 * meanwhile; without the subject. */
void say_lock(
    const struct explainer *ex, const struct claim *c, const struct line *l);

/* Until which thread woke it, that slept until timers did. */
void say_timer(
    const struct explainer *ex, const struct claim *c, const struct line *l);

/* story_evidence.c: why the verdict of a cause is what it is. */
void evidence_write(struct explainer *ex, enum tale_cause cause);

/* Coverage below this and the verdict is "not explained". */
#define COVERAGE_MIN 0.5
