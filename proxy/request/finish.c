/* finish.c: records a finished request in the counters, the access log, the
 * history and, if it was slow, the analysis. */

#include <stdio.h>
#include <string.h>

#include "http/writer.h"
#include "proxy/client/delivery.h"
#include "proxy/request/access_fill.h"
#include "proxy/request/attempt.h"
#include "proxy/request/proxy.h"
#include "proxy/request/request.h"
#include "proxy/request/slow.h"
#include "proxy/request/table.h"

/* Describe an attempt for the history. */
static void
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
	out->server_pid = (uint32_t)p->upstream.server[server].program.pid;
	out->cookie = a->cookie;
	writer_copy(out->server_name, sizeof(out->server_name),
	    p->upstream.server[server].config->name);
	writer_copy(out->trigger, sizeof(out->trigger),
	    hedge_trigger_name(r->race.attempt[a->index].trigger));
	writer_copy(out->outcome, sizeof(out->outcome),
	    a->outcome != NULL ? a->outcome : "running");
	out->written = a->written;
	out->first_byte = a->first_byte;
	out->complete = a->completed;
	out->status = a->response.status;
}

void
request_flags(const struct request *r, char *out, size_t size)
{
	out[0] = '\0';
	if (r->reason == NULL && r->refusal == HEDGE_REFUSED_NONE)
		return; /* as in nearly all requests */
	snprintf(out, size, "%s%s%s", r->reason != NULL ? r->reason : "",
	    r->reason != NULL && r->refusal != HEDGE_REFUSED_NONE ? "," : "",
	    r->refusal != HEDGE_REFUSED_NONE ? hedge_refusal_name(r->refusal)
					     : "");
}

/* Describe a request for the history. */
static void
request_describe(
    const struct request *r, struct instant finished, struct tale_request *out)
{
	memset(out, 0, sizeof(*out));
	out->id = r->id;
	out->cookie = r->cookie;
	memcpy(out->external_id, r->external_id, sizeof(out->external_id));
	memcpy(out->method, r->method_text, sizeof(out->method));
	memcpy(out->target, r->target, sizeof(out->target));
	out->status = r->status;
	out->connecting = r->arrival.connecting;
	out->synacks = r->arrival.synacks;
	out->arrived = r->arrival.arrived;
	out->accepted = r->arrival.accepted;
	out->first_byte = r->first_byte;
	out->received = r->received;
	out->committed = r->committed;
	out->finished = finished;
	out->stream_begin = r->stream_begin;
	out->stream_end = timeline_position(r->proxy->timeline);
	for (int i = 0; i < RACE_ATTEMPTS; i++)
		attempt_describe(&r->attempt[i], &out->attempt[i]);
	out->termination = r->termination;
	if (r->reason != NULL)
		writer_copy(out->reason, sizeof(out->reason), r->reason);
	if (r->refusal != HEDGE_REFUSED_NONE)
		writer_copy(out->refusal, sizeof(out->refusal),
		    hedge_refusal_name(r->refusal));
}

static void
request_count(struct request *r, struct instant now)
{
	struct proxy *p = r->proxy;
	struct metrics *m = &p->metrics;
	int64_t total = instant_since(now, r->first_byte);
	bool hedged = r->race.started > 1;

	m->methods[r->method]++;
	m->requests[r->status == 499 ? 0 : r->status / 100 % 6]++;
	p->tunnels -= r->tunnel;
	if (r->client != NULL && !r->tunnel)
		metrics_latency(m, total, r->external_id, r->trace_id);
	if (hedged) {
		m->hedges_won += r->race.winner == 1;
		m->hedges_lost += r->race.winner == 0;
		m->both_failed += r->race.winner < 0 && r->client != NULL;
	}
	hedging_request_end(&p->hedging);
}

/* When hedging.mode = act would have committed the response: a short one when
 * it was whole, because its server may pause between head and body. */
static struct instant
would_commit(const struct attempt *a, struct instant finished)
{
	int64_t hold_ns;

	if (!instant_is_set(a->first_byte))
		return INSTANT_NONE;
	hold_ns = attempt_hold_ns(a);
	return hold_ns < 0 ? finished : instant_plus(a->first_byte, hold_ns);
}

/* In watch mode, estimate the effect of hedging.mode = act on a request. */
static void
gain_count(struct request *r, struct instant now)
{
	struct proxy *p = r->proxy;
	const struct attempt *a = &r->attempt[0];
	struct gain_request g = {.server = p->hedging.active,
	    .failed = r->status >= 502 && r->status <= 504,
	    .first_byte = r->first_byte,
	    .written = r->received,
	    .finished = now};
	struct hedge_view view;

	if (p->gain == NULL || p->config->hedging.mode != CONFIG_MODE_WATCH ||
	    r->tunnel)
		return;
	if (a->on) {
		g.server = (unsigned)r->race.attempt[0].server;
		g.committed = would_commit(a, now);
		if (instant_is_set(a->written))
			g.written = a->written;
	}
	request_view(r, &view);
	g.repeatable = hedging_may_repeat(&view);
	gain_note(p->gain,
	    &(struct gain_seen){&p->recent, hedging_acted_on(&p->hedging),
		{&p->upstream.server[0].health.lengths,
		    &p->upstream.server[1].health.lengths}},
	    &g);
}

/* Remember a request: copies of it may warm up servers. */
static void
remember(struct proxy *p, const struct request *r)
{
	const struct replay_source source = {
	    .method = r->method,
	    .has_body = r->wants_body,
	    .hostless = r->hostless,
	    .opted_out = r->opted_out,
	    .status = r->status,
	    .head = {r->head.iov_base, r->head.iov_len},
	};

	replay_record(&p->upstream.replay, p->config, &source);
}

void
request_record(struct request *r)
{
	struct proxy *p = r->proxy;
	struct instant now = instant_now();
	struct tale_request *tale;

	if (r->termination != 0)
		p->metrics.terminations[r->termination]++;
	proxy_emit_at(p, now, TALECHAIN_PROXY_FINISH,
	    (uint64_t[]){r->id, p->table.inflight_count - 1,
		(uint64_t)r->termination << 56 | (uint64_t)r->status,
		r->response_bytes});
	tale = table_slot(&p->table);
	request_describe(r, now, tale);
	table_file(&p->table);
	if (instant_is_set(r->received)) {
		request_count(r, now);
		gain_count(r, now);
		if (!r->tunnel)
			slow_finished(p, tale);
		remember(p, r);
	}
	if (r->client != NULL && !r->tunnel)
		delivery_watch(r->client, now, tale, r->id);
	access_log_request(p, r, r->client, now);
}

void
request_late(struct client *c, const struct client_late *late)
{
	struct proxy *p = client_proxy(c);
	struct tale_request *t = late->place;

	if (late->resent > 0)
		p->metrics.late_resent++;
	else
		p->metrics.late_window++;
	if (t->id != late->request)
		return; /* it has left the history */
	t->acknowledged = late->acknowledged;
	t->resent = late->resent;
	slow_late(p, t);
}

void
request_refused(const struct client *c, const struct http_refusal *refusal,
    char id[CLIENT_ID])
{
	struct proxy *p = client_proxy(c);
	struct instant now = instant_now();
	struct tale_request *t = table_slot(&p->table);
	uint64_t position = timeline_position(p->timeline);

	*t = (struct tale_request){.id = table_id(&p->table),
	    .cookie = c->cookie,
	    .method = "-",
	    .target = "-",
	    .status = (int)refusal->status,
	    .first_byte = c->first_byte,
	    .finished = now,
	    .stream_begin = position,
	    .stream_end = position,
	    .attempt = {{.server = -1}, {.server = -1}},
	    .termination = termination(
		termination_of_reason(refusal->reason), TERMINATION_REQUEST)};
	writer_copy(t->reason, sizeof(t->reason), refusal->reason);
	digits_hex(t->external_id, t->id);
	memcpy(id, t->external_id, sizeof(t->external_id));
	p->metrics.terminations[t->termination]++;
	proxy_emit_at(p, now, TALECHAIN_PROXY_FINISH,
	    (uint64_t[]){t->id, p->table.inflight_count,
		(uint64_t)t->termination << 56 | refusal->status, 0});
	table_file(&p->table);
	access_log_local(c, &(struct access_local){c->peer.address, "-", "-",
				id, refusal->reason, refusal->status});
}
