/* epochs_read.h: the kernel's counters for epochs.h.
 *
 * Each thread that is found of a server gets one counter for each source;
 * threads that it starts inherit them.  Counters that are not in the present
 * set are off.  The attach thread only.
 *
 * Cost: once a second about 1 us for each thread and source that is on, and for
 * each that is switched; while they are on, a task switch of such a thread also
 * switches its counters. */
#pragma once

#include "profiler/rates/epochs.h"
#include "profiler/rates/rates_read.h"

/* The sources of one server. */
struct epochs_server {
	unsigned searched; /* as in struct rates_server */
	struct counter_set set;
	bool off_logged;
};

struct epochs_reader {
	struct epochs epochs;
	uint32_t sources; /* sources that are ever on; 0: none */
	uint32_t set;	  /* sources that are on now */
	unsigned servers;
	struct epochs_server server[PROFILER_SERVERS];
};

/* Find which of the configured counters this machine has, and log that once.
 * Never fails.  out is borrowed; NULL: no counter is configured. */
void epochs_open(struct epochs_reader *r, uint32_t counters, unsigned servers,
    struct counted_epochs *out);
void epochs_close(struct epochs_reader *r);

/* The same as rates_server, for counters that take turns. */
void epochs_server(struct epochs_reader *r, unsigned server,
    const struct family *family, unsigned searched, const char *name);

/* Returns the time until something is due, ns; -1: never. */
int64_t epochs_reader_turn(struct epochs_reader *r, struct instant now);
