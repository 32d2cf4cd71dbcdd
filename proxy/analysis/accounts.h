/* accounts.h: what is kept of many requests' stories, for tailorctl blame.
 *
 * All slow requests are examined, and a share of the others.  How many of each
 * stratum there were between two accounts comes with the question; at the end
 * of a second each account weighs (requests of its stratum) / (accounts of it),
 * the inverse of the probability that it was made.  A stratum of which no
 * account was made is carried into the next second: no request is lost.
 *
 * A ring of the latest, some 350 bytes each.  With a store those of seconds
 * that are over go into it, where the next process finds them, ten seconds at a
 * time; those of the ring that are not in it yet are read from the ring.
 * Analysis thread only, but for the sums. */
#pragma once

#include <stdatomic.h>

#include "base/text.h"
#include "proxy/analysis/routes.h"
#include "talechain/claims/story.h"

#define ACCOUNTS_KEPT 32768
/* Names of routes that the ring may have at one time; further ones are
 * "other". */
#define ACCOUNT_NAMES 256
#define ACCOUNT_SERVERS 2
/* How many one answer has, about; and those of which a report is made here. */
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
	size_t max, made;		/* ever: the newest is made - 1 */
	size_t open;			/* the first whose second is not over */
	size_t ready;			/* the first not counted; <= open */
	struct counted_epochs *counted; /* borrowed; NULL: none */
	uint64_t second;		/* that is not over */
	uint64_t offered[ACCOUNT_STRATA];
	struct account_name name[ACCOUNT_NAMES]; /* the first is "other" */
	char server[ACCOUNT_SERVERS][ACCOUNT_SERVER];
	struct account_store *store; /* owned; NULL: none */
	size_t stored;		     /* the first that is in no file yet */
	uint64_t stored_second;	     /* when such were written last */
	bool failed;		     /* to open or write them, last */

	/* Any thread reads, by place (routes.h).  Both only grow; what is of
	 * routes that lost the place is in the second one, which is of "other"
	 * now.  Read the second one first. */
	_Atomic uint64_t cause_ns[ROUTE_PLACES][TALE_CAUSE_COUNT];
	_Atomic uint64_t ended_ns[ROUTE_PLACES][TALE_CAUSE_COUNT];
	/* Of the files; lost: overwritten in the ring before they were
	 * written; failures: how often they could not be written any more. */
	_Atomic uint64_t bytes, kept, dropped, corrupt, lost, failures;
};

/* max: how many are held; routes is borrowed.  0 or -ENOMEM; fini either way.
 */
int accounts_init(struct accounts *a, const struct routes *routes, size_t max);
/* Writes what is not in a file yet. */
void accounts_fini(struct accounts *a);

/* Keep them in files of that directory, which the store of tales has locked, if
 * they are not yet.  They stay in memory while they cannot be read or written:
 * call it again at times.  Both changes are logged. */
void
accounts_keep(struct accounts *a, const char *directory, uint64_t bytes_max);

/* Requests that finished since the last question; a second may be over. */
void accounts_offered(struct accounts *a, struct instant now,
    const uint32_t offered[ACCOUNT_STRATA]);
/* Take that back, if nothing was asked of the accounts since: the question will
 * be put again.  Else a second that is over before would have too few. */
void
accounts_put_off(struct accounts *a, const uint32_t offered[ACCOUNT_STRATA]);

/* Keep what a story says; route is a plain name. */
void accounts_add(struct accounts *a, const struct story *s, const char *route,
    enum account_stratum stratum, int64_t end_wall_ns);

/* A route has lost its place: what is counted there is of "other" now. */
void accounts_end(struct accounts *a, unsigned place);

/* accounts_counted.c: give those whose second is over what was counted of their
 * server, once that is known.
 *   last  what is not known now will not be */
void accounts_count(struct accounts *a, bool last);

/* Columns for some counters: ",CODE" of each, and ",VALUE"; ",": not
 * counted. */
void account_counted_head(uint32_t counters, struct text *t);
void account_counted_write(
    const struct account *one, uint32_t counters, struct text *t);

/* The time [*from_ns, *to_ns) that ended within since_ns .. until_ns before the
 * latest account, wall clock; since_ns 0: from the beginning. */
void accounts_window(struct accounts *a, int64_t since_ns, int64_t until_ns,
    int64_t *from_ns, int64_t *to_ns);

/* First which counters some have, bits 1 << enum talechain_counter; then each
 * account with its weight. */
typedef void account_begin(void *user, uint32_t counters);
typedef void
account_take(void *user, const struct account_named *one, double weight);

/* Read those that ended within [latest - since_ns, latest - until_ns], of files
 * and then of memory, each oldest first, the present second's too.
 *   since_ns, until_ns  counted back from the latest account; since_ns 0: all
 *   room                about so many; of more a share of those that were not
 *                       slow is taken, then of slow ones, which weigh more */
void accounts_read(struct accounts *a, int64_t since_ns, int64_t until_ns,
    size_t room, account_begin *begin, account_take *take, void *user);

/* Append them as CSV, with a line of names. */
void accounts_write(struct accounts *a, int64_t since_ns, int64_t until_ns,
    size_t room, struct text *t);

/* "GET /search": the method and the first segment of the path; what could not
 * stand in a CSV field, or is long, becomes "_".  Returns out. */
char *
account_route(const char *method, const char *target, char out[ACCOUNT_ROUTE]);

/* The first of n classes of blame.classes that a request is of,
 * else "other"; of no classes its account_route.  Returns out. */
char *account_class(char *const *class, unsigned n, const char *method,
    const char *target, char out[ACCOUNT_ROUTE]);
