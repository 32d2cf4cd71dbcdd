/* connection.h: the connections of one sender.
 *
 *   CLOSED --open--> IDLE <--> BUSY
 *     ^                |        |
 *     +------ close ---+--------+
 *
 * Idle connections are a stack: the one used last is used next, as its caches
 * and the server's thread are warm.  Busy connections are a queue in the order
 * they were taken, so the first is the first to time out.  A connection carries
 * one request at a time, never two.
 *
 * All memory is allocated when the pool is opened; the pages for heads are
 * touched only if a head arrives in pieces.  Opening a connection enters
 * the kernel but never waits.  One thread. */
#pragma once

#include <sys/queue.h>

#include "base/instant.h"
#include "loadgen/send/plan.h"
#include "loadgen/send/response.h"
#include "loadgen/send/stamps.h"
#include "loadgen/send/target.h"

enum load_connection_state {
	CONNECTION_CLOSED,
	CONNECTION_IDLE,
	CONNECTION_BUSY,
};

struct load_connection {
	enum load_connection_state state;
	enum stamps_state stamps;
	int fd; /* owned; -1 if closed */
	uint32_t number;
	bool connecting;     /* connect() has not finished */
	bool wants_write;    /* epoll also waits for room to write */
	size_t request;	     /* index of the sample, while busy */
	size_t written;	     /* bytes of the request written so far */
	uint32_t sent_bytes; /* ever, modulo 2^32; identifies stamps */
	TAILQ_ENTRY(load_connection) link;
	char *head; /* borrowed from the pool; for response_init() */
	struct load_response response;
};

/* The connections in one state, in the order in which they entered it. */
struct connection_list {
	TAILQ_HEAD(connection_queue, load_connection) queue;
	size_t count;
};

struct load_pool {
	struct load_connection *slots; /* owned */
	char *heads; /* owned; RESPONSE_HEAD_MAX for each slot */
	size_t slot_count;
	struct connection_list closed;
	struct connection_list idle;
	struct connection_list busy;
	int epoll_fd; /* borrowed from the sender */
	const struct target *target;
	bool kernel_stamps;
	uint32_t opened; /* since pool_count_from_zero() */
};

/* Allocate plan->max_connections connections; opens none.  The epoll data of a
 * connection is its struct load_connection *.  plan and t must outlive the
 * pool.  Returns 0 or -ENOMEM. */
int pool_open(struct load_pool *p, int epoll_fd, const struct plan *plan,
    const struct target *t);
void pool_close(struct load_pool *p);

/* Open connections until count are idle, waiting for each; closes none.
 * Returns 0, or the negative errno of the first failure. */
int pool_fill(struct load_pool *p, size_t count, int64_t timeout_ns);

/* Close idle connections that the server has closed. */
void pool_sweep(struct load_pool *p);

/* Close idle connections until at most count are left. */
void pool_trim(struct load_pool *p, size_t count);

/* Number connections from 0 again: first those that are idle, then new ones. */
void pool_count_from_zero(struct load_pool *p);

/* Take an idle connection, or begin to open one (out->connecting); it becomes
 * the last of the busy ones.  Returns 0, -EBUSY (max_connections are busy) or
 * the negative errno of opening (no connection is taken). */
int pool_take(struct load_pool *p, struct load_connection **out);

/* Return a busy connection, whose request has ended, to the idle ones. */
void connection_release(struct load_pool *p, struct load_connection *c);

/* Close an idle or busy connection. */
void connection_close(struct load_pool *p, struct load_connection *c);

/* Have epoll report room to write, or no longer. */
void connection_want_write(
    struct load_pool *p, struct load_connection *c, bool want);
