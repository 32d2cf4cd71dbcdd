/*
 * sigbus_guard.h: survive the truncation of a mapped file; see hsperf_page.h.
 */
#ifndef TAILOR_PROFILER_JVM_SIGBUS_GUARD_H
#define TAILOR_PROFILER_JVM_SIGBUS_GUARD_H

#include <stddef.h>
#include <stdint.h>

/* From now on a SIGBUS within the mapping sets *dead to 1 instead of killing
 * us.  Installs the handler if needed.  Returns 0, -ENOSPC (16 mappings are
 * guarded already) or a negative errno. */
int sigbus_guard(const void *start, size_t bytes, uint32_t *dead);

/* Remove the guard.  No thread may still read the mapping. */
void sigbus_unguard(const void *start);

#endif
