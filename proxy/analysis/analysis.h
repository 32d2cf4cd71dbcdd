/* analysis.h: the thread that examines slow requests.
 *
 * This thread of low priority cuts the events of slow requests out of the
 * timeline stream before they are overwritten, explains them, keeps the tales
 * in the store (talechain/store/), and renders them for clients.  All input
 * and output is on this thread.  The proxy thread sends questions and receives
 * answers through three rings (single producer, single consumer) and eventfds
 * and never waits: if a ring is full, the tale is not made, which is counted.
 *
 * Questions of clients come first: a tale that no client asked for is put off
 * while its events are not complete, and the thread has the proxy's priority
 * while a client waits.  Tales and accounts that no client asked for have a
 * budget of CPU time (budget.h). */
#pragma once

#include "proxy/analysis/latencies.h"
#include "proxy/analysis/missed.h"
#include "proxy/analysis/tail.h"
#include "proxy/analysis/tale_format.h"
#include "talechain/store/store.h"
#include "talechain/symbols/symbols.h"

struct analysis;

/* A JSON document about the kept tales and the tail, written by a function of
 * the caller's.  write is called once at most, and returns 0 or -ENOMEM; the
 * caller of write frees *text. */
struct analysis_report {
	int (*write)(struct analysis_report *report,
	    const struct tale_summary *tale, unsigned n,
	    const struct tail *tail, char **text, size_t *length);
	void (*free)(struct analysis_report *report);
};

/* The names of a request. */
struct analysis_name {
	uint64_t id;
	char external_id[65], method[16], target[TALE_TEXT];
};

enum analysis_kind {
	ANALYSIS_TALE,	    /* the tale of one request, rendered */
	ANALYSIS_KEEP,	    /* keep the tale or account; no answer */
	ANALYSIS_MISSED,    /* there was no room for a KEEP; no answer */
	ANALYSIS_SLOW,	    /* a list of the kept tales, as JSON */
	ANALYSIS_REPORT,    /* a list written by the question's report */
	ANALYSIS_BLAME,	    /* what a percentile consists of, as JSON or HTML
			    * (format); reads list, route */
	ANALYSIS_LATENCIES, /* CSV of latencies, list.since_ns .. until_ns */
	ANALYSIS_ACCOUNTS,  /* CSV of accounts, list.since_ns .. until_ns */
};

/* The orders in which kept tales are listed: symbol, word. */
#define ANALYSIS_SORTS(X)                            \
	X(TIME, "time")	  /* the latest to finish */ \
	X(TOTAL, "total") /* the longest */          \
	X(SERVER, "server")                          \
	X(CAUSE, "cause")                            \
	X(STATUS, "status") /* errors first */

enum analysis_sort {
#define ANALYSIS_X(symbol, word) ANALYSIS_SORT_##symbol,
	ANALYSIS_SORTS(ANALYSIS_X)
#undef ANALYSIS_X
};

/* Which kept tales to list, and how. */
struct analysis_list {
	unsigned n;
	enum analysis_sort sort; /* among equals: the latest first */
	int64_t since_ns;	 /* finished at most so long ago; 0: any time */
	int64_t until_ns;	 /* ACCOUNTS, BLAME: at least so long ago */
	char percentile[16];	 /* BLAME: "99.9"; "": 99 */
	int cause;		 /* enum tale_cause, -1: any */
	char path[TALE_TEXT];	 /* "": any */
	/* Figures to be reported with the list: */
	int64_t target_ns;
	uint64_t slow;	  /* slow requests */
	uint64_t waiting; /* requests that still wait to be examined */
	/* Slow requests without a timeline, by the reason. */
	uint64_t missed[MISSED_COUNT];
};

struct analysis_question {
	uint64_t cookie; /* returned with the answer */
	enum analysis_kind kind;
	struct instant asked; /* when a client asked; none: no client did */
	bool known;	      /* request is filled in beyond its id */
	bool keep;	      /* put the tale into the store */
	bool account;	      /* KEEP: make an account */
	bool counted;	      /* KEEP: it was asked for once, as slow */
	enum account_stratum stratum; /* KEEP: SLOWEST is rarely left out */
	uint32_t stands;	      /* of the account; accounts_add */
	char route[ACCOUNT_ROUTE];    /* of the account; BLAME: "": all */
	/* KEEP: requests since the last KEEP question, with this one. */
	uint32_t offered[ACCOUNT_STRATA];
	bool has_client; /* client is filled in */
	enum tale_reason reason;
	struct instant window_end; /* TALE_REASON_SLOWEST */
	unsigned window_keep;	   /* TALE_REASON_SLOWEST: tales to keep */
	enum tale_format format;
	struct tale_request request; /* known: all of it; else external_id */
	struct tale_client client;
	struct analysis_list list;
	struct analysis_report *report; /* REPORT; owned by the question */
	/* TALE: other requests of about that time; owned by the question. */
	struct analysis_name *name;
	unsigned names;
	/* analysis_ask sets these. */
	struct instant put; /* time of entry into the ring */
	uint64_t keeps;	    /* KEEP questions put before this one */
	/* The analysis thread sets these. */
	bool taken;	/* KEEP: paid from the budget */
	unsigned tries; /* slices so far without the request's end */
};

struct analysis_answer {
	uint64_t cookie;
	int status; /* 200; 404: not in the store; 429: too many BLAME questions
		     * wait; 500: no memory */
	char *text; /* owned by the receiver; NULL unless 200 */
	size_t length;
};

/* The observer reads an event at most this long after it was written. */
#define ANALYSIS_SETTLE_NS (5 * NS_PER_MS)

struct analysis_options {
	struct timeline *timeline;
	unsigned keep;	      /* tales to keep, 1 .. 65536 */
	const char *store;    /* directory; "": anonymous memory */
	uint64_t store_bytes; /* its bound */
	int64_t settle_ns;    /* from a finish until all its events are read */
	int kallsyms;	      /* fd of /proc/kallsyms, now owned; 0: none */
	struct symbols_maps maps;	/* see there */
	double cpu;			/* budget: share of a CPU, 0 .. 1 */
	size_t accounts;		/* accounts held in memory, 0: none */
	uint64_t account_bytes;		/* most bytes of their files */
	struct counted_epochs *counted; /* borrowed; NULL: none */
};

/* The answer to a client waits at most this long for events, or for tales that
 * are being kept, and then says what is missing. */
#define ANALYSIS_PATIENCE_NS (50 * NS_PER_MS)
#define ANALYSIS_REST_NS (500 * NS_PER_MS)

/* Start the thread; the store is opened before this returns.  If the directory
 * cannot be used, that is logged and memory is used instead.  Returns 0, -EBUSY
 * (another running tailor uses the directory; logged) or another negative
 * errno.  analysis_free stops the thread. */
int analysis_new(struct analysis **out, const struct analysis_options *o);
void analysis_free(struct analysis **ap);

/* A server pauses and its collector needs CPUs: until that instant, begin no
 * tale that no client asked for, unless the question is older than
 * ANALYSIS_REST_NS.  Proxy thread. */
void analysis_rest(struct analysis *a, struct instant until);

/* Change the budget to a share of one CPU, 0 .. 1.  Proxy thread. */
void analysis_budget(struct analysis *a, double cpu);

/* Put a question into the ring, which takes ownership of q->report and q->name.
 * False if the ring is full: the caller still owns them.  Some places are for
 * MISSED alone.  Proxy thread. */
bool analysis_ask(struct analysis *a, const struct analysis_question *q);

/* As latencies_count.  Proxy thread. */
const char *analysis_count(struct analysis *a, const struct latency_key *key,
    int64_t total_ns, int64_t *tail_ns);
/* blame.classes has changed.  Proxy thread. */
void analysis_classes(struct analysis *a);

/* An eventfd that is readable when answers wait; and the next answer, false if
 * there is none.  Take all of them.  Proxy thread. */
int analysis_fd(const struct analysis *a);
bool analysis_take(struct analysis *a, struct analysis_answer *out);

/* Counters of the analysis, which its thread writes and any may read. */
struct analysis_stats {
	/* As in struct tale_store_stats. */
	_Atomic uint64_t tales, bytes, added, dropped, corrupt;
	_Atomic uint64_t failed;	/* tales that could not be written */
	_Atomic uint64_t made;		/* tales made */
	_Atomic uint64_t contradictory; /* slow requests, by their events */
	_Atomic uint64_t accounts_left_out; /* accounts beyond it */
	_Atomic uint64_t cpu_ns;	    /* CPU time of the thread */
	_Atomic uint64_t turns;		    /* of its loop */
	atomic_bool on_disk;		    /* new tales are written to disk */
	_Atomic uint64_t failures; /* how often the disk began to fail */
	/* Requests over the target, by the cause of their largest part; and
	 * their time, by cause. */
	_Atomic uint64_t cause_requests[TALE_CAUSE_COUNT];
	_Atomic uint64_t cause_ns[TALE_CAUSE_COUNT];
};

/* The counts of the analysis.  Any thread may read the atomics; routes are the
 * proxy thread's. */
struct analysis_seen {
	const struct analysis_stats *stats;
	const struct missed *missed; /* slow requests without a tale */
	const struct routes *routes; /* that have a place */
	const struct accounts *accounts;
	const struct latencies *latencies; /* of all requests */
	const struct tail *tail;	   /* its parts */
};
struct analysis_seen analysis_seen(const struct analysis *a);
