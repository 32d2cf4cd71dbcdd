/* accounts.h: what is kept of many requests' stories, for tailorctl blame.
 *
 * All slow requests are examined, and a share of the others.  How many of each
 * stratum there were between two accounts comes with the question; at the end
 * of a second each account weighs (requests of its stratum) / (accounts of it),
 * the inverse of the probability that it was made.  A stratum of which no
 * account was made is carried into the next second: no request is lost.
 *
 * A ring of the latest, some 250 bytes each.  Analysis thread only, but for the
 * sums. */
#pragma once

#include <stdatomic.h>

#include "base/text.h"
#include "talechain/explain/story.h"

enum account_stratum {
	ACCOUNT_OTHER,	 /* not slow: a share of them, by their numbers */
	ACCOUNT_SLOW,	 /* over slow.target */
	ACCOUNT_SLOWEST, /* and among the slowest of the minute */
	ACCOUNT_STRATA
};

#define ACCOUNTS_KEPT 32768
#define ACCOUNT_PARTS 16  /* causes of one; the smallest are not explained */
#define ACCOUNT_ROUTES 33 /* the last one is "other" */
#define ACCOUNT_ROUTE 48  /* bytes of a name */
#define ACCOUNT_SERVERS 2

struct account {
	uint64_t id;
	char external_id[65];
	int64_t end_wall_ns, total_ns;
	double weight;	    /* 0 until its second is over */
	uint32_t in_flight; /* when it arrived, itself included */
	uint16_t status;
	uint8_t route, stratum, attempts, parts;
	int8_t server; /* -1: none */
	bool kernel;   /* the scheduler's events were there */
	bool cold;     /* the first of its connection */
	uint8_t cause[ACCOUNT_PARTS];
	int64_t part_ns[ACCOUNT_PARTS];
};

struct accounts {
	struct account *account; /* owned, max of them */
	size_t max, made;	 /* ever: the newest is made - 1 */
	size_t open;		 /* the first whose second is not over */
	uint64_t second;	 /* that is not over */
	uint64_t offered[ACCOUNT_STRATA];
	char server[ACCOUNT_SERVERS][32];

	/* Any thread reads; a name never changes once it is counted. */
	char route[ACCOUNT_ROUTES][ACCOUNT_ROUTE];
	atomic_uint routes;
	_Atomic uint64_t cause_ns[ACCOUNT_ROUTES][TALE_CAUSE_COUNT];
};

/* max: how many are held.  0 or -ENOMEM; fini either way. */
int accounts_init(struct accounts *a, size_t max);
void accounts_fini(struct accounts *a);

/* Requests that finished since the last question; a second may be over. */
void accounts_offered(struct accounts *a, struct instant now,
    const uint32_t offered[ACCOUNT_STRATA]);

/* Keep what a story says. */
void accounts_add(struct accounts *a, const struct story *s,
    enum account_stratum stratum, int64_t end_wall_ns);

/* Append them as CSV, with a line of names: those that ended after since_wall_ns
 * (0: all), oldest first, the present second's too. */
void accounts_write(struct accounts *a, int64_t since_wall_ns, struct text *t);

/* "GET /search": the method and the first segment of the path; what could not
 * stand in a CSV field, or is long, becomes "_".  Returns out. */
char *
account_route(const char *method, const char *target, char out[ACCOUNT_ROUTE]);
