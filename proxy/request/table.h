/* table.h: the request table: requests in flight, and the last N finished.
 *
 * Finished requests are found by the id that the client saw.  An id that has
 * left the history is remembered for much longer, as a hash, so that "expired"
 * and "unknown" can be distinguished.  All memory of the history is allocated
 * at start.  Proxy thread only. */
#pragma once

#include "proxy/request/proxy.h"

enum table_found {
	TABLE_FOUND,
	TABLE_IN_FLIGHT, /* exists, not finished */
	TABLE_EXPIRED,
	TABLE_UNKNOWN,
};

/* 0, -ENOMEM, or -EIO if the kernel has no random numbers. */
int table_init(struct request_table *t, unsigned history_max);
void table_fini(struct request_table *t);

/* A new request in the in-flight list, all zero except its id; NULL at the
 * limit or out of memory. */
struct request *table_add(struct request_table *t, unsigned inflight_max);

/* A new id: 64 random bits, not 0, practically unique and not to be guessed
 * from others. */
uint64_t table_id(struct request_table *t);

/* Remove a request from the in-flight list; its struct may be reused now. */
void table_remove(struct request_table *t, struct request *r);

/* table_slot returns the place in which to describe the next finished request;
 * table_file then enters it into the history. */
struct tale_request *table_slot(struct request_table *t);
void table_file(struct request_table *t);

/* Look a finished request up; *out points into the table. */
enum table_found table_find(const struct request_table *t,
    const char *external_id, const struct tale_request **out);

/*
 * table_about(t, found, out, room):
 * Write the names of requests in flight (at most room / 2), then of those that
 * finished just before or after a found one, the nearest first; at most room in
 * all.  Returns how many.  Cost: 10 us for 256, most of it cache misses.
 */
struct analysis_name;
unsigned table_about(const struct request_table *t,
    const struct tale_request *found, struct analysis_name *out, unsigned room);
