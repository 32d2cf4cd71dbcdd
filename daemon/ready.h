/*
 * ready.h: the last line of a start: where clients connect, and to which
 * servers that leads.
 *
 * It is logged once, when the first server responds and what is observed of
 * the servers is in the log.  If none responds in proxy.server_wait, a line
 * says what is waited for; the other follows when it is true.  Proxy thread.
 */
#pragma once

#include <stdbool.h>

#include "base/instant.h"

struct proxy;

struct ready {
	bool reported, waited;
	struct instant checked, since; /* the first server responds */
};

/* Every tick. */
void ready_tick(struct ready *r, struct proxy *p, struct instant now);
