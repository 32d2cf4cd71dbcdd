/* attempt.h: one request on its way to one server, and its response.
 *
 * An attempt is the user of a connection: it writes the request, keeps the
 * response until the race is decided, then passes it on.  Proxy thread only. */
#pragma once

#include "proxy/request/proxy.h"

/* How long a response is held back after its head, while another attempt may
 * overtake it; short ones and streams have other rules (attempt_hold_ns).
 * A local server sends in one burst: after 1 ms most responses are complete. */
#define COMMIT_DELAY_NS NS_PER_MS

/* A function that takes "now" may emit events of that time.  A channel's events
 * are in the order of their time: the caller has emitted none after now. */

/* Start an attempt on a server; may end the request before it returns. */
void attempt_start(struct request *r, unsigned server,
    enum hedge_trigger trigger, struct instant now);

/* The callbacks of an attempt's connection (attempt_response.c). */
extern const struct exchange_ops attempt_ops;

/* Send the attempt's message on a connection.  0 or a negative errno.
 *   again  the last connection was stale: use a new one */
int attempt_send(struct attempt *a, unsigned server, bool again);

/* Report to the policy that an attempt is over; returns what to do next, as
 * race_ended does. */
enum race_step attempt_over(struct attempt *a, enum attempt_end end,
    bool written, int64_t latency_ns, struct instant now, int *server);

/* Do the policy's next step.  May end the request.
 *   server  as the policy set it
 *   why     the reason, if the request fails with 502 */
void request_step(
    struct request *r, enum race_step step, int server, const char *why);

/* How long a response whose head has arrived is held back: ns; 0: not at all;
 * -1: until it is complete (attempt_response.c).  attempt_hold_ns takes for
 * granted that another attempt may overtake it, attempt_wait_ns checks that. */
int64_t attempt_wait_ns(const struct attempt *a);
int64_t attempt_hold_ns(const struct attempt *a);

/* Another attempt of the race has changed: commit this one's response soon if
 * no reason is left to hold it back.  Does not end the request. */
void attempt_review(struct attempt *a);

/* Forward this attempt's response from now on, if it wins. */
void attempt_commit(struct attempt *a, struct instant now);

/* Drain or cancel an attempt that has not won.  outcome: why, static text. */
void attempt_drop(struct attempt *a, const char *outcome);

/* Undo an attempt of which nothing was written: a hedge whose hazard is over
 * (T3), or the only attempt; the latter leaves the race as after race_init. */
void attempt_cancel(struct attempt *a);

/* The client is gone: drain or close the winner's connection. */
void attempt_leave(struct attempt *a);

/* Release what an attempt holds. */
void attempt_fini(struct attempt *a);
