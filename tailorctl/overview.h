/* overview.h: a running tailor in two lines: the head of "top".
 *
 * From /live.json: its newest slices of ten seconds, so rates and latencies
 * are those of the last 10 to 20 s. */
#pragma once

#include "base/json.h"
#include "tailorctl/options.h"

struct overview {
	char mode[16], active[80], others[96];
	int64_t uptime_ns;
	int64_t inflight, swaps;
	double rate_per_s, again_per_s; /* requests; those sent twice */
	/* upper bounds; -1: no request, INT64_MAX: beyond all buckets */
	int64_t p50_ns, p99_ns;
};

/* 0, or -1 after a message. */
int overview_read(struct overview *o, const struct ctl_options *options);

void overview_print(const struct overview *o);
void overview_write(const struct overview *o, struct json *j);
