/*
 * eligibility.h: which requests may be sent twice.  Proxy thread only.
 */
#ifndef TAILOR_PROXY_REQUEST_ELIGIBILITY_H
#define TAILOR_PROXY_REQUEST_ELIGIBILITY_H

#include "proxy/request/proxy.h"

/* Whether a request may be sent twice (E1), and whether its client asked that
 * it be not (E7).  Costs a look at each rule of hedging.allow. */
bool proxy_may_repeat(
    struct proxy *p, const struct http_head *head, bool *opted_out);

#endif
