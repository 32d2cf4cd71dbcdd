/* plan.h: what a run sends and when, as the command line has it. */
#pragma once

#include <stdbool.h>

#include "loadgen/send/schedule.h"

#define PLAN_HEADERS_MAX 64
#define PLAN_REQUESTS_MAX 100000000u
#define PLAN_CONNECTIONS_MAX 60000u

/* All text is borrowed from argv. */
struct plan {
	/* load */
	double rate_per_s;
	uint64_t requests;   /* per iteration, >= 1 */
	uint64_t iterations; /* >= 1 */
	enum arrivals arrivals;
	uint64_t closed_clients; /* of ARRIVALS_CLOSED */
	const int64_t *trace_ns; /* borrowed; instants of ARRIVALS_FILE */
	uint64_t seed;
	uint64_t warmup; /* requests before each iteration */
	int64_t pause_ns;
	uint64_t connections;
	uint64_t max_connections;
	int64_t timeout_ns;
	bool spin;

	/* request */
	const char *method;
	const char *headers[PLAN_HEADERS_MAX]; /* "Name: value" */
	unsigned header_count;
	const char *data;
	bool expected_status[600];
	bool kernel_stamps;
};
