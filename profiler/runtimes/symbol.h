/*
 * symbol.h: where a function lies in a program's file.
 *
 * Probes attach at an offset of a file.  libbpf finds a function by its whole
 * name; that of a C++ function ends in its arguments, which change between
 * versions, so here the beginning of the name is enough.  64 bit ELF only.
 */
#ifndef TAILOR_PROFILER_RUNTIMES_SYMBOL_H
#define TAILOR_PROFILER_RUNTIMES_SYMBOL_H

#include <stdint.h>

/* The file offset of the first function whose symbol begins with prefix.
 * Returns 0, -ENOENT (no such symbol: stripped, or another program), -EINVAL
 * (no such file format) or another negative errno.  Reads the file's symbols,
 * some MB of a large program; allocates and frees. */
int symbol_find(const char *path, const char *prefix, uint64_t *offset);

#endif
