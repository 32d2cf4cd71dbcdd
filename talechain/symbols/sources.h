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
	uint64_t at;	  /* as looked up: in a caller's frame 1 less */
	uint64_t nearest; /* begin of the best symbol so far, in its file */
	uint64_t began;	  /* start of its process, in ticks since boot */
	bool generated;	  /* code made at run time, and replaced */
	char name[SYMBOL_NAME]; /* "": not found yet */
};

/* Find names for n symbols, all of one process; those not found keep "". */
void symbols_of_process(struct symbol *of, size_t n);
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
