/* hsperf_owner.h: whether a performance page is that of a process.
 *
 * A page's name is not enough: a killed JVM leaves its file behind, and JVMs of
 * several containers that share /tmp may have the same number.  The file's
 * times are not enough either: a step of the clock moves them.  But only the
 * JVM itself has its page mapped to write.
 *
 * Files are compared by device and inode in the kernel's lists of mappings,
 * ours and the JVM's: on overlayfs and btrfs stat() gives other numbers.
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

/* True if a line of /proc/PID/maps shows a file's mapping that contains
 * address; with address 0, one that is shared and writable.  *out gets the
 * file. */
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

/* Find in maps the file that is mapped at address, and store it in *file; with
 * address 0, find *file mapped to write.  Returns 1: found; 0: not found; or a
 * negative errno. */
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
