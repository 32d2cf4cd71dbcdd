/*
 * compare.h: for the comparisons of qsort() and bsearch().
 */
#ifndef TAILOR_BASE_COMPARE_H
#define TAILOR_BASE_COMPARE_H

/* -1, 0 or 1: a before, beside or after b.  Chain keys with "?:". */
#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

#endif
