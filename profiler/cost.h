/* cost.h: what watching the kernel costs on this machine, measured now.
 *
 * Four small pieces of work, each timed with nothing attached and with each
 * profile of the kernel source, once in a process that is watched and once in
 * one that is not.  Attaches and detaches the BPF programs several times, so
 * run it by hand, not beside a busy Tailor. */
#pragma once

#include "profiler/profiler.h"

/* The pieces of work: symbol, name, meaning. */
#define COST_WORKS(X)                                                \
	X(SWITCH, "switch", "two threads of a CPU take turns")       \
	X(TCP, "tcp", "64 bytes to a thread and back over loopback") \
	X(FAULT, "fault", "the first touch of a page of memory")     \
	X(CALL, "call", "the cheapest system call")

enum cost_work {
#define COST_X(symbol, name, meaning) COST_##symbol,
	COST_WORKS(COST_X)
#undef COST_X
	    COST_WORK_COUNT
};

enum cost_profile {
	COST_BARE, /* nothing attached */
	COST_LITE,
	COST_FULL,
	COST_ALL, /* full, and system calls */
	COST_PROFILES
};

/* Nanoseconds of one piece of work, the best of the rounds. */
struct cost {
	double watched_ns[COST_WORK_COUNT][COST_PROFILES];
	double others_ns[COST_WORK_COUNT][COST_PROFILES];
};

/* "switch", "two threads of ..."; "off", "lite", "full", "all". */
const char *cost_work_name(enum cost_work work);
const char *cost_work_meaning(enum cost_work work);
const char *cost_profile_name(enum cost_profile profile);

/* Measure, rounds (1 .. 100) of about 1.5 s each.  All profiles come in turn
 * in each round, so that what else the machine does falls on all.
 *   state  PROFILER_SIGNALS of them: what the full profile with system calls
 *          could switch on here, and why not the rest; always filled in
 * Returns 0, -EPERM (no privilege: see state), -ENOTSUP (this kernel cannot),
 * or a negative errno.  The calling process must have one thread. */
int cost_measure(
    struct cost *out, unsigned rounds, struct profiler_signal_state *state);
