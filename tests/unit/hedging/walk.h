/*
 * walk.h: a small proxy, two servers and their bad days, driven by chance.
 *
 * It does what the real proxy does with the policy's answers and keeps books
 * of its own, in other words than the policy's: which attempts are on which
 * server, what was written where, what the client got.  test_walk.c compares
 * the two after every step.
 */
#pragma once

#include "hedging/hedging.h"

#define WALK_REQUESTS 48

enum walk_phase {
	WALK_UNWRITTEN,
	WALK_WRITTEN,
	WALK_HEAD,
	WALK_DRAINING, /* lost, still being read */
	WALK_OVER,
};

struct walk_attempt {
	enum walk_phase phase;
	unsigned server;
	bool hedge; /* as we asked for it */
	bool lost, won;
	bool aside; /* holds no slot */
	int status;
	struct instant began;
};

enum walk_outcome {
	WALK_NONE,
	WALK_FORWARDED,
	WALK_TRUNCATED,
	WALK_LOCAL, /* 502, 503 or 504 of our own */
	WALK_ABORTED,
};

struct walk_request {
	bool live;
	bool queued;
	bool hedge_waits; /* was refused for want of room */
	bool repeatable;  /* may be written to more than one server */
	enum hedge_trigger next;
	struct race race;
	struct hedge_view view;
	struct walk_attempt attempt[RACE_ATTEMPTS];
	unsigned attempts;
	unsigned written_mask;
	unsigned writes;
	unsigned commits;
	bool answered, answered_well; /* some complete response came */
	enum walk_outcome outcome;
};

struct walk_server {
	bool up, stopped;
	unsigned orphans; /* draining, its request gone */
	unsigned warmups;
};

struct walk {
	uint64_t seed;
	struct instant now, ticked;
	struct hedging h;
	struct walk_server server[HEDGING_SERVERS];
	struct walk_request request[WALK_REQUESTS];
	uint64_t finished, hedges, cancelled, mirrors, ended[WALK_ABORTED + 1];
	unsigned swaps_seen;
	unsigned fails_one_in, errs_one_in; /* resets, 5xx answers */
	bool calm; /* no new requests, no new trouble */
};

void
walk_init(struct walk *w, const struct hedging_limits *limits, uint64_t seed);

/* One event and what follows from it. */
void walk_step(struct walk *w);

/* From now on only finish what is there. */
void walk_calm(struct walk *w);

/* Requests that have not ended. */
unsigned walk_live(const struct walk *w);

/* A number below n. */
unsigned walk_random(struct walk *w, unsigned n);
