/* attempt.c: attempts started, sent, committed, dropped.
 *
 * attempt_response.c handles their responses.
 *
 * Everything that may end the request (and so free the attempt) comes last
 * in each function; callers return at once afterwards. */
#include "proxy/request/attempt.h"

#include <assert.h>

#include "http/writer.h"
#include "proxy/client/client.h"
#include "proxy/request/queue.h"
#include "proxy/request/request.h"
#include "proxy/request/response.h"
#include "proxy/upstream/connection.h"
#include "proxy/upstream/response_diff.h"
#include "proxy/upstream/server.h"

/* Write the fields that differ between attempts, and the end of the head. */
static void
attempt_write_lines(struct attempt *a, unsigned number, const char *trigger)
{
	const struct request *r = a->request;
	struct writer w = {.at = a->lines, .capacity = sizeof(a->lines)};
	int server = r->race.attempt[a->index].server;

	if (r->hostless) {
		writer_text(&w, "Host: ");
		writer_text(
		    &w, server_host(r->proxy->upstream.server[server].config));
		writer_text(&w, "\r\n");
	}
	if (r->wants_body) {
		writer_text(&w, "Content-Length: ");
		writer_decimal(&w, r->body_bytes);
		writer_text(&w, "\r\n");
	}
	/* A server that does not read such a body may take it for the next
	 * request on this connection. */
	if (r->body_bytes > 0 && !http_method_has_body(r->method))
		writer_text(&w, "Connection: close\r\n");
	else if (r->trailers && !r->upgrade)
		writer_text(&w, "TE: trailers\r\nConnection: TE\r\n");
	if (r->upgrade)
		writer_text(&w, HTTP_UPGRADE_LINES);
	writer_text(&w, "Tailor-Attempt: ");
	writer_decimal(&w, number);
	writer_text(&w, "\r\n");
	if (trigger != NULL) {
		writer_text(&w, "Tailor-Hedge: ");
		writer_text(&w, trigger);
		writer_text(&w, "\r\n");
	}
	writer_text(&w, "\r\n");
	assert(!w.full);
	a->lines_length = w.length;
}

static struct message
attempt_message(struct attempt *a)
{
	struct request *r = a->request;

	return (struct message){
	    .head = {r->head, {a->lines, a->lines_length}, r->small},
	    .body = r->body.bytes > 0 ? &r->body : NULL,
	    .file = r->spool.open ? &r->spool : NULL,
	    .upgrade = r->upgrade,
	    .trailers = r->trailers,
	    .urgent = a->index > 0,
	};
}

/* Which idle connections an attempt may use.  A request that may be written
 * only once must not be lost on a connection that the server closes at the same
 * time, as servers do when they resume after a pause. */
static enum connection_reuse
attempt_reuse(const struct attempt *a, unsigned server)
{
	const struct request *r = a->request;

	/* A retry is the last write that is allowed. */
	if (a->index > 0)
		return r->race.attempt[1].trigger == HEDGE_FAILURE
			   ? REUSE_NONE
			   : REUSE_CHECKED;
	if (r->method_allowed && !r->spool.open)
		return REUSE_ANY;
	return r->proxy->hedging.server[server].hazards != 0 ? REUSE_NONE
							     : REUSE_PROVEN;
}

int
attempt_send(struct attempt *a, unsigned server, bool again)
{
	struct proxy *p = a->request->proxy;
	struct server *s = &p->upstream.server[server];
	struct message message = attempt_message(a);
	struct connection **own = &a->request->client->own;
	int err = 0;

	if (!connection_get_own(s, own, &attempt_ops, a, &a->link))
		err = connection_get(s, &attempt_ops, a,
		    again ? REUSE_NONE : attempt_reuse(a, server), &a->link);
	if (err == 0 && a->request->private)
		connection_own(a->link, own);
	if (err == 0 && a->request->compared != NULL)
		exchange_compare(
		    a->link, a->request->compared, (unsigned)a->index);
	a->cookie = err < 0 ? 0 : a->link->cookie;
	a->reused = err == 0 && a->link->exchanges > 0;
	proxy_emit(p, TALECHAIN_PROXY_ATTEMPT, a->request->id, server,
	    (uint64_t)a->index, a->cookie);
	if (err < 0)
		return err;
	exchange_send(a->link, &message, a->request->method);
	return 0;
}

/* Begin to compare the responses of both attempts, with the part of the first
 * response that has arrived already. */
static void
attempt_compare(struct request *r)
{
	struct attempt *first = &r->attempt[0];

	/* compared is set already if an earlier hedge was undone (T3). */
	if (first->link == NULL || r->compared != NULL)
		return;
	r->compared = compare_new(&r->proxy->metrics, r->id, DRAIN_BYTES_MAX);
	if (r->compared == NULL)
		return;
	exchange_compare(first->link, r->compared, 0);
	compare_status(r->compared, 0, (unsigned)first->response.status);
	compare_data(r->compared, 0, &first->response.body);
}

void
attempt_start(struct request *r, unsigned server, enum hedge_trigger trigger,
    struct instant now)
{
	struct proxy *p = r->proxy;
	int i = race_start(&p->hedging, &r->race, server, trigger);
	struct attempt *a = &r->attempt[i];
	enum race_step step;
	int next = -1, err;

	*a = (struct attempt){
	    .request = r, .index = i, .on = true, .begun = now};
	if (i > 0) {
		const struct hedging_server *first =
		    &p->hedging.server[r->race.attempt[0].server];

		a->hazard = trigger == HEDGE_FAILURE ? INSTANT_NONE
						     : first->hazard_since;
		p->metrics.hedges[trigger][server]++;
		if (trigger != HEDGE_FAILURE)
			attempt_compare(r);
		proxy_emit(p, TALECHAIN_PROXY_HEDGE, r->id, server,
		    (uint64_t)trigger, a->hazard.ns);
	}
	attempt_write_lines(
	    a, (unsigned)i + 1, i > 0 ? hedge_trigger_name(trigger) : NULL);
	err = attempt_send(a, server, false);
	if (err == 0) {
		if (i == 0)
			request_watch(r, server);
		/* The request began on a server in a hazard, as the other one
		 * is still warming up. */
		if (i == 0 && hedging_hedge_at_start(&p->hedging, server, now))
			request_hedge(
			    r, hedging_hazard_trigger(&p->hedging, server));
		return;
	}
	if (err != -ENOMEM)
		server_failed(&p->upstream.server[server], EXCHANGE_REFUSED);
	step = attempt_over(
	    a, ATTEMPT_END_FAILED, false, -1, instant_now(), &next);
	if (err == -ENOMEM && step != RACE_WAIT)
		request_fail(r, 503, "no_memory");
	else
		request_step(r, step, next, "connect_failed");
}

static enum talechain_outcome
attempt_outcome(const struct attempt *a, enum attempt_end end)
{
	switch (end) {
	case ATTEMPT_END_COMPLETE:
		return a->response.by_close ? TALECHAIN_OUTCOME_CLOSED
					    : TALECHAIN_OUTCOME_COMPLETE;
	case ATTEMPT_END_FAILED:
		return TALECHAIN_OUTCOME_FAILED;
	case ATTEMPT_END_UNSENT:
		break;
	}
	return TALECHAIN_OUTCOME_UNSENT;
}

enum race_step
attempt_over(struct attempt *a, enum attempt_end end, bool written,
    int64_t latency_ns, struct instant now, int *server)
{
	struct request *r = a->request;
	struct proxy *p = r->proxy;
	struct hedge_view view;

	request_view(r, &view);
	proxy_emit_at(p, now, TALECHAIN_PROXY_ATTEMPT_END,
	    (uint64_t[]){r->id, (uint64_t)r->race.attempt[a->index].server,
		(uint64_t)a->index, (uint64_t)attempt_outcome(a, end)});
	return race_ended(&p->hedging, &r->race, a->index, end, latency_ns,
	    written, &view, now, server);
}

void
request_step(
    struct request *r, enum race_step step, int server, const char *why)
{
	struct hedge_view view;

	switch (step) {
	case RACE_COLLECT:
	case RACE_HOLD:
	case RACE_DISCARD:
		return;
	case RACE_WAIT:
		for (int i = 0; i < RACE_ATTEMPTS; i++)
			attempt_review(&r->attempt[i]);
		return;
	case RACE_TRY:
		attempt_start(
		    r, (unsigned)server, HEDGE_FAILURE, instant_now());
		return;
	case RACE_QUEUE:
		queue_add(r);
		return;
	case RACE_SEND_HELD:
		attempt_commit(&r->attempt[server], instant_now());
		return;
	case RACE_RESTART:
		request_restart(r);
		return;
	case RACE_GIVE_UP:
		request_view(r, &view);
		r->refusal = hedging_retry_refusal(
		    &r->proxy->hedging, &r->race, &view, instant_now());
		request_fail(r, 502, why);
		return;
	}
}

void
attempt_commit(struct attempt *a, struct instant now)
{
	struct request *r = a->request;
	struct proxy *p = r->proxy;
	struct client *c = r->client;
	int server = -1;

	if (!race_commit(&p->hedging, &r->race, a->index)) {
		attempt_drop(a, "lost");
		return;
	}
	timer_clear(&p->loop.timers, &r->commit_timer);
	a->outcome = "won";
	/* The server of a stream waits rather than works. */
	if (a->response.at_once && a->link != NULL)
		race_release_slot(&p->hedging, &r->race, a->index);
	if (r->compared != NULL)
		compare_won(r->compared);
	r->state = REQUEST_COMMITTED;
	c->response = CLIENT_RESPONSE_BEGUN;
	r->committed = now;
	r->status = a->response.status;
	distribution_record(
	    &p->metrics.commit_delay, instant_since(now, a->first_byte));
	proxy_emit_at(p, now, TALECHAIN_PROXY_COMMIT,
	    (uint64_t[]){r->id, (uint64_t)r->race.attempt[a->index].server,
		(uint64_t)a->index, (uint64_t)a->response.status});
	for (int i = 0; i < RACE_ATTEMPTS; i++)
		if (i != a->index && r->attempt[i].on) {
			attempt_drop(&r->attempt[i], "lost");
			now = instant_now();
		}
	/* A stream's client that has ended its side has left. */
	if (a->response.stream && c->ended) {
		client_close(c);
		return;
	}
	response_send(&a->response, r, a->response.complete && a->link == NULL,
	    a->written);
	if (a->link != NULL) {
		/* More will come; reading a held response was paused. */
		a->response.complete = false;
		if (chain_held(&c->out) <= STREAM_BUFFER_BYTES)
			connection_resume(a->link);
	} else {
		if (!a->response.held)
			attempt_over(a, ATTEMPT_END_COMPLETE, true,
			    instant_since(a->completed, a->written), now,
			    &server);
		if (response_end(&a->response, r) < 0) {
			request_fail(r, 502, "no_memory");
			return;
		}
		c->response = CLIENT_RESPONSE_WHOLE;
	}
	if (c->response == CLIENT_RESPONSE_WHOLE) {
		client_flush_later(c);
		return;
	}
	/* Flush now, so that the client has these bytes even if the response is
	 * cut in this turn. */
	if (a->response.status == 101)
		tunnel_begin(a);
	c->more = a->link != NULL && exchange_reads_on(a->link);
	client_flush(c);
}

void
attempt_drop(struct attempt *a, const char *outcome)
{
	struct request *r = a->request;
	bool unwritten = a->link != NULL && !exchange_written(a->link);
	int server = -1;

	if (!a->on || r->race.winner == a->index)
		return;
	if (a->outcome == NULL)
		a->outcome = outcome;
	if (a->link != NULL) {
		if (a->response.held && a->response.complete)
			connection_close(a->link);
		else
			exchange_detach(
			    a->link, r->id, r->client == NULL || a->index > 0);
		a->link = NULL;
		if (unwritten && !r->race.attempt[a->index].ended &&
		    r->race.attempt[a->index].state == ATTEMPT_LOST)
			attempt_over(a, ATTEMPT_END_UNSENT, false, -1,
			    instant_now(), &server);
	}
}

void
attempt_cancel(struct attempt *a)
{
	int server = -1;

	assert(a->on && a->link != NULL && !exchange_written(a->link));
	connection_close(a->link);
	a->link = NULL;
	attempt_over(a, ATTEMPT_END_UNSENT, false, -1, instant_now(), &server);
	attempt_review(&a->request->attempt[0]);
	attempt_fini(a);
}

void
attempt_leave(struct attempt *a)
{
	struct request *r = a->request;

	if (a->link == NULL)
		return;
	a->outcome = "client_gone";
	/* A response without a length may have no end. */
	if (r->tunnel || a->response.framing != HTTP_FRAMING_LENGTH)
		connection_close(a->link);
	else
		exchange_detach(a->link, r->id, true);
	a->link = NULL;
}

void
attempt_fini(struct attempt *a)
{
	if (!a->on)
		return;
	assert(a->link == NULL);
	response_fini(&a->response, &a->request->proxy->loop.blocks);
	a->on = false;
}
