/* request.c: from a parsed head to one response.
 *
 * A request waits until its body is whole, gets a first attempt, perhaps a
 * second, and is committed to one of them when that attempt's response is
 * complete, is large, or has had its head for 1 ms.  Before that nothing is
 * written to the client, and a hazard can still start another attempt.
 * Attempts that lose drain (connection.c). */
#include "proxy/request/request.h"

#include <assert.h>

#include "http/writer.h"
#include "proxy/client/arrival.h"
#include "proxy/client/client.h"
#include "proxy/client/client_spool.h"
#include "proxy/net/socket.h"
#include "proxy/request/attempt.h"
#include "proxy/request/hazards.h"
#include "proxy/request/queue.h"
#include "proxy/request/table.h"
#include "proxy/upstream/connection.h"
#include "proxy/upstream/response_diff.h"
#include "talechain/events/termination.h"

static void on_commit_due(void *user, bool forced);
static void on_deadline(void *user, bool forced);
static void on_late(void *user, bool forced);
static const struct client_ops request_ops;

/* Write the head for the servers, without framing, which each attempt adds. */
static int
request_write_head(struct request *r, const struct http_head *head)
{
	const struct config *c = r->generation->config;
	const struct peer *peer = &r->client->peer;
	struct http_forward forward = {
	    .client = peer->local ? NULL : peer->address,
	    .trusted = peer->trusted,
	    .request_id = r->external_id,
	    .tailor_request = r->id,
	    .via = (c->proxy.add_fields & CONFIG_ADD_VIA) != 0,
	    .forwarded = (c->proxy.add_fields & CONFIG_ADD_FORWARDED) != 0,
	};
	int n;

	r->block = block_take(&r->proxy->loop.blocks);
	if (r->block == NULL)
		return -ENOMEM;
	r->head.iov_base = r->block->data + r->block->begin;
	n = http_write_request(
	    head, &forward, r->head.iov_base, block_room(r->block));
	if (n < 0)
		return n;
	r->head.iov_len = (size_t)n;
	return 0;
}

static void
request_release(struct request *r)
{
	for (int i = 0; i < RACE_ATTEMPTS; i++)
		attempt_fini(&r->attempt[i]);
	compare_leave(&r->compared);
	request_drop_message(r);
	timer_clear(&r->proxy->loop.timers, &r->commit_timer);
	timer_clear(&r->proxy->loop.timers, &r->deadline_timer);
	timer_clear(&r->proxy->loop.timers, &r->late_timer);
	generation_drop(&r->proxy->generations, r->generation);
	r->generation = NULL;
	table_remove(&r->proxy->table, r);
}

/* Find a request's client, its ids, and whether it may be sent twice.  Ids and
 * opt-outs are accepted from known clients and from proxies in
 * proxy.trusted_proxies. */
static void
request_identify(struct request *r, const struct http_head *head)
{
	struct proxy *p = r->proxy;
	const struct peer *peer = &r->client->peer;
	struct peer origin;
	bool believed;

	origin_find(p->config, peer, head, &origin);
	memcpy(r->client_address, origin.address, sizeof(r->client_address));
	r->known = origin.trusted || origin.tale_allowed;
	believed = peer->trusted || r->known;
	external_id_read(r->external_id, r->id, head, believed);
	trace_id_read(r->trace_id, head);
	r->method_allowed = proxy_may_repeat(p, head, &r->opted_out);
	r->opted_out &= believed;
}

bool
request_begin(struct client *client, const struct http_head *head,
    struct http_refusal *refusal)
{
	struct proxy *p = client_proxy(client);
	struct request *r =
	    table_add(&p->table, p->config->proxy.connections_max);
	int err;

	if (r == NULL) {
		p->metrics.table_full++;
		*refusal = (struct http_refusal){503, "overloaded"};
		return false;
	}
	r->proxy = p;
	r->client = client;
	r->generation = generation_hold(&p->generations);
	r->method = head->method;
	writer_cut(r->method_text, sizeof(r->method_text), head->method_text.at,
	    head->method_text.length);
	writer_cut(
	    r->target, sizeof(r->target), head->target.at, head->target.length);
	r->minor_zero = head->minor == 0;
	r->hostless = head->authority.length == 0;
	r->private = client->own != NULL || http_binds_connection(head);
	r->keep_alive = head->keep_alive;
	r->wants_body = head->framing != HTTP_FRAMING_NONE;
	if (head->framing == HTTP_FRAMING_LENGTH)
		r->body_bytes = head->content_length;
	r->trailers = (r->generation->config->proxy.pass_fields &
			  CONFIG_PASS_TRAILERS) != 0 &&
		      head->minor == 1 && http_takes_trailers(head);
	r->upgrade =
	    r->generation->config->proxy.websocket && http_upgrade_wanted(head);
	r->arrival = arrival_take(client, client->first_byte);
	r->first_byte = client->first_byte;
	r->sent_before = client->sent_bytes;
	race_init(&r->race);
	timer_init(&r->commit_timer, on_commit_due, r);
	timer_init(&r->deadline_timer, on_deadline, r);
	timer_init(&r->late_timer, on_late, r);
	request_identify(r, head);
	err = request_write_head(r, head);
	if (err < 0) {
		request_release(r);
		*refusal =
		    err == -ENOBUFS
			? (struct http_refusal){431, "head_too_large_forwarded"}
			: (struct http_refusal){503, "overloaded"};
		return false;
	}
	client->ops = &request_ops;
	client->user = r;
	return true;
}

void
request_view(const struct request *r, struct hedge_view *out)
{
	*out = (struct hedge_view){
	    .method_allowed = r->method_allowed,
	    .body_complete = r->body_whole,
	    .body_kept = !r->spool.open,
	    .upgrade = r->upgrade,
	    .opted_out = r->opted_out,
	    .client_gone = r->client == NULL,
	    .private = r->private,
	    .deadline = instant_plus(
		r->received, r->generation->config->proxy.request_timeout_ns),
	};
}

static void
request_receive(struct request *r)
{
	struct proxy *p = r->proxy;

	r->received = instant_now();
	r->cookie = r->client->cookie;
	r->stream_begin = timeline_position(p->timeline);
	proxy_emit_at(p, r->received, TALECHAIN_PROXY_RECEIVE,
	    (uint64_t[]){
		r->id, p->table.inflight_count, r->cookie, r->first_byte.ns});
	timer_set(&p->loop.timers, &r->deadline_timer, r->received,
	    r->generation->config->proxy.request_timeout_ns);
}

void
request_client_left(struct client *c)
{
	connection_close(c->own);
}

int
request_choose(const struct request *r)
{
	const struct hedging *h = &r->proxy->hedging;
	struct client *c = r->client;
	unsigned own;

	if (c->own == NULL || r->race.started > 0)
		return hedging_choose_for(h, &r->race);
	own = c->own->server->index;
	if (h->server[own].state < SERVER_WARMING) { /* drained or lost */
		connection_close(c->own);
		return hedging_choose_for(h, &r->race);
	}
	return hedging_has_room(h, own) ? (int)own : HEDGING_FULL;
}

void
request_dispatch(struct request *r)
{
	struct proxy *p = r->proxy;
	struct instant now;
	int server;

	if (r->state == REQUEST_READING) {
		request_receive(r);
		/* Only for a new request: handling a hazard may run the queue,
		 * which must not start a queued request twice. */
		profiler_in_flight(p->profiler, true);
		proxy_hazards(p);
	}
	now = instant_now();
	server = request_choose(r);
	if (server < 0)
		queue_add(r);
	else
		request_start(r, (unsigned)server, now);
}

void
request_start(struct request *r, unsigned server, struct instant now)
{
	queue_remove(r);
	r->state = REQUEST_RUNNING;
	attempt_start(
	    r, server, r->race.started == 0 ? HEDGE_FIRST : HEDGE_FAILURE, now);
}

void
request_restart(struct request *r)
{
	for (int i = 0; i < RACE_ATTEMPTS; i++)
		attempt_fini(&r->attempt[i]);
	queue_add(r);
}

bool
request_move(struct request *r)
{
	struct attempt *a = &r->attempt[0];

	if (r->private || r->state != REQUEST_RUNNING || r->race.started != 1 ||
	    r->race.writes > 1 || a->link == NULL || exchange_written(a->link))
		return false;
	r->proxy->metrics.moved++;
	attempt_cancel(a);
	request_restart(r);
	return true;
}

void
request_hedge(struct request *r, enum hedge_trigger trigger)
{
	struct proxy *p = r->proxy;
	struct instant now = instant_now();
	struct hedge_view view;
	int server = -1;

	request_view(r, &view);
	r->refusal =
	    hedging_decide(&p->hedging, &r->race, &view, trigger, now, &server);
	if (r->refusal != HEDGE_REFUSED_NONE) {
		/* Hedging is decided again at each hazard and sweep: count a
		 * reason once. */
		p->metrics.refused[r->refusal] +=
		    (r->refusals >> r->refusal & 1) == 0;
		r->refusals |= UINT32_C(1) << r->refusal;
		p->hedges_wait |= r->refusal == HEDGE_REFUSED_INFLIGHT_LIMIT;
		return;
	}
	attempt_start(r, (unsigned)server, trigger, now);
}

void
request_watch(struct request *r, unsigned server)
{
	int64_t ns = hedging_timer_ns(&r->proxy->hedging, server);

	/* Percentiles make many different durations: no list for each. */
	if (ns >= 0)
		timer_set_unsorted(
		    &r->proxy->loop.timers, &r->late_timer, instant_now(), ns);
}

static void
on_late(void *user, bool forced)
{
	struct request *r = user;
	const struct attempt *first = &r->attempt[0];

	(void)forced;
	if (r->state == REQUEST_RUNNING && r->race.started == 1 &&
	    first->link != NULL && first->response.status == 0)
		request_hedge(r, HEDGE_TIMER);
}

/* Drop all attempts that have not won. */
static void
request_drop_attempts(struct request *r, const char *outcome)
{
	for (int i = 0; i < RACE_ATTEMPTS; i++)
		attempt_drop(&r->attempt[i], outcome);
}

static enum termination_place
request_place(const struct request *r)
{
	switch (r->state) {
	case REQUEST_READING:
		return TERMINATION_REQUEST;
	case REQUEST_QUEUED:
		return TERMINATION_QUEUE;
	case REQUEST_RUNNING:
		break;
	case REQUEST_COMMITTED:
	case REQUEST_LOCAL:
		return TERMINATION_DATA;
	}
	for (int i = 0; i < RACE_ATTEMPTS; i++) {
		const struct attempt *a = &r->attempt[i];

		if (a->on &&
		    (instant_is_set(a->written) ||
			(a->link != NULL && exchange_written(a->link))))
			return TERMINATION_HEAD;
	}
	return TERMINATION_CONNECT;
}

/* Note why a request fails, unless it has failed already. */
static void
request_ends(struct request *r, const char *reason)
{
	enum termination_by by = termination_of_reason(reason);
	enum termination_place place = request_place(r);
	struct client *c = r->client;

	if (r->reason != NULL)
		return;
	/* A response that the client does not read makes no progress. */
	if (place == TERMINATION_DATA && by == TERMINATION_SERVER_LATE &&
	    (client_has_more(c) || socket_queued_bytes(c->fd) > 0))
		by = TERMINATION_CLIENT_LATE;
	r->reason = reason;
	r->termination = termination(by, place);
}

void
request_fail(struct request *r, unsigned status, const char *reason)
{
	struct proxy *p = r->proxy;
	struct client *c = r->client;
	char text[96];
	struct client_reply reply = {.status = status,
	    .type = "text/plain",
	    .text = text,
	    .request_id = r->external_id,
	    .head_only = r->method == HTTP_METHOD_HEAD};

	assert(c != NULL);
	if (r->state == REQUEST_LOCAL)
		return; /* its response is on its way already */
	if (r->state == REQUEST_COMMITTED) {
		/* Part of a response is sent: only the end of the connection
		 * can show the client that it is cut (W4). */
		p->metrics.truncated++;
		request_ends(r, reason);
		client_close(c);
		return;
	}
	request_ends(r, reason);
	queue_remove(r);
	metrics_reason(&p->metrics.failures, reason);
	race_abandon(&p->hedging, &r->race);
	request_drop_attempts(r, "abandoned");
	r->state = REQUEST_LOCAL;
	r->status = (int)status;
	c->response = CLIENT_RESPONSE_WHOLE;
	if (!r->body_whole || !r->keep_alive)
		c->close = true;
	if (status == 503)
		reply.extra = "Retry-After: 1\r\n";
	reply.length = (size_t)snprintf(text, sizeof(text), "%u %s: %s\n",
	    status, http_reason(status), reason);
	client_respond(c, &reply);
}

static void
request_finish(struct request *r)
{
	struct proxy *p = r->proxy;
	struct client *c = r->client;

	request_record(r);
	request_release(r);
	if (c != NULL)
		client_next(c);
	queue_wake(p);
}

static void
on_client_body(struct client *c, struct chain *data, bool whole)
{
	request_body(c->user, data, whole);
}

static void
on_client_refuse(struct client *c, const struct http_refusal *refusal)
{
	request_fail(c->user, refusal->status, refusal->reason);
}

static void
on_client_written(struct client *c)
{
	struct request *r = c->user;

	if (c->response == CLIENT_RESPONSE_WHOLE) {
		r->response_bytes = c->sent_bytes - r->sent_before;
		request_finish(r);
	} else if (r->state == REQUEST_COMMITTED &&
		   r->attempt[r->race.winner].link != NULL) {
		connection_resume(r->attempt[r->race.winner].link);
	}
}

static void
on_client_stream(struct client *c, struct chain *data)
{
	if (c->response != CLIENT_RESPONSE_WHOLE)
		tunnel_pass(c->user, data);
}

void
request_seek(struct request *r)
{
	struct client *c = r->client;

	if (r->looked_for || r->minor_zero || !c->ended ||
	    chain_add(&c->out, &r->proxy->loop.blocks,
		"HTTP/1.1 100 Continue\r\n\r\n", 25) < 0)
		return;
	r->looked_for = true;
	client_flush_later(c);
}

bool
request_is_left(const struct request *r)
{
	return r->client->ended && socket_is_gone(r->client->fd);
}

static void
on_client_ended(struct client *c)
{
	struct request *r = c->user;

	if (r->state == REQUEST_COMMITTED &&
	    r->attempt[r->race.winner].response.stream)
		client_close(c);
	else if (r->state == REQUEST_QUEUED)
		request_seek(r);
}

static void
on_client_gone(struct client *c)
{
	struct request *r = c->user;
	struct proxy *p = r->proxy;
	bool failed = r->reason != NULL;

	request_ends(r, c->cut != NULL ? c->cut : "client_gone");
	queue_remove(r);
	race_abandon(&p->hedging, &r->race);
	if (r->state == REQUEST_COMMITTED) {
		p->metrics.aborts_response += !failed && !r->tunnel;
		attempt_leave(&r->attempt[r->race.winner]);
	} else {
		p->metrics.aborts_head += r->state == REQUEST_READING;
		p->metrics.aborts_waiting += r->state != REQUEST_READING;
		r->status = c->cut == NULL ? 499 : 0;
	}
	request_drop_attempts(r, "client_gone");
	r->response_bytes = c->sent_bytes - r->sent_before;
	r->client = NULL;
	request_finish(r);
}

static const struct client_ops request_ops = {
    .body = on_client_body,
    .refuse = on_client_refuse,
    .written = on_client_written,
    .stream = on_client_stream,
    .ended = on_client_ended,
    .gone = on_client_gone,
};

/* True if another attempt runs while this one's server is in a hazard: the rest
 * of its response may not come soon. */
static bool
attempt_is_stuck(const struct attempt *a)
{
	const struct request *r = a->request;
	int server = r->race.attempt[a->index].server;

	return race_has_rival(&r->race, a->index) &&
	       r->proxy->hedging.server[server].hazards != 0;
}

static void
on_commit_due(void *user, bool forced)
{
	struct request *r = user;
	bool stuck = false;

	(void)forced;
	for (int i = 0; i < RACE_ATTEMPTS; i++) {
		struct attempt *a = &r->attempt[i];

		if (!a->on || a->link == NULL || a->response.status == 0 ||
		    a->response.held || attempt_wait_ns(a) < 0)
			continue;
		if (attempt_is_stuck(a)) {
			stuck = true;
			continue;
		}
		attempt_commit(a, instant_now());
		return;
	}
	if (stuck)
		timer_arm(
		    &r->proxy->loop.timers, &r->commit_timer, COMMIT_DELAY_NS);
}

/* Bytes of the body that servers have taken, plus bytes of responses that are
 * held back. */
static uint64_t
request_begun_bytes(const struct request *r)
{
	uint64_t bytes = 0;

	for (int i = 0; i < RACE_ATTEMPTS; i++) {
		const struct attempt *a = &r->attempt[i];

		if (a->on && !a->response.held)
			bytes += a->response.body.bytes;
		if (a->on && a->link != NULL && !a->link->sent_all)
			bytes += exchange_taken_bytes(a->link);
	}
	return bytes;
}

/* True if the deadline is to be extended: bytes of the body or of the response
 * have moved since the last deadline. */
static bool
request_progresses(struct request *r)
{
	const struct client *c = r->client;
	uint64_t bytes;

	if (c == NULL)
		return false;
	if (c->write.waits)
		return true; /* a response is written when the turn ends */
	if (r->state != REQUEST_COMMITTED)
		bytes = request_begun_bytes(r);
	else
		bytes =
		    c->sent_bytes - r->sent_before - socket_queued_bytes(c->fd);
	if (bytes == r->progress_bytes)
		return false;
	r->progress_bytes = bytes;
	return true;
}

/* Report servers that got the whole request and sent no response in time. */
static void
note_late(struct request *r)
{
	for (int i = 0; i < RACE_ATTEMPTS; i++) {
		const struct attempt *a = &r->attempt[i];

		if (a->on && a->link != NULL && a->link->sent_all &&
		    r->body_whole && !r->upgrade)
			race_late(&r->proxy->hedging, &r->race, i,
			    a->link->written_first, instant_now());
	}
}

static void
on_deadline(void *user, bool forced)
{
	struct request *r = user;
	struct proxy *p = r->proxy;

	(void)forced;
	if (request_progresses(r)) {
		timer_arm(&p->loop.timers, &r->deadline_timer,
		    r->generation->config->proxy.request_timeout_ns);
		return;
	}
	note_late(r);
	/* A held response is better than none (W2). */
	for (int i = 0; i < RACE_ATTEMPTS; i++)
		if (r->state == REQUEST_RUNNING &&
		    r->attempt[i].response.held &&
		    r->attempt[i].response.complete) {
			attempt_commit(&r->attempt[i], instant_now());
			return;
		}
	request_fail(r, 504, "deadline");
}
