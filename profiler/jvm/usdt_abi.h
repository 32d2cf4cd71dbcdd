/* usdt_abi.h: shared by the programs at libjvm's probes and their loader. */
#ifndef TAILOR_PROFILER_JVM_USDT_ABI_H
#define TAILOR_PROFILER_JVM_USDT_ABI_H

#include <stdint.h>

#define USDT_SERVERS 2	  /* as PROFILER_SERVERS */
#define USDT_SLOT_LOG2 10 /* events of one JVM: a handful for each pause */

/* We write, the programs read: the JVMs to report.  0: none. */
struct usdt_watch {
	uint32_t tgid[USDT_SERVERS];
	uint32_t unused[2];
};

#endif
