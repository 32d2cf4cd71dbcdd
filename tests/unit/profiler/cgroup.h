/*
 * cgroup.h: a control group of the test's own, of version 1 or 2.
 */
#pragma once

#include <stdbool.h>

struct cgroup {
	char path[96];
	bool old; /* version 1 */
};

/* Make an empty one of a controller of version 1, or of version 2; false: that
 * is not possible here. */
bool cgroup_make(struct cgroup *g, const char *controller);
void cgroup_remove(const struct cgroup *g);

/* Write a file of it; false: it was refused. */
bool cgroup_write(const struct cgroup *g, const char *name, const char *text);

/* The quota in each 100 ms, us; < 0: none. */
bool cgroup_quota(const struct cgroup *g, int us);

/* A number of its cpu.stat; 0: it is not there. */
unsigned long long cgroup_stat(const struct cgroup *g, const char *name);
