/* abi.h: shared by the programs at the probes of runtimes and their loader. */
#pragma once

#include <stdint.h>

#define RUNTIME_SERVERS 2 /* as PROFILER_SERVERS */
#define RUNTIME_SLOT_LOG2 \
	10 /* events of a server: a handful for each pause   \
                              */

#define RUNTIME_WORKERS 16 /* workers of a server that are seen */

/* We write, the programs read: the processes to report.  0: none. */
struct runtime_watch {
	uint32_t tgid[RUNTIME_SERVERS];
	uint32_t turn[RUNTIME_SERVERS]; /* how often tgid was set */
	/* Other processes that serve; a collection stops only its own. */
	uint32_t worker[RUNTIME_SERVERS][RUNTIME_WORKERS];
};
