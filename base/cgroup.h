/*
 * cgroup.h: the CPU quota of our control group, private to base/.
 *
 * Reads /proc/self/cgroup and cpu.max (version 2) or cpu.cfs_quota_us and
 * cpu.cfs_period_us (version 1) of our group and of all visible groups above
 * it; the smallest counts.  Sets of allowed CPUs are not read: the kernel has
 * already removed them from our affinity mask.
 */
#ifndef TAILOR_BASE_CGROUP_H
#define TAILOR_BASE_CGROUP_H

/*
 * The quota in CPUs, 0 if there is none or it cannot be read.  root is
 * prepended to /proc and /sys: "" for this machine, a directory for tests.
 */
double cgroup_cpu_quota(const char *root);

#endif
