/*
 * cases.h: for each cause a plot that shows it, how long it lasts there, and
 * how it is told.
 */
#pragma once

#include "talechain/explain/story.h"
#include "tests/unit/talechain/plot.h"

struct cause_case {
	const char *name;
	void (*plot)(struct plot *p);
	enum tale_cause cause;
	int64_t share_us;
	const char *sentence; /* the first */
};

extern const struct cause_case cases[];
extern const size_t cases_count;
/* Of threads that wait for each other (cases_walk.c). */
extern const struct cause_case walk_cases[];
extern const size_t walk_cases_count;

/* Of where a thread waited (cases_where.c). */
extern const struct cause_case where_cases[];
extern const size_t where_cases_count;

/* Of threads behind threads, timers and event loops (cases_chain.c). */
extern const struct cause_case chain_cases[];
extern const size_t chain_cases_count;

/* What the case of that name adds to a plot. */
void case_plot(struct plot *p, const char *name);

/* That case alone, told; as plot_tell(). */
struct story *plot_case(struct plot *p, const char *name);
