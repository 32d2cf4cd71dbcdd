/*
 * hedge.h: decisions of the policy carried out.  Proxy thread only.
 */
#ifndef TAILOR_PROXY_REQUEST_HEDGE_H
#define TAILOR_PROXY_REQUEST_HEDGE_H

#include "proxy/request/proxy.h"

/* Carry out what is wanted (proxy_want), and run the queue.  Work of
 * LOOP_POLICY. */
void proxy_carry_out(void *proxy);

#endif
