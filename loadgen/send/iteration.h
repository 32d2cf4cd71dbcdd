/* iteration.h: one iteration's plan and its raw record.
 *
 * Made before the iteration by the main thread, filled in by the sender
 * thread, read by the main thread after it has joined the sender.  While the
 * sender runs the main thread may look at `progress` only. */
#pragma once

#include <stdatomic.h>
#include <stddef.h>

#include "base/instant.h"
#include "loadgen/send/plan.h"

/* The record of one request.
 *
 *   scheduled      send_begin    send_end        first          last
 *   ----|--------------|-------------|-------------|--------------|---->
 *       |<--- lag ---->|<---------------- service --------------->|
 *       |<----------------------- latency ----------------------->|
 *
 * lag is the generator's own lateness, service starts with the first system
 * call made for the request (connecting included, if it needed a connection),
 * latency is what an independent user would have seen.  latency = lag +
 * service, exactly, always.
 *
 * An array of these is made before an iteration; the sender thread fills it,
 * others read it after the sender has ended. */
enum outcome {
	OUTCOME_UNSENT,	    /* the run was interrupted before it was due */
	OUTCOME_UNANSWERED, /* the run was interrupted while it waited */
	OUTCOME_OK,
	OUTCOME_CONNECT,   /* no connection to the server */
	OUTCOME_RESET,	   /* the connection broke */
	OUTCOME_TIMEOUT,   /* no complete response in time */
	OUTCOME_SHORT,	   /* the server closed before the response's end */
	OUTCOME_MALFORMED, /* not an HTTP response, or bytes after its end */
	OUTCOME_STATUS,	   /* complete, but not a status that was expected */
};
#define OUTCOME_COUNT 9

struct request_sample {
	struct instant scheduled;
	struct instant send_begin;
	struct instant send_end; /* unset if it was never sent whole */
	struct instant first;	 /* first byte read; may be unset */
	struct instant last;	 /* last byte, or when it failed */
	/* The kernel's word, where it gives it; unset otherwise. */
	struct instant kernel_sent;  /* last byte of the request handed down */
	struct instant kernel_acked; /* the server's kernel had all of it */
	struct instant kernel_first; /* arrival of the bytes read first */
	struct instant kernel_read;  /* arrival of the bytes read last */
	int64_t server_ns;	     /* what the server reported; -1: nothing */
	int64_t generator_ns;	     /* see samples_bound(); >= lag */
	uint64_t body_bytes;
	uint32_t connection; /* number of the connection within the iteration */
	uint16_t status;     /* 0: no head was read */
	uint16_t error;	     /* errno of a failed call; 0: none failed */
	uint8_t outcome;     /* enum outcome */
	bool tailor;	     /* the response came through a Tailor */
	bool new_connection; /* one was opened for it */
	bool waited;	     /* max-connections were busy when it was due */
};

/* "ok", "connect", ...: key in every output; constant text. */
const char *outcome_name(enum outcome outcome);

#define SAMPLE_ERRNOS 256 /* errnos are below it */

/* "ECONNREFUSED" and so on; constant text, "" for 0. */
const char *sample_errno_name(unsigned error);

/* True if the request was sent and has failed. */
static inline bool
outcome_is_error(enum outcome outcome)
{
	return outcome >= OUTCOME_CONNECT;
}

/* True if the request succeeded, and so has latencies. */
static inline bool
sample_is_ok(const struct request_sample *s)
{
	return s->outcome == OUTCOME_OK;
}

/* From the due time to the first system call, ns; valid once send_begin is
 * set. */
static inline int64_t
sample_lag_ns(const struct request_sample *s)
{
	return instant_since(s->send_begin, s->scheduled);
}

/* From the due time to the last byte; valid if the sample is OK. */
static inline int64_t
sample_latency_ns(const struct request_sample *s)
{
	return instant_since(s->last, s->scheduled);
}

/* From the first system call to the last byte; valid if the sample is OK. */
static inline int64_t
sample_service_ns(const struct request_sample *s)
{
	return instant_since(s->last, s->send_begin);
}

/* Fill in generator_ns of samples that are over, in the order of their
 * schedule: how much of a latency may be the generator's doing.  What a
 * generator that is never late would have found is at most sample_latency_ns()
 * and at least sample_least_ns():
 *   - Sent earlier, a request would not have been finished later.
 *   - It would have been finished earlier by at most the largest lag of the
 *     requests that the server had to work off with it.  Its own lag alone is
 *     not enough: requests held back by a stall of the sender are sent
 *     together and wait for each other, which is in their service times.
 *   - And by what its response waited to be read, beyond the 50 us that waking
 *     up may cost any client, where the kernel says when it had arrived (TCP).
 * The second holds of queues that are served in order, by any number of
 * workers: if all arrive at most d later, all end at most d later (such systems
 * are nonexpansive; Baccelli et al., Synchronization and Linearity, 1992).
 * What is left of an old lag ends when the client had nothing in flight, and
 * shrinks by a tenth of the time that passes: the server is taken to have that
 * much capacity to spare.  Not in it: a pause of the server that began between
 * a request's due time and its sending; a stall within a system call that
 * sends.
 * O(n), any thread, after the sender has ended. */
void samples_bound(struct request_sample *samples, size_t n);

/* The least latency that a generator which is never late would have found, ns
 * (samples_bound()); valid if the sample is OK. */
static inline int64_t
sample_least_ns(const struct request_sample *s)
{
	int64_t ns = sample_latency_ns(s) - s->generator_ns;

	return ns > 0 ? ns : 0;
}

/* Time outside the server; negative if it claims more than there was.
   Valid if the server reported. */
static inline int64_t
sample_gap_ns(const struct request_sample *s)
{
	return sample_service_ns(s) - s->server_ns;
}

/* Written by the sender, read by any thread, any time. */
struct progress {
	_Atomic size_t sent;	 /* measured requests */
	_Atomic size_t finished; /* of those, successes and failures */
	/* [0 .. ok) of the arrays are final: stored before ok, with release. */
	_Atomic size_t ok;
	int64_t *latency_ns; /* owned */
	uint32_t *number;    /* owned; of the same requests, from 1 */
};

/* Longest time in which the sender's CPU did something else. */
struct hiccups {
	int64_t spin_max_ns;  /* between two clock reads of a spinning loop */
	int64_t pause_max_ns; /* a 1 ms timer's lateness between iterations */
};

struct iteration {
	unsigned index; /* from 1 */
	uint64_t seed;
	size_t warmup;	    /* how many samples, the first, do not count */
	size_t requests;    /* samples after them */
	int64_t *offset_ns; /* owned; due times, warm-up and measured */
	struct request_sample *samples; /* owned; warmup + requests of them */

	/* filled in by the sender */
	struct instant begin;  /* the schedule's zero */
	struct instant origin; /* zero of the measured requests' schedule */
	size_t max_in_flight;
	uint32_t opened;      /* connections, those in advance included */
	uint32_t unsolicited; /* idle connections on which bytes came */
	bool interrupted;
	bool clock_stepped;  /* so the kernel's stamps were thrown away */
	_Atomic bool tailor; /* a response came through a Tailor */
	struct hiccups hiccups;
	int64_t cpu_ns;	 /* CPU time of the sender thread */
	int64_t wall_ns; /* from begin to the last response */
	long involuntary_switches;
	struct progress progress;
};

/* Allocate the arrays.  Returns 0 or -ENOMEM. */
int iteration_init(struct iteration *it, const struct plan *plan);
void iteration_fini(struct iteration *it);

/* Make it the given iteration, unsent; computes its schedule. */
void
iteration_plan(struct iteration *it, const struct plan *plan, unsigned index);

/* The measured samples, it->requests of them. */
static inline struct request_sample *
iteration_measured(const struct iteration *it)
{
	return it->samples + it->warmup;
}
