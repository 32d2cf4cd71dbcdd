/* process.c: names of a process's addresses, from the files that are mapped
 * there. */
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "talechain/symbols/sources.h"

#define LINE 4352		      /* a line of maps, with its path */
#define FILE_BYTES (INT64_C(1) << 30) /* larger files have no names */
#define SYMBOLS_ONCE 256
#define PYTHON_PERF 12 /* CPython 3.12 has -X perf */

/* A line of /proc/PID/maps. */
struct mapping {
	uint64_t begin, end, offset;
	char rights[5]; /* "r-xp" */
	char path[LINE];
};

static bool
mapping_read(const char *line, struct mapping *m)
{
	int at = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %n",
		&m->begin, &m->end, m->rights, &m->offset, &at) < 4 ||
	    at == 0)
		return false;
	snprintf(m->path, sizeof(m->path), "%.*s",
	    (int)strcspn(line + at, "\n"), line + at);
	return true;
}

int
process_file(uint32_t pid, const char *path, int64_t bytes, bool linked)
{
	struct open_how how = {
	    .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
	    .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
	char name[32];
	struct stat st;
	int root, fd;

	snprintf(name, sizeof(name), "/proc/%u/root", pid);
	root = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -1;
	if (!linked)
		how.flags |= O_NOFOLLOW;
	fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
	close(root);
	if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
			   st.st_size > bytes)) {
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
	fd = found > 0 ? process_file(of->pid, m->path, FILE_BYTES, true) : -1;
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

/* True if a file's name, which may be followed by " (deleted)", is this. */
static bool
is_named(const char *base, const char *name)
{
	size_t n = strlen(name);

	return strncmp(base, name, n) == 0 &&
	       (base[n] == '\0' || base[n] == ' ');
}

/* The runtime that a mapped file belongs to. */
static enum symbols_runtime
runtime_of(const char *path)
{
	const char *base = strrchr(path, '/') + 1; /* it begins with one */
	unsigned minor;

	if (is_named(base, "libjvm.so"))
		return RUNTIME_HOTSPOT;
	if (is_named(base, "node") || strncmp(base, "libnode.so", 10) == 0)
		return RUNTIME_V8;
	if ((sscanf(base, "libpython3.%u", &minor) == 1 ||
		sscanf(base, "python3.%u", &minor) == 1) &&
	    minor >= PYTHON_PERF)
		return RUNTIME_CPYTHON;
	return RUNTIME_UNKNOWN;
}

/* Mark the symbols in memory that may be executed and belongs to no file. */
static void
mark_generated(const struct mapping *m, struct symbol *of, size_t n)
{
	if (m->rights[2] != 'x' ||
	    (m->path[0] != '\0' && strncmp(m->path, "[anon:", 6) != 0))
		return;
	for (size_t i = 0; i < n; i++)
		of[i].generated |= of[i].at >= m->begin && of[i].at < m->end;
}

enum symbols_runtime
symbols_of_process(struct symbol *of, size_t n)
{
	enum symbols_runtime runtime = RUNTIME_UNKNOWN;
	char path[32], line[LINE];
	struct mapping m;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/maps", of->pid);
	f = fopen(path, "re");
	if (f == NULL)
		return runtime;
	while (fgets(line, sizeof(line), f) != NULL) {
		if (!mapping_read(line, &m))
			continue;
		mark_generated(&m, of, n);
		if (m.path[0] != '/')
			continue;
		name_file(&m, of, n);
		if (runtime == RUNTIME_UNKNOWN)
			runtime = runtime_of(m.path);
	}
	fclose(f);
	return runtime;
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
