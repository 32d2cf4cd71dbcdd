/* progress.h: one line on a terminal, rewritten while an iteration runs. */
#pragma once

#include "loadgen/send/iteration.h"

/* Rewrite the line on stderr.  Not the sender thread. */
void progress_show(const struct iteration *it, uint64_t iterations);

/* Remove it. */
void progress_clear(void);
