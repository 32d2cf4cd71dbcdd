/* accounts.h: accounts of many requests, in a database beside the tales.
 *
 * An account is where a request's time went, in some 200 bytes.  Accounts are
 * rows of accounts.db in the tales' directory, and the lock of that directory
 * protects this file, too (store.h: open that store first).  At the bound the
 * oldest sixteenth is deleted.
 *
 * A second table has latencies: a histogram of all requests of a class that
 * ended in a minute, some 16 bytes for each bucket in use.
 *
 * What is in the file is hostile (db.h): only a bad row is lost.  One thread at
 * a time. */
#pragma once

#include "base/histogram.h"
#include "talechain/events/cause.h"
#include "talechain/events/counters.h"

#define ACCOUNT_PARTS 16   /* most causes of one; the rest is unexplained */
#define ACCOUNT_COUNTERS 8 /* most counters of an epoch */
#define ACCOUNT_MILLI_MAX UINT64_C(1000000000000000)
#define ACCOUNT_ROUTE 48 /* bytes of a name */
#define ACCOUNT_SERVER 32

enum account_stratum {
	ACCOUNT_OTHER,	 /* a sample of such requests */
	ACCOUNT_TAIL,	 /* over slow.target, or its route's p95 */
	ACCOUNT_SLOW,	 /* over both */
	ACCOUNT_SLOWEST, /* among the slowest, or the failed, of the minute */
	ACCOUNT_STRATA
};

struct account {
	uint64_t id;
	char external_id[65];
	int64_t end_wall_ns, total_ns; /* the sum of its parts */
	double weight;		       /* 0 until its second is over */
	uint32_t in_flight;	       /* on its arrival, itself included */
	uint16_t status;
	uint32_t stands; /* OTHER: requests that it was chosen from; not kept on
			  * disk */
	uint8_t route, stratum, attempts, parts;
	int8_t server; /* -1: none */
	bool kernel;   /* the scheduler's events were there */
	bool cold;     /* the first of its connection */
	uint8_t cause[ACCOUNT_PARTS];
	int64_t part_ns[ACCOUNT_PARTS];
	/* Counters of its server in the epoch that contains middle. */
	struct instant middle;			    /* not kept on disk */
	uint8_t counted, counter[ACCOUNT_COUNTERS]; /* enum talechain_counter */
	uint64_t milli[ACCOUNT_COUNTERS];
};

/* An account with its names; the numbers of its route and server are the
 * caller's. */
struct account_named {
	struct account account;
	char route[ACCOUNT_ROUTE], server[ACCOUNT_SERVER]; /* "": none */
};

/* Most requests of a histogram: the sum of its counts. */
#define LATENCY_COUNT_MAX (UINT64_C(1) << 53)

/* Latencies of all requests of a class that ended in some time, about a
 * minute. */
struct latency_block {
	char route[ACCOUNT_ROUTE];
	int64_t from_wall_ns, to_wall_ns;
	uint64_t unnamed; /* requests of classes that had no block of their
			   * own; 0 unless route is "other" */
	uint64_t count;	  /* the sum of its buckets, LATENCY_COUNT_MAX */
	uint64_t bucket[HISTOGRAM_BUCKETS]; /* as struct histogram has them */
};

struct account_store; /* opaque */

/* Open the store in a directory, whose path must outlive it, or in memory if
 * directory is NULL.  bytes_max bounds its files, at least 1 MiB.  0, -EINVAL,
 * or a negative errno. */
int account_store_open(
    struct account_store **out, const char *directory, uint64_t bytes_max);
void account_store_close(struct account_store **sp);

/* Most accounts that one account_store_add writes. */
#define ACCOUNT_BLOCK 1024

/* Append n accounts (1 .. ACCOUNT_BLOCK), oldest first, with weights.  0, or a
 * negative errno with the store unchanged. */
int account_store_add(
    struct account_store *s, const struct account_named *one, unsigned n);

/* Call take for the accounts that ended within [from_wall_ns, to_wall_ns),
 * oldest first.  Names are plain: no control byte, comma or quote.  0, or a
 * negative errno. */
int account_store_read(struct account_store *s, int64_t from_wall_ns,
    int64_t to_wall_ns,
    void (*take)(void *user, const struct account_named *one), void *user);

/* Count the accounts of that time, slow ones and others, and collect the bits
 * of their counters.  Bad rows count, too, which account_store_read skips.  0,
 * or a negative errno. */
int account_store_count(struct account_store *s, int64_t from_wall_ns,
    int64_t to_wall_ns, uint64_t *slow, uint64_t *other, uint32_t *counters);

/* Append a block of latencies; bytes_max bounds them, too.  Returns as
 * account_store_add. */
int
latency_store_add(struct account_store *s, const struct latency_block *block);

/* Call take for the blocks of latencies that lie within [from_wall_ns,
 * to_wall_ns], oldest first.  0, -ENOMEM or another negative errno. */
int latency_store_read(struct account_store *s, int64_t from_wall_ns,
    int64_t to_wall_ns,
    void (*take)(void *user, const struct latency_block *block), void *user);

/* Move all blocks of latencies to another store, oldest first.  0, or the errno
 * of a block that could not be written: this block and newer ones stay. */
int latency_store_move(struct account_store *from, struct account_store *to);

struct account_store_stats {
	uint64_t bytes, accounts;
	uint64_t dropped; /* accounts deleted at the bound since opening */
	uint64_t latencies_dropped;
	uint64_t corrupt;     /* rows and files that Tailor did not write */
	int64_t last_wall_ns; /* the latest account's end; 0: none */
};
/* The current figures. */
void
account_store_stats(struct account_store *s, struct account_store_stats *out);
