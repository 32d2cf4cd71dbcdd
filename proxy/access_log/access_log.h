/* access_log.h: one line for every request, written off the proxy thread.
 *
 * The proxy thread fills a record in a ring (single producer, single
 * consumer); a thread of low priority makes text of it and writes it, many
 * lines at a time.  A full ring drops the line and counts it: a slow disk, or
 * a reader of a pipe that went away, never delays a request.
 *
 * A new file is put into the same ring, so lines from before go to the old
 * file and lines from after to the new one.
 *
 * Cost to the proxy thread: filling up to 3 KiB, and a system call only when
 * the writer sleeps. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct access_log; /* NULL: there has been no log yet */
struct access_record;
struct config;

struct access_log_stats {
	uint64_t written, dropped; /* lines */
	uint64_t failed;	   /* lines that the file did not take */
};

/* Open the file of c->access_log: *fd, -1 if none is wanted.  0, or a negative
 * errno after one message that says what to do. */
int access_log_prepare(const struct config *c, int *fd);

/* Write to fd (taken) from the next line on; -1: no more.  Starts the thread
 * when the first file comes.  0, -EAGAIN when the ring is full, or another
 * negative errno; fd is closed then. */
int access_log_switch(struct access_log **lp, int fd);

/* The next record to fill in, all zero, or NULL (counted as dropped); then
 * hand it over. */
struct access_record *access_log_begin(struct access_log *l);
void access_log_commit(struct access_log *l);

/* The counters of l, all 0 if l is NULL; the bytes that an open log takes. */
void access_log_stats(const struct access_log *l, struct access_log_stats *out);
size_t access_log_bytes(void);

/* Write out what waits, for a second at most, and end the thread. */
void access_log_free(struct access_log **lp);
