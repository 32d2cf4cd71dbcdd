/* server.h: one of the two servers as the proxy sees it: its connections, its
 * health, its warm-up, and how it is started and stopped. */
#pragma once

#include "proxy/upstream/upstream.h"

/* Set up a server, configured by the newest generation.  0 or -errno. */
int server_init(struct server *s, struct upstream *up, unsigned index,
    const struct config_server *c);

/* Take on a configuration of the newest generation after a reload, which is
 * that of the same server.  What is about the program is used when it is
 * started the next time. */
void server_configure(struct server *s, const struct config_server *c);

/* Have this one, of the newest generation, take the place once the one that is
 * there has been drained, which maintenance_replace begins; NULL: nothing
 * does. */
void server_replace(struct server *s, const struct config_server *c);

/* Undo server_replace: the server stays in its place. */
void server_stay(struct server *s);

/* True if the program of c, a server to come, cannot begin before that of s has
 * ended: both would listen at one address. */
bool server_blocks(const struct server *s, const struct config_server *c);

/* True if the next server may take the place of s: nothing of s is under way,
 * nor a program of the other server that is in its way.  Then have it. */
bool server_next_may_begin(const struct server *s);
void server_take_next(struct server *s);

/* The Host of requests that name none: servers[].host, or the server's own
 * address, or "localhost" if that is a Unix socket. */
const char *server_host(const struct config_server *c);

/* The state of a server, for people: "ready", "draining", ...  Static. */
const char *server_state_shown(const struct server *s);

/* Close everything.  A running child is killed: see server_stop. */
void server_fini(struct server *s);

/* The process of a server is gone, or refuses: start probing. */
void server_lost(struct server *s);

/* Ask whether warm-up requests are due, and send them. */
void server_warm(struct server *s);

/* Ask a server that is in service whether it responds: by its health target, or
 * a copy of a recent request.  True if one is under way. */
bool server_ask(struct server *s);

/* Open a connection to a standby for a later swap, by such a request; one that
 * was never used would keep a server from stopping, or hold a worker of it. */
void server_keep(struct server *s);

/* Count the response of an attempt; latency_ns >= 0. */
void server_responded(struct server *s, unsigned status, int64_t latency_ns);

/* How many attempts were answered; how many exchanges failed. */
uint64_t server_responses(const struct server *s);
uint64_t server_errors(const struct server *s);

/* An exchange failed without an answer: count, and doubt the server. */
void server_failed(struct server *s, enum exchange_end end);

/* --- all servers (servers.c) ------------------------------------------- */

/* Set up the servers of up->config and begin to look for them.  The borrowed
 * members are set.  0 or -errno; upstream_fini also after that. */
int upstream_init(struct upstream *up);

/* Begin a server in a place that has none, and end one; what has begun on its
 * connections is cut.  0 or -errno, with the place empty. */
int server_begin(
    struct upstream *up, unsigned place, const struct config_server *c);
void server_end(struct server *s);

/* Close all connections. */
void upstream_fini(struct upstream *up);

/* See what each server does.  Every tick. */
void upstream_tick(struct upstream *up, struct instant now);

/* --- a standby, kept ready to take over -------------------------------- */

/* See that a standby is there, ask where only that can show that it is well
 * again, and keep connections of it open, as many as there were requests in
 * flight lately.  Every tick (standby.c). */
void standby_tick(struct server *s, struct instant now);

/* --- asking one in service whether it is well -------------------------- */

/* The result of an exchange that asked for the health target. */
enum health_result
health_judge(const struct server *s, enum exchange_end end, unsigned status);

/* Note what a probe or check came to; of a probe that failed, log what has
 * changed, at most every HEALTH_LOG_NS. */
#define HEALTH_LOG_NS (10 * NS_PER_S)
void health_note(struct server *s, enum health_result result, unsigned status);
void health_log_probe(struct server *s, struct instant now);

/* "timeout", ...  Static. */
const char *health_result_name(enum health_result result);

/* The latest one, for people: "GET /up got 400, not 200-399 (Host: a:80)"; "":
 * there was none, or nothing is to be said.  Returns out. */
#define HEALTH_TEXT 768
char *health_text(const struct server *s, char out[HEALTH_TEXT]);

/* Prepare the timer; no check is due until health_arm. */
void health_init(struct server *s);
/* Check again after the configured interval. */
void health_arm(struct server *s);
void health_stop(struct server *s);
/* The other server began a pause.  In watch mode a standby is asked at once,
 * for the estimate of what acting would do (gain.h). */
void health_other_pauses(struct server *s);

/* --- having it collect, by a request (servers[].collect) ---------------- */

/* Prepare the timer; nothing is sent until collect_begin. */
void collect_init(struct server *s);
/* Send the request; one that still runs is closed.  A failure is logged. */
void collect_begin(struct server *s);
void collect_stop(struct server *s);

/* Note what a response says of the server's heap.  One that was overtaken by a
 * response from after a collection is ignored.  One that is malformed, or says
 * it twice, is counted and logged once a minute; if nothing else was said for a
 * second, the heap is unknown. */
void collect_heap_note(
    struct server *s, const struct http_head *head, struct instant now);

/* Read the field's value: three decimal numbers, a space between two.  False if
 * it is anything else, a number is above HEAP_NUMBER_MAX, or FULL is 0; then
 * used, full and collections are undefined.  Other members are left alone. */
#define HEAP_NUMBER_MAX (UINT64_C(1) << 50)
bool collect_heap_parse(struct slice text, struct server_heap *h);

/* Write a GET of a target to the server itself, without the empty line that
 * ends its head.  Returns its length. */
size_t server_write_get(
    const struct server *s, const char *target, char *out, size_t size);

/* Send such a GET on u.  With ops->once the server is asked to close, and the
 * connection is closed: a server may have a worker for each connection, and
 * questions must not hold them. */
void server_send_get(struct connection *u, const char *text, size_t length);

/* True if one more request of Tailor's own may be sent to the server now:
 * OWN_MAX together, whatever they are for. */
#define OWN_MAX 3
bool server_may_ask(const struct server *s);

/* --- one that stopped responding --------------------------------------- */

/* Look how long the server has been silent.  Every tick. */
void silence_tick(struct server *s, struct instant now);

/* --- out of service, and back ------------------------------------------ */

/*
 * server_drain(s, force), server_restart(s, force):
 * Take a server out of service once the other one is active, and wait for its
 * requests; restart: then end its program, start it, and serve again.
 *   force  also if there is no other server that is ready, and without
 *          waiting for the other one's next collection
 * Return 0 when that is begun, or -EBUSY: no other is ready; -EALREADY: it is
 * under way; -ENOTSUP (restart): we did not launch it.
 */
int server_drain(struct server *s, bool force);
int server_restart(struct server *s, bool force);

/* Drain a server that is to be replaced, as far as there is another to stand
 * in; if both are replaced, one after the other.  A server whose address alone
 * changes, which was not launched and which no other one can stand in for is
 * replaced at once: its requests in flight finish where they are. */
void maintenance_replace(struct server *s);

/* Take a server back into service.  0, or -EALREADY; -EBUSY in the middle of a
 * restart, or if another is to take its place. */
int server_return(struct server *s);

/* Go on with a drain, restart or return as far as possible.  Every tick. */
void maintenance_tick(struct server *s, struct instant now);

/* Describe the requests that a server still has. */
void server_rest(const struct server *s, struct server_rest *out);
