/*
 * attempt.c: between a request and an uplink.
 *
 * Everything that may end the request (and so free the attempt) comes last
 * in each function; callers return at once afterwards.
 */
#include "proxy/attempt.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "proxy/client.h"
#include "proxy/intake.h"
#include "proxy/interim.h"
#include "proxy/proxy.h"
#include "proxy/server.h"
#include "proxy/tunnel.h"

static void on_attempt_head(struct uplink *u, const struct http_head *head);
static void on_attempt_interim(struct uplink *u, const struct http_head *head);
static void on_attempt_trailers(struct uplink *u, struct slice lines);
static void on_attempt_data(struct uplink *u, struct chain *data);
static void on_attempt_sent(struct uplink *u);
static void on_attempt_wrote(struct uplink *u);
static void on_attempt_end(const struct uplink_result *result);

static const struct uplink_ops attempt_ops = {
    .head = on_attempt_head,
    .interim = on_attempt_interim,
    .trailers = on_attempt_trailers,
    .data = on_attempt_data,
    .sent = on_attempt_sent,
    .wrote = on_attempt_wrote,
    .end = on_attempt_end,
};

static enum race_step attempt_over(struct attempt *a, enum attempt_end end,
    bool written, int64_t latency_ns, int *server);
static void request_step(
    struct request *r, enum race_step step, int server, const char *why);

/* The fields that differ between attempts, and the end of the head. */
static void
attempt_write_lines(struct attempt *a, unsigned number, const char *trigger)
{
	const struct request *r = a->request;
	char *at = a->lines;
	size_t room = sizeof(a->lines);
	int n = 0;

	if (r->wants_body && r->body_whole && !r->streaming)
		n = snprintf(at, room, "Content-Length: %llu\r\n",
		    (unsigned long long)r->body_bytes);
	else if (r->wants_body && r->body_bytes > 0)
		n = snprintf(at, room, "Content-Length: %llu\r\n",
		    (unsigned long long)r->body_bytes);
	else if (r->wants_body)
		n = snprintf(at, room, "Transfer-Encoding: chunked\r\n");
	if (r->trailers && !r->upgrade)
		n += snprintf(at + n, room - (size_t)n,
		    "TE: trailers\r\nConnection: TE\r\n");
	if (r->upgrade)
		n += snprintf(at + n, room - (size_t)n, TUNNEL_LINES);
	n += snprintf(
	    at + n, room - (size_t)n, "Tailor-Attempt: %u\r\n", number);
	if (trigger != NULL)
		n += snprintf(
		    at + n, room - (size_t)n, "Tailor-Hedge: %s\r\n", trigger);
	n += (int)trace_line(
	    &r->trace, r->id, number - 1, at + n, room - (size_t)n);
	n += snprintf(at + n, room - (size_t)n, "\r\n");
	a->lines_length = (size_t)n;
}

static struct outgoing
attempt_message(struct attempt *a)
{
	struct request *r = a->request;

	return (struct outgoing){
	    .head = {{r->head->data + r->head->begin, block_bytes(r->head)},
		{a->lines, a->lines_length}},
	    .body = r->wants_body ? &r->body : NULL,
	    .keep_body = !r->streaming,
	    .body_whole = r->body_whole,
	    .upgrade = r->upgrade,
	    .trailers = r->trailers,
	};
}

/* Put the attempt's message on a connection.  0 or a negative errno. */
static int
attempt_send(struct attempt *a, unsigned server, bool fresh)
{
	struct proxy *p = a->request->proxy;
	struct outgoing message = attempt_message(a);
	int err;

	err = uplink_get(&p->server[server], &attempt_ops, a, fresh, &a->link);
	a->cookie = err < 0 ? 0 : a->link->cookie;
	proxy_emit(p, TALECHAIN_PROXY_ATTEMPT, a->request->id, server,
	    (uint64_t)a->index, a->cookie);
	if (err < 0)
		return err;
	uplink_send(a->link, &message, a->request->method);
	return 0;
}

void
attempt_start(struct request *r, unsigned server, enum hedge_trigger trigger)
{
	struct proxy *p = r->proxy;
	struct instant now = instant_now();
	int i = race_start(&p->hedging, &r->race, server, trigger, now);
	struct attempt *a = &r->attempt[i];
	enum race_step step;
	int next = -1;

	*a = (struct attempt){
	    .request = r, .index = i, .on = true, .begun = now};
	if (i > 0) {
		const struct hedging_server *first =
		    &p->hedging.server[r->race.attempt[0].server];

		a->hazard = trigger == HEDGE_FAILURE ? INSTANT_NONE
						     : first->hazard_since;
		p->metrics.hedges[trigger][server]++;
		proxy_emit(p, TALECHAIN_PROXY_HEDGE, r->id, server,
		    (uint64_t)trigger, a->hazard.ns);
	}
	attempt_write_lines(
	    a, (unsigned)i + 1, i > 0 ? hedge_trigger_name(trigger) : NULL);
	if (attempt_send(a, server, false) == 0) {
		if (i == 0)
			request_watch(r, server);
		return;
	}
	server_failed(&p->server[server], UPLINK_REFUSED);
	step = attempt_over(a, ATTEMPT_END_FAILED, false, -1, &next);
	request_step(r, step, next, "connect_failed");
}

void
attempt_more(struct attempt *a)
{
	if (a->on && a->link != NULL)
		uplink_more(a->link, a->request->body_whole);
}

static const char *
end_name(enum uplink_end end)
{
	switch (end) {
	case UPLINK_COMPLETE:
		return "complete";
	case UPLINK_REFUSED:
		return "refused";
	case UPLINK_UNANSWERED:
		return "unanswered";
	case UPLINK_CUT:
		return "cut";
	case UPLINK_MALFORMED:
		return "malformed";
	case UPLINK_TIMEOUT:
		return "timeout";
	}
	return "";
}

/* Tell the policy that an attempt is over; what now? */
static enum race_step
attempt_over(struct attempt *a, enum attempt_end end, bool written,
    int64_t latency_ns, int *server)
{
	struct request *r = a->request;
	struct proxy *p = r->proxy;
	struct hedge_view view;

	request_view(r, &view);
	proxy_emit(p, TALECHAIN_PROXY_ATTEMPT_END, r->id,
	    (uint64_t)r->race.attempt[a->index].server, (uint64_t)a->index,
	    (uint64_t)end);
	return race_ended(&p->hedging, &r->race, a->index, end, latency_ns,
	    written, &view, instant_now(), server);
}

static void
request_step(
    struct request *r, enum race_step step, int server, const char *why)
{
	switch (step) {
	case RACE_COLLECT:
	case RACE_HOLD:
	case RACE_DISCARD:
	case RACE_WAIT:
		return;
	case RACE_TRY:
		attempt_start(r, (unsigned)server, HEDGE_FAILURE);
		return;
	case RACE_QUEUE:
		request_enqueue(r);
		return;
	case RACE_SEND_HELD:
		attempt_commit(&r->attempt[server]);
		return;
	case RACE_GIVE_UP:
		request_fail(r, 502, why);
		return;
	}
}

static void
on_attempt_head(struct uplink *u, const struct http_head *head)
{
	struct attempt *a = u->user;
	struct request *r = a->request;
	struct proxy *p = r->proxy;
	int64_t delay_ns = r->generation->config->hedging.commit_delay_ns;
	enum race_step step;
	int server = -1;

	a->first_byte = u->first_byte;
	a->written = u->written_first;
	pushback_note(p, a, head);
	if (answer_read(&a->answer, r, head) < 0) {
		uplink_close(u);
		a->link = NULL;
		step = attempt_over(a, ATTEMPT_END_FAILED, true, -1, &server);
		request_step(r, step, server, "response_head_too_large");
		return;
	}
	proxy_emit(p, TALECHAIN_PROXY_FIRST_BYTE, r->id, u->server->index,
	    (uint64_t)a->index, head->status);
	switch (race_head(
	    &p->hedging, &r->race, a->index, a->answer.status, instant_now())) {
	case RACE_HOLD:
		a->answer.held = true;
		return;
	case RACE_DISCARD:
		attempt_drop(a, "lost");
		return;
	case RACE_COLLECT:
	case RACE_WAIT:
	case RACE_TRY:
	case RACE_QUEUE:
	case RACE_SEND_HELD:
	case RACE_GIVE_UP:
		break;
	}
	if (a->answer.at_once || delay_ns == 0)
		attempt_commit(a);
	else if (!u->body.done && !evtimer_pending(&r->commit_timer, NULL))
		event_add(&r->commit_timer, proxy_timeout(p, delay_ns));
}

static void
on_attempt_interim(struct uplink *u, const struct http_head *head)
{
	interim_forward(u->user, head);
}

static void
on_attempt_trailers(struct uplink *u, struct slice lines)
{
	struct attempt *a = u->user;

	answer_keep_trailers(&a->answer, a->request, lines);
}

/* Pass payload on to the client. */
static void
attempt_forward(struct attempt *a, struct chain *data)
{
	struct request *r = a->request;

	answer_forward(&a->answer, r, data);
	if (r->client->out.bytes >
		r->generation->config->proxy.stream_buffer_bytes &&
	    a->link != NULL)
		uplink_pause(a->link);
}

static void
on_attempt_data(struct uplink *u, struct chain *data)
{
	struct attempt *a = u->user;
	struct request *r = a->request;
	const struct config *c = r->generation->config;
	enum race_step step;
	int server = -1;

	if (r->race.winner == a->index) {
		attempt_forward(a, data);
		client_flush(r->client);
		return;
	}
	chain_merge(&a->answer.body, data, &r->proxy->blocks);
	if (a->answer.body.bytes < c->hedging.commit_bytes || u->body.done)
		return;
	if (!a->answer.held) {
		attempt_commit(a);
		return;
	}
	/* An unwanted answer too large to keep whole: stop reading; it is
	 * read on only if it must be sent after all. */
	uplink_pause(u);
	a->answer.complete = true;
	step = attempt_over(a, ATTEMPT_END_COMPLETE, true, -1, &server);
	request_step(r, step, server, "unacceptable");
}

static void
on_attempt_sent(struct uplink *u)
{
	struct attempt *a = u->user;
	struct request *r = a->request;
	struct metrics *m = &r->proxy->metrics;
	int64_t late;

	a->written = u->written_first;
	if (!instant_is_set(a->hazard))
		return;
	late = instant_since(u->written_last, a->hazard);
	histogram_record(&m->hedge_delay, late < 0 ? 0 : (uint64_t)late);
	m->last_hedge_ns[r->race.attempt[0].server] = late;
}

/* The client may send more of a streamed body. */
static void
on_attempt_wrote(struct uplink *u)
{
	struct attempt *a = u->user;
	struct request *r = a->request;

	if (r->client != NULL && !r->body_whole &&
	    r->body.bytes <
		r->generation->config->proxy.stream_buffer_bytes / 2)
		client_resume(r->client);
}

/* A kept connection had ended before our request arrived: try once more on a
 * new one.  Not an attempt of its own (E5). */
static bool
attempt_resend(struct attempt *a, const struct uplink_result *result)
{
	struct request *r = a->request;
	struct server *s = result->server;

	if (result->end != UPLINK_UNANSWERED || !result->reused || a->resent ||
	    r->streaming)
		return false;
	if (!r->method_allowed && result->written)
		return false;
	if (r->proxy->hedging.server[s->index].state == SERVER_DOWN)
		return false;
	a->resent = true;
	s->stale++;
	r->proxy->metrics.resent_stale++;
	return attempt_send(a, s->index, true) == 0;
}

/* It ended without a whole response. */
static void
attempt_failed(
    struct attempt *a, const struct uplink_result *result, int64_t latency_ns)
{
	struct request *r = a->request;
	bool won = r->race.winner == a->index;
	enum race_step step;
	int server = -1;

	a->outcome = won ? "cut" : end_name(result->end);
	server_failed(result->server, result->end);
	step = attempt_over(
	    a, ATTEMPT_END_FAILED, result->written, latency_ns, &server);
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

	if (answer_end(&a->answer, r) < 0) {
		request_fail(r, 502, "no_memory");
		return;
	}
	r->response_done = true;
	client_flush(r->client);
}

static void
on_attempt_end(const struct uplink_result *result)
{
	struct attempt *a = result->user;
	struct request *r = a->request;
	struct instant now = instant_now();
	bool won = r->race.winner == a->index;
	/* How long a tunnel was open says nothing about its server. */
	int64_t latency = result->written && !r->tunnel
			      ? instant_since(now, result->written_first)
			      : -1;
	enum race_step step;
	int server = -1;

	a->link = NULL;
	if (attempt_resend(a, result))
		return;
	a->completed = now;
	if (result->end != UPLINK_COMPLETE) {
		attempt_failed(a, result, latency);
		return;
	}
	result->server->connect_failures = 0;
	if (latency >= 0)
		histogram_record(&result->server->response, (uint64_t)latency);
	if (!won && !a->answer.held) {
		a->answer.complete = true;
		attempt_commit(a);
		return;
	}
	if (!won) {
		a->answer.complete = true;
		step = attempt_over(
		    a, ATTEMPT_END_COMPLETE, result->written, latency, &server);
		request_step(r, step, server, "unacceptable");
		return;
	}
	/* Of a held answer the policy has been told before it was sent. */
	if (!a->answer.held)
		attempt_over(
		    a, ATTEMPT_END_COMPLETE, result->written, latency, &server);
	attempt_finish(a);
}

void
attempt_commit(struct attempt *a)
{
	struct request *r = a->request;
	struct proxy *p = r->proxy;
	struct client *c = r->client;
	struct instant now = instant_now();
	int server = -1;

	if (!race_commit(&p->hedging, &r->race, a->index, now)) {
		attempt_drop(a, "lost");
		return;
	}
	event_del(&r->commit_timer);
	a->outcome = "won";
	r->state = REQUEST_COMMITTED;
	r->committed = now;
	r->status = a->answer.status;
	histogram_record(&p->metrics.commit_delay,
	    (uint64_t)instant_since(now, a->first_byte));
	proxy_emit(p, TALECHAIN_PROXY_COMMIT, r->id,
	    (uint64_t)r->race.attempt[a->index].server, (uint64_t)a->index,
	    (uint64_t)a->answer.status);
	for (int i = 0; i < RACE_ATTEMPTS; i++)
		if (i != a->index)
			attempt_drop(&r->attempt[i], "lost");
	answer_send(
	    &a->answer, r, a->answer.complete && a->link == NULL, a->written);
	if (a->link != NULL) {
		/* More to come; a held answer was not being read. */
		a->answer.complete = false;
		if (c->out.bytes <=
		    r->generation->config->proxy.stream_buffer_bytes)
			uplink_resume(a->link);
	} else {
		if (!a->answer.held)
			attempt_over(a, ATTEMPT_END_COMPLETE, true,
			    instant_since(a->completed, a->written), &server);
		if (answer_end(&a->answer, r) < 0) {
			request_fail(r, 502, "no_memory");
			return;
		}
		r->response_done = true;
	}
	if (a->answer.status == 101)
		tunnel_begin(a);
	client_flush(c);
	if (c->state == CLIENT_TUNNEL)
		intake_process(c); /* what it has sent meanwhile */
}

void
attempt_drop(struct attempt *a, const char *outcome)
{
	struct request *r = a->request;

	if (!a->on || r->race.winner == a->index)
		return;
	if (a->outcome == NULL)
		a->outcome = outcome;
	if (a->link != NULL) {
		if (a->answer.held && a->answer.complete)
			uplink_close(a->link);
		else
			uplink_detach(a->link, r->id, r->client == NULL);
		a->link = NULL;
	}
}

void
attempt_cancel(struct attempt *a)
{
	int server = -1;

	if (!a->on || a->link == NULL || uplink_written(a->link))
		return;
	uplink_close(a->link);
	a->link = NULL;
	attempt_over(a, ATTEMPT_END_UNSENT, false, -1, &server);
	attempt_fini(a);
}

void
attempt_leave(struct attempt *a)
{
	struct request *r = a->request;

	if (a->link == NULL)
		return;
	a->outcome = "client_gone";
	if (r->tunnel)
		uplink_close(a->link);
	else
		uplink_detach(a->link, r->id, true);
	a->link = NULL;
}

void
attempt_resume(struct attempt *a)
{
	if (a->link != NULL)
		uplink_resume(a->link);
}

void
attempt_fini(struct attempt *a)
{
	if (!a->on)
		return;
	assert(a->link == NULL);
	answer_fini(&a->answer, &a->request->proxy->blocks);
	a->on = false;
}

void
attempt_describe(const struct attempt *a, struct tale_attempt *out)
{
	const struct request *r = a->request;
	const struct proxy *p;
	int server;

	out->server = -1;
	if (!a->on)
		return;
	p = r->proxy;
	server = r->race.attempt[a->index].server;
	out->server = server;
	out->server_pid = (uint32_t)p->server[server].pid;
	out->cookie = a->cookie;
	snprintf(out->server_name, sizeof(out->server_name), "%s",
	    p->config->server[server].name);
	snprintf(out->trigger, sizeof(out->trigger), "%s",
	    hedge_trigger_name(r->race.attempt[a->index].trigger));
	snprintf(out->outcome, sizeof(out->outcome), "%s",
	    a->outcome != NULL ? a->outcome : "running");
	out->written = a->written;
	out->first_byte = a->first_byte;
	out->complete = a->completed;
	out->status = a->answer.status;
}
