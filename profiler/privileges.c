/* privileges.c: drop the capabilities that serving does not need.
 *
 * Attaching needs CAP_BPF and CAP_PERFMON (or CAP_SYS_ADMIN); serving does not.
 * Those for low ports, for examining and ending another user's servers, and for
 * scheduling are kept if they were given. */
#include "profiler/privileges.h"

#include <linux/capability.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "base/permission.h"
#include "profiler/profiler.h"

#define BIT(capability) (UINT64_C(1) << (capability))

/* Capabilities to keep: for low ports, for other users' processes and files,
 * for scheduling. */
static const uint64_t serving =
    BIT(CAP_NET_BIND_SERVICE) | BIT(CAP_KILL) | BIT(CAP_SYS_PTRACE) |
    BIT(CAP_DAC_READ_SEARCH) | BIT(CAP_DAC_OVERRIDE) | BIT(CAP_CHOWN) |
    BIT(CAP_FOWNER) | BIT(CAP_SETUID) | BIT(CAP_SETGID) | BIT(CAP_SYS_NICE) |
    BIT(CAP_SYS_RESOURCE);

/* System calls are used, so that libcap is not needed. */
int
capability_keep(uint64_t keep)
{
	struct __user_cap_header_struct header = {
	    .version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {{0}};

	if (syscall(SYS_capget, &header, data) < 0)
		return -errno;
	for (int i = 0; i < 2; i++) {
		uint32_t word = (uint32_t)(keep >> 32 * i);

		data[i].effective &= word;
		data[i].permitted &= word;
		data[i].inheritable &= word;
	}
	return syscall(SYS_capset, &header, data) < 0 ? -errno : 0;
}

void
profiler_privileges_drop(bool launches, bool counts)
{
	uint64_t keep = serving | (counts ? BIT(CAP_PERFMON) : 0);
	struct permission before, after;
	int err;

	permission_read(&before);
	if ((before.effective & ~keep) == 0 || (geteuid() == 0 && launches))
		return;
	err = capability_keep(keep);
	permission_read(&after);
	if (err < 0)
		log_event(LOG_LEVEL_WARNING, "privileges_kept", "error=\"%s\"",
		    strerror(-err));
	else
		log_event(LOG_LEVEL_NOTICE, "privileges_dropped",
		    "before=%016llx after=%016llx",
		    (unsigned long long)before.effective,
		    (unsigned long long)after.effective);
}
