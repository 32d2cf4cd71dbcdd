/* server.c: probing a server, and warming it up.
 *
 * A server that is not known to respond is probed every 50 ms: by a connection
 * and, if a health target is configured, a GET of that.  A restarted server
 * gets copies of clients' recent requests, at the pace that the policy sets,
 * before it may serve clients. */

#include "proxy/upstream/server.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "proxy/upstream/connection.h"

#define PROBE_PERIOD_NS (50 * NS_PER_MS)
#define PROBE_AGAIN_NS (5 * NS_PER_MS)	/* after a good probe */
#define WARMUP_IDLE_NS (20 * NS_PER_MS) /* retry if nothing could be sent */
#define ASK_TIMEOUT_NS (10 * NS_PER_S)
#define KEEP_AGAIN_NS (30 * NS_PER_S)
#define REFUSALS_MAX 2 /* this many in a row: no process listens there */

/* Purpose of a request of Tailor's own. */
enum warmup_kind {
	WARMUP_WARM,   /* warm up a restarted server */
	WARMUP_MIRROR, /* keep a backup warm */
	WARMUP_ASK,    /* check that the server responds */
	WARMUP_KEEP,   /* open a connection to keep */
};

/* A request of Tailor's own that is under way. */
struct warmup {
	struct server *server;
	bool busy;
	enum warmup_kind kind;
	bool own; /* a GET of the health target, not a copy */
	unsigned status;
	size_t length;
	char text[REPLAY_HEAD_BYTES];
};

static const char warmup_lines[] = "Tailor-Warmup: 1\r\n\r\n";

const char *
server_host(const struct config_server *c)
{
	if (*c->host != '\0')
		return c->host;
	return c->address.address.ss_family == AF_UNIX ? "localhost"
						       : c->address.text;
}

static void
server_probe_later(struct server *s)
{
	timer_arm(&s->upstream->loop->timers, &s->probe.timer, PROBE_PERIOD_NS);
}

static void
server_answers(struct server *s)
{
	struct upstream *up = s->upstream;

	s->refusals = 0;
	s->probe.good = 0;
	log_event(LOG_LEVEL_NOTICE, "server_up", "server=%s", s->config->name);
	upstream_want(
	    up, hedging_server_up(up->hedging, s->index, instant_now()));
	server_warm(s);
}

/* A probe is over.  The server is up after health_rise good ones in a row, as
 * one may have reached a process that is ending. */
static void
server_probed(struct server *s, enum health_result result, unsigned status)
{
	timer_clear(&s->upstream->loop->timers, &s->probe.timer);
	health_note(s, result, status);
	if (result != HEALTH_OK) {
		s->probe.good = 0;
		health_log_probe(s, instant_now());
		server_probe_later(s);
	} else if (++s->probe.good < s->config->health_rise) {
		timer_arm(&s->upstream->loop->timers, &s->probe.timer,
		    PROBE_AGAIN_NS);
	} else {
		server_answers(s);
	}
}

static void
on_probe_connected(struct connection *u)
{
	struct server *s = u->user;

	if (s->probe.length > 0)
		return;
	s->probe.link = NULL;
	/* Close: in a graceful stop servers wait for a connection that has not
	 * had a request. */
	connection_close(u);
	server_probed(s, HEALTH_OK, 0);
}

static void
on_probe_head(struct connection *u, const struct http_head *head)
{
	struct server *s = u->user;

	s->probe.status = head->status;
}

static void
on_probe_end(const struct exchange_result *result)
{
	struct server *s = result->user;

	s->probe.link = NULL;
	server_probed(
	    s, health_judge(s, result->end, s->probe.status), s->probe.status);
}

static const struct exchange_ops probe_ops = {
    .once = true,
    .connected = on_probe_connected,
    .head = on_probe_head,
    .end = on_probe_end,
};

static void
server_probe(struct server *s)
{
	int err;

	if (s->probe.link != NULL) {
		/* The last probe got no response in time: the kernel accepts
		 * connections for a stopped process. */
		connection_close(s->probe.link);
		s->probe.link = NULL;
		server_probed(s, HEALTH_TIMEOUT, s->probe.status);
		return;
	}
	s->probe.status = 0;
	err = connection_get(s, &probe_ops, s, REUSE_NONE, &s->probe.link);
	if (err < 0) {
		s->probe.link = NULL;
		server_probed(
		    s, err == -ENOMEM ? HEALTH_NONE : HEALTH_REFUSED, 0);
		return;
	}
	timer_arm(&s->upstream->loop->timers, &s->probe.timer,
	    s->config->health_timeout_ns);
	if (s->probe.length > 0)
		server_send_get(s->probe.link, s->probe.text, s->probe.length);
	else if (s->probe.link->state == CONNECTION_BUSY)
		on_probe_connected(s->probe.link);
}

static void
on_probe_timer(void *user, bool forced)
{
	struct server *s = user;

	(void)forced;
	if (server_policy(s)->state == SERVER_CONNECTING &&
	    !s->upstream->stopping)
		server_probe(s);
}

void
server_lost(struct server *s)
{
	struct upstream *up = s->upstream;
	struct instant now = instant_now();

	s->refusals = 0;
	s->backup.keep_again = INSTANT_NONE;
	/* The end of a process closes its connections: that proves nothing
	 * about the next process.  Of the times learnt, keep only closed_ns,
	 * which errs on the safe side. */
	if (instant_since(now, s->reuse.closed_early) < NS_PER_S)
		s->reuse.closed_early = INSTANT_NONE;
	if (instant_since(now, s->reuse.closed_soon) < NS_PER_S)
		s->reuse.closed_soon = INSTANT_NONE;
	s->reuse.proven = INSTANT_NONE;
	s->reuse.kept_ns = 0;
	connection_close_idle(s);
	connection_close_private(s);
	if (server_policy(s)->state > SERVER_CONNECTING)
		log_event(LOG_LEVEL_WARNING, "server_lost", "server=%s",
		    s->config->name);
	upstream_want(up, hedging_server_down(up->hedging, s->index, now));
	if (!server_may_serve(s))
		return;
	upstream_want(
	    up, hedging_server_connecting(up->hedging, s->index, now));
	if (!up->stopping && s->probe.link == NULL)
		server_probe_later(s);
}

void
server_responded(struct server *s, unsigned status, int64_t latency_ns)
{
	const struct hedging_server *h = server_policy(s);
	bool hazard = h->hazards != 0 || (instant_is_set(h->hazard_over) &&
					     instant_since(instant_now(),
						 h->hazard_over) < latency_ns);

	distribution_record(&s->responses[hazard], latency_ns);
	if (status >= 500)
		s->erred_status = status;
}

uint64_t
server_responses(const struct server *s)
{
	return s->responses[0].total + s->responses[1].total;
}

uint64_t
server_errors(const struct server *s)
{
	uint64_t errors = 0;

	for (unsigned e = EXCHANGE_REFUSED; e <= EXCHANGE_TIMEOUT; e++)
		errors += s->errors[e];
	return errors;
}

void
server_failed(struct server *s, enum exchange_end end)
{
	s->errors[end]++;
	s->erred = end;
	s->erred_status = 0;
	if (end != EXCHANGE_REFUSED)
		return;
	if (++s->refusals >= REFUSALS_MAX &&
	    server_policy(s)->state > SERVER_CONNECTING)
		server_lost(s);
}

static void
on_warmup_head(struct connection *u, const struct http_head *head)
{
	struct warmup *w = u->user;

	w->status = head->status;
}

static void
on_warmup_end(const struct exchange_result *result)
{
	struct warmup *w = result->user;
	struct server *s = w->server;
	struct upstream *up = s->upstream;
	struct instant now = instant_now();
	bool ok = w->own ? health_judge(s, result->end, w->status) == HEALTH_OK
			 : exchange_answered(result->end) && w->status < 500;
	int64_t latency = instant_is_set(result->written_first)
			      ? instant_since(now, result->written_first)
			      : 0;

	w->busy = false;
	if (!ok)
		server_failed(s, result->end);
	if (!ok && exchange_answered(result->end))
		s->erred_status = w->status;
	switch (w->kind) {
	case WARMUP_ASK:
		s->asking = false;
		s->asked = now;
		s->probes_ok += ok;
		s->probes_failed += !ok;
		upstream_want(
		    up, hedging_probe_done(up->hedging, s->index, ok, now));
		return;
	case WARMUP_KEEP:
		s->backup.keeping--;
		s->connections_kept += result->kept;
		if (!result->kept)
			s->backup.keep_again = instant_plus(now, KEEP_AGAIN_NS);
		return;
	case WARMUP_MIRROR:
		s->mirrors_ok += ok;
		s->mirrors_failed += !ok;
		break;
	case WARMUP_WARM:
		s->warmups_ok += ok;
		s->warmups_failed += !ok;
		break;
	}
	upstream_want(
	    up, hedging_warmup_done(up->hedging, s->index, ok, latency, now));
	server_warm(s);
}

static const struct exchange_ops warmup_ops = {
    .head = on_warmup_head,
    .end = on_warmup_end,
};

static struct warmup *
warmup_free_place(struct server *s)
{
	for (unsigned i = 0; i < WARMUPS_MAX; i++)
		if (!s->warmup.of[i].busy)
			return &s->warmup.of[i];
	return NULL;
}

/* Write the next request to w: a copy of a remembered one or, before there are
 * any, a GET of warmup.target.  False if there is neither. */
static bool
warmup_fill(struct warmup *w, struct server *s, enum http_method *method)
{
	const struct replay *r =
	    replay_next(&s->upstream->replay, &s->warmup.replay_next);
	const char *target = s->upstream->config->warmup.target;
	int n;

	w->own = false;
	if (r != NULL) {
		memcpy(w->text, r->text, r->length);
		w->length = r->length;
		*method = r->method;
		return true;
	}
	if (*target == '\0')
		return false;
	n = snprintf(w->text, sizeof(w->text),
	    "GET %s HTTP/1.1\r\nHost: %s\r\n", target, server_host(s->config));
	/* config_check bounds the target. */
	assert(n > 0 && (size_t)n < sizeof(w->text));
	w->length = (size_t)n;
	*method = HTTP_METHOD_GET;
	return true;
}

/* Write a GET of the health target, which is cheaper than a copy, to w.  False
 * if none is configured. */
static bool
warmup_fill_health(
    struct warmup *w, const struct server *s, enum http_method *method)
{
	if (s->probe.length == 0)
		return false;
	memcpy(w->text, s->probe.text, s->probe.length);
	w->length = s->probe.length;
	w->own = true;
	*method = HTTP_METHOD_GET;
	return true;
}

/* Write a request of a kind to w.  After errors a probe is a copy if possible,
 * as the health target may be well while clients' requests fail. */
static bool
warmup_fill_for(struct warmup *w, struct server *s, enum warmup_kind kind,
    enum http_method *method)
{
	const struct hedging_server *h = server_policy(s);
	bool ask = kind == WARMUP_ASK || kind == WARMUP_KEEP;
	bool erred = h->failing || instant_is_set(h->erred);

	return (ask && !erred && warmup_fill_health(w, s, method)) ||
	       warmup_fill(w, s, method) ||
	       (ask && warmup_fill_health(w, s, method));
}

static bool
warmup_send(struct server *s, enum warmup_kind kind)
{
	struct warmup *w = warmup_free_place(s);
	enum http_method method;
	struct connection *u;
	struct message message;
	size_t skip;
	int err;

	if (w == NULL || !server_may_ask(s) ||
	    !warmup_fill_for(w, s, kind, &method))
		return false;
	skip = w->own ? sizeof(warmup_lines) - 1 - 2 : 0;
	w->status = 0;
	w->server = s;
	w->kind = kind;
	err = connection_get(s, &warmup_ops, w,
	    kind == WARMUP_KEEP ? REUSE_NONE : REUSE_CHECKED, &u);
	if (err < 0) {
		s->asked = instant_now();
		if (err != -ENOMEM)
			server_failed(s, EXCHANGE_REFUSED);
		return false;
	}
	w->busy = true;
	exchange_limit(u, kind == WARMUP_ASK
			      ? ASK_TIMEOUT_NS
			      : s->upstream->config->proxy.request_timeout_ns);
	if (kind == WARMUP_WARM || kind == WARMUP_MIRROR)
		hedging_warmup_sent(s->upstream->hedging, s->index);
	message =
	    (struct message){.head = {{w->text, w->length},
				 {(void *)(uintptr_t)(warmup_lines + skip),
				     sizeof(warmup_lines) - 1 - skip}}};
	exchange_send(u, &message, method);
	return true;
}

bool
server_ask(struct server *s)
{
	s->asking = s->asking || warmup_send(s, WARMUP_ASK);
	return s->asking;
}

void
server_keep(struct server *s)
{
	s->backup.keeping += warmup_send(s, WARMUP_KEEP);
}

void
server_warm(struct server *s)
{
	struct upstream *up = s->upstream;
	enum warmup_kind kind = server_policy(s)->state == SERVER_READY
				    ? WARMUP_MIRROR
				    : WARMUP_WARM;
	struct instant now = instant_now(), next = INSTANT_NONE;
	unsigned due = hedging_warmup_due(up->hedging, s->index, now, &next);
	int64_t wait;

	while (due > 0 && warmup_send(s, kind))
		due--;
	if (!instant_is_set(next))
		return;
	wait = instant_since(next, now);
	if (wait < NS_PER_MS || due > 0)
		wait = due > 0 ? WARMUP_IDLE_NS : NS_PER_MS;
	/* Rounded up to whole milliseconds: few distinct durations. */
	wait = (wait + NS_PER_MS - 1) / NS_PER_MS * NS_PER_MS;
	if (wait > WARMUP_IDLE_NS)
		wait = WARMUP_IDLE_NS;
	timer_set(&up->loop->timers, &s->warmup.timer, now, wait);
}

static void
on_warmup_timer(void *user, bool forced)
{
	(void)forced;
	server_warm(user);
}

size_t
server_write_get(
    const struct server *s, const char *target, char *out, size_t size)
{
	int n = snprintf(out, size,
	    "GET %s HTTP/1.1\r\nHost: %s\r\nTailor-Probe: 1\r\n", target,
	    server_host(s->config));

	/* config_check bounds the target. */
	assert(n > 0 && (size_t)n < size);
	return (size_t)n;
}

void
server_send_get(struct connection *u, const char *text, size_t length)
{
	static const char last[] = "Connection: close\r\n\r\n";
	size_t skip = u->ops->once ? 0 : sizeof(last) - 1 - 2;
	struct message message = {
	    .head = {{(void *)(uintptr_t)text, length},
		{(void *)(uintptr_t)(last + skip), sizeof(last) - 1 - skip}}};

	exchange_send(u, &message, HTTP_METHOD_GET);
}

bool
server_may_ask(const struct server *s)
{
	const struct connection *const link[] = {
	    s->probe.link, s->health.link, s->collect.link};
	unsigned n = 0;

	for (unsigned i = 0; i < sizeof(link) / sizeof(link[0]); i++)
		n += link[i] != NULL;

	for (unsigned i = 0; i < WARMUPS_MAX; i++)
		n += s->warmup.of[i].busy;
	return n < OWN_MAX;
}

static void
server_let_go(struct server *s, struct generation *g)
{
	if (g != NULL)
		generation_drop(s->upstream->generations, g);
}

/* True if the health checks of two configurations of a server differ, or the
 * time between them does. */
static bool
checks_differ(const struct config_server *a, const struct config_server *b)
{
	return strcmp(a->health, b->health) != 0 ||
	       strcmp(server_host(a), server_host(b)) != 0 ||
	       a->health_interval_ns != b->health_interval_ns;
}

void
server_configure(struct server *s, const struct config_server *c)
{
	struct generation *before = s->generation;
	bool other_checks = s->config != NULL && checks_differ(s->config, c);

	/* A check that runs would be judged by the new configuration. */
	if (other_checks)
		health_stop(s);
	s->config = c;
	s->generation = generation_hold(s->upstream->generations);
	server_let_go(s, before);
	s->probe.length = *c->health == '\0'
			      ? 0
			      : server_write_get(s, c->health, s->probe.text,
				    sizeof(s->probe.text));
	if (other_checks)
		health_arm(s);
}

const char *
server_state_shown(const struct server *s)
{
	switch (s->maintenance.stage) {
	case IN_SERVICE:
	case STARTING:
		break;
	case DRAIN_PENDING:
		return "leaving";
	case DRAINING:
		return "draining";
	case OUT_OF_SERVICE:
		return "drained";
	case STOPPING:
		return "stopping";
	}
	return server_policy(s)->failing
		   ? "failing"
		   : server_state_name(server_policy(s)->state);
}

void
server_replace(struct server *s, const struct config_server *c)
{
	s->next.due = true;
	s->next.config = c;
}

void
server_stay(struct server *s)
{
	if (!s->next.due)
		return;
	s->next.due = false;
	server_return(s);
}

/* The same server gets another address: its counters go on. */
static void
server_move(struct server *s)
{
	s->moves++;
	s->at_other = false;
	s->next.due = false;
	s->maintenance.stage = STARTING;
	s->maintenance.since = instant_now();
	server_configure(s, s->next.config);
}

void
server_take_next(struct server *s)
{
	struct upstream *up = s->upstream;
	const struct config_server *next = s->next.config;
	bool renamed = next == NULL || strcmp(next->name, s->config->name) != 0;
	unsigned index = s->index;

	log_event(LOG_LEVEL_NOTICE, "server_replaced",
	    "server=%s by=%s address=%s", s->config->name,
	    next != NULL ? next->name : "none",
	    next != NULL ? next->address.text : "none");
	if (!renamed) {
		server_move(s);
	} else {
		server_end(s);
		hedging_server_forget(up->hedging, index);
		if (next != NULL)
			server_begin(up, index, next);
	}
	up->events.replaced(up->user, s, renamed);
}

int
server_init(struct server *s, struct upstream *up, unsigned index,
    const struct config_server *c)
{
	memset(s, 0, sizeof(*s));
	s->upstream = up;
	s->index = index;
	s->program.pidfd = -1;
	s->state_since = instant_now();
	server_configure(s, c);
	s->program.restart_delay_ns = RESTART_DELAY_NS;
	connection_pool_init(s);
	distribution_init_requests(&s->responses[0]);
	distribution_init_requests(&s->responses[1]);
	distribution_init_uptimes(&s->warmup_length);
	distribution_init_reactions(&s->connect_length);
	s->warmup.of = calloc(WARMUPS_MAX, sizeof(*s->warmup.of));
	if (s->warmup.of == NULL)
		return -ENOMEM;
	timer_init(&s->probe.timer, on_probe_timer, s);
	timer_init(&s->warmup.timer, on_warmup_timer, s);
	return 0;
}

void
server_fini(struct server *s)
{
	if (s->upstream == NULL)
		return;
	timer_clear(&s->upstream->loop->timers, &s->probe.timer);
	timer_clear(&s->upstream->loop->timers, &s->warmup.timer);
	connection_pool_fini(s);
	free(s->warmup.of);
	server_let_go(s, s->generation);
	memset(s, 0, sizeof(*s));
}
