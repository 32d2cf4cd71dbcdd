/* epochs_read.h: the kernel's counters for epochs.h.
 *
 * Each thread of a server that is found has one of each source, which threads
 * it starts inherit; those of other sets than the present one are off.  The
 * attach thread only.
 *
 * Cost: once a second about 1 us for each thread and source that is on, and for
 * each that is switched; while they are on, a task switch of such a thread also
 * switches its counters. */
#pragma once

#include "profiler/rates/epochs.h"
#include "profiler/rates/rates_read.h"

/* The sources of one server. */
struct epochs_server {
	unsigned searched; /* as rates_server's */
	struct counter_set set;
	bool off_logged;
};

struct epochs_reader {
	struct epochs epochs;
	uint32_t sources; /* all that are ever on; 0: nothing */
	uint32_t set;	  /* that are on */
	unsigned servers;
	struct epochs_server server[PROFILER_SERVERS];
};

/* Find which of the counters asked for this machine has, and log that once.
 * Never fails.  out is borrowed; NULL: none are asked for. */
void epochs_open(struct epochs_reader *r, uint32_t counters, unsigned servers,
    struct counted_epochs *out);
void epochs_close(struct epochs_reader *r);

/* As rates_server. */
void epochs_server(struct epochs_reader *r, unsigned server,
    const struct family *family, unsigned searched, const char *name);

/* Returns the time until something is due, ns; -1: never. */
int64_t epochs_reader_turn(struct epochs_reader *r, struct instant now);
