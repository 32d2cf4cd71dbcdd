/*
 * heaps.h: two JVMs under load, simulated, which the product steers.
 *
 * Steps of a millisecond.  Requests allocate while they are served and leave
 * bytes that live for a while: survivors, and later the old generation.  G1
 * sizes eden after each collection, marks when the old generation has grown and
 * then has some mixed collections, with the least eden; it shrinks eden between
 * collections, too, which its page does not show.  Parallel sizes eden by a
 * tenth, and its page shows what is used every 50 ms.  The model keeps its own
 * account of the collections that requests have met.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct heaps_setting {
	const char *name;
	bool parallel; /* else G1 */
	bool periodic; /* collects as ordered only once a second, and marks */
	unsigned heap_mb;
	double requests_per_s, request_kb, service_ms; /* means */
	double keep_ms;	   /* how long what requests leave behind lives */
	double long_per_s; /* requests that take a second */
	double burst;	   /* times as much for a while; below 2: none */
	unsigned seconds;
};

struct heaps_result {
	unsigned requests, caught;  /* caught: in flight at a collection */
	unsigned collections, met;  /* met: with requests in flight */
	unsigned swaps, swaps_in_s; /* in all; most within a second */
	unsigned shares, shared_ms; /* times that load was shared */
	unsigned unmet_apart_ms; /* longest time between two that were unmet */
	uint64_t missed[8];	 /* by enum steer_miss */
};

#define HEAPS_SETTINGS 10
extern const struct heaps_setting heaps_setting[HEAPS_SETTINGS];

/* Simulate, and add to *result; a seed always gives the same. */
void heaps_run(const struct heaps_setting *setting, uint64_t seed,
    struct heaps_result *result);
