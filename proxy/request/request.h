/* request.h: one request of a client, its attempts, and its one response.
 *
 *   READING --> QUEUED --> RUNNING --> COMMITTED --> finished
 *      |           |          |            |
 *      |           |          +--- a hazard or a failure adds an attempt
 *      +-----------+----------+------------+--> answered by Tailor itself
 *
 * READING    the body is arriving: no server knows of it yet
 * QUEUED     complete, but no server may take it yet
 * RUNNING    attempts are under way; their bytes are kept
 * COMMITTED  bytes of one attempt have been given to the client: no other
 *            can win any more
 *
 * Which attempts there may be and which one wins is decided by hedging.h;
 * this module does what it says.  Proxy thread only. */
#pragma once

#include "proxy/request/proxy.h"

/* A request whose head has just been parsed.  False with *refusal if the limit
 * on requests in flight is reached, there is no memory, or the head is too
 * large once what Tailor adds is in it. */
bool request_begin(struct client *client, const struct http_head *head,
    struct http_refusal *refusal);

/* A client is closed that had a connection to a server of its own. */
void request_client_left(struct client *client);

/* More of the body (taken over; may be empty); whole: the end of it. */
void request_body(struct request *r, struct chain *data, bool whole);

/* Keep what is to be sent of a request that will wait, for the rest of its body
 * or for a server, and of which no attempt is under way, in as little memory as
 * it takes. */
void request_pack(struct request *r);

/* Release a request's body and head (upload.c). */
void request_drop_message(struct request *r);

/* The server for the next attempt of a request that waits, as hedging_choose:
 * that of its client's own connection, if there is one. */
int request_choose(const struct request *r);

/* Start the first attempt now if a server may take it, else queue. */
void request_dispatch(struct request *r);

/* Leave the queue, if it waits there, and begin an attempt on a server. */
void request_start(struct request *r, unsigned server, struct instant now);

/*
 * request_seek(r), request_is_left(r):
 * The client of a request that waits in the queue has ended its side.  It may
 * only have half-closed its connection, and wait for the response: so it is
 * sent an interim response (once; HTTP/1.1), to which a client that has closed
 * answers by a reset.  Then whether it is known to have left: what no server
 * has seen need not be done.
 */
void request_seek(struct request *r);
bool request_is_left(const struct request *r);

/* Have a request that no server knows wait for one again, with no attempt
 * begun. */
void request_restart(struct request *r);

/* Take a request back from a server that has not been sent a byte of it, as
 * request_restart.  False if the request has no such attempt. */
bool request_move(struct request *r);

/* Ask for one more attempt because of trigger; starts it if allowed. */
void request_hedge(struct request *r, enum hedge_trigger trigger);

/* The first attempt has been sent: ask again if it is late (T6). */
void request_watch(struct request *r, unsigned server);

/* Answer from Tailor itself, unless committed (then the client is cut). */
void request_fail(struct request *r, unsigned status, const char *reason);

/* Describe a request for the policy. */
void request_view(const struct request *r, struct hedge_view *out);

/* True if a request may be sent twice (E1).  Sets *opted_out if its client
 * forbids that (E7), and clears it if not.  Costs a look at each rule of
 * hedging.allow. */
bool proxy_may_repeat(
    struct proxy *p, const struct http_head *head, bool *opted_out);

/* --- what servers say beside and before their response ----------------- */

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

/* --- upgrades to WebSocket (tunnel.c) ---------------------------------- */

/* The 101 of this attempt has been committed: bytes flow from now on. */
void tunnel_begin(struct attempt *a);

/* Pass on bytes of the client (taken over); NULL: it will send no more. */
void tunnel_pass(struct request *r, struct chain *data);

/* --- the end (finish.c) ------------------------------------------------ */

/* A request is over: count it, put it into the history, the access log and, if
 * it was slow, the analysis. */
void request_record(struct request *r);

/* Write what was unusual about a request, "truncated,budget"; "": nothing. */
void request_flags(const struct request *r, char *out, size_t size);
