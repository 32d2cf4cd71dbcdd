/*
 * cases.h: for each cause a plot that shows it, how long it lasts there, and
 * how it is told.
 */
#pragma once

#include "talechain/render/render.h"
#include "tests/unit/talechain/plot.h"

struct cause_case {
	const char *name;
	void (*plot)(struct plot *p);
	enum tale_cause cause;
	int64_t share_us;
	const char *sentence; /* the first */
	const char *file;
	unsigned line;
};

#define CASES_MAX 300

/* All of the files cases*.c, in the order in which they stand there. */
extern struct cause_case cases[CASES_MAX];
extern size_t cases_count;

/* Before main(). */
void case_add(const struct cause_case *c);

/* A case, and in braces what it adds to the plot p. */
#define CASE(name, cause, share_us, sentence)                                  \
	static void on_##name(struct plot *p);                                 \
	__attribute__((constructor)) static void add_##name(void)              \
	{                                                                      \
		case_add(                                                      \
		    &(struct cause_case){#name, on_##name, TALE_CAUSE_##cause, \
			share_us, sentence, __FILE__, __LINE__});              \
	}                                                                      \
	static void on_##name(__attribute__((unused)) struct plot *p)

/* What the case of that name adds to a plot. */
void case_plot(struct plot *p, const char *name);

/* That case alone, told; as plot_tell(). */
struct story *plot_case(struct plot *p, const char *name);
