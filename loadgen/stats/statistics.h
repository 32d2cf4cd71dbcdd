/* statistics.h: exact statistics of raw samples.
 *
 * One percentile rule everywhere: nearest rank, the ceil(q * n)-th smallest
 * of n, always a value that was measured.  Intervals are exact binomial
 * order-statistic intervals: they assume independent samples and nothing
 * about their distribution.  No interpolation, no buckets, no normal
 * approximation.  Allocates nothing. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The nearest rank, 1 .. n, of a percentile: p99 of 1000 is 990, exactly,
 * whatever the binary form of 0.99 is.  0 < percent <= 100, n >= 1. */
size_t quantile_rank(double percent, size_t n);

/* The percentile of n >= 1 sorted values. */
int64_t quantile_sorted(const int64_t *sorted, size_t n, double percent);

struct rank_interval {
	size_t low;	 /* rank from 1; 0: below the smallest sample */
	size_t high;	 /* rank to n; n + 1: above the largest sample */
	double coverage; /* probability that low..high holds the percentile */
};

/* The ranks between which a percentile of the population lies with at least
 * the given probability, at most (1 - level) / 2 outside on either side.
 *   n        samples, >= 1
 *   percent  0 < percent < 100
 *   level    0.95, say
 *   out      low is 0, or high n + 1, where the samples give no bound
 * Returns whether both bounds exist.  O(n).
 * Source: H. A. David, H. N. Nagaraja, Order Statistics, 3rd ed., 7.1. */
bool rank_interval(
    size_t n, double percent, double level, struct rank_interval *out);

/* The difference of two series of measurements, without assumptions about their
 * distributions.
 *
 * Differences are of logarithms, so they are percentages: B / A - 1.  Value k
 * of A and value k of B are a pair, as both had the same schedule.  The change
 * is the Hodges-Lehmann estimate; its interval and the p value come from
 * Wilcoxon's signed-rank distribution, exact up to SHIFT_EXACT pairs, normal
 * beyond.  Source: M. Hollander, D. Wolfe, E. Chicken, Nonparametric
 * Statistical Methods, 3rd ed., chapter 3. */
#define SHIFT_EXACT 60
#define SHIFT_MAX 2000

struct shift {
	double change; /* B / A - 1 */
	double low;    /* 95 % interval of change */
	double high;
	bool bounded;	       /* there is an interval */
	double p;	       /* two-sided */
	size_t lower;	       /* pairs in which B is lower */
	int64_t difference_ns; /* median of B - A */
};

/* Compare pairs.  All values > 0; 1 <= n <= SHIFT_MAX.  Returns 0 or -ENOMEM.
 * O(n^2 log n). */
int shift_paired(
    const int64_t *a_ns, const int64_t *b_ns, size_t n, struct shift *out);
