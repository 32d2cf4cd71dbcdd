/*
 * attempt.h: one try to have a request answered by one server.
 *
 * The user of an uplink: writes the request, keeps what comes back until the
 * race is decided, then passes it on.  Proxy thread only.
 */
#ifndef TAILOR_PROXY_ATTEMPT_H
#define TAILOR_PROXY_ATTEMPT_H

#include "proxy/request.h"

/* Start an attempt on a server; may end the request before it returns. */
void
attempt_start(struct request *r, unsigned server, enum hedge_trigger trigger);

/* More of a streamed body is there. */
void attempt_more(struct attempt *a);

/* Forward this attempt's response from now on, if it wins. */
void attempt_commit(struct attempt *a);

/* An attempt that has not won is of no more interest: drain or cancel. */
void attempt_drop(struct attempt *a, const char *outcome);

/* A hedge whose hazard is over: undo it if nothing was written (T3). */
void attempt_cancel(struct attempt *a);

/* The winner's client is gone: let its connection drain. */
void attempt_leave(struct attempt *a);

/* The client can take more of the winner's response. */
void attempt_resume(struct attempt *a);

/* Release what it holds. */
void attempt_fini(struct attempt *a);

/* The attempt as the table and the timeline show it. */
void attempt_describe(const struct attempt *a, struct tale_attempt *out);

#endif
