/* access_log.h: one line for every request, written off the proxy thread.
 *
 * The proxy thread fills a record in a ring (single producer, single
 * consumer); a thread of low priority formats records and writes them, many
 * lines at a time.  If the ring is full, the line is dropped and counted: a
 * slow disk, or a pipe without a reader, never delays a request.
 *
 * A change of file goes through the same ring: earlier lines go to the old
 * file, later lines to the new one.
 *
 * Cost to the proxy thread: filling up to 3 KiB, and a system call only when
 * the writer sleeps. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct access_log; /* NULL until a first file is prepared */
struct access_record;
struct config;

struct access_log_stats {
	uint64_t written, dropped; /* lines */
	uint64_t failed;	   /* lines that the file did not take */
};

/* Open the file of c->access_log as *fd; -1 if none is configured.  The first
 * one starts the thread and sets *lp.  0, or a negative errno after one message
 * that says what to do. */
int access_log_prepare(struct access_log **lp, const struct config *c, int *fd);

/* Write to fd, which the log now owns, from the next line on; -1: to no file.
 * l may be NULL if fd is -1.  0, or -EAGAIN when the ring is full; fd is closed
 * then. */
int access_log_switch(struct access_log *l, int fd);

/* Get the next record, all zero, to fill in; NULL if the ring is full (counted
 * as dropped).  commit then hands it to the writer's thread. */
struct access_record *access_log_begin(struct access_log *l);
void access_log_commit(struct access_log *l);

/* Get the counters of l, all 0 if l is NULL; and the memory of an open log. */
void access_log_stats(const struct access_log *l, struct access_log_stats *out);
size_t access_log_bytes(void);

/* Write the lines in the ring, for a second at most, and end the thread. */
void access_log_free(struct access_log **lp);
