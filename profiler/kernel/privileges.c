/* privileges.c: drop the capabilities that serving does not need.
 *
 * Attaching needs CAP_BPF and CAP_PERFMON (or CAP_SYS_ADMIN); serving does not.
 * Kept, if they were given: low ports, examining and ending another user's
 * servers, and scheduling. */
#include <linux/capability.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "profiler/kernel/capability.h"
#include "profiler/profiler.h"

#define BIT(capability) (UINT64_C(1) << (capability))

/* Low ports; other users' processes and files; placement. */
static const uint64_t serving =
    BIT(CAP_NET_BIND_SERVICE) | BIT(CAP_KILL) | BIT(CAP_SYS_PTRACE) |
    BIT(CAP_DAC_READ_SEARCH) | BIT(CAP_DAC_OVERRIDE) | BIT(CAP_CHOWN) |
    BIT(CAP_FOWNER) | BIT(CAP_SETUID) | BIT(CAP_SETGID) | BIT(CAP_SYS_NICE) |
    BIT(CAP_SYS_RESOURCE);

void
profiler_privileges_drop(bool launches, bool counts)
{
	uint64_t keep = serving | (counts ? BIT(CAP_PERFMON) : 0);
	uint64_t before = capability_get();
	int err;

	if ((before & ~keep) == 0 || (geteuid() == 0 && launches))
		return;
	err = capability_keep(keep);
	if (err < 0)
		log_event(LOG_LEVEL_WARNING, "privileges_kept", "error=\"%s\"",
		    strerror(-err));
	else
		log_event(LOG_LEVEL_NOTICE, "privileges_dropped",
		    "before=%016llx after=%016llx", (unsigned long long)before,
		    (unsigned long long)capability_get());
}
