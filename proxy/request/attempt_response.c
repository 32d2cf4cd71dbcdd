/* attempt_response.c: an attempt's response, and the next steps after it.
 *
 * The callbacks of an attempt's connection.  Each reports to the policy
 * (race_*) and does the step that the policy returns.  Everything that may end
 * the request (and so free the attempt) comes last in each function; callers
 * return at once afterwards. */

#include <errno.h>

#include "proxy/client/client.h"
#include "proxy/client/client_spool.h"
#include "proxy/request/attempt.h"
#include "proxy/request/proxy.h"
#include "proxy/request/request.h"
#include "proxy/request/response.h"
#include "proxy/upstream/connection.h"
#include "proxy/upstream/server.h"

/* A response is held back until it is complete, this large, or COMMIT_DELAY_NS
 * old, so that another attempt can still win. */
#define COMMIT_BYTES ((size_t)64 * 1024)
_Static_assert(COMMIT_BYTES <= STREAM_BUFFER_BYTES,
    "back-pressure would stop what it waits for");

/* A short response of known length is held until it is complete: that is soon,
 * and if its server fails before, the client need not notice. */
int64_t
attempt_hold_ns(const struct attempt *a)
{
	const struct response *response = &a->response;

	if (response->at_once)
		return 0;
	if (response->framing == HTTP_FRAMING_LENGTH &&
	    response->length < COMMIT_BYTES)
		return -1;
	return COMMIT_DELAY_NS;
}

int64_t
attempt_wait_ns(const struct attempt *a)
{
	const struct request *r = a->request;
	struct hedge_view view;

	request_view(r, &view);
	return hedging_may_overtake(
		   &r->proxy->hedging, &r->race, a->index, &view)
		   ? attempt_hold_ns(a)
		   : 0;
}

/* The connection was made after attempt_send: its socket is known only now. */
static void
on_attempt_connected(struct connection *u)
{
	struct attempt *a = u->user;

	a->cookie = u->cookie;
}

void
attempt_review(struct attempt *a)
{
	struct request *r = a->request;
	struct proxy *p;
	struct instant now;
	int64_t wait_ns;

	if (!a->on || a->link == NULL || a->response.status == 0 ||
	    r->race.attempt[a->index].ended)
		return;
	p = r->proxy;
	now = instant_now();
	a->response.held =
	    race_head(&r->race, a->index, a->response.status) == RACE_HOLD;
	wait_ns = a->response.held ? -1 : attempt_wait_ns(a);
	if (wait_ns == 0 || (wait_ns > 0 && !timer_is_set(&r->commit_timer)))
		timer_set(&p->loop.timers, &r->commit_timer, now, wait_ns);
}

static void
on_attempt_head(struct connection *u, const struct http_head *head)
{
	struct attempt *a = u->user;
	struct request *r = a->request;
	struct proxy *p = r->proxy;
	enum race_step step;
	struct instant now;
	int64_t wait_ns;
	int server = -1, err;

	a->first_byte = u->first_byte;
	a->written = u->written_first;
	pushback_note(p, a, head);
	if (u->private) {
		connection_own(u, &r->client->own);
		r->private = true;
	}
	err = response_read(&a->response, r, head);
	if (err < 0) {
		connection_close(u);
		a->link = NULL;
		step = attempt_over(
		    a, ATTEMPT_END_FAILED, true, -1, instant_now(), &server);
		request_step(r, step, server,
		    err == -ENOBUFS ? "response_head_too_large" : "no_memory");
		return;
	}
	now = instant_now();
	proxy_emit_at(p, now, TALECHAIN_PROXY_FIRST_BYTE,
	    (uint64_t[]){
		r->id, u->server->index, (uint64_t)a->index, head->status});
	switch (race_head(&r->race, a->index, a->response.status)) {
	case RACE_HOLD:
		a->response.held = true;
		return;
	case RACE_DISCARD:
		attempt_drop(a, "lost");
		return;
	case RACE_COLLECT:
	case RACE_WAIT:
	case RACE_TRY:
	case RACE_QUEUE:
	case RACE_SEND_HELD:
	case RACE_RESTART:
	case RACE_GIVE_UP:
		break;
	}
	/* Commit only when all bytes of this read were passed on, so that a
	 * response that is complete then goes out in one piece. */
	wait_ns = attempt_wait_ns(a);
	a->due = wait_ns == 0;
	if (wait_ns > 0 && !u->body.done && !timer_is_set(&r->commit_timer))
		timer_set(&p->loop.timers, &r->commit_timer, now, wait_ns);
}

static void
on_attempt_interim(struct connection *u, const struct http_head *head)
{
	interim_forward(u->user, head);
}

static void
on_attempt_trailers(struct connection *u, struct slice lines)
{
	struct attempt *a = u->user;

	response_keep_trailers(&a->response, a->request, lines);
}

/* Pass payload on to the client. */
static void
attempt_forward(struct attempt *a, struct chain *data)
{
	struct request *r = a->request;

	response_forward(&a->response, r, data);
	if (!client_takes(r->client, !r->tunnel && !a->response.at_once) &&
	    a->link != NULL)
		connection_pause(a->link);
}

static void
on_attempt_data(struct connection *u, struct chain *data)
{
	struct attempt *a = u->user;
	struct request *r = a->request;
	enum race_step step;
	int server = -1;

	if (r->race.winner == a->index) {
		attempt_forward(a, data);
		r->client->more = exchange_reads_on(u);
		client_flush(r->client);
		return;
	}
	chain_merge(&a->response.body, data, &r->proxy->loop.blocks);
	if (a->response.body.bytes < COMMIT_BYTES || u->body.done)
		return;
	if (!a->response.held) {
		attempt_commit(a, instant_now());
		return;
	}
	/* A held response that is too large to keep: stop reading, and resume
	 * only if it must be sent after all. */
	connection_pause(u);
	a->response.complete = true;
	step = attempt_over(
	    a, ATTEMPT_END_COMPLETE, true, -1, instant_now(), &server);
	request_step(r, step, server, "unacceptable");
}

static void
on_attempt_rest(struct connection *u)
{
	struct attempt *a = u->user;
	struct request *r = a->request;
	bool due = a->due && r->race.winner < 0;

	a->due = false;
	if (due)
		attempt_commit(a, instant_now());
	else if (r->client != NULL)
		client_push(r->client);
}

static void
on_attempt_sent(struct connection *u)
{
	struct attempt *a = u->user;
	struct request *r = a->request;
	struct metrics *m = &r->proxy->metrics;
	int64_t late;

	a->written = u->written_first;
	if (!instant_is_set(a->hazard))
		return;
	late = instant_since(u->written_last, a->hazard);
	distribution_record(&m->hedge_send, late);
	m->last_hedge_ns[r->race.attempt[0].server] = late;
}

/* Some of a tunnel's bytes were written: let the client send more. */
static void
on_attempt_wrote(struct connection *u)
{
	struct attempt *a = u->user;
	struct request *r = a->request;

	if (r->client != NULL && !r->body_whole &&
	    chain_held(&r->body) < STREAM_BUFFER_BYTES / 2)
		client_resume(r->client);
}

/* A kept connection had ended before the request arrived: send the attempt
 * again on a new connection, if the request may be written again.  True if that
 * was done.  If the other server can take the request, return false: it gets a
 * retry there, as this server may be at fault and no third write is allowed. */
static bool
attempt_resend(struct attempt *a, const struct exchange_result *result)
{
	struct request *r = a->request;
	struct server *s = result->server;
	const struct hedging_server *h = &r->proxy->hedging.server[s->index];
	struct hedge_view view;

	if (result->end != EXCHANGE_UNANSWERED || !result->reused)
		return false;
	s->stale++;
	r->proxy->metrics.stale++;
	request_view(r, &view);
	if (h->state == SERVER_DOWN || h->hazards != 0 ||
	    (result->written &&
		(hedging_has_other(&r->proxy->hedging, &r->race, &view) ||
		    !race_may_rewrite(&r->race, &view))) ||
	    attempt_send(a, s->index, true) < 0)
		return false;
	if (result->written)
		race_rewrite(&r->race);
	return true;
}

/* An attempt ended without a whole response. */
static void
attempt_failed(
    struct attempt *a, const struct exchange_result *result, int64_t latency_ns)
{
	struct request *r = a->request;
	bool won = r->race.winner == a->index;
	enum race_step step;
	int server = -1;

	a->outcome = won ? "cut" : exchange_end_name(result->end);
	/* Perhaps only a part of it.  If it was written on an earlier
	 * connection alone, that stays. */
	if (instant_is_set(result->written_first))
		a->written = result->written_first;
	server_failed(result->server, result->end);
	if (r->race.attempt[a->index].ended) {
		/* A held response, too large to keep: the policy has its end
		 * already.  Drop it, unless it is being sent after all. */
		race_cut(&r->race, a->index);
		a->response.complete = false;
		if (won)
			request_fail(r, 502, result->why);
		else
			request_step(r, RACE_WAIT, server, result->why);
		return;
	}
	step = attempt_over(a, ATTEMPT_END_FAILED, result->written, latency_ns,
	    instant_now(), &server);
	if (won)
		request_fail(r, 502, result->why);
	else
		request_step(r, step, server, result->why);
}

/* The committed response is complete: end its framing. */
static void
attempt_finish(struct attempt *a)
{
	struct request *r = a->request;

	if (response_end(&a->response, r) < 0) {
		request_fail(r, 502, "no_memory");
		return;
	}
	r->client->response = CLIENT_RESPONSE_WHOLE;
	client_flush_later(r->client);
}

static void
on_attempt_end(const struct exchange_result *result)
{
	struct attempt *a = result->user;
	struct request *r = a->request;
	struct instant now = instant_now();
	bool won = r->race.winner == a->index;
	/* The time that a tunnel was open is no latency of its server. */
	int64_t latency = result->written && !r->tunnel
			      ? instant_since(now, result->written_first)
			      : -1;
	enum race_step step;
	int server = -1;

	a->link = NULL;
	if (attempt_resend(a, result))
		return;
	a->completed = now;
	if (result->end != EXCHANGE_COMPLETE) {
		attempt_failed(a, result, latency);
		return;
	}
	result->server->refusals = 0;
	if (latency >= 0)
		server_responded(
		    result->server, (unsigned)a->response.status, latency);
	if (!won && !a->response.held) {
		a->response.complete = true;
		attempt_commit(a, now);
		return;
	}
	if (!won) {
		a->response.complete = true;
		step = attempt_over(a, ATTEMPT_END_COMPLETE, result->written,
		    latency, now, &server);
		request_step(r, step, server, "unacceptable");
		return;
	}
	/* The end of a held response was reported before it was sent. */
	if (!a->response.held)
		attempt_over(a, ATTEMPT_END_COMPLETE, result->written, latency,
		    now, &server);
	attempt_finish(a);
}

const struct exchange_ops attempt_ops = {
    .awaited = true,
    .connected = on_attempt_connected,
    .head = on_attempt_head,
    .interim = on_attempt_interim,
    .trailers = on_attempt_trailers,
    .data = on_attempt_data,
    .rest = on_attempt_rest,
    .sent = on_attempt_sent,
    .wrote = on_attempt_wrote,
    .end = on_attempt_end,
};
