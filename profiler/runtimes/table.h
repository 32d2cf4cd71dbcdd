/* table.h: the language runtimes whose pauses can be seen from outside.
 *
 * Each has a row: the file by which it is recognised, the probes at which
 * collections begin and end, and the programs for these (runtimes.bpf.c).  A
 * new runtime is a row, a program if its probes have arguments that matter, and
 * a test with the real runtime.
 *
 * A pause is a hazard if it can be worth a second copy of a request.  Runtimes
 * whose pauses all are shorter than a millisecond (Go) have no row. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#define RUNTIME_PROBES 5

struct runtime_probe {
	const char *program;  /* in runtimes.bpf.c */
	const char *provider; /* provider of the probe; NULL: a function */
	const char *name;     /* the probe's; or begin of a function's symbol */
};

struct runtime {
	const char *name;    /* "V8" */
	const char *file[3]; /* patterns of the file's name, best first */
	/* The runtime may have a page in memory (hsperfdata), which is better
	 * than probes. */
	bool page;
	/* Probed only on request: many other processes map the same file and
	 * would pay, and collections seldom matter. */
	bool asked;
	struct runtime_probe probe[RUNTIME_PROBES]; /* NULL program: no more */
	unsigned optional; /* first probe that some versions lack; 0: none */
};

/* The row that matches a file's name, with or without its path; NULL: none. */
const struct runtime *runtime_of_file(const char *path);

/* The runtime whose file is mapped into a process; file, PATH_MAX bytes,
 * receives its path as seen from here, "" if the file was deleted or replaced
 * since.  NULL: none, or its mappings may not be read. */
const struct runtime *runtime_of_process(pid_t pid, char *file);

/* The same for a program that will be started, a path or a name in $PATH; for
 * java, the libjvm.so beside it. */
const struct runtime *runtime_of_program(const char *program, char *file);
