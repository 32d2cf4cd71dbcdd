/* group.h: a control group whose processes run only where no other wants the
 * CPU.
 *
 * The kernel compares a group's weight and idleness with those of its siblings
 * only, so the group is made at the top of the hierarchy, beside the groups of
 * services and containers.  With cpu.idle (Linux 5.15) a thread that wakes
 * elsewhere preempts at once, and the group gets what is left.  Older kernels
 * have the lowest weight instead, which preempts less soon.
 *
 * SCHED_IDLE alone is no brake: it counts only among the threads of one group,
 * and terminals, services and containers are groups.
 *
 * Any thread; reads and writes cgroupfs. */
#pragma once

#include <linux/limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define GROUP_WHY 160

enum group_brake {
	GROUP_NONE,
	GROUP_WEIGHT, /* the lowest weight */
	GROUP_IDLE,   /* cpu.idle */
};

/* Where groups can be made. */
struct group_place {
	char path[PATH_MAX - 64];  /* the CPU controller's top directory */
	char usage[PATH_MAX - 64]; /* v1: cpuacct's, where times are */
	unsigned version;	   /* of cgroups: 1 or 2; 0: nowhere */
	bool contained;	     /* its siblings are only those of a container */
	char why[GROUP_WHY]; /* version 0: why, and what helps */
	char fix[GROUP_WHY];
};

struct idle_group {
	char path[PATH_MAX]; /* "": none */
	char usage[PATH_MAX];
	enum group_brake brake;
	char why[GROUP_WHY]; /* why it is not a better brake; "" */
	char fix[GROUP_WHY];
};

/* Find the place; root: "" or, for tests, a directory with an imagined proc and
 * sys. */
void group_find(struct group_place *out, const char *root);

/* Make a group there named after the process pid, and remove those of earlier
 * ones that are empty.  On failure g->brake is GROUP_NONE, with why and fix. */
void
group_make(struct idle_group *g, const struct group_place *place, pid_t pid);

/* Open the group named after a process; false: there is none. */
bool
group_open(struct idle_group *g, const struct group_place *place, pid_t pid);

/* The processes after which groups there are named, at most max of them.
 * Returns how many. */
unsigned group_list(const struct group_place *place, pid_t *pid, unsigned max);

/* How many processes are in it. */
unsigned group_processes(const struct idle_group *g);

/* Hold all that is in it, or let it go on.  In version 1 it still gets 1 ms of
 * CPU time in a second.  0 or a negative errno. */
int group_hold(const struct idle_group *g, bool hold);
bool group_is_held(const struct idle_group *g);

/* Move the calling process into it.  0 or a negative errno. */
int group_join(const struct idle_group *g);

/* CPU time of all that ever ran in it, ns; -1: not known. */
int64_t group_cpu_ns(const struct idle_group *g);

/* Remove it.  Returns how many processes still run in it, which then stay. */
unsigned group_remove(struct idle_group *g);
