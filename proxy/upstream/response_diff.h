/* response_diff.h: compares the two servers' responses to a hedged request.
 *
 * Two servers that respond differently are worse than a slow server, and only
 * Tailor sees both responses.  Each exchange of a hedged request adds what it
 * reads of its response: status, length, and a hash of the payload.  The
 * request and its exchanges, the parties, end in any order; when the last one
 * leaves, the responses are compared, if both were whole, and the result is
 * counted.  Requests that are not hedged have no comparison, only a pointer
 * that is NULL.  Fields of the head are not compared.  Proxy thread only. */
#pragma once

#include "proxy/net/buffer.h"
#include "proxy/stats/metrics.h"

struct response_diff;	     /* opaque */
#define COMPARISON_BYTES 128 /* on the heap, while it is needed */

/* Make a comparison with one party, the request; NULL when there is no memory.
 *   m            borrowed: counts the results
 *   request      its id, for the log
 *   limit_bytes  longer responses are not compared */
struct response_diff *
compare_new(struct metrics *m, uint64_t request, uint64_t limit_bytes);

/* Add a party: the exchange of attempt side (0 or 1), from its start. */
struct response_diff *compare_join(struct response_diff *c, unsigned side);

/* Remove a party and set *cp to NULL; the last party compares and frees. */
void compare_leave(struct response_diff **cp);

/* Add the status, payload or end of the response of a side. */
void compare_status(struct response_diff *c, unsigned side, unsigned status);
void
compare_data(struct response_diff *c, unsigned side, const struct chain *data);
void compare_whole(struct response_diff *c, unsigned side);

/* A response was chosen for the client; without that nothing is compared. */
void compare_won(struct response_diff *c);
