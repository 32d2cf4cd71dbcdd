/*
 * sigbus_guard.h: surviving a file that is cut short under its mapping.
 * Why and how: page.h.
 */
#ifndef TAILOR_PROFILER_JVM_SIGBUS_GUARD_H
#define TAILOR_PROFILER_JVM_SIGBUS_GUARD_H

#include <stddef.h>
#include <stdint.h>

/*
 * sigbus_guard(start, bytes, dead):
 * From now on a SIGBUS within the mapping sets *dead to 1 instead of killing
 * us.  Installs the handler if it is not there.
 * Returns 0, -ENOSPC (16 mappings are guarded already) or a negative errno.
 */
int sigbus_guard(const void *start, size_t bytes, uint32_t *dead);

/* No longer.  Nobody may be reading the mapping any more. */
void sigbus_unguard(const void *start);

#endif
