/* capability.h: capabilities of this process, without libcap. */
#pragma once

#include <stdint.h>

/* Effective capabilities of this thread, a bit each (CAP_*); 0 on failure. */
uint64_t capability_get(void);

/* Drop every capability that is not in keep, permanently.  This thread, and
 * those that it creates.  Returns 0 or a negative errno. */
int capability_keep(uint64_t keep);
