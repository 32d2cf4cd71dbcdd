/* privileges.h: dropping capabilities; for privileges.c and its test. */
#pragma once

#include <stdint.h>

/* Drop permanently every capability that is not in keep (bit 1 << CAP_*), for
 * this thread and those that it creates.  Returns 0 or a negative errno. */
int capability_keep(uint64_t keep);
