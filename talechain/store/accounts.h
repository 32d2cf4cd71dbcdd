/* accounts.h: what is kept of many requests, in a database beside the tales.
 *
 * An account is where a request's time went, in some 200 bytes.  They are rows
 * of accounts.db in the tales' directory, whose lock protects it, too (store.h:
 * open that store first).  At the bound the oldest sixteenth goes.
 *
 * Another table has latencies: of all requests of a class that ended in a
 * minute, a histogram, some 16 bytes for each bucket in use.
 *
 * What is in the file is hostile (db.h): a bad row costs itself.  One thread at
 * a time. */
#pragma once

#include "base/histogram.h"
#include "talechain/events/cause.h"
#include "talechain/events/counters.h"

#define ACCOUNT_PARTS 16   /* causes of one; the smallest are not explained */
#define ACCOUNT_COUNTERS 8 /* of an epoch, at most */
#define ACCOUNT_MILLI_MAX UINT64_C(1000000000000000)
#define ACCOUNT_ROUTE 48 /* bytes of a name */
#define ACCOUNT_SERVER 32

enum account_stratum {
	ACCOUNT_OTHER,	 /* not slow: a share of them, by their numbers */
	ACCOUNT_SLOW,	 /* over slow.target */
	ACCOUNT_SLOWEST, /* and among the slowest of the minute */
	ACCOUNT_STRATA
};

struct account {
	uint64_t id;
	char external_id[65];
	int64_t end_wall_ns, total_ns; /* the sum of its parts */
	double weight;		       /* 0 until its second is over */
	uint32_t in_flight;	       /* when it arrived, itself included */
	uint16_t status;
	uint8_t route, stratum, attempts, parts;
	int8_t server; /* -1: none */
	bool kernel;   /* the scheduler's events were there */
	bool cold;     /* the first of its connection */
	uint8_t cause[ACCOUNT_PARTS];
	int64_t part_ns[ACCOUNT_PARTS];
	/* Counts of its server in the epoch of its middle. */
	struct instant middle;			    /* not kept on disk */
	uint8_t counted, counter[ACCOUNT_COUNTERS]; /* enum talechain_counter */
	uint64_t milli[ACCOUNT_COUNTERS];
};

/* One with its names; its route and server are the caller's numbers. */
struct account_named {
	struct account account;
	char route[ACCOUNT_ROUTE], server[ACCOUNT_SERVER]; /* "": none */
};

/* Most requests of a histogram, the sum of its counts. */
#define LATENCY_COUNT_MAX (UINT64_C(1) << 53)

/* Latencies of all requests of a class that ended in some time, about a
 * minute. */
struct latency_block {
	char route[ACCOUNT_ROUTE];
	int64_t from_wall_ns, to_wall_ns;
	uint64_t unnamed; /* of them: of classes that had no place of their
			   * own, so this is "other" */
	uint64_t count;	  /* the sum of its buckets, LATENCY_COUNT_MAX */
	uint64_t bucket[HISTOGRAM_BUCKETS]; /* as struct histogram has them */
};

struct account_store; /* opaque */

/* Open that of a directory, whose path must stay, or NULL: memory.  bytes_max
 * is of its files, at least 1 MiB.  0, -EINVAL, or a negative errno. */
int account_store_open(
    struct account_store **out, const char *directory, uint64_t bytes_max);
void account_store_close(struct account_store **sp);

/* How many are written at once, at most. */
#define ACCOUNT_BLOCK 1024

/* Append n accounts (1 .. ACCOUNT_BLOCK), oldest first, with weights.  0, or a
 * negative errno and the store is as before. */
int account_store_add(
    struct account_store *s, const struct account_named *one, unsigned n);

/* Those that ended within [from_wall_ns, to_wall_ns), oldest first.  Names are
 * plain: no control byte, comma or quote.  0, or a negative errno. */
int account_store_read(struct account_store *s, int64_t from_wall_ns,
    int64_t to_wall_ns,
    void (*take)(void *user, const struct account_named *one), void *user);

/* How many there are of that time, slow and not, and which counters they have:
 * not fewer than account_store_read takes.  As that. */
int account_store_count(struct account_store *s, int64_t from_wall_ns,
    int64_t to_wall_ns, uint64_t *slow, uint64_t *other, uint32_t *counters);

/* Append a block of latencies, which takes the same room.  As
 * account_store_add. */
int
latency_store_add(struct account_store *s, const struct latency_block *block);

/* The blocks of latencies that lie within [from_wall_ns, to_wall_ns], oldest
 * first.  0, -ENOMEM or another negative errno. */
int latency_store_read(struct account_store *s, int64_t from_wall_ns,
    int64_t to_wall_ns,
    void (*take)(void *user, const struct latency_block *block), void *user);

/* Move all of them to another store, oldest first.  0, or why one could not be
 * written: it and newer ones stay. */
int latency_store_move(struct account_store *from, struct account_store *to);

struct account_store_stats {
	uint64_t bytes, accounts;
	uint64_t dropped; /* since it was opened: accounts, at the bound */
	uint64_t latencies_dropped;
	uint64_t corrupt;     /* rows and files that were not its */
	int64_t last_wall_ns; /* the latest account's end; 0: none */
};
/* The figures of now. */
void
account_store_stats(struct account_store *s, struct account_store_stats *out);
