/* termination.c: codes of ends as text, and from reasons. */
#include "talechain/events/termination.h"

#include <string.h>

#include "base/array.h"

static const struct {
	char letter;
	const char *places;
} rows[] = {
#define TERMINATION_X(symbol, letter, places) {letter, places},
    TERMINATIONS(TERMINATION_X)
#undef TERMINATION_X
};

static const char letters[] = "-RQCHD";

char *
termination_text(unsigned code, char out[TERMINATION_TEXT])
{
	char place = letters[termination_place(code)];

	out[0] = out[1] = '?';
	out[2] = '\0';
	if (code < TERMINATION_COUNT &&
	    strchr(rows[termination_by(code)].places, place) != NULL) {
		out[0] = rows[termination_by(code)].letter;
		out[1] = place;
	}
	return out;
}

enum termination_by
termination_of_reason(const char *reason)
{
	static const struct {
		const char *reason;
		enum termination_by by;
	} known[] = {
	    {"client_gone", TERMINATION_CLIENT},
	    {"timeout", TERMINATION_CLIENT_LATE},
	    {"body_too_slow", TERMINATION_CLIENT_LATE},
	    {"write_timeout", TERMINATION_CLIENT_LATE},
	    {"tunnel_timeout", TERMINATION_CLIENT_LATE},
	    {"closed", TERMINATION_SERVER},
	    {"reset", TERMINATION_SERVER},
	    {"refused", TERMINATION_SERVER},
	    {"connect_failed", TERMINATION_SERVER},
	    {"no_server", TERMINATION_SERVER},
	    {"connect_timeout", TERMINATION_SERVER_LATE},
	    {"deadline", TERMINATION_SERVER_LATE},
	    {"no_answer", TERMINATION_SERVER_LATE},
	    {"queue_timeout", TERMINATION_SERVER_LATE},
	    {"no_event", TERMINATION_RESOURCE},
	    {"no_memory", TERMINATION_RESOURCE},
	    {"overloaded", TERMINATION_RESOURCE},
	    {"spool_failed", TERMINATION_RESOURCE},
	    {"spool_full", TERMINATION_RESOURCE},
	    {"spool_unreadable", TERMINATION_RESOURCE},
	    {"drain_timeout", TERMINATION_KILLED},
	    {"stopped", TERMINATION_KILLED},
	    {"talechain", TERMINATION_LOCAL},
	};

	for (size_t i = 0; i < COUNT(known); i++)
		if (strcmp(known[i].reason, reason) == 0)
			return known[i].by;
	return TERMINATION_PROXY;
}
