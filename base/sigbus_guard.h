/* sigbus_guard.h: mapped files that their owner may cut.
 *
 * Reading a page beyond the end of a mapped file raises SIGBUS.  Where a
 * read() for each value costs too much, a guard maps a page of zeros over the
 * hole and notes that the file is no longer to be believed. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* From now on a SIGBUS within the mapping sets *dead to 1 instead of killing
 * us.  Installs the handler if needed.  Returns 0, -ENOSPC (16 mappings are
 * guarded already) or a negative errno. */
int sigbus_guard(const void *start, size_t bytes, uint32_t *dead);

/* Remove the guard.  No thread may still read the mapping. */
void sigbus_unguard(const void *start);
