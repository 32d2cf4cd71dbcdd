/* server.h: one of the two servers as the proxy sees it: its connections, its
 * health, its warm-up, and how it is started and stopped. */
#pragma once

#include "proxy/upstream/upstream.h"

/* Set up a server, configured by the newest generation.  0 or -errno. */
int server_init(struct server *s, struct upstream *up, unsigned index,
    const struct config_server *c);

/* Use a configuration of the same server from the newest generation, after a
 * reload.  A change of the program's part has effect at its next start. */
void server_configure(struct server *s, const struct config_server *c);

/* Note that the server c, of the newest generation, takes the place of s once s
 * has been drained (maintenance_replace begins that).  NULL: s is removed. */
void server_replace(struct server *s, const struct config_server *c);

/* Undo server_replace: the server stays. */
void server_stay(struct server *s);

/* True if the program of c, a new server, cannot start before the program of s
 * has ended, because both listen at the same address. */
bool server_blocks(const struct server *s, const struct config_server *c);

/* server_next_may_begin: true if the next server may take the place of s now:
 * no request of s is under way, and the other server's program does not block
 * its address.  server_take_next then puts it there. */
bool server_next_may_begin(const struct server *s);
void server_take_next(struct server *s);

/* The Host of requests that name none: servers[].host, or the server's own
 * address, or "localhost" if that is a Unix socket. */
const char *server_host(const struct config_server *c);

/* The state of a server, for an operator: "ready", "draining", ...  Static. */
const char *server_state_shown(const struct server *s);

/* Close everything.  A running child is killed: see server_stop. */
void server_fini(struct server *s);

/* The process of a server is gone, or refuses connections: start probing. */
void server_lost(struct server *s);

/* Send the warm-up requests and copies that the policy wants sent now. */
void server_warm(struct server *s);

/* Send a probe to a server that is in service: a GET of its health target, or a
 * copy of a recent request.  True if a probe is under way on return. */
bool server_ask(struct server *s);

/* Open a connection to a backup for a later swap, by sending such a request on
 * it: a connection without a request can keep a server from stopping. */
void server_keep(struct server *s);

/* Count the response of an attempt; latency_ns >= 0. */
void server_responded(struct server *s, unsigned status, int64_t latency_ns);

/* How many attempts got a response; how many exchanges failed. */
uint64_t server_responses(const struct server *s);
uint64_t server_errors(const struct server *s);

/* An exchange failed without a response: count it.  After REFUSALS_MAX refusals
 * in a row the server is lost (server_lost). */
void server_failed(struct server *s, enum exchange_end end);

/* --- all servers (servers.c) ------------------------------------------- */

/* Set up the servers of up->config and begin to probe them.  The caller has set
 * the borrowed members.  0 or -errno; call upstream_fini in both cases. */
int upstream_init(struct upstream *up);

/* Begin a server in an empty place: 0, or -errno and the place stays empty.
 * End a server: its place is empty then, and its exchanges are cut. */
int server_begin(
    struct upstream *up, unsigned place, const struct config_server *c);
void server_end(struct server *s);

/* Close all connections. */
void upstream_fini(struct upstream *up);

/* Run the tick of each server. */
void upstream_tick(struct upstream *up, struct instant now);

/* --- a backup, kept ready to take over -------------------------------- */

/* Check that a backup listens, send a probe where only that can show that it
 * has recovered, and keep as many connections to it open as requests were in
 * flight lately.  Every tick (backup.c). */
void backup_tick(struct server *s, struct instant now);

/* True if a backup has ended an idle connection, and a tick will check it. */
bool backup_is_doubted(const struct server *s);

/* --- health checks of a server in service ------------------------------ */

/* The result of an exchange that requested the health target. */
enum health_result
health_judge(const struct server *s, enum exchange_end end, unsigned status);

/* Note the result of a probe or check.  health_log_probe logs a failed probe if
 * its result differs from the one logged last, at most every HEALTH_LOG_NS. */
#define HEALTH_LOG_NS (10 * NS_PER_S)
void health_note(struct server *s, enum health_result result, unsigned status);
void health_log_probe(struct server *s, struct instant now);

/* "timeout", ...  Static. */
const char *health_result_name(enum health_result result);

/* Write the latest result for an operator, like "GET /up got 400, not 200-399
 * (Host: a:80)"; "": there is none, or nothing to report.  Returns out. */
#define HEALTH_TEXT 768
char *health_text(const struct server *s, char out[HEALTH_TEXT]);

/* Prepare the timer; no check is due until health_arm. */
void health_init(struct server *s);
/* Check again after the configured interval. */
void health_arm(struct server *s);
void health_stop(struct server *s);
/* The other server began a pause.  In watch mode, check a backup at once: the
 * estimate of what acting would gain needs that (gain.h). */
void health_other_pauses(struct server *s);

/* --- a request that makes a server collect (servers[].collect) ---------- */

/* Prepare the timer; nothing is sent until collect_begin. */
void collect_init(struct server *s);
/* Send the request; an earlier one that still runs is closed.  A failure is
 * logged. */
void collect_begin(struct server *s);
void collect_stop(struct server *s);

/* Note a response's field Tailor-Heap.  A value older than a collection that a
 * response has reported already is ignored.  A malformed or repeated field is
 * counted, and logged once a minute; after a second without a good one the heap
 * is unknown. */
void collect_heap_note(
    struct server *s, const struct http_head *head, struct instant now);

/* Read the value of Tailor-Heap: three decimal numbers (used, full, and
 * collections), separated by one space.  False if it is anything else, a number
 * is above HEAP_NUMBER_MAX, or full is 0; these members are undefined then.
 * Other members do not change. */
#define HEAP_NUMBER_MAX (UINT64_C(1) << 50)
bool collect_heap_parse(struct slice text, struct server_heap *h);

/* Write a GET of a target to the server itself, without the empty line that
 * ends its head.  Returns its length. */
size_t server_write_get(
    const struct server *s, const char *target, char *out, size_t size);

/* Send a GET of server_write_get on u.  With ops->once it has Connection: close
 * and u is closed afterwards: a server may have one worker per connection, and
 * checks must not occupy it. */
void server_send_get(struct connection *u, const char *text, size_t length);

/* True if one more request of Tailor's own may be sent to the server now: at
 * most OWN_MAX of all purposes are under way together. */
#define OWN_MAX 3
bool server_may_ask(const struct server *s);

/* --- a server that stopped responding ---------------------------------- */

/* Check how long the server has been silent.  Every tick. */
void silence_tick(struct server *s, struct instant now);

/* --- out of service, and back ------------------------------------------ */

/*
 * server_drain(s, force), server_restart(s, force):
 * Take a server out of service once the other one is active, and wait until its
 * requests have finished.  server_restart then ends its program, starts it and
 * takes the server back into service.
 *   force  do so even if no other server is ready, and do not wait for the
 *          other server's next collection
 * Return 0 when that is begun; -EBUSY: no other server is ready; -EALREADY: it
 * is under way; -ENOTSUP (restart): Tailor did not launch the program.
 */
int server_drain(struct server *s, bool force);
int server_restart(struct server *s, bool force);

/* Drain a server that is to be replaced, if the other one can serve meanwhile;
 * if both are to be replaced, one after the other.  If no other can serve, a
 * server that Tailor did not launch and of which only the address changes is
 * replaced at once: its requests in flight finish at the old address. */
void maintenance_replace(struct server *s);

/* Take a server back into service.  0; -EALREADY: it is or comes back;
 * -EBUSY: its program is being stopped, or another server takes its place. */
int server_return(struct server *s);

/* Take the next step of a drain, restart or return, if it is due.  Every tick.
 */
void maintenance_tick(struct server *s, struct instant now);

/* Describe the requests that a server still has. */
void server_rest(const struct server *s, struct server_rest *out);
