/* privileges.h: dropping capabilities; for privileges.c and its test. */
#pragma once

#include <stdint.h>

/* Drop every capability that is not in keep (a bit each, CAP_*), permanently.
 * This thread, and those that it creates.  Returns 0 or a negative errno. */
int capability_keep(uint64_t keep);
