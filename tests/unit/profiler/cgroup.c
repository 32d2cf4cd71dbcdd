/*
 * cgroup.c: files below /sys/fs/cgroup, by root.
 */
#include "cgroup.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool
cgroup_write(const struct cgroup *g, const char *name, const char *text)
{
	char path[160];
	int fd;
	bool done;

	snprintf(path, sizeof(path), "%s/%s", g->path, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	done = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	close(fd);
	return done;
}

bool
cgroup_make(struct cgroup *g, const char *controller)
{
	char old[64];

	snprintf(old, sizeof(old), "/sys/fs/cgroup/%s/tasks", controller);
	g->old = access(old, F_OK) == 0;
	snprintf(g->path, sizeof(g->path), "/sys/fs/cgroup/%s%stailor-test-%d",
	    g->old ? controller : "", g->old ? "/" : "", getpid());
	return mkdir(g->path, 0755) == 0;
}

void
cgroup_remove(const struct cgroup *g)
{
	rmdir(g->path);
}

bool
cgroup_quota(const struct cgroup *g, int us)
{
	char text[32];

	if (g->old)
		snprintf(text, sizeof(text), "%d", us);
	else if (us < 0)
		snprintf(text, sizeof(text), "max");
	else
		snprintf(text, sizeof(text), "%d 100000", us);
	return cgroup_write(g, g->old ? "cpu.cfs_quota_us" : "cpu.max", text);
}

unsigned long long
cgroup_stat(const struct cgroup *g, const char *name)
{
	char path[160], line[64], key[32];
	unsigned long long value, found = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/cpu.stat", g->path);
	f = fopen(path, "re");
	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "%31s %llu", key, &value) == 2 &&
		    strcmp(key, name) == 0)
			found = value;
	if (f != NULL)
		fclose(f);
	return found;
}
