/* steer_names.c: names of steering's phases and reasons. */
#include "base/array.h"
#include "hedging/steer.h"

const char *
steer_phase_name(enum steer_phase phase)
{
	static const char *const name[] = {
	    "off", "active", "draining", "collecting", "fresh", "tired"};

	return NAME_IN(name, phase);
}

const char *
steer_missing_text(enum steer_missing missing)
{
	static const char *const text[] = {
#define STEER_X(symbol, text) text,
	    STEER_MISSING(STEER_X)
#undef STEER_X
	};

	return NAME_IN(text, missing);
}

const char *
steer_miss_name(enum steer_miss miss)
{
	static const char *const name[] = {
#define STEER_X(symbol, name) name,
	    STEER_MISSES(STEER_X)
#undef STEER_X
	};

	return NAME_IN(name, miss);
}
