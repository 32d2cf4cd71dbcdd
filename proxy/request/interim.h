/*
 * interim.h: what servers say beside and before their answer.
 *
 * Interim responses (1xx) are passed on without deciding the race; 100 is
 * not, for Tailor answers it itself, and 101 is an answer (tunnel.h).  A
 * pushback asks that no second attempts be sent for a while.  Proxy thread
 * only.
 */
#ifndef TAILOR_PROXY_REQUEST_INTERIM_H
#define TAILOR_PROXY_REQUEST_INTERIM_H

#include "proxy/request/proxy.h"

#define INTERIMS_MAX 8 /* passed on for one request */

/* Pass a 1xx head on, if its request is not committed, its client speaks 1.1
 * and no other attempt has sent one before.  Counts what it drops.  The client
 * may be gone on return, and with it the request. */
void interim_forward(struct attempt *a, const struct http_head *head);

/* Note what a response asks for (B5): Tailor-Pushback: milliseconds, or -1 for
 * as long as possible; from an attempt that is a hedge also Retry-After (in
 * seconds) with a 503. */
void pushback_note(
    struct proxy *p, const struct attempt *a, const struct http_head *head);

#endif
