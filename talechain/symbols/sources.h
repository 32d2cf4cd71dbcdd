/* sources.h: where names are: in files' symbol tables, in maps of generated
 * code, in the kernel.  Private to this folder. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/instant.h"

#define SYMBOL_NAME 73 /* three pieces of 24 bytes */

/* An address that wants a name. */
struct symbol {
	uint32_t pid;	  /* 0: of the kernel */
	uint64_t address; /* as in the stack */
	uint64_t at;	  /* as looked up: in a caller's frame 1 less */
	uint64_t nearest; /* begin of the best symbol so far, in its file */
	uint64_t began;	  /* start of its process, in ticks since boot */
	bool generated;	  /* in memory of no file that may be executed */
	char name[SYMBOL_NAME]; /* "": not found yet */
};

/* The maker of the code of a process that is in no file. */
enum symbols_runtime {
	RUNTIME_UNKNOWN,
	RUNTIME_HOTSPOT,
	RUNTIME_V8,
	RUNTIME_CPYTHON,
};

/* Find names in files for n symbols, all of one process; those not found keep
 * "".  Sets generated.  Returns the process's runtime. */
enum symbols_runtime symbols_of_process(struct symbol *of, size_t n);
/* The same for the kernel's. */
void symbols_of_kernel(int kallsyms, struct symbol *of, size_t n);

/* Find names in the tables of a file, for n symbols whose at is the address in
 * the file, before it is mapped. */
void symbols_of_file(int fd, struct symbol *const *of, size_t n);

/* Write a name as people do: "_ZN13ObjectMonitor5enterEP10JavaThread" becomes
 * "ObjectMonitor::enter", and what is not mangled is copied.  Cut to fit. */
void symbol_demangle(char out[SYMBOL_NAME], const char *name);

/* True if a program was linked by Go, also if it is stripped. */
bool symbols_file_is_go(int fd);

/* out receives the runtime of a process's program if that runtime moves work
 * between threads: "Go", else "". */
void symbols_of_runtime(uint32_t pid, char out[SYMBOL_NAME]);

/* Open a plain file of at most so many bytes by the path that a process sees;
 * no link leads out of its root.  A last part that is a link is followed only
 * if linked.  Returns a descriptor, or -1. */
int process_file(uint32_t pid, const char *path, int64_t bytes, bool linked);

/* --- generated.c ---------------------------------------------------------- */

#define CODE_PROCESSES 4    /* whose last two maps are remembered */
#define CODE_RANGES 65536   /* of a map; more are not remembered */
#define CODE_DOUBT " (?)"   /* behind a name that may be another's */
#define CODE_NAME_MOST 4096 /* bytes of a map's name that are read */

/* A piece of code, as a map had it. */
struct code_range {
	uint64_t begin;
	uint32_t length, hash; /* bytes; of its name */
};

/* One map that a JVM wrote, without the names; in order of begin. */
struct code_copy {
	struct instant written;
	struct code_range *range; /* owned */
	size_t count, capacity;
};

/* The last two maps of some JVMs, the newer one first. */
struct code_maps {
	struct code_process {
		uint32_t pid;
		uint64_t began;
		struct code_copy copy[2];
	} process[CODE_PROCESSES];
	unsigned next; /* to be replaced */
};

/* Free the copies. */
void code_maps_fini(struct code_maps *m);

/* code_maps_name(m, runtime, begin, end, of, n):
 * Name the generated symbols among n, all of one process, that a request from
 * begin to end has seen.  A name is marked with CODE_DOUBT if the map may be
 * older, or newer, than the code that ran: see generated.c.  Returns true if
 * there is a map. */
bool code_maps_name(struct code_maps *m, enum symbols_runtime runtime,
    struct instant begin, struct instant end, struct symbol *of, size_t n);

/* The same from the text of a map that was written at that instant; text is
 * changed.  For code_maps_name, tests and fuzzing. */
void code_maps_read(struct code_maps *m, enum symbols_runtime runtime,
    struct instant begin, struct instant end, struct instant written,
    char *text, size_t length, struct symbol *of, size_t n);
