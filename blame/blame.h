/* blame.h: which causes a percentile of latency consists of, over all requests
 * of a time, how sure that is, and what the percentile would be without some of
 * them.
 *
 * An account is a request's time divided among causes; the parts add up to the
 * total.  Accounts are collected in a struct blame_set, then analyzed as one
 * class of requests.  A sampled request weighs 1 / the probability of its
 * selection.
 *
 * Pure: values in, numbers out; no clock, no input or output, a seeded
 * generator of its own.  A set belongs to one thread at a time.  docs/blame.md
 * has the method, its limits and its sources.
 *
 * Notation: T a request's total, x[c] its time of cause c, w its weight, q(p)
 * the weighted p-quantile of T (nearest rank), W the sum of all weights. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BLAME_CAUSES 64	     /* at most */
#define BLAME_VALUES 32	     /* at most */
#define BLAME_TOGETHER 8     /* most causes examined in all subsets */
#define BLAME_EPISODES 10    /* fewest episodes to rank a cause */
#define BLAME_BEYOND 30	     /* fewest requests beyond q(p) to rank any */
#define BLAME_BLOCKS 30	     /* blocks of time, at least */
#define BLAME_EXAMPLES 16    /* examples of a cause, at most */
#define BLAME_RESAMPLES 1000 /* at most */

/* Limits of an account: differences of such times and sums of such weights do
 * not overflow. */
#define BLAME_TIME_MAX (INT64_MAX / 3) /* 97 years */
#define BLAME_WEIGHT_MAX 1e12

/* The part of a cause's time that "without the cause" removes. */
enum blame_kind {
	BLAME_HAZARD,	   /* all of it: a collection, a lock */
	BLAME_QUEUE,	   /* all of it; other causes may be behind it */
	BLAME_CPU,	   /* all of it; other threads wanted the CPU */
	BLAME_BASE,	   /* only what exceeds the cause's median */
	BLAME_UNEXPLAINED, /* none: no event shows what the time was */
};

/* One cause: a column of times.  The texts outlive the set. */
struct blame_cause {
	const char *code, *label; /* "gc", "garbage collection" */
	enum blame_kind kind;
};

/* Rule 1: a value of an earlier group may cause one of a later group. */
enum blame_group {
	BLAME_GROUP_NONE,
	BLAME_GROUP_LOAD,
	BLAME_GROUP_INST,
	BLAME_GROUP_CACHE,
	BLAME_GROUP_CYCLE,
};

/* A column of values that are not times; NaN: not recorded. */
struct blame_value {
	const char *code; /* static: "queue_length" */
	enum blame_group group;
	int parent;  /* rule 2: the value that includes it; -1: none */
	bool shared; /* all requests of a period have it, as a count per
		      * second: one observation, however many requests */
};

/* One request. */
struct blame_account {
	uint64_t id;
	int64_t end_ns;	   /* when it ended; any origin, one for the set;
			    * +-BLAME_TIME_MAX */
	int64_t total_ns;  /* 0 .. BLAME_TIME_MAX */
	double weight;	   /* 1 / probability of its selection: 1 ..
			    * BLAME_WEIGHT_MAX */
	uint64_t seen;	   /* 1 << cause: signals of that cause were on */
	int32_t in_flight; /* other requests on its arrival, at its server or
			    * in all; -1: not known */
	uint16_t server;
	uint16_t route; /* a number of the caller's */
	uint32_t flags; /* the caller's */
	uint32_t level; /* private to the set: the row stands for 2^level */
};

struct blame_set;

/* The causes, values and size of a set; the tables must outlive it. */
struct blame_shape {
	const struct blame_cause *cause;
	const struct blame_value *value;
	unsigned causes; /* 1 .. BLAME_CAUSES */
	unsigned values; /* 0 .. BLAME_VALUES */
	size_t rows_max; /* most accounts held, at least 1000 */
};

/* An empty set.  0, -EINVAL (shape) or -ENOMEM.  Free with blame_free. */
int blame_new(struct blame_set **out, const struct blame_shape *shape);
void blame_free(struct blame_set **sp);

/*
 * blame_add(s, account, cause_ns, value):
 * Copy one account into the set.
 *   cause_ns  of each cause, >= 0; they add up to total_ns
 *   value     of each value; NULL: none is recorded
 * When rows_max are held, half of the fastest three quarters are dropped,
 * chosen by their ids, and the weights of the other half are doubled.  Accounts
 * as fast that are added later are thinned in the same way.
 * Returns 0, -EINVAL (a time or weight out of its range, parts that do not add
 * up) or -ENOMEM; the set is unchanged then.
 */
int blame_add(struct blame_set *s, const struct blame_account *account,
    const int64_t *cause_ns, const double *value);

/* *out receives a new set: the accounts of s that ended within [from_ns,
 * to_ns), with their weights in s.  0, -EINVAL or -ENOMEM; free with
 * blame_free. */
int blame_select(const struct blame_set *s, int64_t from_ns, int64_t to_ns,
    struct blame_set **out);

/* The number of accounts held, and the bytes that they take. */
size_t blame_rows(const struct blame_set *s);
size_t blame_bytes(const struct blame_set *s);

/* The nearest-rank q(p), 0 < p <= 1; 0 for an empty set. */
int64_t blame_quantile(struct blame_set *s, double p);

/*
 * blame_shares(s, p, share_ns):
 * share(c, p) = mean of x[c] over ranks p - h .. p + h, h = (1 - p) / 4,
 * scaled so that the shares add up to q(p), to 1 ns.
 *   p         0 < p < 1
 *   share_ns  of each cause
 * Source: Euler's allocation of a quantile, Tasche, "Capital allocation to
 * business units and sub-portfolios", 2007; the band of ranks is ours.
 * O(n log n) once for a set, then O(n).
 */
void blame_shares(struct blame_set *s, double p, int64_t *share_ns);

/* beyond(c, p): mean of x[c] over ranks p .. 1.  The parts add up to the mean
 * of T over these ranks, to 1 ns. */
void blame_beyond(struct blame_set *s, double p, int64_t *beyond_ns);

/*
 * blame_without(s, causes, queue, p, n, out_ns):
 * q(p) over the same requests of T less x[c] of each of the causes: "if nothing
 * else had changed".  Of a BASE only what exceeds its median is subtracted; of
 * UNEXPLAINED nothing.
 *   causes  bit 1 << cause
 *   queue   subtract, too, the part of the time in a QUEUE or for a CPU that
 *           these causes left behind (blame/backlog.c)
 *   p       n of them, ascending, each 0 < p <= 1
 * Returns 0 or -ENOMEM.
 */
int blame_without(struct blame_set *s, uint64_t causes, bool queue,
    const double *p, unsigned n, int64_t *out_ns);

/* --- values that are not times: the VarMRI paper ------------------------- */

/* The result for one value, over the requests that recorded it. */
struct blame_impact {
	double recorded;  /* weight of these requests / W, 0 .. 1 */
	unsigned seconds; /* distinct seconds in which these ended */
	unsigned high;	  /* distinct seconds with high values */
	double threshold; /* pThreshold; 0: no step below p */
	double impact;	  /* (q(S) - q(S without high)) / q(S) */
	double adjusted;  /* by rule 1 */
	int because;	  /* the value that rule 1 deducted; -1: none */
	bool included;	  /* rule 2: proportional to its parent: not reported */
	double auc; /* 0.5 separates tail and body no better than chance */
};

/*
 * blame_impacts(s, p, out):
 * The paper's analysis of each value.  A step is where two of the lines that
 * fit the value's CDF meet; high values are those above the largest step below
 * p.  Rule 1 deducts the largest overlap(H(a), H(b)) * impact(a) of the earlier
 * groups; rule 2 marks a value as included if it is k * its parent with R^2 >=
 * 0.99.
 *   out  one for each value
 * Returns 0 or -ENOMEM.  O(n log n) for each value.
 * Source: "VarMRI", sections 5.1 and 5.2.  We differ: requests have weights,
 * load (queue length) is a group before the paper's, and a range of the CDF has
 * 100 requests or more (of a shared value, 100 different ones), and rule 2
 * needs requests of BLAME_EPISODES seconds.
 */
int blame_impacts(struct blame_set *s, double p, struct blame_impact *out);

/* blame_impacts() for one cause's times, without the rules: the paper's
 * result. */
int blame_cause_impact(
    struct blame_set *s, double p, unsigned cause, struct blame_impact *out);

/*
 * blame_steps(x, w, n, step):
 * Find the percentiles where the CDF of x bends.
 *   x, w  n values, ascending, and their weights
 *   step  receives the percentiles, ascending, BLAME_RANGES - 1 at most
 * Returns the number of steps.
 */
#define BLAME_RANGES 1000
unsigned blame_steps(const double *x, const double *w, size_t n, double *step);

/* --- the whole report ----------------------------------------------------- */

struct blame_options {
	double p;	    /* 0.5 < p < 1 */
	unsigned resamples; /* 0 .. BLAME_RESAMPLES; 0: no intervals */
	bool single; /* draw requests, not blocks of time: only to compare */
	uint64_t seed;
};

/* At least 95 % of the resamples are within (blame/set.h). */
struct blame_interval {
	int64_t low_ns, high_ns;
};

/* A line of the report: a cause, or time without a known cause. */
struct blame_line {
	unsigned cause;
	enum blame_kind kind;
	int64_t share_ns, usual_ns;   /* parts of q(p) and of q(0.5) */
	int64_t excess_ns, beyond_ns; /* share - usual; mean beyond q(p) */
	struct blame_interval share, excess;
	bool removable;	    /* true: the members from without_ns to shapley_ns
			     * are known; at most BLAME_TOGETHER lines */
	int64_t without_ns; /* q(p) without it and what waits behind it */
	/* Of the q(p) that another time, as long, would have without it. */
	struct blame_interval without;
	double shapley_ns; /* NaN unless removable */
	unsigned episodes; /* distinct episodes in the tail */
	bool enough;	   /* enough episodes and requests to rank it */
	unsigned rank;	   /* from 1; overlapping intervals share one; 0: not
		        * enough, the excess may be zero, or UNEXPLAINED */
};

/* Two causes whose joint gain differs from the sum of their single gains. */
struct blame_pair {
	unsigned a, b;
	int64_t without_ns;	/* q(p) without both */
	int64_t interaction_ns; /* gain(ab) - gain(a) - gain(b) */
	struct blame_interval interaction;
	/* interaction_ns > 0: each hides the other, so only removing both
	 * helps; < 0: removing either one is enough. */
};

#define BLAME_PAIRS (BLAME_TOGETHER * (BLAME_TOGETHER - 1) / 2)

struct blame_report {
	double p, weight; /* weight: W */
	size_t rows, bytes;
	int64_t first_ns, last_ns; /* ends of the first and last request */
	int64_t q_ns, p50_ns;
	struct blame_interval q;
	double explained; /* part of q(p) - q(0.5) that has a cause, 0 .. 1 */
	size_t beyond;	  /* accounts beyond q(p) */
	double slower;	  /* requests beyond q(p): their weight */
	size_t blocks;
	int64_t block_ns;
	unsigned resamples;
	unsigned lines; /* causes that occur, largest excess first, then
			 * UNEXPLAINED */
	struct blame_line line[BLAME_CAUSES];
	/* Share of the tail's weight with a cause's signals on, 0 .. 1. */
	double seen[BLAME_CAUSES];
	unsigned together; /* causes examined in subsets */
	uint64_t causes;   /* 1 << cause of each of these */
	double all_ns;	   /* gain without all of these; sum of shapley_ns */
	unsigned pairs;
	struct blame_pair pair[BLAME_PAIRS];
};

/*
 * blame_analyze(s, o, out):
 * Fill in the report for one percentile.  Resamples draw blocks of time, not
 * requests: one pause hits many requests at once.  A block is five times the
 * longest request, at least 1 s, and longer if the time has more than 100 such
 * blocks, but never so long that it has fewer than BLAME_BLOCKS.
 * Returns 0, -EINVAL (options), -ENODATA (no account) or -ENOMEM.
 * Cost: 100,000 accounts with 200 resamples take about a second.
 * Source: Politis & Romano, "A circular block-resampling procedure", 1992.
 */
int blame_analyze(struct blame_set *s, const struct blame_options *o,
    struct blame_report *out);

/* The interval of the q(p) that another time, as long, would have without these
 * causes.
 *   o  p, 0 < p < 1, resamples (> 0) and seed
 * Returns 0, -ENODATA (no account) or -ENOMEM.  Cost: resamples times the rows
 * above q(p). */
int blame_without_interval(struct blame_set *s, const struct blame_options *o,
    uint64_t causes, bool queue, struct blame_interval *out);

/* Fill in only what needs no resamples and no subsets: from p to p50_ns,
 * beyond, slower, and of each line what is above its intervals.  Returns as
 * blame_analyze. */
int blame_divide(struct blame_set *s, double p, struct blame_report *out);

/* Why q(p) of one time differs from that of another, by cause. */
struct blame_change {
	unsigned cause;
	int64_t change_ns; /* share now - share then */
	struct blame_interval interval;
};

/* The changes of all causes that occur, largest first; they add up to q(p; now)
 * - q(p; then).  Both sets have the same shape.  *n receives the number of
 * changes.  Returns as blame_analyze. */
int blame_against(struct blame_set *now, struct blame_set *then,
    const struct blame_options *o, struct blame_change *out, unsigned *n);

/* Requests of the tail (ranks from p on) with the most time of a cause: writes
 * at most max ids.  Returns their number. */
unsigned blame_examples(
    struct blame_set *s, double p, unsigned cause, uint64_t *id, unsigned max);

/* The requests that share one value of a field. */
struct blame_place {
	uint32_t key;
	double requests;	    /* share of all weight */
	double tail;		    /* share of the tail, beyond q(p) of all */
	double tail_low, tail_high; /* its interval, by blame_where_interval */
	int64_t q_ns;		    /* their own q(p) */
	size_t rows;
};

/*
 * blame_where(s, p, key, user, out, max):
 * Divide the tail among the values of a field.
 *   key  returns an account's value of the field
 *   out  the values with the most of the tail first, at most max
 * Returns how many values there are (only max are written), or -ENOMEM.
 */
int blame_where(struct blame_set *s, double p,
    uint32_t (*key)(const struct blame_account *account, void *user),
    void *user, struct blame_place *out, unsigned max);

/*
 * blame_where_interval(s, o, key, user, place):
 * How sure a place's part of the tail is: resamples of blocks of time, as
 * blame_analyze draws them.
 *   o      p, resamples (> 0) and seed
 *   place  one that blame_where found; receives tail_low and tail_high
 * Returns 0 or -ENOMEM.  Cost: resamples times the tail.
 */
int blame_where_interval(struct blame_set *s, const struct blame_options *o,
    uint32_t (*key)(const struct blame_account *account, void *user),
    void *user, struct blame_place *place);
