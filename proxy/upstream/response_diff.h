/* response_diff.h: whether both servers answered a hedged request alike.
 *
 * Two servers of one service that are out of step are worse than a slow one,
 * and only Tailor sees both responses.  Each exchange of a hedged request adds
 * what it reads of its response: status, length, and a hash of the payload.
 * The request and its exchanges end in any order; the last one to leave
 * compares, if both responses were whole, and counts.  Requests that are not
 * hedged have no comparison and pay for a pointer that is NULL.  Fields of the
 * head are not compared.  Proxy thread only. */
#pragma once

#include "proxy/net/buffer.h"
#include "proxy/stats/metrics.h"

struct response_diff;	     /* opaque */
#define COMPARISON_BYTES 128 /* on the heap, while it is needed */

/* A comparison, with one party, the request; NULL when there is no memory.
 *   m            borrowed: what is found is counted there
 *   request      its id, for the log
 *   limit_bytes  longer responses are not compared */
struct response_diff *
compare_new(struct metrics *m, uint64_t request, uint64_t limit_bytes);

/* Add a party: the exchange of attempt side (0 or 1), from its start. */
struct response_diff *compare_join(struct response_diff *c, unsigned side);

/* Take a party away, and leave NULL; the last one compares and frees. */
void compare_leave(struct response_diff **cp);

/* Add the status, payload or end of the response of a side. */
void compare_status(struct response_diff *c, unsigned side, unsigned status);
void
compare_data(struct response_diff *c, unsigned side, const struct chain *data);
void compare_whole(struct response_diff *c, unsigned side);

/* The client gets a response: without a winner there is nothing to compare. */
void compare_won(struct response_diff *c);
