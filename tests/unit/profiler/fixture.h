/*
 * fixture.h: a running profiler in a directory of its own, and what it said.
 *
 * Waiting is always for something to happen, with a limit far beyond what a
 * busy machine needs; reaching the limit is a failure.
 */
#pragma once

#include "tests/unit/unit.h"

#include <stdio.h>
#include <unistd.h>

#include "profiler/profiler.h"
#include "talechain/timeline/timeline.h"

#define FIXTURE_LIMIT_NS (120 * NS_PER_S)
#define FIXTURE_HAZARDS 4096

struct fixture {
	struct profiler_options options; /* change before fixture_start */
	char directory[64];
	char socket[96];
	struct timeline *timeline;
	struct timeline_reader *reader;
	struct profiler *profiler;
	/* all hazards taken so far */
	struct hazard hazard[FIXTURE_HAZARDS];
	unsigned hazards;
	/* events of the stream seen so far */
	struct timeline_slot slot[8192];
	unsigned slots;
};

/* One server "s0" without an address, sleeping poll, a socket. */
void fixture_init(struct fixture *f);
void fixture_start(struct fixture *f);
void fixture_fini(struct fixture *f);

/* Start it, and tell it the process of its first server. */
void fixture_follow(struct fixture *f, pid_t pid);

/* The same on the heap: it is large. */
struct fixture *fixture_new(void);
void fixture_free(struct fixture *f);

/* Start a program; what is written to *in it reads, and *out what it prints. */
void fixture_spawn(const char *const argv[], pid_t *pid, FILE **in, FILE **out);

/* Wait for the server's exit, end it with another process, and look that no
 * hazard is left. */
void fixture_end_exit(struct fixture *f);

/* Take what is there. */
void fixture_drain(struct fixture *f);

/* Hazards of a kind taken so far: begins, or ends. */
unsigned
fixture_count(const struct fixture *f, enum hazard_kind kind, bool begin);

/* Events of a type in the stream so far. */
unsigned fixture_events(const struct fixture *f, unsigned type);

/* Wait until that many were taken; fail at the limit. */
void fixture_wait_hazards(
    struct fixture *f, enum hazard_kind kind, bool begin, unsigned count);
void fixture_wait_events(struct fixture *f, unsigned type, unsigned count);

/* Wait until the server is known from this source, to the observer, too. */
void fixture_wait_source(
    struct fixture *f, unsigned server, enum profiler_source source);

/* Wait for two whole sweeps: then all that was there has been seen. */
void fixture_wait_sweeps(struct fixture *f);

/* Wait until that many channels are open. */
void fixture_wait_channels(struct fixture *f, unsigned channels);

/* Fail if a hazard is still in force, or begins and ends do not alternate. */
void fixture_check_balance(const struct fixture *f);

/* Wait until that many have been opened, and all of them closed again. */
void fixture_wait_closed(struct fixture *f, unsigned opened);

/* Call until it is true, at most to the limit; false then. */
bool eventually(bool (*is)(void *), void *arg);

/* Look at the profiler's figures until something is true of them, s; at most to
 * the limit: false then. */
#define STATS_ARE(f, s, is)                                                    \
	({                                                                     \
		struct instant limit =                                         \
		    instant_plus(instant_now(), FIXTURE_LIMIT_NS);             \
		bool so;                                                       \
		do                                                             \
			profiler_stats((f)->profiler, &(s));                   \
		while (!(so = (is)) && instant_before(instant_now(), limit) && \
		       usleep(1000) == 0);                                     \
		so;                                                            \
	})
