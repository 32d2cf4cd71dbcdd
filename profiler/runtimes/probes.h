/* probes.h: collections of a runtime (table.h) from probes in its file.
 *
 * BPF programs at the probes write a channel for each server as a JVM's agent
 * does, so the observer sees no difference.  Nothing is needed in the server.
 * Probes are attached to a file once, for all processes that map it now or
 * later; that needs CAP_BPF and CAP_PERFMON.  Following a restarted process
 * needs no privilege.
 *
 * Cost: about 0.6 us for each event of a pause, in the server; nothing for
 * probes that are not attached. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "profiler/channels/channel.h"
#include "profiler/runtimes/table.h"

#define PROBES_WHY 240

struct probes;

/* Load the programs.  Returns 0, or a negative errno with a sentence in why
 * (PROBES_WHY bytes).  Free with probes_free, after the observer has ended. */
int probes_new(struct probes **out, uint32_t first_number, char *why);
void probes_free(struct probes **pp);

/* Attach to a file; a second call for the same file, by any path, does
 * nothing.  Returns as probes_new.  -ENOENT: no such file, or it has no such
 * probes; -ENOSPC: there are PROBES_FILES already.  Some tens of ms for a large
 * file. */
#define PROBES_FILES 8
int probes_attach(struct probes *p, const struct runtime *runtime,
    const char *file, char *why);

/* The channel of a server, for the observer; borrowed. */
struct channel *probes_channel(const struct probes *p, unsigned server);

/* From now on this process is the server; 0: none.  One thread at a time. */
void probes_watch(struct probes *p, unsigned server, pid_t pid);

/* Set the other processes of a server; RUNTIME_WORKERS of them are seen.  The
 * process of probes_watch may be among them. */
void probes_workers(
    struct probes *p, unsigned server, const pid_t *pid, unsigned count);

/* The file offset of the first function whose symbol begins with prefix.
 * Returns 0, -ENOENT (no such symbol: stripped, or another program), -EINVAL
 * (not ELF, or larger than allowed) or another negative errno.
 * Reads the file's symbols, some MB of a large program, 128 MiB at most;
 * allocates and frees. */
int symbol_find(const char *path, const char *prefix, uint64_t *offset);

/* Check that libbpf, which reads all notes of a file into memory, may read this
 * one: it has at most 4 MiB of notes.  Returns 0, or a negative errno as
 * above. */
int symbol_file_check(const char *path);
