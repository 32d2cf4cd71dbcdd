/*
 * ready.h: the last log line of a start: the addresses that clients connect to,
 * and the servers behind them.
 *
 * It is logged once, when the first server responds and the lines about
 * observing the servers are in the log.  If no server responds in
 * proxy.server_wait, a line says what Tailor waits for, and the last line
 * follows when a server responds.  Proxy thread.
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
