/*
 * libevent_reserve.h: memory that libevent is not refused.
 *
 * libevent's HTTP server, which serves the admin listener, does not survive
 * every allocation that fails (2.1.12: evhttp_request_new frees what it has
 * not made, a line that finds no memory is lost).  These are small;
 * when malloc fails they come from a reserve of 64 KiB.  What is larger, or
 * comes when that is used up, fails as it would.
 *
 * Proxy thread only, as libevent is.
 */
#ifndef TAILOR_PROXY_NET_LIBEVENT_RESERVE_H
#define TAILOR_PROXY_NET_LIBEVENT_RESERVE_H

#include <stdint.h>

/* Have libevent use it; before anything else of it is called. */
void reserve_init(void);

/* How often the reserve was taken from. */
uint64_t reserve_used(void);

#endif
