/* hsperf_owner.h: whether a performance page is that of a process.
 *
 * A page's name is not enough: a killed JVM leaves its file behind, and JVMs of
 * several containers that share /tmp may have the same number.  Nor are the
 * file's times, which a step of the clock moves.  What is certain is that a JVM
 * has its own page mapped to write.
 *
 * The file is compared as the kernel lists mappings, ours beside the JVM's: the
 * device and inode that stat() gives are others on overlayfs and btrfs.
 *
 * A header, because the JVM agent uses it, too.  Reads /proc; never the
 * observer. */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

/* A file in a list of mappings. */
struct hsperf_file {
	unsigned major, minor;
	unsigned long long inode;
};

/* True if a line of maps is a file's mapping that holds an address, or with 0
 * one that is shared and written to. */
static inline bool
hsperf_line(const char *line, uintptr_t address, struct hsperf_file *out)
{
	unsigned long long begin, end;
	char mode[5];

	if (sscanf(line, "%llx-%llx %4s %*x %x:%x %llu", &begin, &end, mode,
		&out->major, &out->minor, &out->inode) != 6)
		return false;
	return address != 0 ? begin <= address && address < end
			    : mode[1] == 'w' && mode[3] == 's';
}

/* Find the file that is mapped at an address; with 0 this file, mapped to
 * write.  1: found; 0: not; or a negative errno. */
static inline int
hsperf_mapped(const char *maps, uintptr_t address, struct hsperf_file *file)
{
	FILE *f = fopen(maps, "re");
	struct hsperf_file seen;
	char *line = NULL;
	size_t size = 0;
	int found = 0;

	if (f == NULL)
		return -errno;
	while (!found && getline(&line, &size, f) > 0)
		found = hsperf_line(line, address, &seen) &&
			(address != 0 || (seen.major == file->major &&
					     seen.minor == file->minor &&
					     seen.inode == file->inode));
	if (found && address != 0)
		*file = seen;
	free(line);
	fclose(f);
	return found;
}

/* hsperf_is_own(pid, map):
 * Whether the file that this process has mapped read-only at map is the page
 * of pid, 0 for this process.  Returns 1, 0, or a negative errno (-EACCES: the
 * process may not be examined). */
static inline int
hsperf_is_own(pid_t pid, const void *map)
{
	struct hsperf_file file = {0};
	char maps[32];
	int r = hsperf_mapped("/proc/self/maps", (uintptr_t)map, &file);

	if (r <= 0)
		return r;
	snprintf(maps, sizeof(maps),
	    pid != 0 ? "/proc/%d/maps" : "/proc/self/maps", (int)pid);
	return hsperf_mapped(maps, 0, &file);
}
