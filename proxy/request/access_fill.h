/* access_fill.h: what the access log says of a request.  Proxy thread only. */
#ifndef TAILOR_PROXY_REQUEST_ACCESS_FILL_H
#define TAILOR_PROXY_REQUEST_ACCESS_FILL_H

#include "proxy/request/proxy.h"

/* A request that is over; a head that was refused. */
void access_log_request(struct proxy *p, const struct request *r,
    const struct client *c, struct instant now);
void
access_log_refusal(const struct client *c, const struct http_refusal *refusal);

/* Open the file again (SIGUSR1). */
void access_log_reopen(struct proxy *p);

#endif
