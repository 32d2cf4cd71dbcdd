/* termination.h: how a request ended, in two letters, as HAProxy's logs have
 * it: what ended it, and where it was then.
 *
 * The codes are in the access log, the metrics, the stream and timelines;
 * docs/http.md has their meanings.  Pure functions; any thread. */
#pragma once

#include <stdint.h>

/* Causes of an end: symbol, letter, and the places where that can be. */
#define TERMINATIONS(X)                                                     \
	X(NORMAL, '-', "-")                                                 \
	X(CLIENT, 'C', "RQCHD")	     /* the client left */                  \
	X(CLIENT_LATE, 'c', "RQCHD") /* the client did not send, or read */ \
	X(SERVER, 'S', "QCHD")	     /* a server failed, or none was up */  \
	X(SERVER_LATE, 's', "QCHD")                                         \
	X(PROXY, 'P', "RCHD")	  /* Tailor refused the message */          \
	X(RESOURCE, 'R', "RQCHD") /* Tailor had no memory, or no room */    \
	X(KILLED, 'K', "RQCHD")	  /* a drain or a stop took too long */     \
	X(LOCAL, 'L', "R")	  /* a request to Tailor itself */

enum termination_by {
#define TERMINATION_X(symbol, ...) TERMINATION_##symbol,
	TERMINATIONS(TERMINATION_X)
#undef TERMINATION_X
	    TERMINATION_BY_COUNT
};

enum termination_place {
	TERMINATION_AT_END,  /* '-' the response is whole */
	TERMINATION_REQUEST, /* 'R' the request is not */
	TERMINATION_QUEUE,   /* 'Q' it waits for a server */
	TERMINATION_CONNECT, /* 'C' no byte has been sent to a server */
	TERMINATION_HEAD,    /* 'H' the client has no byte of a response */
	TERMINATION_DATA,    /* 'D' the response has begun */
	TERMINATION_PLACE_COUNT
};

/* Both as one number, 0 for a normal end: it fits into eight bits. */
#define TERMINATION_COUNT (TERMINATION_BY_COUNT * TERMINATION_PLACE_COUNT)
static inline uint8_t
termination(enum termination_by by, enum termination_place place)
{
	return (uint8_t)(by * TERMINATION_PLACE_COUNT + place);
}
static inline enum termination_by
termination_by(unsigned code)
{
	return code < TERMINATION_COUNT
		   ? (enum termination_by)(code / TERMINATION_PLACE_COUNT)
		   : TERMINATION_NORMAL;
}
static inline enum termination_place
termination_place(unsigned code)
{
	return (enum termination_place)(code % TERMINATION_PLACE_COUNT);
}

/* Write "SH", "--" for a normal end, or "??" for what is no code; returns
 * out. */
#define TERMINATION_TEXT 3
char *termination_text(unsigned code, char out[TERMINATION_TEXT]);

/* The cause of the end of a request that fails for a reason ("reset",
 * "deadline"); PROXY for one not known here, as for all that the gate gives. */
enum termination_by termination_of_reason(const char *reason);
