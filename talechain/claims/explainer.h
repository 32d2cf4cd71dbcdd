/* explainer.h: the steps from a tale to claims, and their types.
 *
 *   tale -> chain (tale/chain.h): where the request was, when
 *        -> threads (threads.c, waits.c): what each thread did
 *        -> legs and claims (path.c, walk.c, cause_*.c, sums.c): causes of each
 *           time
 *        -> checks (check.c): what contradicts itself is not observed
 *        -> segments (tile.c): claims become a tiling of [0, total]
 *
 * Then words/ puts claims into sentences, and render/ draws them.
 *
 * A claim gives a cause for a piece of time.  Where claims overlap, the one of
 * higher rank wins: a collection stops a thread whatever the thread did.  Each
 * leg of the critical path cuts its claims to itself, so a claim about one
 * thread never covers a time in which the request was elsewhere.
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
	RANK_APP,	  /* reported by the application's events */
	RANK_APP_RATE,	  /* RANK_APP, at low IPC or on a slow clock */
	RANK_THREAD,	  /* what the thread did, as the scheduler saw it */
	RANK_THREAD_RATE, /* RANK_THREAD, at low IPC or a slow clock */
	RANK_OTHER,	  /* the thread worked on another request */
	RANK_TAKEN,	  /* the host or interrupts took the thread's CPU */
	RANK_LOSS, /* the scheduler's events were lost: threads are unknown */
	RANK_CLASSES,
	RANK_FAULT,
	RANK_RECLAIM, /* freeing memory, mostly within a fault */
	RANK_SOFTIRQ,
	RANK_STOLEN,	    /* the host took the CPU in a fault or softirq */
	RANK_CPU,	    /* ready, but without a CPU */
	RANK_STOP,	    /* the whole process was stopped */
	RANK_CONTRADICTION, /* the thread's events cannot all be true */
	RANK_TCP,
	RANK_UNREAD,	/* events of that time had not been read yet */
	RANK_UNSAMPLED, /* the kernel's events were not recorded */
	RANK_SUM,	/* sums: how long is known, not when */
	RANK_SAFEPOINT,
	RANK_GC,
	RANK_ASLEEP, /* a sleep that ended from outside, pause or not */
	RANK_EXIT,
};

/* Why a piece of time passed, and what is known of it. */
struct claim {
	int64_t begin_ns, end_ns;
	enum tale_cause cause;
	enum claim_rank rank;
	int attempt;  /* 0, 1; -1: not at a server */
	uint32_t tid; /* the thread that worked or waited, 0: not known */
	uint32_t pid; /* STOPPED: the process */
	uint32_t
	    other; /* the thread it waited for or lost its CPU to, 0: none */
	uint32_t last;	/* RUNQ, PREEMPTED: as in struct cpu_turn */
	int cpu;	/* -1: not known */
	bool likely;	/* an end, or the cause, is inferred */
	uint64_t value; /* by cause: bytes, idle state, vector, ... */
	unsigned call;	/* of a wait: the system call, plus 1; 0: none */
	/* Of a sleep: the call on a socket in which the thread slept, or its
	 * next one; borrowed from the tale, or NULL. */
	const struct talechain_event *peer;
	/* Of a sleep: the PEER event of the thread of another process that
	 * ended it; borrowed from the tale, or NULL. */
	const struct talechain_event *sender;
	/* LOCK, SLEEP: true if the thread waited for slept until timers. */
	bool timer;
	bool unseen;	  /* RUNQ, PREEMPTED: as in struct cpu_turn */
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
	WAIT_INTERPRETER, /* a lock that threads take in turns of 5 ms */
	WAIT_MONITOR,	  /* the stack has a function of HotSpot's monitors */
	WAIT_EITHER,	  /* for a lock or until own timers: not known */
	WAIT_TURNS,	  /* EITHER, with the timeouts of an interpreter lock */
};

/* One state of a thread, from one moment to another, as the scheduler saw
 * it. */
struct thread_interval {
	uint32_t tid;
	enum thread_state state;
	int64_t begin_ns, end_ns;
	int cpu; /* where it ran or was to run, -1: not known */
	/* PREEMPTED: the thread that got the CPU; READY: the one that gave it;
	 * else the waker. */
	uint32_t other;
	uint32_t other_pid;
	int64_t woken_ns; /* when the thread was woken, or NEVER */
	unsigned context; /* enum talechain_context of the waker */
	uint64_t vector;  /* of a waking softirq */
	unsigned call;	  /* off its CPU: the system call, plus 1; 0: none */
	uint64_t futex;	  /* the word that it slept on, 0: none, or not known */
	enum thread_wait wait;
	bool inferred;	   /* the begin; no event shows it */
	bool whole;	   /* READY, PREEMPTED: all switches of cpu are known */
	const char *doubt; /* static: how its events disagree, or NULL */
};

/* A time of which events of the kernel were lost: what threads did is not
 * known. */
struct loss {
	int64_t begin_ns, end_ns;
};

/* How a thread and the other threads of its process wait for each other. */
struct thread_process {
	unsigned switches; /* timeouts of 5 ms in waits of this thread */
	bool switched;	   /* this thread had such waits */
	bool lock;	   /* timeouts of 5 ms in its process are for a lock */
	bool interpreter;  /* several threads waited for the lock */
	bool moves;	   /* the runtime moves work between threads */
};

struct explainer {
	const struct tale *t;
	struct story *s;
	struct tale_chain chain;
	bool watched[TALE_THREADS]; /* all its switches are recorded */
	struct thread_process process[TALE_THREADS];
	int64_t leg_begin_ns, leg_end_ns; /* the present leg */
	struct claim *claim;		  /* owned */
	size_t claims;
	struct claim *segment_claim; /* owned; the claim of each segment */
	int64_t switches_end_ns;     /* no switch after it is in the tale */
	struct loss *loss;	     /* owned; in order of begin */
	size_t losses;
	/* In order of tid, then time; those of a thread do not overlap;
	 * owned. */
	struct thread_interval *interval;
	size_t intervals;
	/* The tale's THREAD and JVM_THREAD events, see names_sort; owned. */
	const struct tale_entry **name;
	size_t names;
	int64_t longest_ns; /* the longest latency_ns of the kernel's events */
	bool failed;	    /* out of memory, once and for all */
};

/* --- claim.c --- */

/* Cut a claim to [begin, end].  False: nothing is left of it. */
bool claim_cut(struct claim *c, int64_t begin_ns, int64_t end_ns);
/* Add a claim, cut to the present leg, unless nothing is left of it. */
void claim_add(struct explainer *ex, const struct claim *c);
/* The request for which Tailor last used the other end of a call's connection,
 * before the call; 0: none, or that end is not Tailor's.
 *   v     the call
 *   end   type of the events that show Tailor's end
 *   type  of the event that names the request and, in arg[arg], Tailor's end */
uint64_t request_at(const struct explainer *ex, const struct talechain_event *v,
    enum talechain_type end, enum talechain_type type, unsigned arg);
/* Id of the other request that kept a thread busy, by a claim; 0: none. */
uint64_t claim_request(const struct claim *c);

/* --- names.c: threads, by their last THREAD event --- */

#define NAME_SIZE 64 /* of a server or thread */

/* All such events are in ex->name: put them in the order in which the next
 * functions find them. */
void names_sort(struct explainer *ex);

/* "qtp-12[815]", "thread 815"; returns out. */
char *
thread_name(const struct explainer *ex, uint32_t tid, char *out, size_t size);
/* The thread's name without its number; "" if no event has it. */
void
thread_text(const struct explainer *ex, uint32_t tid, char *out, size_t size);
/* The process of a thread, or 0 if no event names the thread. */
uint32_t thread_pid(const struct explainer *ex, uint32_t tid);
/* The attempt to whose server a thread belongs, or -1. */
int thread_attempt(const struct explainer *ex, uint32_t tid);

/* Threads that are recognized by their names. */
enum thread_role {
	/* Threads of the kernel that do io_uring's calls for a process
	 * (SQPOLL): no event shows for which of its threads. */
	ROLE_IO_URING,
	ROLE_COMPILER,	/* HotSpot's */
	ROLE_COLLECTOR, /* HotSpot's */
	ROLE_VM,	/* HotSpot's, which stops the others */
};
bool thread_is(const struct explainer *ex, uint32_t tid, enum thread_role role);

/* --- losses.c --- */

/* Fill in ex->loss. */
void losses_find(struct explainer *ex);

/* --- threads.c: what each thread did --- */

/* Fill in ex->watched, interval, name, process. */
void threads_find(struct explainer *ex);
/* True if all switches of a thread are recorded: only then is it known what it
 * did between two events.  False for a thread of TALE_PEER, whose intervals are
 * those of a part of the time. */
bool thread_is_watched(const struct explainer *ex, uint32_t tid);
/* True if the runtime of a thread's process moves work between threads: no
 * event shows for which request such a thread computes. */
bool thread_moves_work(const struct explainer *ex, uint32_t tid);
/* The interval of a thread after p (NULL: its first); NULL if none begins
 * before before_ns. */
const struct thread_interval *threads_next(const struct explainer *ex,
    uint32_t tid, const struct thread_interval *p, int64_t before_ns);
/* How long an interval is within [begin, end], ns, >= 0. */
int64_t interval_within_ns(
    const struct thread_interval *p, int64_t begin_ns, int64_t end_ns);

/* --- waits.c: waits that go on after a timeout become one --- */

/* Join such waits in ex->interval, and set the reason of each sleep. */
void waits_join(struct explainer *ex);
/* The reason for a sleep, by the functions in its stack; EITHER: not known. */
enum thread_wait
waits_by_stack(const struct explainer *ex, const struct thread_interval *p);
/* True if a timer ended a sleep. */
bool thread_timer_ended(const struct thread_interval *p);
/* True if another thread of the same process ended an interval. */
bool
thread_is_peer(const struct explainer *ex, const struct thread_interval *p);
/* A thread's state in an interval, as a cause; WORK: it ran. */
enum tale_cause
interval_cause(const struct explainer *ex, const struct thread_interval *p);

/* --- turns.c: the threads that had a CPU for which another waited --- */

/* The CPU that an event is about; -1: not known. */
static inline int
event_cpu(const struct talechain_event *e)
{
	return e->cpu <= INT16_MAX ? (int)e->cpu : -1;
}

/* A piece of a wait. */
struct cpu_turn {
	int64_t begin_ns, end_ns;
	uint32_t tid;  /* the thread that had the CPU, at least at its begin */
	uint32_t last; /* another that had it at its end; 0: the same one */
	bool unseen;   /* others may have had it in between */
	bool batch;    /* the policy of these threads is SCHED_IDLE */
};

/* A walk through the turns of a wait; borrows the wait. */
struct cpu_turns {
	const struct thread_interval *wait;
	size_t entry;  /* of the tale, the next to read */
	int64_t at_ns; /* end of the last turn */
	/* The threads that had the CPU in the last turn, and got it then, and
	 * if their policy is SCHED_IDLE. */
	uint32_t had, came;
	bool had_batch, came_batch;
};

/* Begin with the turns of a wait in state READY or PREEMPTED, whose other is
 * not 0. */
void turns_begin(const struct explainer *ex, const struct thread_interval *wait,
    struct cpu_turns *s);
/* The next turn; the turns tile the wait.  False: no more. */
bool turns_next(
    const struct explainer *ex, struct cpu_turns *s, struct cpu_turn *out);

/* --- root.c: the end of a chain of waits --- */

#define ROOT_DEEP 8

/* A chain of threads in [begin_ns, end_ns]: each waited for the next, and the
 * last did something else. */
struct root {
	uint32_t tid[ROOT_DEEP];
	unsigned count; /* >= 1 */
	int64_t begin_ns, end_ns;
	bool open; /* true: what the last thread did is not known, or the
		    * chain is too long, or a circle */
};

/* Find the chain that begins with tid, for which waiter waited in [begin_ns,
 * end_ns]. */
void root_find(const struct explainer *ex, struct root *r, uint32_t waiter,
    uint32_t tid, int64_t begin_ns, int64_t end_ns);

enum root_timer {
	ROOT_NO_TIMER,	   /* no timer, or that is not known */
	ROOT_SLEPT,	   /* a timer ended its sleep */
	ROOT_KEEPS_TIMERS, /* timers ended sleeps in a rhythm, or in epoll */
};
/* How timers ended the sleeps of the chain's last thread. */
enum root_timer root_timer(const struct explainer *ex, const struct root *r);

/* --- stack.c --- */

/* Index + 1 of the entry at which the stack of a thread's wait begins, for the
 * wait that ended at ns; 0: none. */
size_t stack_after(const struct explainer *ex, uint32_t tid, int64_t ns);
/* Search the stack of a thread's wait that ended at ns, the program's or the
 * kernel's, for functions by parts of their names.  Returns the index of the
 * part that the innermost match has, or -1.  *known: true if there is a stack
 * with names. */
int stack_find(const struct explainer *ex, uint32_t tid, int64_t ns,
    bool of_kernel, const char *const part[], int parts, bool *known);
/* True if an entry is a sample of a computing thread's stack; out receives the
 * innermost function, "?" if it has no name. */
bool stack_sample(const struct explainer *ex, size_t entry, uint32_t tid,
    char out[STORY_FRAME]);
/* The collector, "Ruby's", to which one of the three innermost functions of a
 * sample belongs; NULL: none, or the entry is no sample.  Static text. */
const char *
stack_collector(const struct explainer *ex, size_t entry, uint32_t tid);

/* --- where.c --- */

/* The call that shows which peer a thread of an attempt's server slept for: its
 * receipt on a connection to elsewhere, or its connect().  NULL: the peer is
 * not known. */
const struct talechain_event *wait_peer(
    const struct explainer *ex, int attempt, const struct thread_interval *p);
/* The PEER event of the thread of another process that ended a sleep.  NULL:
 * none did, or that is not known.
 *   received  the receipt of what came, by wait_peer; NULL: nothing did */
const struct talechain_event *wait_sender(const struct explainer *ex,
    const struct thread_interval *p, const struct talechain_event *received);
/* True if a system call (its number, plus 1) waits for many connections, as in
 * an event loop. */
bool call_is_loop(unsigned call);
/* Set in a segment the call, stack and peer of its thread's wait, by its
 * claim. */
void claim_where(
    const struct explainer *ex, const struct claim *c, struct story_segment *g);

/* --- other.c: requests that a server's thread had besides this one --- */

/* When the thread that will send this response next responds to another
 * request, after the present leg; *c then claims the time until that moment.
 * NEVER: no such response, or the same thread received this request. */
int64_t other_responded(const struct explainer *ex, struct claim *c);
/* The request that kept a thread of an attempt's server busy when this one
 * came; 0: not known. */
uint64_t other_request(
    const struct explainer *ex, int attempt, uint32_t tid, int64_t came_ns);
/* True if a thread of an attempt's server has another request at ns: the thread
 * received on another connection to the server's port, and has not sent there
 * since. */
bool other_is_with(
    const struct explainer *ex, int attempt, uint32_t tid, int64_t ns);
/* True if other_is_with(), for the receipt before ns, and the same thread sent
 * there after ns, before it took this request. */
bool other_is_served(
    const struct explainer *ex, int attempt, uint32_t tid, int64_t ns);
/* Claim what a thread computed within the leg for other requests, as an event
 * loop does: right after a receipt, or right before a response. */
void cause_other(struct explainer *ex, int attempt, uint32_t tid);
/* List the other requests of all segments in s->request. */
void requests_list(struct explainer *ex);

/* --- walk.c, cause_thread.c, cause_peer.c, cause_taken.c: threads --- */

/* The state of a walk through the threads of a leg. */
struct thread_walk {
	struct explainer *ex;
	const struct claim *like;
	int64_t from_ns; /* the leg's begin */
	unsigned depth;	 /* hand-overs to another thread, nested */
	/* The sleep during which the walk is in another thread, or NULL; set
	 * only where the runtime moves work. */
	const struct thread_interval *waiter;
	int steps;
};

/* Claim [from_ns, to_ns] by what threads did, backwards from the end: first
 * like->tid, then threads of its process that woke it and had the request.
 *   like  claim of running: cause; attempt, tid, note as in a claim */
void threads_walk(struct explainer *ex, const struct claim *like,
    int64_t from_ns, int64_t to_ns);
/* Claim [from_ns, to_ns] of an interval by what the thread did. */
void cause_interval(const struct thread_walk *w,
    const struct thread_interval *p, int64_t from_ns, int64_t to_ns);
/* Claim a sleep that another thread of its process ended.
 *   c  the claim so far: its times, thread, call */
void cause_peer(const struct thread_walk *w, const struct thread_interval *p,
    struct claim *c);
/* Claim the time that the host or interrupts took from a thread's run: no more
 * than their accounts grew by. */
void cause_taken(struct explainer *ex, const struct claim *run);

/* --- cause_pause.c, cause_tcp.c: claims over the present leg --- */

/* Rank of the claim of each kind of pause. */
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
/* Claim times in which the observer did not read, or events were lost. */
void cause_gaps(struct explainer *ex);
/* Claim the times of a leg in which the kernel's events were not recorded; like
 * cause_unread(), weakly where Tailor itself recorded what the leg was. */
void cause_unsampled(struct explainer *ex, const struct claim *leg);
/* Claim the time of a leg after the last event as not observed, if the observer
 * was late and the request's last events are missing. */
void cause_unread(struct explainer *ex, const struct claim *leg);
/* Claim times of lost events.
 *   rank  RANK_LOSS: over the claims of threads, which may be wrong */
void cause_losses(struct explainer *ex, enum claim_rank rank);
/* Claim the times in which TCP held back bytes sent on a flow.
 *   like  attempt and thread
 *   what  the bytes, as the claim's note */
void cause_tcp(struct explainer *ex, const struct claim *like, uint64_t cookie,
    const char *what);

/* --- sums.c: what a server's thread did from receiving an attempt's request
 * until it sent, added up --- */

struct epoch_sums {
	int64_t begin_ns, end_ns;
	int64_t way_ns; /* from Tailor's send to begin_ns, 0: not known */
	uint32_t tid;
	unsigned marks; /* enum talechain_epoch */
	int64_t ran_ns, ready_ns, preempted_ns, slept_ns, lock_ns, disk_ns;
	int64_t stolen_ns, handled_ns, fault_ns; /* parts of ran_ns */
};

/* Find the next sums of an attempt in [from_ns, to_ns].  False: there are
 * none. */
bool sums_next(const struct explainer *ex, int attempt, int64_t from_ns,
    int64_t to_ns, struct epoch_sums *out);
/* Claim what sums say, from their begin to their end within the present leg. */
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
/* Read an entry's rate.  False: the entry has none, or it cannot be true. */
bool rate_period_of(const struct explainer *ex, const struct tale_entry *e,
    struct rate_period *out);

/* --- check.c: contradictory claims become "not observed" --- */

/* After all claims: claim as not observed where two threads run on one CPU, or
 * a server's threads run for longer than its CPU clock says. */
void check_claims(struct explainer *ex);
/* Count contradictions.  If the segments do not tile the request, or the causes
 * do not add up, nothing counts as explained. */
void check_tiles(struct explainer *ex);

/* --- tile.c: segments and their claims, cause_ns and coverage --- */

/* Give each moment to the strongest claim about it: ex->segment_claim, and the
 * story's segments, cause_ns, coverage, known. */
void tile_make(struct explainer *ex);
/* The confidence of most of a cause's time. */
enum story_confidence
tile_confidence(const struct explainer *ex, enum tale_cause cause);
/* The claim of a cause's longest piece, among the pieces of the two threads
 * with most of its time: thirty short pieces of one thread may count for more
 * than a long one of another.  NULL: none.  *segment: the piece's index. */
const struct claim *tile_longest(
    const struct explainer *ex, enum tale_cause cause, size_t *segment);

/* --- explainer.c --- */

/* Find all claims of a tale and fill in its story, all but words and picture.
 * The tale must outlive *ex.  If memory runs out, ex->failed is set.  Release
 * with explainer_fini, which leaves the story. */
void explainer_init(struct explainer *ex, const struct tale *t);
void explainer_fini(struct explainer *ex);
