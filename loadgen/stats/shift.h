/* shift.h: how far apart two series of measurements are, without assuming
 * anything about their distributions.
 *
 * Differences are of logarithms, so they are percentages: B / A - 1.  Iteration
 * k of A and of B met the same schedule: Hodges-Lehmann estimate, its interval
 * and the p value from Wilcoxon's signed-rank distribution, which is exact up
 * to SHIFT_EXACT pairs, normal beyond.  Source: M. Hollander, D. Wolfe, E.
 * Chicken, Nonparametric Statistical Methods, 3rd ed., chapter 3. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHIFT_EXACT 60
#define SHIFT_MAX 2000

struct shift {
	double change; /* B / A - 1 */
	double low;    /* 95 % interval of it */
	double high;
	bool bounded;	       /* there is an interval */
	double p;	       /* two-sided */
	size_t lower;	       /* pairs in which B was lower */
	int64_t difference_ns; /* median of B - A */
};

/* Compare pairs.  All values > 0; 1 <= n <= SHIFT_MAX.  Returns 0 or -ENOMEM.
 * O(n^2 log n). */
int shift_paired(
    const int64_t *a_ns, const int64_t *b_ns, size_t n, struct shift *out);
