/*
 * compare.h: comparisons for qsort() and bsearch().
 */
#ifndef TAILOR_BASE_COMPARE_H
#define TAILOR_BASE_COMPARE_H

/* -1, 0 or 1: a is less than, equal to or greater than b.  Chain keys with "?:". */
#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

#endif
