/* request.h: one request of a client, its attempts, and its one response.
 *
 *   READING --> QUEUED --> RUNNING --> COMMITTED --> finished
 *      |           |          |            |
 *      |           |          +--- a hazard or a failure adds an attempt
 *      +-----------+----------+------------+--> answered by Tailor itself
 *
 * READING    the body is arriving: no server has the request yet
 * QUEUED     the body is complete, but no server may take the request yet
 * RUNNING    attempts are under way; their bytes are kept
 * COMMITTED  bytes of one attempt have been given to the client: no other
 *            can win any more
 *
 * The policy (hedging.h) decides which attempts start and which one wins; this
 * module carries that out.  Proxy thread only. */
#pragma once

#include "proxy/request/proxy.h"

/* Begin a request whose head has just been parsed.  False with *refusal set if
 * the limit on requests in flight is reached, there is no memory, or the head
 * and the fields that Tailor adds are too large. */
bool request_begin(struct client *client, const struct http_head *head,
    struct http_refusal *refusal);

/* A client with its own connection to a server is closed: close that, too. */
void request_client_left(struct client *client);

/* Add a piece of the body (taken over; may be empty); whole: the last one. */
void request_body(struct request *r, struct chain *data, bool whole);

/* Move the head, and a small body, of a request that will wait (for the rest of
 * its body or for a server) into memory of just their size.  No attempt of it
 * is under way. */
void request_pack(struct request *r);

/* Release a request's body and head (upload.c). */
void request_drop_message(struct request *r);

/* The server for the next attempt of a request that waits, as hedging_choose
 * returns it; if its client has its own connection, that one's server. */
int request_choose(const struct request *r);

/* Start the first attempt now if a server may take it, else queue. */
void request_dispatch(struct request *r);

/* Leave the queue, if it waits there, and begin an attempt on a server. */
void request_start(struct request *r, unsigned server, struct instant now);

/*
 * request_seek(r), request_is_left(r):
 * The client of a queued request has ended its side of the connection.  Either
 * it left, or it only half-closed and waits for the response.  request_seek
 * sends it an interim response (once; HTTP/1.1): a client that has closed
 * replies with a reset.  request_is_left: true if the client is known to have
 * left, so that the request, which no server has seen, can be dropped.
 */
void request_seek(struct request *r);
bool request_is_left(const struct request *r);

/* Queue a request again of which no server has seen a byte; its attempts are
 * forgotten. */
void request_restart(struct request *r);

/* Cancel the only attempt if nothing of it was sent, and queue the request
 * again (request_restart).  False if the request has no such attempt. */
bool request_move(struct request *r);

/* Start one more attempt because of trigger, if the policy allows it. */
void request_hedge(struct request *r, enum hedge_trigger trigger);

/* The first attempt was sent to server: set the timer that hedges it if its
 * response is late (T6). */
void request_watch(struct request *r, unsigned server);

/* Send a response of Tailor's own; if the request is committed already, close
 * the client's connection instead.  reason: static text; it decides the code of
 * the request's end (termination.h). */
void request_fail(struct request *r, unsigned status, const char *reason);

/* Describe a request for the policy. */
void request_view(const struct request *r, struct hedge_view *out);

/* True if a request's method and target allow it to be sent twice (E1).
 * *opted_out: its client forbids that (E7).  Cost: compares the request with
 * each rule of hedging.repeatable. */
bool proxy_may_repeat(
    struct proxy *p, const struct http_head *head, bool *opted_out);

/* --- interim responses and pushback ------------------------------------ */

#define INTERIMS_MAX 8 /* passed on for one request */

/* Pass a 1xx head on to the client if the request is not committed, the client
 * speaks HTTP/1.1 and no other attempt has sent one before; else count it as
 * dropped.  The client, and with it the request, may be gone on return. */
void interim_forward(struct attempt *a, const struct http_head *head);

/* Pass a response's request for fewer hedges to the policy (B5).  That is
 * Tailor-Pushback: milliseconds, or -1 for as long as possible; in a 503 to a
 * hedge also Retry-After: seconds. */
void pushback_note(
    struct proxy *p, const struct attempt *a, const struct http_head *head);

/* --- upgrades to WebSocket (tunnel.c) ---------------------------------- */

/* The 101 of this attempt has been committed: the request becomes a tunnel. */
void tunnel_begin(struct attempt *a);

/* Pass the client's bytes (taken over) on to the server; NULL: the client will
 * send no more. */
void tunnel_pass(struct request *r, struct chain *data);

/* --- the end (finish.c) ------------------------------------------------ */

/* A request is over: count it, put it into the history, the access log and, if
 * it was slow, the analysis. */
void request_record(struct request *r);

/* A finished request's response arrived late (client/delivery.h): note that in
 * the history, and examine it if that makes it slow. */
void request_late(struct client *c, const struct client_late *late);

/* A client's head was refused, and no struct request made: count it, put it
 * into the history and the access log.  Writes the id for its response. */
void request_refused(const struct client *c, const struct http_refusal *refusal,
    char id[CLIENT_ID]);

/* Write what was unusual about a request, "reset,method"; "": nothing. */
void request_flags(const struct request *r, char *out, size_t size);
