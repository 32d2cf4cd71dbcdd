/* hazard.h: the beginning or end of a time in which a server cannot respond.
 *
 * The profiler makes them, the hedging policy acts on them, the proxy
 * carries them between the two and counts them. */
#pragma once

#include "base/instant.h"

/* What keeps a server from responding.  Kinds may overlap in time. */
#define HAZARD_KINDS(X)                                                    \
	X(GC, "gc")		  /* a stop-the-world collection */        \
	X(SAFEPOINT, "safepoint") /* all threads stopped, for GC or not */ \
	X(EXIT, "exit") /* the process is gone; ends with a new one */     \
	X(UNRESPONSIVE,                                                    \
	    "unresponsive")   /* silent for longer than it ever is */      \
	X(QUOTA, "quota")     /* its cgroup's CPU quota is used up */      \
	X(STOPPED, "stopped") /* by a signal, a debugger or the freezer */ \
	X(MARKING, "marking") /* no stop: a collector works in steps */

enum hazard_kind {
#define HAZARD_X(symbol, name) HAZARD_##symbol,
	HAZARD_KINDS(HAZARD_X)
#undef HAZARD_X
	    HAZARD_KIND_COUNT
};

/* The kind's name as in metrics and logs: "gc".  Static text. */
const char *hazard_kind_name(enum hazard_kind kind);

struct hazard {
	uint8_t server;	   /* 0 .. 1, the order of the configuration */
	uint8_t kind;	   /* enum hazard_kind */
	uint8_t begin;	   /* 1 it began, 0 it ended */
	uint8_t cause;	   /* enum talechain_cause */
	uint8_t over;	   /* 1 its end is known, and follows */
	uint8_t eden;	   /* quarters of eden in use, 0 .. 3; or unknown: 0 */
	uint32_t pid;	   /* the server's process at that time, 0 unknown */
	uint32_t left_us;  /* from at to its end, if that is known; else 0 */
	struct instant at; /* stamp of the source: when it happened */
	struct instant seen; /* when the observer read it */
};
