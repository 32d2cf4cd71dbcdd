/*
 * observed.h: one log line for each process of a server: what of it is
 * observed, and for what is not, why, and what changes that.
 *
 * The line comes when its collections are seen, or OBSERVED_PATIENCE_NS after
 * the process was found: a JVM makes its page in its first tenths of a second.
 * Collections seen later (an agent was loaded) are a second line.
 *
 * All of it runs on the attach thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/instant.h"

#define OBSERVED_PATIENCE_NS NS_PER_S

struct attach;

struct observed {
	unsigned generation; /* of its process, as last seen here */
	struct instant found;
	bool reported, collections; /* what the line said */
};

/*
 * observed_turn(a, server, now):
 * Log the line if it is due.  Returns the time until then, ns; -1: never.
 */
int64_t observed_turn(struct attach *a, unsigned server, struct instant now);
