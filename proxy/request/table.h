/* table.h: the request table: what is in flight, and the last N finished.
 *
 * Finished requests are found by the id that the client saw.  Ids that have
 * left the history are remembered as a hash for a good while longer, so that
 * "expired" and "unknown" can be distinguished.  All memory is taken at start.
 * Proxy thread only. */
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

/* A blank request in the in-flight list, or NULL.  Its id has never been given
 * before, is not 0, and cannot be guessed from others. */
struct request *table_add(struct request_table *t, unsigned inflight_max);

/* Move a request out of flight; it may be reused at once. */
void table_remove(struct request_table *t, struct request *r);

/* The place to describe the next finished request in; then file it. */
struct tale_request *table_slot(struct request_table *t);
void table_file(struct request_table *t);

/* Look a finished request up; *out points into the table. */
enum table_found table_find(const struct request_table *t,
    const char *external_id, const struct tale_request **out);

/*
 * table_about(t, found, out, room):
 * What requests are called that finished about when a found one did, or are in
 * flight: at most room of them, those nearest to it first.  Returns how many.
 * Cost: 10 us for 256, most of it memory that is in no cache.
 */
struct analysis_name;
unsigned table_about(const struct request_table *t,
    const struct tale_request *found, struct analysis_name *out, unsigned room);
