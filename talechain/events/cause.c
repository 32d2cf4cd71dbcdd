/* cause.c: the rows of causes. */
#include "talechain/events/cause.h"

#include <string.h>

const struct tale_cause_row tale_causes[TALE_CAUSE_COUNT] = {
#define TALE_X(symbol, code, label, kind, nature, blame, needs, say, meaning, \
    advice, ...)                                                              \
	[TALE_CAUSE_##symbol] = {code, label, TALE_NATURE_##nature,           \
	    TALE_NEEDS_##needs, {advice, ##__VA_ARGS__}},
    TALE_CAUSES(TALE_X)
#undef TALE_X
};

const char *
tale_cause_code(enum tale_cause cause)
{
	return tale_causes[cause].code;
}

const char *
tale_cause_label(enum tale_cause cause)
{
	return tale_causes[cause].label;
}

int
tale_cause_find(const char *code)
{
	for (int i = 0; i < TALE_CAUSE_COUNT; i++)
		if (strcmp(tale_causes[i].code, code) == 0)
			return i;
	return -1;
}

enum tale_cause
tale_cause_of_hazard(enum hazard_kind kind)
{
	static const enum tale_cause causes[] = {
#define HAZARD_X(                                                            \
    symbol, code, words, colour, stops, acted, waited, expires, cause, rank) \
	[HAZARD_##symbol] = TALE_CAUSE_##cause,
	    HAZARD_KINDS(HAZARD_X)
#undef HAZARD_X
	};

	return causes[kind];
}
