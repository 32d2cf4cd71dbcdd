/* server_timing.h: the server's own latency, from Server-Timing headers.
 *
 * A value is a list like `tailor;dur=2.31, upstream;dur=1.80;desc="a, b"` (W3C
 * Server Timing).  Which metric counts: the first "app", else the first
 * "upstream", else the first with a duration.
 * Anything that does not follow the grammar ends the reading of that header,
 * what was read before it stays.  Allocates nothing. */
#pragma once

#include <stdint.h>

#include "http/slice.h"

struct server_timing {
	int64_t duration_ns; /* -1: none found yet */
	unsigned rank;	     /* of the metric found; smaller is better */
	bool tailor;	     /* there is a metric of that name */
};

/* Nothing found yet. */
void server_timing_init(struct server_timing *t);

/* Read one header's value, keeping the best metric of this and earlier ones.
 *   value  hostile bytes
 * Durations are decimal milliseconds; above one day they are ignored. */
void server_timing_read(struct server_timing *t, struct slice value);
