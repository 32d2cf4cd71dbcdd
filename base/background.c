/* background.c: makes a thread background work.
 *
 * A thread inherits policy and timer slack from the thread that starts it: the
 * proxy thread, which must run soon after each wake-up, or a Tailor that was
 * started under a real-time policy. */
#include "base/background.h"

#include <errno.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

int
scheduling_read(pid_t tid, struct scheduling *out)
{
	*out = (struct scheduling){.size = sizeof(*out)};
	return syscall(SYS_sched_getattr, tid, out, sizeof(*out), 0) < 0
		   ? -errno
		   : 0;
}

int
scheduling_set(pid_t tid, struct scheduling s)
{
	s.size = sizeof(s);
	return syscall(SYS_sched_setattr, tid, &s, 0) < 0 ? -errno : 0;
}

int
background_become(void)
{
	struct scheduling attr = {.policy = SCHED_BATCH};
	int policy = sched_getscheduler(0);

	if (policy < 0)
		return -errno;
	/* Keep the flag: removing it needs a privilege. */
	if ((policy & SCHED_RESET_ON_FORK) != 0)
		attr.flags = SCHEDULING_RESET_ON_FORK;
	attr.nice = getpriority(PRIO_PROCESS, 0);
	prctl(PR_SET_TIMERSLACK, BACKGROUND_SLACK_NS);
	if ((policy & ~SCHED_RESET_ON_FORK) == SCHED_IDLE)
		return 0;
	return scheduling_set(0, attr);
}
