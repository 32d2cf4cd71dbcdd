/* analysis.h: slow requests are examined away from the proxy thread.
 *
 * A thread of low priority slices the timeline stream for requests that were
 * slow, before the stream overwrites them, says what they mean, keeps them in
 * the store (talechain/store/), and renders what is asked for.  All input
 * and output is on that thread.  The proxy thread talks to it through three
 * rings (single producer, single consumer) and eventfds and never waits: when a
 * ring is full, that tale is not made, which is counted.
 *
 * What a client asks comes first: a tale that no client asked for is put off if
 * it would have to wait for its events, and the thread, of low priority
 * otherwise, is of the proxy's while there are questions.  Tales that no client
 * asked for have a budget of CPU time (budget.h). */
#pragma once

#include "proxy/analysis/latencies.h"
#include "proxy/analysis/tail.h"
#include "proxy/analysis/tale_format.h"
#include "talechain/store/store.h"

struct analysis;

/* A JSON document about the kept tales and the tail, in a form of the asker's.
 * write is called once at most; the caller frees *text.  It returns 0 or
 * -ENOMEM. */
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
	ANALYSIS_KEEP,	    /* keep it; there is no answer */
	ANALYSIS_SLOW,	    /* a list of what is kept, as JSON */
	ANALYSIS_REPORT,    /* the same, written by the question's report */
	ANALYSIS_BLAME,	    /* what a percentile consists of: list, route; as
			    * JSON or HTML (format) */
	ANALYSIS_LATENCIES, /* CSV of latencies of that time (latencies.h) */
	ANALYSIS_ACCOUNTS,  /* CSV of accounts of list.since_ns .. until_ns */
};

/* In which order kept tales are listed: symbol, word. */
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
	enum analysis_sort sort; /* within: the latest first */
	int64_t since_ns;	 /* finished so long ago at most; 0: whenever */
	int64_t until_ns;	 /* ACCOUNTS, BLAME: and so long ago at least */
	char percentile[16];	 /* BLAME: "99.9"; "": 99 */
	int cause;		 /* enum tale_cause, -1: any */
	char path[TALE_TEXT];	 /* "": any */
	/* Of now, to be reported with them: */
	int64_t target_ns;
	uint64_t slow, left_out; /* slow requests; those not examined */
};

struct analysis_question {
	uint64_t cookie; /* the asker's, returned with the answer */
	enum analysis_kind kind;
	struct instant asked; /* when a client asked; none: no client did */
	bool known;	      /* request is filled in beyond its id */
	bool keep;	      /* put the tale into the store */
	bool slowest;	      /* of a window, so far: rarely left out */
	bool account;	      /* KEEP: an account is to be made */
	enum account_stratum stratum; /* of it */
	char route[ACCOUNT_ROUTE];    /* of it; BLAME: only this one, "": not */
	/* KEEP: requests since the last such question, this one too. */
	uint32_t offered[ACCOUNT_STRATA];
	bool has_client; /* client's stamps are given */
	enum tale_reason reason;
	struct instant window_end; /* TALE_REASON_SLOWEST: of its window */
	unsigned window_keep;	   /* and how many of it are kept */
	enum tale_format format;
	struct tale_request request; /* known: all of it; else external_id */
	struct tale_client client;
	struct analysis_list list;
	struct analysis_report *report; /* REPORT; goes with the question */
	/* TALE: requests about at its time; owned, goes with the question. */
	struct analysis_name *name;
	unsigned names;
	/* analysis.c sets these */
	struct instant put; /* into the ring */
	uint64_t keeps;	    /* KEEP questions put before it */
	/* the analysis thread does */
	bool taken;	/* KEEP: it is in the budget */
	unsigned tries; /* slices that lacked the request's end */
};

struct analysis_answer {
	uint64_t cookie;
	int status; /* 200, 404 not in the store, 429 too many wait for BLAME,
		     * 500 no memory */
	char *text; /* owned by the taker; NULL unless 200 */
	size_t length;
};

/* After so long the observer has read what was written before. */
#define ANALYSIS_SETTLE_NS (5 * NS_PER_MS)

struct analysis_options {
	struct timeline *timeline;
	unsigned keep;	      /* tales, 1 .. 65536 */
	const char *store;    /* directory; "": anonymous memory */
	uint64_t store_bytes; /* its bound */
	int64_t settle_ns;    /* from a finish until all its events are read */
	int kallsyms;	 /* /proc/kallsyms, becomes the thread's; 0: none */
	double cpu;	 /* of one CPU, for what no client asks: 0 .. 1 */
	size_t accounts; /* that are held, 0: none */
	uint64_t account_bytes;		/* of them in files beside the tales */
	struct counted_epochs *counted; /* borrowed; NULL: none */
};

/* A client's answer waits no longer than this for events, or for tales that are
 * being kept; what is missing then is said to be missing. */
#define ANALYSIS_PATIENCE_NS (50 * NS_PER_MS)
#define ANALYSIS_REST_NS (500 * NS_PER_MS)

/* Start the thread; the store is opened before this returns.  A directory that
 * cannot be used is said once in the log and memory taken instead.  Returns 0,
 * -EBUSY (a tailor that runs has the directory, which is logged) or another
 * negative errno.  analysis_free stops the thread. */
int analysis_new(struct analysis **out, const struct analysis_options *o);
void analysis_free(struct analysis **ap);

/* A server pauses, and its collector has a CPU: until then begin no tale that
 * no client asked for, unless it has waited for ANALYSIS_REST_NS.  Proxy
 * thread. */
void analysis_rest(struct analysis *a, struct instant until);

/* Change the budget.  Proxy thread. */
void analysis_budget(struct analysis *a, double cpu);

/* Ask; q->report and q->name go with the question.  False when the ring is full
 * (then they stay the caller's).  Proxy thread. */
bool analysis_ask(struct analysis *a, const struct analysis_question *q);

/* Count a request by its route (latencies.h).  Proxy thread. */
const char *analysis_count(
    struct analysis *a, const struct latency_key *key, int64_t total_ns);
/* Other classes are in force from now on.  Proxy thread. */
void analysis_classes(struct analysis *a);

/* Readable when answers wait; take them all.  Proxy thread. */
int analysis_fd(const struct analysis *a);
bool analysis_take(struct analysis *a, struct analysis_answer *out);

/* Counters of the analysis, which its thread writes and any may read. */
struct analysis_stats {
	/* Of the store. */
	_Atomic uint64_t tales, bytes, added, dropped, corrupt;
	_Atomic uint64_t failed;	/* tales that could not be written */
	_Atomic uint64_t made;		/* tales made */
	_Atomic uint64_t contradictory; /* of slow requests, by their events */
	_Atomic uint64_t left_out;	/* slow requests beyond the budget */
	_Atomic uint64_t cpu_ns;	/* the thread's */
	atomic_bool on_disk;		/* what is new */
	_Atomic uint64_t failures;	/* how often it was so no more */
	/* Of requests over the target, by the cause of the largest part and
	 * by what their time passed on. */
	_Atomic uint64_t cause_requests[TALE_CAUSE_COUNT];
	_Atomic uint64_t cause_ns[TALE_CAUSE_COUNT];
};
const struct analysis_stats *analysis_stats(const struct analysis *a);

/* The routes that have a place.  Proxy thread. */
const struct routes *analysis_routes(const struct analysis *a);

/* The accounts, of which any thread may read cause_ns and ended_ns. */
const struct accounts *analysis_accounts(const struct analysis *a);

/* The latencies of all requests: its atomics. */
const struct latencies *analysis_latencies(const struct analysis *a);

/* Parts of the tail: its atomics. */
const struct tail *analysis_tail(const struct analysis *a);
