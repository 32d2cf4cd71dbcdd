/* cgroup.h: what our control group and the groups above it allow.
 *
 * Both cgroup versions, where systemd and containers mount them: at
 * /sys/fs/cgroup, of version 1 each in a folder with its controllers' names.
 *   root  prepended to /proc and /sys: "" for this machine, a directory for
 *         tests
 *
 * Any thread; reads some files of each group. */
#pragma once

#include <stdbool.h>

/* The quota of our group in CPUs, 0 if there is none or it cannot be read: the
 * smallest of cpu.max (version 2) or cpu.cfs_quota_us and cpu.cfs_period_us
 * (version 1) of the group and of all visible groups above it.  Sets of
 * allowed CPUs are not read: the kernel has already removed them from our
 * affinity mask. */
double cgroup_cpu_quota(const char *root);

/* True if our group or one above it has cpu.idle. */
bool cgroup_cpu_idle(const char *root);
