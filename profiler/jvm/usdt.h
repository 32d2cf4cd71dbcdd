/*
 * usdt.h: collections and safepoints of a JVM from the probes in libjvm.
 *
 * Builds of HotSpot with DTrace support (Debian's, among others) have probes in
 * libjvm that cost nothing while unused.  BPF programs at four of them write a
 * channel for each server like its agent would, so the observer sees no
 * difference.  The JVM needs no agent and no hsperfdata.  Tailor needs root at
 * the start, and the path of libjvm, because probes are attached to that file
 * once, for all processes that map it now or later.  Following a restarted JVM
 * needs no privilege.
 *
 * Cost: about 0.6 us for each of four events of a pause, in the JVM.
 */
#ifndef TAILOR_PROFILER_JVM_USDT_H
#define TAILOR_PROFILER_JVM_USDT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "profiler/channel.h"
#include "profiler/jvm/usdt_abi.h"

#define USDT_WHY 240

struct usdt;

/*
 * usdt_new(out, first_number, why):
 * Load the programs.  Returns 0, or a negative errno with a sentence in why
 * (USDT_WHY bytes).  Free with usdt_free, after the observer has ended.
 */
int usdt_new(struct usdt **out, uint32_t first_number, char *why);
void usdt_free(struct usdt **up);

/*
 * usdt_attach(u, libjvm, why):
 * Attach to a libjvm.so; a second call for the same file does nothing.  Returns
 * as usdt_new.  -ENOENT: no such file, or it has no such probes.
 */
int usdt_attach(struct usdt *u, const char *libjvm, char *why);

/*
 * usdt_find(out, size, java, why):
 * Find the libjvm.so of a java program, a path or a name in $PATH.  Returns 0,
 * or -ENOENT with a sentence in why.
 */
int usdt_find(char *out, size_t size, const char *java, char *why);

/* The channel of a server, for the observer; remains ours. */
struct channel *usdt_channel(const struct usdt *u, unsigned server);

/* From now on this process is the server's JVM; 0: none.  One thread at a
 * time. */
void usdt_watch(struct usdt *u, unsigned server, pid_t pid);

#endif
