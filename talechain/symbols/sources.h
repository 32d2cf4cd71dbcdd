/* sources.h: where names are: in files' symbol tables, in maps of generated
 * code, in the kernel.  Private to this folder. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SYMBOL_NAME 73 /* three pieces of 24 bytes */

/* An address that wants a name. */
struct symbol {
	uint32_t pid;	  /* 0: of the kernel */
	uint64_t address; /* as in the stack */
	uint64_t at;	  /* within the instruction that it is about */
	uint64_t nearest; /* the begin of the best so far, in its file */
	uint64_t began;	  /* its process, in ticks since the machine did */
	bool generated;	  /* code that its program makes, and replaces */
	char name[SYMBOL_NAME]; /* "": not found yet */
};

/* Each names what it can of n symbols, all of one process. */
void symbols_of_process(struct symbol *of, size_t n);
void symbols_of_kernel(int kallsyms, struct symbol *of, size_t n);

/* Of symbols whose address in the file, before it is mapped, is of[i].at: those
 * of its tables that have them. */
void symbols_of_file(int fd, struct symbol *const *of, size_t n);

/* True if a program was linked by Go, also if it is stripped. */
bool symbols_file_is_go(int fd);

/* The runtime of a process's program, if that moves its work between its
 * threads: "Go" into out, else "". */
void symbols_of_runtime(uint32_t pid, char out[SYMBOL_NAME]);
