/* hazard.h: the beginning or end of a time in which a server cannot respond.
 *
 * The profiler makes hazards, the hedging policy acts on them, the proxy
 * carries them between the two and counts them. */
#pragma once

#include "base/instant.h"

/* Reasons why a server cannot respond: one row for each kind, from which all
 * lists of kinds follow.  Kinds may overlap in time.  A row's place is its
 * number in the stream: new ones are the last.
 *
 * Symbol, code, words, colour of the live page (a variable of live.css).
 *
 * Then YES or NO:
 *   stops    the server cannot respond (NO: it is slow; the policy acts on
 *            that by itself, T10)
 *   acted    it is acted on by default (hedging.triggers)
 *   waited   it is waited out while that costs less than a hedge (T4); NO for
 *            collections (docs/decisions.md) and unpredictable durations
 *   expires  it is over after a minute without an end; NO if the proxy sees
 *            the end itself, or hours are likely
 *
 * Last: the cause (cause.h) of the time that requests spend in it, and the rank
 * of that claim (enum claim_rank).  UNKNOWN: it explains no time. */
#define HAZARD_KINDS(X)                                                        \
	X(GC, "gc", "garbage collection", "gc", YES, YES, NO, YES, GC, GC)     \
	X(SAFEPOINT, "safepoint", "safepoint", "safepoint", YES, NO, YES, YES, \
	    SAFEPOINT, SAFEPOINT)                                              \
	X(EXIT, "exit", "not running", "ink", YES, YES, NO, NO, EXIT, EXIT)    \
	X(UNRESPONSIVE, "unresponsive", "unresponsive", "silent", YES, YES,    \
	    NO, NO, UNKNOWN, NOTHING)                                          \
	X(QUOTA, "quota", "CPU quota used up", "quota", YES, YES, YES, YES,    \
	    QUOTA, STOP)                                                       \
	X(STOPPED, "stopped", "stopped", "bad", YES, YES, NO, NO, STOPPED,     \
	    STOP)                                                              \
	X(MARKING, "marking", "V8 marks: slow, not stopped", "marking", NO,    \
	    YES, NO, YES, UNKNOWN, NOTHING)

enum hazard_kind {
#define HAZARD_X(symbol, ...) HAZARD_##symbol,
	HAZARD_KINDS(HAZARD_X)
#undef HAZARD_X
	    HAZARD_KIND_COUNT
};

/* Expand to the arguments for YES, to nothing for NO. */
#define HAZARD_IF_YES(...) __VA_ARGS__
#define HAZARD_IF_NO(...)

/* Sets of kinds: bit 1 << kind. */
#define HAZARD_BIT_STOPS(symbol, code, words, colour, stops, ...) \
	HAZARD_IF_##stops(| 1U << HAZARD_##symbol)
#define HAZARD_BIT_WAITED(                                  \
    symbol, code, words, colour, stops, acted, waited, ...) \
	HAZARD_IF_##waited(| 1U << HAZARD_##symbol)
#define HAZARD_BIT_EXPIRES(                                          \
    symbol, code, words, colour, stops, acted, waited, expires, ...) \
	HAZARD_IF_##expires(| 1U << HAZARD_##symbol)
enum {
	HAZARDS_STOPPING = 0 HAZARD_KINDS(HAZARD_BIT_STOPS),
	HAZARDS_WAITED = 0 HAZARD_KINDS(HAZARD_BIT_WAITED),
	HAZARDS_EXPIRING = 0 HAZARD_KINDS(HAZARD_BIT_EXPIRES),
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
	uint32_t left_us;  /* from at to its end; 0: not known */
	struct instant at; /* stamp of the source: when it happened */
	struct instant seen; /* when the observer read it */
};
