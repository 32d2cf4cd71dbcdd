/* process.c: names of a process's addresses, from the files that are mapped
 * there, or for code of no file from the map that its runtime wrote. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "talechain/symbols/sources.h"

#define LINE 4352		       /* a line of maps, with its path */
#define FILE_BYTES (INT64_C(1) << 30)  /* larger files have no names */
#define MAP_BYTES (INT64_C(128) << 20) /* larger maps of code are not read */
#define SYMBOLS_ONCE 256

/* A line of /proc/PID/maps. */
struct mapping {
	uint64_t begin, end, offset;
	char path[LINE];
};

static bool
mapping_read(const char *line, struct mapping *m)
{
	int at = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %*s %n",
		&m->begin, &m->end, &m->offset, &at) < 3 ||
	    at == 0)
		return false;
	snprintf(m->path, sizeof(m->path), "%.*s",
	    (int)strcspn(line + at, "\n"), line + at);
	return true;
}

/* Open a plain file by the path that a process sees; -1: it is none, too large
 * or another user's. */
static int
file_open(uint32_t pid, const char *path, int64_t bytes, int64_t owner)
{
	char name[LINE + 32];
	struct stat st;
	int fd;

	snprintf(name, sizeof(name), "/proc/%u/root%s", pid, path);
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd >= 0 &&
	    (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > bytes ||
		(owner >= 0 && st.st_uid != (uid_t)owner))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Name the symbols in one mapped file; by the file's own name where it has no
 * symbol. */
static void
name_file(const struct mapping *m, struct symbol *of, size_t n)
{
	struct symbol *in[SYMBOLS_ONCE];
	uint64_t at[SYMBOLS_ONCE];
	const char *base = strrchr(m->path, '/');
	size_t found = 0;
	int fd;

	for (size_t i = 0; i < n && found < SYMBOLS_ONCE; i++) {
		if (of[i].name[0] != '\0' || of[i].at < m->begin ||
		    of[i].at >= m->end)
			continue;
		at[found] = of[i].at;
		of[i].at += m->offset - m->begin;
		in[found++] = &of[i];
	}
	fd = found > 0 ? file_open(of->pid, m->path, FILE_BYTES, -1) : -1;
	if (fd >= 0) {
		symbols_of_file(fd, in, found);
		close(fd);
	}
	for (size_t i = 0; i < found; i++) {
		in[i]->at = at[i];
		if (in[i]->name[0] == '\0')
			snprintf(in[i]->name, sizeof(in[i]->name), "[%.*s]",
			    SYMBOL_NAME - 3, base != NULL ? base + 1 : m->path);
	}
}

/* Read a process's number in its own namespace, and its user; false: the
 * process is gone. */
static bool
process_read(uint32_t pid, unsigned *inside, int64_t *user)
{
	char line[256], path[32];
	bool found = false;
	unsigned uid;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	f = fopen(path, "re");
	if (f == NULL)
		return false;
	while (fgets(line, sizeof(line), f) != NULL) {
		if (sscanf(line, "Uid: %*u %u", &uid) == 1)
			*user = uid;
		if (strncmp(line, "NSpid:", 6) == 0 &&
		    sscanf(strrchr(line, '\t'), "%u", inside) == 1)
			found = true;
	}
	fclose(f);
	return found;
}

/* Name the symbols in code that a runtime made, from lines "begin length name",
 * in hexadecimal. */
static void
name_generated(struct symbol *of, size_t n)
{
	char path[64], line[512], name[SYMBOL_NAME];
	uint64_t begin, length;
	unsigned inside = 0;
	int64_t user = -1;
	FILE *f;
	int fd;

	if (!process_read(of->pid, &inside, &user))
		return;
	snprintf(path, sizeof(path), "/tmp/perf-%u.map", inside);
	fd = file_open(of->pid, path, MAP_BYTES, user);
	f = fd >= 0 ? fdopen(fd, "re") : NULL;
	if (f == NULL) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while (fgets(line, sizeof(line), f) != NULL) {
		if (sscanf(line, "%" SCNx64 " %" SCNx64 " %72[^\n]", &begin,
			&length, name) != 3)
			continue;
		/* A later line is newer code at the same place. */
		for (size_t i = 0; i < n; i++)
			if (of[i].generated && of[i].at >= begin &&
			    of[i].at - begin < length)
				snprintf(
				    of[i].name, sizeof(of[i].name), "%s", name);
	}
	fclose(f);
}

void
symbols_of_process(struct symbol *of, size_t n)
{
	char path[32], line[LINE];
	struct mapping m;
	bool any = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/maps", of->pid);
	f = fopen(path, "re");
	if (f == NULL)
		return;
	while (fgets(line, sizeof(line), f) != NULL)
		if (mapping_read(line, &m) && m.path[0] == '/')
			name_file(&m, of, n);
	fclose(f);
	for (size_t i = 0; i < n; i++) {
		of[i].generated = of[i].name[0] == '\0';
		any |= of[i].generated;
	}
	if (any)
		name_generated(of, n);
}

void
symbols_of_runtime(uint32_t pid, char out[SYMBOL_NAME])
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/exe", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return;
	if (symbols_file_is_go(fd))
		snprintf(out, SYMBOL_NAME, "Go");
	close(fd);
}

/* Name symbols by one line of the kernel's: "ffffffff81000000 T name
 * [module]". */
static void
kernel_line(const char *line, struct symbol *of, size_t n)
{
	char *end;
	uint64_t begin = strtoull(line, &end, 16);

	if (begin == 0 || end[0] != ' ' || (end[1] != 't' && end[1] != 'T') ||
	    end[2] != ' ')
		return;
	for (size_t i = 0; i < n; i++)
		if (of[i].at >= begin && begin > of[i].nearest) {
			of[i].nearest = begin;
			snprintf(of[i].name, sizeof(of[i].name), "%.*s",
			    (int)strcspn(end + 3, " \t\n"), end + 3);
		}
}

void
symbols_of_kernel(int kallsyms, struct symbol *of, size_t n)
{
	char line[512];
	int copy = fcntl(kallsyms, F_DUPFD_CLOEXEC, 0);
	FILE *f = copy >= 0 ? fdopen(copy, "re") : NULL;

	if (f == NULL) {
		if (copy >= 0)
			close(copy);
		return;
	}
	rewind(f);
	while (fgets(line, sizeof(line), f) != NULL)
		kernel_line(line, of, n);
	fclose(f);
}
