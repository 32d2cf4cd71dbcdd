/* sender.h: the thread that sends requests when they are due and times them.
 *
 * The public interface of send/, which owns sending (plan.h, target.h,
 * request.h, connection.h) and the record of each request (iteration.h).
 * experiment.c calls it; stats/ and report/ read iterations after the thread
 * has been joined.
 *
 * One thread, one epoll set, no lock, no allocation and no output from the
 * first request of an iteration to its last.  Until 60 us before the next
 * request is due it sleeps in epoll_wait(), with an absolute timer in the
 * set: a timer wakes as late as clock_nanosleep() does (tens of microseconds)
 * but, unlike it, lets a response that arrives meanwhile be read at once.
 * For the rest of the time it spins, polling the sockets.  60 us covers the
 * lateness of most timers and costs 6 % of a CPU at 1000 requests/s; --no-spin
 * turns it off.
 *
 * A request that is due never waits for a response.  If no connection is idle,
 * another one is opened.  A request waits only while max_connections are busy;
 * it is then marked, and the wait is part of its lag. */
#pragma once

#include "loadgen/send/connection.h"
#include "loadgen/send/iteration.h"
#include "loadgen/send/request.h"

/* How long before a request is due the sender begins to spin. */
#define SENDER_SPIN_NS (60 * NS_PER_US)

struct sender {
	const struct plan *plan; /* borrowed, as texts is */
	struct request_texts *texts;
	struct load_pool pool;
	int epoll_fd;
	int timer_fd;		 /* sleeping until an instant */
	int stop_fd;		 /* eventfd: wakes a sleeping sender */
	_Atomic bool stop;	 /* written by the main thread */
	struct instant armed;	 /* what the timer is set to */
	int64_t clock_offset_ns; /* CLOCK_REALTIME minus CLOCK_MONOTONIC */
	char *buffer;		 /* owned; the bytes read last */

	/* of the current iteration */
	struct iteration *it;
	size_t next;	 /* sample to send next */
	size_t finished; /* samples that are over */
	bool worked;	 /* true: an event since the last clock read */
};

/* Allocate all resources; all arguments must outlive the sender.  Returns 0 or
 * a negative errno. */
int sender_open(struct sender *s, const struct plan *plan,
    const struct target *t, struct request_texts *texts);
void sender_close(struct sender *s);

/* Open connections in advance and wait for them, in place of those that the
 * server has closed, too.  Returns 0, or a negative errno if one failed.
 * Sender thread. */
int sender_prepare(struct sender *s);

/* Send nothing for pause_ns, and measure how late 1 ms timers are.  Ends early
 * on sender_stop().  Sender thread. */
void sender_pause(struct sender *s, struct iteration *it, int64_t pause_ns);

/* Send a planned iteration and wait for all its responses, or for
 * sender_stop().  Failures are in the samples.  Sender thread. */
void sender_run(struct sender *s, struct iteration *it);

/* End the iteration now.  Any thread, any time, more than once. */
void sender_stop(struct sender *s);

#define RECEIVER_BUFFER_BYTES 65536

/* Write as much of a busy connection's request as the socket takes. */
void receiver_write(struct sender *s, struct load_connection *c);

/* Act on an epoll event of a connection. */
void
receiver_event(struct sender *s, struct load_connection *c, uint32_t events);

/* A request has failed; its connection, unless NULL, is closed. */
void receiver_fail(struct sender *s, struct load_connection *c, size_t request,
    enum outcome outcome);
