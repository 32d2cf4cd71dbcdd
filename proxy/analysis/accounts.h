/* accounts.h: accounts: short records of many requests' stories, for tailorctl
 * blame.
 *
 * Requests of the tail get an account, as far as the budget goes, and of the
 * others a sample (slow.h).  Each KEEP question says how many requests of each
 * stratum there were since the question before it.  At the end of a second the
 * requests of a stratum are divided among its accounts, in proportion to what
 * each stands for; that is an account's weight, the inverse of the probability
 * that it was made.  If a stratum has no account in a second, its requests are
 * carried into the next second: no request is lost.
 *
 * The latest accounts are in a ring, some 350 bytes each.  With a store, those
 * of past seconds are written to files, ten seconds at a time, where the next
 * process finds them; accounts not yet written are read from the ring.
 * Analysis thread only, but for the sums. */
#pragma once

#include <stdatomic.h>

#include "base/text.h"
#include "proxy/analysis/routes.h"
#include "talechain/claims/story.h"

#define ACCOUNTS_KEPT 32768
/* Most names of routes in the ring at one time; further routes are "other". */
#define ACCOUNT_NAMES 256
#define ACCOUNT_SERVERS 2
/* About how many accounts an answer contains, and a report made here uses. */
#define ACCOUNTS_ANSWER 65536
#define ACCOUNTS_REPORT 20000

/* A route's name, and how many accounts of the ring have it. */
struct account_name {
	char name[ACCOUNT_ROUTE];
	size_t accounts;
};

struct accounts {
	const struct routes *routes;	/* borrowed */
	struct account *account;	/* owned, max of them */
	size_t max, made;		/* made: ever; the newest is made - 1 */
	size_t open;			/* first of the present second */
	size_t ready;			/* first without counters; <= open */
	struct counted_epochs *counted; /* borrowed; NULL: none */
	uint64_t second;		/* the present one */
	uint64_t offered[ACCOUNT_STRATA];	 /* requests not yet weighed */
	struct account_name name[ACCOUNT_NAMES]; /* the first is "other" */
	char server[ACCOUNT_SERVERS][ACCOUNT_SERVER];
	struct account_store *store; /* owned; NULL: none */
	size_t stored;		     /* first account not in a file yet */
	uint64_t stored_second;	     /* second of the last write */
	bool failed;		     /* the last open or write failed */

	/* Any thread reads, by place (routes.h).  Both only grow.  ended_ns is
	 * the part of cause_ns from routes that lost the place, which now
	 * counts as "other".  Read ended_ns first. */
	_Atomic uint64_t cause_ns[ROUTE_PLACES][TALE_CAUSE_COUNT];
	_Atomic uint64_t ended_ns[ROUTE_PLACES][TALE_CAUSE_COUNT];
	/* Of the files; lost: accounts overwritten in the ring before they
	 * were written; failures: how often writing began to fail. */
	_Atomic uint64_t bytes, kept, dropped, corrupt, lost, failures;
};

/* Begin with a ring of max accounts; routes is borrowed.  0 or -ENOMEM; call
 * fini in either case. */
int accounts_init(struct accounts *a, const struct routes *routes, size_t max);
/* Write accounts that are not in a file yet, and free the memory. */
void accounts_fini(struct accounts *a);

/* Open the files in that directory, which the store of tales has locked, unless
 * they are open.  While this fails, accounts stay in memory: call it again now
 * and then.  A failure is logged, and its end. */
void
accounts_keep(struct accounts *a, const char *directory, uint64_t bytes_max);

/* Add the requests that finished since the last question; closes the second if
 * it is over. */
void accounts_offered(struct accounts *a, struct instant now,
    const uint32_t offered[ACCOUNT_STRATA]);
/* Undo accounts_offered for a question that will be put again.  Otherwise its
 * requests would count in a second that its account is not in. */
void
accounts_put_off(struct accounts *a, const uint32_t offered[ACCOUNT_STRATA]);

/* Add the account of a story.
 *   route   a plain name
 *   stands  requests that this one was chosen from, itself included; at least
 *           1 */
void accounts_add(struct accounts *a, const struct story *s, const char *route,
    enum account_stratum stratum, uint32_t stands, int64_t end_wall_ns);

/* A route has lost its place: the place's sums now count as "other". */
void accounts_end(struct accounts *a, unsigned place);

/* accounts_counted.c: add the counters of their server to accounts of past
 * seconds, as far as these are known.
 *   last  do not wait for counters that are not known yet */
void accounts_count(struct accounts *a, bool last);

/* Append CSV columns for some counters: ",CODE" of each, or ",VALUE"; "," if
 * not counted. */
void account_counted_head(uint32_t counters, struct text *t);
void account_counted_write(
    const struct account *one, uint32_t counters, struct text *t);

/* Find the period [*from_ns, *to_ns), wall clock, from since_ns to until_ns
 * before the latest account; since_ns 0: from the beginning. */
void accounts_window(struct accounts *a, int64_t since_ns, int64_t until_ns,
    int64_t *from_ns, int64_t *to_ns);

/* Callbacks of accounts_read: first the counters that some accounts have, bits
 * 1 << enum talechain_counter; then each account with its weight. */
typedef void account_begin(void *user, uint32_t counters);
typedef void
account_take(void *user, const struct account_named *one, double weight);

/* Read accounts that ended within [latest - since_ns, latest - until_ns], from
 * files and then from memory, each oldest first, up to now.
 *   since_ns, until_ns  counted back from the latest account; since_ns 0: all
 *   room                about how many to take; if there are more, first only a
 *                       share of those that are not of the tail is taken,
 *                       then of the tail, and their weight is raised */
void accounts_read(struct accounts *a, int64_t since_ns, int64_t until_ns,
    size_t room, account_begin *begin, account_take *take, void *user);

/* Append those accounts as CSV, with a line of column names. */
void accounts_write(struct accounts *a, int64_t since_ns, int64_t until_ns,
    size_t room, struct text *t);

/* Write the method and the first segment of the path, "GET /search"; a part
 * that is long, or not valid in a CSV field, becomes "_".  Returns out. */
char *
account_route(const char *method, const char *target, char out[ACCOUNT_ROUTE]);

/* Write the first of n classes of blame.classes that a request belongs to, else
 * "other"; if n is 0, its account_route.  Returns out. */
char *account_class(char *const *class, unsigned n, const char *method,
    const char *target, char out[ACCOUNT_ROUTE]);
