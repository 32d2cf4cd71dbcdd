/* counter.h: one counter of the CPU or of the kernel, by its name.
 *
 * Opened by name (libpfm4: "instructions", "LLC-load-misses", "perf::..." or
 * "pmu/event/" as the kernel lists it, such as msr/aperf/), for a task or for a
 * whole CPU, and read in the cheapest way that works: by the instruction rdpmc,
 * which reads only the CPU that executes it, or by read(2).  The difference of
 * two of them, one of the core and one of our own thread, is the SMT sibling's
 * share. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum counter_way {
	COUNTER_RDPMC, /* user space, about 40 cycles */
	COUNTER_READ,  /* a system call, some hundreds of ns */
};

struct counter {
	int fd;	    /* owned */
	void *page; /* owned mapping, or NULL */
	enum counter_way way;
	/* For how long it was to count, and did, when read(2) read it. */
	uint64_t enabled_ns, running_ns;
};

/* Open and start a counter.
 *   name  as above
 *   pid   0: the calling thread; > 0: that task; -1: everything on cpu
 *   cpu   -1: any
 * It is read by rdpmc only if it is the calling thread's, or of the one CPU on
 * which that may run.
 * Returns 0, or with a sentence in why (what is wrong and what to do):
 * -EINVAL no such event, -ENOENT this machine does not have it, -EACCES not
 * permitted, -ESRCH no such task, or another negative errno. */
int counter_open(struct counter *out, const char *name, pid_t pid, int cpu,
    char *why, size_t size);
/* Open one counter for a thread and for all threads and processes that it
 * starts from now on, added up; always read with read(2).  Where counting the
 * kernel is not permitted, a hardware counter counts user space alone. */
int counter_open_family(
    struct counter *out, const char *name, pid_t tid, char *why, size_t size);
void counter_close(struct counter *c);
/* Stop or resume counting, also in threads that inherited the counter. */
void counter_switch(struct counter *c, bool on);

/* Read a counter, scaled if it shared a hardware counter.  False: it cannot be
 * read any more. */
bool counter_read(struct counter *c, uint64_t *value);

/* The part of its time in which it counted, 0 .. 1, by its last reading: below
 * 1 it shared a hardware counter, or its task ran on CPUs that do not have the
 * event (the other kind of a hybrid CPU). */
double counter_counted(const struct counter *c);

/* True if rdpmc on this thread, as long as it stays on the CPUs on which it may
 * run now, reads the event of counter_open's pid and cpu. */
bool counter_is_here(pid_t pid, int cpu);

/* "rdpmc", "read". */
const char *counter_way_name(enum counter_way way);

struct counter_number {
	uint32_t type;
	uint64_t config, config1, config2;
};

/* Look a name up: "pmu/event/" in sysfs, anything else in libpfm4.
 *   devices  the directory of the PMUs; NULL: this machine's
 * Returns 0, -EINVAL (no such name), -ENOENT (known, but not on this machine)
 * or -ENOMEM. */
int counter_number_find(
    struct counter_number *out, const char *name, const char *devices);
