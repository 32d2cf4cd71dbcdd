#include "profiler/runtimes/table.h"

#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct runtime runtimes[] = {
    {.name = "HotSpot",
	.file = {"libjvm.so"},
	.page = true,
	.probe = {{"on_operation", "hotspot", "vmops__begin"},
	    {"on_gc_begin", "hotspot", "gc__begin"},
	    {"on_gc_end", "hotspot", "gc__end"},
	    {"on_safepoint_begin", "hs_private", "safepoint__begin"},
	    {"on_safepoint_end", "hs_private", "safepoint__end"}}},
    /* The arguments, and so the symbols' ends, differ between versions. */
    {.name = "V8",
	.file = {"libnode.so*", "node", "nodejs"},
	.probe = {{"on_v8_begin", NULL,
		      "_ZN2v88internal8GCTracer20StartObservablePause"},
	    {"on_v8_end", NULL,
		"_ZN2v88internal8GCTracer19StopObservablePause"},
	    {"on_v8_marking_begin", NULL,
		"_ZN2v88internal18IncrementalMarking5StartE"},
	    {"on_v8_marking_end", NULL,
		"_ZN2v88internal18IncrementalMarking4StopE"}},
	.optional = 2},
    {.name = "CPython",
	.file = {"libpython3.*", "python3*"},
	.asked = true,
	.probe = {{"on_python_begin", "python", "gc__start"},
	    {"on_python_end", "python", "gc__done"}}},
};

#define RUNTIMES (sizeof(runtimes) / sizeof(runtimes[0]))
#define FILES (sizeof(runtimes[0].file) / sizeof(runtimes[0].file[0]))

/* The row and pattern that match a file's name, as one number; less is better;
 * -1: none. */
static int
file_rank(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash != NULL ? slash + 1 : path;

	for (size_t i = 0; i < RUNTIMES * FILES; i++) {
		const char *pattern = runtimes[i / FILES].file[i % FILES];

		if (pattern != NULL && fnmatch(pattern, name, 0) == 0)
			return (int)i;
	}
	return -1;
}

static const struct runtime *
rank_runtime(int rank)
{
	return rank < 0 ? NULL : &runtimes[(size_t)rank / FILES];
}

const struct runtime *
runtime_of_file(const char *path)
{
	return rank_runtime(file_rank(path));
}

/* The path of an executable mapping in a line of maps, or NULL.  *deleted: true
 * if the file was deleted or replaced since. */
static char *
mapped_program(char *line, bool *deleted)
{
	static const char mark[] = " (deleted)";
	char *path = strchr(line, '/'), *end;
	char *mode = strchr(line, ' ');

	if (path == NULL || mode == NULL || mode > path || mode[3] != 'x')
		return NULL;
	path[strcspn(path, "\n")] = '\0';
	end = path + strlen(path) - strlen(mark);
	*deleted = end > path && strcmp(end, mark) == 0;
	if (*deleted)
		*end = '\0';
	return path;
}

const struct runtime *
runtime_of_process(pid_t pid, char *file)
{
	char maps[32], line[PATH_MAX + 100], *path;
	int rank, best = -1;
	bool deleted;
	FILE *f;

	snprintf(maps, sizeof(maps), "/proc/%d/maps", (int)pid);
	f = fopen(maps, "re");
	if (f == NULL)
		return NULL;
	while (fgets(line, sizeof(line), f) != NULL) {
		path = mapped_program(line, &deleted);
		rank = path != NULL ? file_rank(path) : -1;
		if (rank < 0 || (best >= 0 && rank >= best) ||
		    snprintf(file, PATH_MAX, "/proc/%d/root%s", (int)pid,
			path) >= PATH_MAX)
			continue;
		if (deleted)
			file[0] = '\0';
		best = rank;
	}
	fclose(f);
	return rank_runtime(best);
}

/* The path of a program: name itself, or found in $PATH.  NULL: none. */
static char *
program_find(const char *name)
{
	char try[PATH_MAX];
	const char *path = getenv("PATH"), *end;

	if (strchr(name, '/') != NULL)
		return realpath(name, NULL);
	for (; path != NULL && *path != '\0'; path = end + (*end == ':')) {
		end = path + strcspn(path, ":");
		if (snprintf(try, sizeof(try), "%.*s/%s", (int)(end - path),
			path, name) < (int)sizeof(try) &&
		    access(try, X_OK) == 0)
			return realpath(try, NULL);
	}
	return NULL;
}

/* .../bin/java -> .../lib/server/libjvm.so */
static bool
libjvm_beside(const char *java, char *file)
{
	const char *end = strrchr(java, '/');

	while (end != NULL && end > java && *--end != '/')
		;
	return end != NULL &&
	       snprintf(file, PATH_MAX, "%.*s/lib/server/libjvm.so",
		   (int)(end - java), java) < PATH_MAX &&
	       access(file, R_OK) == 0;
}

const struct runtime *
runtime_of_program(const char *program, char *file)
{
	char *path = program_find(program);
	const char *name;

	if (path == NULL)
		return NULL;
	name = strrchr(path, '/');
	snprintf(file, PATH_MAX, "%s", path);
	if (name != NULL && strcmp(name, "/java") == 0 &&
	    !libjvm_beside(path, file))
		file[0] = '\0';
	free(path);
	return runtime_of_file(file);
}
