/*
 * limits.h: what a configuration means in numbers: for the policy, for the
 * gate, in bytes of memory, in descriptors.
 *
 * Applied at the start and again at each reload.  Proxy thread only.
 */
#ifndef TAILOR_PROXY_DAEMON_LIMITS_H
#define TAILOR_PROXY_DAEMON_LIMITS_H

#include <stddef.h>

#include "config/config.h"
#include "hedging/hedging.h"

struct proxy;

/* The most that Tailor will ever take, bytes, by what for.  Not in it:
 * program and libraries, the kernel's socket buffers, the channels that
 * services ask for (profiler.channels_max). */
struct memory_plan {
	size_t blocks;	    /* heads, bodies and answers in passing */
	size_t connections; /* of clients and to servers */
	size_t requests, history;
	size_t tales; /* kept slow ones, if in memory */
	size_t stream, logs;
	size_t fixed;
	size_t total;
};

void limits_hedging(const struct config *c, struct hedging_limits *l);
void limits_memory(const struct proxy *p, struct memory_plan *out);

/* Make the directory for spools, and warn if it cannot be used.  After
 * privileges have been dropped. */
void limits_try_spool(const struct proxy *p);

/* Put p->config's limits in force and say what they come to. */
void limits_apply(struct proxy *p);

#endif
