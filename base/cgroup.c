#include "base/topology_read.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

/* Return quota / period; 0 if either is not a positive number ("max", "-1"). */
static double
ratio(const char *quota, const char *period)
{
	double q = strtod(quota, NULL);
	double p = strtod(period, NULL);

	return q > 0 && p > 0 ? q / p : 0;
}

static double
read_quota(const char *directory)
{
	char quota[64], period[64];
	const char *space;

	if (file_read_line(quota, sizeof(quota), "%s/cpu.max", directory)) {
		space = strchr(quota, ' ');
		return space != NULL ? ratio(quota, space) : 0;
	}
	if (file_read_line(
		quota, sizeof(quota), "%s/cpu.cfs_quota_us", directory) &&
	    file_read_line(
		period, sizeof(period), "%s/cpu.cfs_period_us", directory))
		return ratio(quota, period);
	return 0;
}

/* Return the smallest quota from mount/group up to mount itself.  In a
 * container the path may name groups that only the host sees, which are
 * skipped. */
static double
smallest_quota(const char *mount, const char *group)
{
	char path[PATH_MAX];
	double smallest = 0;
	size_t top = strlen(mount);
	int n = snprintf(path, sizeof(path), "%s%s", mount, group);

	if (n < 0 || (size_t)n >= sizeof(path))
		return 0;
	for (char *slash = path + n; slash != NULL;) {
		double quota = read_quota(path);

		if (quota > 0 && (smallest == 0 || quota < smallest))
			smallest = quota;
		slash = strrchr(path + top, '/');
		if (slash != NULL)
			*slash = '\0';
	}
	return smallest;
}

static bool
list_has(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = list; p != NULL; p = strchr(p, ',')) {
		p += *p == ',';
		if (strncmp(p, word, n) == 0 && (p[n] == ',' || p[n] == '\0'))
			return true;
	}
	return false;
}

/* Return the quota for a line of /proc/self/cgroup: "id:controllers:path". */
static double
quota_of_line(const char *root, char *line)
{
	char mount[PATH_MAX];
	char *controllers, *group;

	line[strcspn(line, "\n")] = '\0';
	controllers = strchr(line, ':');
	group = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
	if (group == NULL)
		return 0;
	*group++ = '\0';
	controllers++;
	if (*controllers == '\0')
		snprintf(mount, sizeof(mount), "%s/sys/fs/cgroup", root);
	else if (list_has(controllers, "cpu"))
		snprintf(mount, sizeof(mount), "%s/sys/fs/cgroup/%s", root,
		    controllers);
	else
		return 0;
	return smallest_quota(mount, group);
}

double
cgroup_cpu_quota(const char *root)
{
	char path[PATH_MAX], line[PATH_MAX];
	double smallest = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
	f = fopen(path, "re");
	if (f == NULL)
		return 0;
	while (fgets(line, sizeof(line), f) != NULL) {
		double quota = quota_of_line(root, line);

		if (quota > 0 && (smallest == 0 || quota < smallest))
			smallest = quota;
	}
	fclose(f);
	return smallest;
}
