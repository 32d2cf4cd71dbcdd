/* background.c: leave what a thread inherited for the background.
 *
 * A thread inherits the policy and the timer slack of the one that starts it:
 * those of the proxy thread, which is to run soon after each wake-up, or of a
 * Tailor that was started under a real-time policy. */
#include "base/background.h"

#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* linux/sched/types.h cannot be included beside sched.h. */
struct batch_attr {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime_ns, deadline_ns, period_ns; /* 0: the usual slice */
};

#define RESET_ON_FORK 1 /* SCHED_FLAG_RESET_ON_FORK */

int
background_become(void)
{
	struct batch_attr attr = {.size = sizeof(attr), .policy = SCHED_BATCH};
	int policy = sched_getscheduler(0);

	if (policy < 0)
		return -errno;
	/* Removing that flag needs a privilege. */
	if ((policy & SCHED_RESET_ON_FORK) != 0)
		attr.flags = RESET_ON_FORK;
	attr.nice = getpriority(PRIO_PROCESS, 0);
	prctl(PR_SET_TIMERSLACK, BACKGROUND_SLACK_NS);
	if ((policy & ~SCHED_RESET_ON_FORK) == SCHED_IDLE)
		return 0;
	/* Not sched_setscheduler, which the unit's filter refuses. */
	if (syscall(SYS_sched_setattr, 0, &attr, 0) < 0)
		return -errno;
	return 0;
}
