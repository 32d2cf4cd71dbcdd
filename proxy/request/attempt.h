/* attempt.h: one try to have a request answered by one server.
 *
 * The user of a connection: writes the request, keeps what comes back until the
 * race is decided, then passes it on.  Proxy thread only. */
#pragma once

#include "proxy/request/proxy.h"

/* From a response's head to its commit, if another attempt may overtake it and
 * it is neither short nor a stream.  Responses of a local server arrive in one
 * burst: after a millisecond nearly all are complete. */
#define COMMIT_DELAY_NS NS_PER_MS

/* A function that takes "now" is part of a step whose moment is known: the
 * channel's events are in the order of their time, so nothing may have been
 * emitted since. */

/* Start an attempt on a server; may end the request before it returns. */
void attempt_start(struct request *r, unsigned server,
    enum hedge_trigger trigger, struct instant now);

/* The callbacks of an attempt's connection (attempt_response.c). */
extern const struct exchange_ops attempt_ops;

/* Put the attempt's message on a connection, a fresh one if the last turned
 * out to be stale.  0 or a negative errno. */
int attempt_send(struct attempt *a, unsigned server, bool again);

/* Report to the policy that an attempt is over (race_ended); what now? */
enum race_step attempt_over(struct attempt *a, enum attempt_end end,
    bool written, int64_t latency_ns, struct instant now, int *server);

/* Do what the policy answered; server as it said, why for a 502.  May end
 * the request. */
void request_step(
    struct request *r, enum race_step step, int server, const char *why);

/* How long the response of a running attempt, whose head is there, waits for
 * its rest: 0 not at all, -1 until it is whole (attempt_response.c).  hold: if
 * another attempt may overtake it. */
int64_t attempt_wait_ns(const struct attempt *a);
int64_t attempt_hold_ns(const struct attempt *a);

/* The race has changed beside this attempt: what was held back because of
 * another attempt may be due now.  Does not end the request. */
void attempt_review(struct attempt *a);

/* Forward this attempt's response from now on, if it wins. */
void attempt_commit(struct attempt *a, struct instant now);

/* Drain or cancel an attempt that has not won; outcome is static. */
void attempt_drop(struct attempt *a, const char *outcome);

/* Undo an attempt of which nothing was written: a hedge whose hazard is over
 * (T3), or the only attempt, whose race then is as after race_init. */
void attempt_cancel(struct attempt *a);

/* The client is gone: let the winner's connection drain. */
void attempt_leave(struct attempt *a);

/* Release what an attempt holds. */
void attempt_fini(struct attempt *a);
