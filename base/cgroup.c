#include "base/cgroup.h"

#include <limits.h>
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

/* The limits of our groups, so far. */
struct group_limits {
	double quota; /* the smallest; 0: none */
	bool idle;    /* one has cpu.idle */
};

static void
look(struct group_limits *l, const char *directory)
{
	double quota = read_quota(directory);
	char word[16];

	if (quota > 0 && (l->quota == 0 || quota < l->quota))
		l->quota = quota;
	if (file_read_line(word, sizeof(word), "%s/cpu.idle", directory) &&
	    word[0] == '1')
		l->idle = true;
}

/* Look at the groups from mount/group up to mount itself.  In a container the
 * path may name groups that only the host sees, which are skipped. */
static void
look_up_from(struct group_limits *l, const char *mount, const char *group)
{
	char path[PATH_MAX];
	size_t top = strlen(mount);
	int n = snprintf(path, sizeof(path), "%s%s", mount, group);

	if (n < 0 || (size_t)n >= sizeof(path))
		return;
	for (char *slash = path + n; slash != NULL;) {
		look(l, path);
		slash = strrchr(path + top, '/');
		if (slash != NULL)
			*slash = '\0';
	}
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

/* Look at the groups of a line of /proc/self/cgroup: "id:controllers:path". */
static void
look_at_line(struct group_limits *l, const char *root, char *line)
{
	char mount[PATH_MAX];
	char *controllers, *group;

	line[strcspn(line, "\n")] = '\0';
	controllers = strchr(line, ':');
	group = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
	if (group == NULL)
		return;
	*group++ = '\0';
	controllers++;
	if (*controllers == '\0')
		snprintf(mount, sizeof(mount), "%s/sys/fs/cgroup", root);
	else if (list_has(controllers, "cpu"))
		snprintf(mount, sizeof(mount), "%s/sys/fs/cgroup/%s", root,
		    controllers);
	else
		return;
	look_up_from(l, mount, group);
}

static struct group_limits
look_at_all(const char *root)
{
	char path[PATH_MAX], line[PATH_MAX];
	struct group_limits l = {0};
	FILE *f;

	snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
	f = fopen(path, "re");
	if (f == NULL)
		return l;
	while (fgets(line, sizeof(line), f) != NULL)
		look_at_line(&l, root, line);
	fclose(f);
	return l;
}

double
cgroup_cpu_quota(const char *root)
{
	return look_at_all(root).quota;
}

bool
cgroup_cpu_idle(const char *root)
{
	return look_at_all(root).idle;
}
