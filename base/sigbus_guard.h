/* sigbus_guard.h: safe reads of mapped files that their owner may truncate.
 *
 * Reading a page beyond the end of a mapped file raises SIGBUS.  Where a
 * read() for each value costs too much, a guard maps a page of zeros over the
 * hole and records that the file's values are no longer valid. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* From now on a SIGBUS within the mapping sets *dead to 1 instead of killing
 * us.  Installs the handler if needed.  Returns 0, -ENOSPC (16 mappings are
 * guarded already) or a negative errno. */
int sigbus_guard(const void *start, size_t bytes, uint32_t *dead);

/* Remove the guard.  No thread may still read the mapping. */
void sigbus_unguard(const void *start);
