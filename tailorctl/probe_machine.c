#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "base/instant.h"
#include "base/topology.h"
#include "tailorctl/probe.h"

#define CLOCK_READS 20000

void
probe_cpus(struct finding *f)
{
	struct topology_plan plan;
	struct topology *t;
	int err = topology_open(&t, NULL);

	if (err < 0) {
		snprintf(f->found, sizeof(f->found),
		    "hwloc cannot read this machine: %s", strerror(-err));
		snprintf(f->enable, sizeof(f->enable), "a readable /sys");
		return;
	}
	topology_plan(t, &plan);
	f->available = plan.poll != TOPOLOGY_POLL_SLEEP;
	snprintf(f->found, sizeof(f->found), "%s", plan.why);
	if (!f->available)
		snprintf(f->enable, sizeof(f->enable),
		    "an SMT sibling that nothing else needs, or "
		    "profiler.poll = spin and a CPU; without it a pause may "
		    "be noticed as late as the observer sleeps");
	topology_close(&t);
}

/* The kernel's struct sched_attr, first version; glibc has none. */
struct scheduler_attributes {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};
_Static_assert(sizeof(struct scheduler_attributes) == 48, "kernel ABI");

/* Since Linux 6.12 the runtime of an ordinary thread is its time slice; an
 * older kernel ignores it.  Ask for one and read it back, then undo. */
void
probe_scheduler(struct finding *f)
{
	struct scheduler_attributes old = {.size = sizeof(old)};
	struct scheduler_attributes new, seen = {.size = sizeof(seen)};

	if (syscall(SYS_sched_getattr, 0, &old, sizeof(old), 0) != 0 ||
	    old.policy != SCHED_OTHER) {
		snprintf(f->found, sizeof(f->found),
		    "not running under the ordinary scheduling policy");
		return;
	}
	new = old;
	new.runtime = 100000; /* ns, the smallest there is */
	if (syscall(SYS_sched_setattr, 0, &new, 0) == 0) {
		syscall(SYS_sched_getattr, 0, &seen, sizeof(seen), 0);
		syscall(SYS_sched_setattr, 0, &old, 0);
	}
	f->available = seen.runtime == new.runtime;
	if (f->available)
		snprintf(f->found, sizeof(f->found),
		    "a thread may request a slice of 0.1 ms (this kernel's "
		    "default: %g ms)",
		    (double)old.runtime / 1e6);
	else
		snprintf(f->found, sizeof(f->found),
		    "this kernel does not let a thread choose its slice");
	if (!f->available)
		snprintf(f->enable, sizeof(f->enable), "Linux 6.12 or later");
}

void
probe_clock(struct finding *f)
{
	char source[64];
	struct instant begin = instant_now(), end = begin;

	if (!file_read_line(source, sizeof(source),
		"/sys/devices/system/clocksource/clocksource0/"
		"current_clocksource"))
		snprintf(source, sizeof(source), "unknown");
	for (int i = 0; i < CLOCK_READS; i++)
		end = instant_now();
	f->available = strcmp(source, "tsc") == 0 ||
		       strcmp(source, "arch_sys_counter") == 0;
	snprintf(f->found, sizeof(f->found),
	    "clock source %.60s; one reading costs %.0f ns", source,
	    (double)instant_since(end, begin) / CLOCK_READS);
	if (!f->available)
		snprintf(f->enable, sizeof(f->enable),
		    "clock source tsc: with another one each reading is a "
		    "system call, and an event costs about ten times as much");
}

void
probe_memory(struct finding *f)
{
	struct statvfs fs;
	int fd = memfd_create("probe", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	bool sealed =
	    fd >= 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0;

	if (fd >= 0)
		close(fd);
	if (statvfs("/dev/shm", &fs) < 0 || access("/dev/shm", W_OK) < 0) {
		snprintf(f->found, sizeof(f->found), "/dev/shm: %s",
		    strerror(errno));
		snprintf(f->enable, sizeof(f->enable),
		    "a tmpfs on /dev/shm that this user may write to; without "
		    "it \"tailorctl log\" has no stream to follow");
		return;
	}
	f->available = sealed;
	snprintf(f->found, sizeof(f->found), "%llu MiB free in /dev/shm; %s",
	    (unsigned long long)fs.f_bavail * fs.f_frsize >> 20,
	    sealed ? "channels can be sealed"
		   : "memfd with seals does not work");
}
