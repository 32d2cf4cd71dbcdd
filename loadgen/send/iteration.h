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

/* The record of one request.  An array of these is made before an iteration.
 *
 *   scheduled      send_begin    send_end        first          last
 *   ----|--------------|-------------|-------------|--------------|---->
 *       |<--- lag ---->|<---------------- service --------------->|
 *       |<----------------------- latency ----------------------->|
 *
 * lag is the generator's own lateness, service starts with the first system
 * call made for the request (connecting included, if it needed a connection),
 * latency is what an independent user would have seen.  latency = lag +
 * service, always exactly. */
enum outcome {
	OUTCOME_UNSENT,	    /* the run was interrupted before it was due */
	OUTCOME_UNANSWERED, /* the run was interrupted while it waited */
	OUTCOME_OK,
	OUTCOME_CONNECT,   /* connecting failed */
	OUTCOME_RESET,	   /* the connection broke */
	OUTCOME_TIMEOUT,   /* no complete response in time */
	OUTCOME_SHORT,	   /* the server closed before the response's end */
	OUTCOME_MALFORMED, /* not an HTTP response, or bytes after its end */
	OUTCOME_STATUS,	   /* complete, with an unexpected status */
};
#define OUTCOME_COUNT 9

struct request_sample {
	struct instant scheduled;
	struct instant send_begin;
	struct instant send_end; /* unset if it was never sent whole */
	struct instant first;	 /* first byte read; may be unset */
	struct instant last;	 /* last byte, or when it failed */
	/* The kernel's stamps (stamps.h); unset if it gives none. */
	struct instant kernel_sent;  /* last byte of the request handed down */
	struct instant kernel_acked; /* the server's kernel had all of it */
	struct instant kernel_first; /* arrival of the bytes read first */
	struct instant kernel_read;  /* arrival of the bytes read last; unset
					if the server's closing came after */
	int64_t server_ns;	     /* what the server reported; -1: nothing */
	int64_t generator_ns;	     /* see samples_bound(); >= lag */
	uint64_t body_bytes;
	uint32_t connection; /* number of the connection within the iteration */
	uint16_t status;     /* 0: no head was read */
	uint16_t error;	     /* errno of a failed call; 0: none failed */
	uint8_t outcome;     /* enum outcome */
	bool tailor;	     /* the response came through a Tailor */
	bool new_connection; /* a connection was opened for the request */
	bool waited;	     /* due while max_connections were busy */
};

/* Return the name of an outcome in every output, "ok", "connect", ... */
const char *outcome_name(enum outcome outcome);

#define SAMPLE_ERRNOS 256 /* errnos are below it */

/* Return "ECONNREFUSED" and so on; "" for 0. */
const char *sample_errno_name(unsigned error);

/* True if the request was sent and has failed. */
static inline bool
outcome_is_error(enum outcome outcome)
{
	return outcome >= OUTCOME_CONNECT;
}

/* True if the request succeeded; only then it has a latency. */
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

/* Fill in generator_ns of finished samples, which are in the order of their
 * schedule: how much of a latency the generator may have caused.  A generator
 * that is never late would measure at most sample_latency_ns() and at least
 * sample_least_ns(), because:
 *   - A request that is sent earlier is not finished later.
 *   - It is finished earlier by at most the largest lag of the requests that
 *     were in the server's queue with it.  Its own lag alone is not enough:
 *     after a stall of the sender the delayed requests are sent together and
 *     wait for each other, which is part of their service times.
 *   - In addition, its response is read earlier by at most the time that it
 *     waited to be read, less the 50 us that any client needs to wake up.  This
 *     is known if the kernel reports the arrival (TCP), and the response did
 *     not end with its connection.
 * The second point is true for queues that are served in order, by any number
 * of workers: if all requests arrive at most d later, all end at most d later
 * (such systems are nonexpansive; Baccelli et al., Synchronization and
 * Linearity, 1992).  An earlier lag counts until the client has nothing in
 * flight, and shrinks by a tenth of the time that passes, as if the server had
 * that much spare capacity.  Not included: a pause of the server that began
 * between a request's due time and its sending; a stall within a system call
 * that sends.
 * O(n), any thread, after the sender has ended. */
void samples_bound(struct request_sample *samples, size_t n);

/* The least latency that a punctual generator would measure, ns; see
 * samples_bound().  Valid if the sample is OK. */
static inline int64_t
sample_least_ns(const struct request_sample *s)
{
	int64_t ns = sample_latency_ns(s) - s->generator_ns;

	return ns > 0 ? ns : 0;
}

/* The part of the service time outside the server; negative if the server
   reported more than the service time.  Valid if the server reported. */
static inline int64_t
sample_gap_ns(const struct request_sample *s)
{
	return sample_service_ns(s) - s->server_ns;
}

/* Written by the sender, read by any thread, any time. */
struct progress {
	_Atomic size_t sent;	 /* measured requests */
	_Atomic size_t finished; /* of the sent ones, successes and failures */
	/* Entries [0 .. ok) of the arrays are final: they are stored before
	 * ok, which is stored with release. */
	_Atomic size_t ok;
	int64_t *latency_ns; /* owned */
	uint32_t *number;    /* owned; number of each request, from 1 */
};

/* Longest times in which the sender's CPU did something else. */
struct hiccups {
	int64_t spin_max_ns;  /* between two clock reads of a spinning loop */
	int64_t pause_max_ns; /* a 1 ms timer's lateness between iterations */
};

struct iteration {
	unsigned index; /* from 1 */
	uint64_t seed;
	size_t warmup;	    /* samples at the beginning that do not count */
	size_t requests;    /* samples after the warm-up */
	int64_t *offset_ns; /* owned; due times, warm-up and measured */
	struct request_sample *samples; /* owned; warmup + requests of them */

	/* filled in by the sender */
	struct instant begin;  /* the schedule's zero */
	struct instant origin; /* zero of the measured requests' schedule */
	size_t max_in_flight;
	uint32_t opened;      /* connections opened, also in advance */
	uint32_t unsolicited; /* idle connections that received bytes */
	bool interrupted;
	bool clock_stepped;  /* true: the kernel's stamps were discarded */
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
