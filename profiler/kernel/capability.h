/*
 * capability.h: what this process may do, without a library for it.
 */
#ifndef TAILOR_PROFILER_KERNEL_CAPABILITY_H
#define TAILOR_PROFILER_KERNEL_CAPABILITY_H

#include <stdint.h>

/* Effective capabilities of this thread, bit by bit (CAP_*); 0 on failure. */
uint64_t capability_get(void);

/*
 * Give up every capability that is not in keep, for ever.  This thread, and
 * those that it makes.  Returns 0 or a negative errno.
 */
int capability_keep(uint64_t keep);

#endif
