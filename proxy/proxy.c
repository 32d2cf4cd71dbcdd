/*
 * proxy.c: the proxy thread's loop, and where hazards become decisions.
 *
 * The hazard eventfd has the highest priority of all events, and every
 * choice of a server looks at the hazard ring first, so a swap is in force
 * for the very next request.
 */
#include "proxy/proxy.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "proxy/admin.h"
#include "proxy/analysis.h"
#include "proxy/attempt.h"

#define TICK_NS (10 * NS_PER_MS)

const struct timeval *
proxy_timeout(struct proxy *p, int64_t ns)
{
	static struct timeval plain;
	struct timeval t = {ns / NS_PER_S, ns % NS_PER_S / NS_PER_US};
	const struct timeval *common;

	for (unsigned i = 0; i < p->timeouts; i++)
		if (p->timeout[i].ns == ns)
			return p->timeout[i].common;
	common = p->timeouts < PROXY_TIMEOUTS
		     ? event_base_init_common_timeout(p->base, &t)
		     : NULL;
	if (common == NULL) {
		plain = t;
		return &plain;
	}
	p->timeout[p->timeouts].ns = ns;
	p->timeout[p->timeouts++].common = common;
	return common;
}

bool
proxy_may_repeat(
    const struct proxy *p, const struct http_head *head, bool *opted_out)
{
	char target[2048];

	*opted_out = false;
	for (unsigned i = 0; i < head->fields; i++)
		if (head->field[i].id == HTTP_FIELD_TAILOR &&
		    slice_is(head->field[i].name, "x-tailor-hedge") &&
		    slice_is(head->field[i].value, "off"))
			*opted_out = true;
	switch (head->method) {
	case HTTP_METHOD_GET:
	case HTTP_METHOD_HEAD:
	case HTTP_METHOD_OPTIONS:
		return true;
	case HTTP_METHOD_POST:
	case HTTP_METHOD_PUT:
	case HTTP_METHOD_DELETE:
	case HTTP_METHOD_PATCH:
	case HTTP_METHOD_OTHER:
		break;
	}
	if (p->allows == 0 || head->target.length >= sizeof(target))
		return false;
	memcpy(target, head->target.at, head->target.length);
	target[head->target.length] = '\0';
	for (unsigned i = 0; i < p->allows; i++) {
		const char *rule = p->config->hedging.allow[i];
		size_t n = strcspn(rule, " ");

		if (n == head->method_text.length &&
		    memcmp(rule, head->method_text.at, n) == 0 &&
		    regexec(&p->allow[i], target, 0, NULL, 0) == 0)
			return true;
	}
	return false;
}

static void
blank_digits(char *text, size_t length, const char *name)
{
	char *at = memmem(text, length, name, strlen(name));

	if (at == NULL)
		return;
	for (at += strlen(name); at < text + length && *at != '\r'; at++)
		*at = '0';
}

void
proxy_replay_record(struct proxy *p, const struct request *r)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);
	struct replay *place;
	size_t n = block_bytes(r->head);

	if (p->config->warmup.requests == 0 || n > REPLAY_HEAD_BYTES ||
	    (r->credentials && !p->config->warmup.credentials))
		return;
	for (const char *t = r->target; *t != '\0'; t++)
		h = (h ^ (uint8_t)*t) * UINT64_C(0x100000001b3);
	h ^= h >> 29;
	place = &p->replay[h % REPLAY_MAX];
	if (place->length > 0 && place->target_hash == h)
		return;
	memcpy(place->text, r->head->data + r->head->begin, n);
	place->length = (uint16_t)n;
	place->method = r->method;
	place->target_hash = h;
	/* Its events must not be taken for those of the real request. */
	blank_digits(place->text, n, "Tailor-Request: ");
}

/* --- hazards and their consequences -------------------------------------- */

static void
sweep_once(struct proxy *p)
{
	struct request *r, *next;

	for (r = TAILQ_FIRST(&p->table.inflight); r != NULL; r = next) {
		enum hedge_trigger trigger;

		next = TAILQ_NEXT(r, link);
		if (r->state != REQUEST_RUNNING || r->race.started != 1 ||
		    r->attempt[0].link == NULL)
			continue;
		trigger = hedging_hazard_trigger(
		    &p->hedging, (unsigned)r->race.attempt[0].server);
		if (trigger != HEDGE_FIRST)
			request_hedge(r, trigger);
	}
}

/* Ask for all requests in flight, oldest first.  A hedge may itself change a
 * server's state; then once more, not deeper. */
static void
proxy_sweep(struct proxy *p)
{
	if (p->sweeping) {
		p->sweep_again = true;
		return;
	}
	p->sweeping = true;
	do {
		p->sweep_again = false;
		sweep_once(p);
	} while (p->sweep_again);
	p->sweeping = false;
}

/* T3: the hazard is over; hedges not written yet are not needed. */
static void
cancel_idle(struct proxy *p)
{
	struct request *r;

	TAILQ_FOREACH(r, &p->table.inflight, link)
	if (r->state == REQUEST_RUNNING && hedging_idle(&p->hedging, &r->race))
		attempt_cancel(&r->attempt[1]);
}

void
proxy_apply(struct proxy *p, unsigned consequences)
{
	const struct config *c = p->config;

	if (consequences & HEDGING_SWAPPED) {
		p->metrics.swaps++;
		proxy_emit(p, TALECHAIN_PROXY_SWAP, 1 - p->hedging.active,
		    p->hedging.active, 0, 0);
		log_event(LOG_LEVEL_INFO, "swapped", "active=%s",
		    c->server[p->hedging.active].name);
	}
	if (consequences & HEDGING_STORM) {
		p->metrics.storms++;
		log_event(LOG_LEVEL_WARNING, "storm",
		    "advice=\"both servers pause too often: hedging rests "
		    "for hedging.storm_hold\"");
	}
	if (consequences & HEDGING_CANCEL)
		cancel_idle(p);
	if (consequences & HEDGING_SWEEP)
		proxy_sweep(p);
	if (consequences & HEDGING_WARMUP)
		for (unsigned i = 0; i < c->servers; i++)
			server_warm(&p->server[i]);
	if (consequences & (HEDGING_SWAPPED | HEDGING_SWEEP))
		proxy_queue_run(p);
}

static void
hazard_count(struct proxy *p, const struct hazard *h, struct instant now)
{
	struct metrics *m = &p->metrics;
	struct instant *since = &m->hazard_since[h->server][h->kind];
	int64_t detect = instant_since(h->seen, h->at);
	int64_t notice = instant_since(now, h->seen);

	if (h->begin) {
		m->hazards[h->server][h->kind]++;
		*since = h->at;
		histogram_record(&m->detect, detect < 0 ? 0 : (uint64_t)detect);
		histogram_record(&m->notice, notice < 0 ? 0 : (uint64_t)notice);
	} else if (instant_is_set(*since)) {
		int64_t length = instant_since(h->at, *since);

		m->hazard_ns[h->server][h->kind] +=
		    length < 0 ? 0 : (uint64_t)length;
		*since = INSTANT_NONE;
		if (m->last_hedge_ns[h->server] > 0)
			histogram_record(&m->last_hedge,
			    (uint64_t)m->last_hedge_ns[h->server]);
		m->last_hedge_ns[h->server] = 0;
	}
}

/* The end of a process that has been replaced already says nothing. */
static bool
hazard_outdated(const struct proxy *p, const struct hazard *h)
{
	const struct server *s = &p->server[h->server];

	return h->kind == HAZARD_EXIT && h->begin && h->pid != 0 &&
	       s->pid > 0 && (uint32_t)s->pid != h->pid;
}

void
proxy_hazard(struct proxy *p, const struct hazard *h)
{
	struct instant now = instant_now();

	if (h->server >= p->config->servers || h->kind >= HAZARD_KIND_COUNT ||
	    hazard_outdated(p, h))
		return;
	hazard_count(p, h, now);
	proxy_apply(p, hedging_hazard(&p->hedging, h, now));
	if (h->kind == HAZARD_EXIT && h->begin)
		server_lost(&p->server[h->server]);
	log_event(LOG_LEVEL_DEBUG, "hazard",
	    "server=%s kind=%s what=%s cause=%s",
	    p->config->server[h->server].name,
	    hazard_kind_name((enum hazard_kind)h->kind),
	    h->begin ? "begin" : "end", talechain_cause_name(h->cause));
}

void
proxy_hazards(struct proxy *p)
{
	struct hazard h;

	while (profiler_hazard_take(p->profiler, &h))
		proxy_hazard(p, &h);
}

/* B1: a free slot is offered to hedges and new requests by turns. */
static void
hedges_first(struct proxy *p)
{
	for (unsigned i = 0; i < p->config->servers; i++)
		if (hedging_hedge_turn(&p->hedging, i)) {
			p->hedges_wait = false;
			proxy_sweep(p);
			return;
		}
}

void
proxy_queue_run(struct proxy *p)
{
	struct request *r;

	/* A request that is answered at once comes back here: the outer call
	 * goes on with the next. */
	if (p->queue_running)
		return;
	p->queue_running = true;
	if (p->hedges_wait)
		hedges_first(p);
	while ((r = TAILQ_FIRST(&p->queue)) != NULL &&
	       hedging_choose(&p->hedging, instant_now()) != HEDGING_FULL)
		request_dispatch(r);
	p->queue_running = false;
}

void
proxy_loser_done(struct uplink *u, enum uplink_end end)
{
	struct metrics *m = &u->proxy->metrics;
	int64_t saved = instant_since(instant_now(), u->raced);

	m->losers_complete += end == UPLINK_COMPLETE;
	m->losers_timeout += end == UPLINK_TIMEOUT;
	m->losers_failed += end != UPLINK_COMPLETE && end != UPLINK_TIMEOUT;
	/* How much longer the client would have waited (L5). */
	if (end == UPLINK_COMPLETE && !u->client_left)
		histogram_record(&m->hedge_saved, (uint64_t)saved);
}

/* --- the loop -------------------------------------------------------------- */

static void
on_hazard(evutil_socket_t fd, short what, void *user)
{
	(void)fd;
	(void)what;
	proxy_hazards(user);
}

static void
on_answers(evutil_socket_t fd, short what, void *user)
{
	(void)fd;
	(void)what;
	tale_answers(user);
}

/* Connections on which nothing is under way need not be waited for. */
static void
close_idle_clients(struct proxy *p)
{
	struct client *c, *next;

	for (c = TAILQ_FIRST(&p->clients); c != NULL; c = next) {
		next = TAILQ_NEXT(c, link);
		if (c->state == CLIENT_IDLE && c->out.bytes == 0)
			client_close(c);
	}
}

static bool
children_alive(const struct proxy *p)
{
	for (unsigned i = 0; i < p->config->servers; i++)
		if (server_child_alive(&p->server[i]))
			return true;
	return false;
}

static void
stop_further(struct proxy *p, struct instant now)
{
	close_idle_clients(p);
	if (p->client_count == 0)
		for (unsigned i = 0; i < p->config->servers; i++)
			server_stop(&p->server[i]);
	if (p->client_count == 0 && !children_alive(p))
		p->stopped = true;
	if (!instant_before(now, p->stop_due)) {
		log_event(LOG_LEVEL_WARNING, "stop_timeout", "clients=%u",
		    p->client_count);
		p->stopped = true;
	}
}

static void
on_tick(evutil_socket_t fd, short what, void *user)
{
	struct proxy *p = user;
	struct instant now = instant_now();

	(void)fd;
	(void)what;
	proxy_hazards(p);
	proxy_apply(p, hedging_tick(&p->hedging, now));
	if (p->stopping)
		stop_further(p, now);
}

void
proxy_stop(struct proxy *p, const char *why)
{
	if (p->stopping) {
		p->stopped = true;
		return;
	}
	log_event(LOG_LEVEL_NOTICE, "stopping", "why=%s requests=%u", why,
	    p->table.inflight_count);
	p->stopping = true;
	p->stop_due =
	    instant_plus(instant_now(), p->config->proxy.stop_timeout_ns);
	listeners_close(p);
	close_idle_clients(p);
}

static void
on_signal(evutil_socket_t number, short what, void *user)
{
	(void)what;
	proxy_stop(user, number == SIGTERM ? "SIGTERM" : "SIGINT");
}

static struct event_base *
base_new(void)
{
	struct event_config *ec = event_config_new();
	struct event_base *base;

	if (ec == NULL)
		return NULL;
	event_config_set_flag(ec, EVENT_BASE_FLAG_PRECISE_TIMER);
	event_config_set_flag(ec, EVENT_BASE_FLAG_NOLOCK);
	base = event_base_new_with_config(ec);
	event_config_free(ec);
	if (base != NULL && event_base_priority_init(base, 2) < 0) {
		event_base_free(base);
		return NULL;
	}
	return base;
}

static void
limits_from(const struct config *c, struct hedging_limits *l)
{
	*l = (struct hedging_limits){
	    .act = c->hedging.mode == CONFIG_MODE_ACT,
	    .triggers =
		(c->hedging.trigger_gc ? 1U << HAZARD_GC : 0) |
		(c->hedging.trigger_safepoint ? 1U << HAZARD_SAFEPOINT : 0) |
		(c->hedging.trigger_exit ? 1U << HAZARD_EXIT : 0),
	    .servers = c->servers,
	    .hedge_inflight_max = c->hedging.inflight_max,
	    .budget_ratio = c->hedging.budget_ratio,
	    .budget_burst = c->hedging.budget_burst,
	    .swap_rate_max = c->hedging.swap_rate_max,
	    .storm_hold_ns = c->hedging.storm_hold_ns,
	    .min_remaining_ns = c->hedging.min_remaining_ns,
	    .min_pause_ns = c->hedging.min_pause_ns,
	    .warming_override_ns = c->hedging.warming_override_ns,
	    .ready_inflight = c->hedging.ready_inflight,
	    .warmup_requests = c->warmup.requests,
	    .warmup_concurrency = c->warmup.concurrency,
	    .warmup_rate_per_s = c->warmup.rate_per_s,
	    .warmup_p95_factor = c->warmup.p95_factor,
	    .warmup_max_ns = c->warmup.max_ns,
	};
	for (unsigned i = 0; i < c->servers; i++)
		l->connections_max[i] = c->server[i].connections_max;
}

static void
http_limits_from(struct proxy *p)
{
	const struct config *c = p->config;

	p->request_limits = (struct http_limits){
	    .request_line_max = c->proxy.request_line_max_bytes,
	    .head_max = c->proxy.head_max_bytes,
	    .fields_max = c->proxy.fields_max,
	    .body_max = c->proxy.body_max_bytes,
	    .underscore_pass = c->proxy.underscore_pass,
	};
	p->response_limits = p->request_limits;
	p->response_limits.body_max = UINT64_MAX;
	p->response_limits.underscore_pass = true;
}

/* Every block that the configuration lets be in use at once. */
static size_t
blocks_needed(const struct config *c)
{
	size_t stream = c->proxy.stream_buffer_bytes / 16384 + 2;

	return c->proxy.connections_max +
	       (size_t)c->proxy.inflight_max * (4 + 2 * stream) +
	       c->hedging.table_max_bytes / 16384 +
	       (size_t)CONFIG_SERVERS * c->hedging.drain_connections;
}

static int
allow_rules(struct proxy *p)
{
	for (unsigned i = 0; i < p->config->hedging.allow_rules; i++) {
		const char *rule = p->config->hedging.allow[i];
		const char *expression = strchr(rule, ' ');

		if (expression == NULL || regcomp(&p->allow[i], expression + 1,
					      REG_EXTENDED | REG_NOSUB) != 0) {
			log_event(LOG_LEVEL_ERROR, "rule_invalid",
			    "rule=\"%s\" advice=\"hedging.allow wants METHOD, "
			    "a space, and an extended regular expression\"",
			    rule);
			return -EINVAL;
		}
		p->allows++;
	}
	return 0;
}

static void
events_assign(struct proxy *p)
{
	event_assign(&p->hazard_event, p->base, profiler_hazard_fd(p->profiler),
	    EV_READ | EV_PERSIST, on_hazard, p);
	event_priority_set(&p->hazard_event, 0);
	event_assign(&p->answer_event, p->base, analysis_fd(p->analysis),
	    EV_READ | EV_PERSIST, on_answers, p);
	event_assign(&p->tick_event, p->base, -1, EV_PERSIST, on_tick, p);
	evsignal_assign(&p->signal_term, p->base, SIGTERM, on_signal, p);
	evsignal_assign(&p->signal_int, p->base, SIGINT, on_signal, p);
}

int
proxy_init(struct proxy *p, const struct config *config)
{
	struct hedging_limits limits;
	int err;

	p->config = config;
	p->started = instant_now();
	TAILQ_INIT(&p->clients);
	TAILQ_INIT(&p->clients_closed);
	TAILQ_INIT(&p->clients_unused);
	TAILQ_INIT(&p->queue);
	TAILQ_INIT(&p->tale_queries);
	block_pool_init(&p->blocks, blocks_needed(config));
	metrics_init(&p->metrics);
	http_limits_from(p);
	limits_from(config, &limits);
	hedging_init(&p->hedging, &limits);
	log_event(LOG_LEVEL_NOTICE, "memory_limit",
	    "blocks_mib=%zu stream_mib=%zu bodies_kept_mib=%llu",
	    p->blocks.blocks_max * sizeof(struct block) >> 20,
	    (size_t)config->profiler.stream_slots *
		    sizeof(struct timeline_slot) >>
		20,
	    (unsigned long long)(config->hedging.table_max_bytes >> 20));
	p->base = base_new();
	p->replay = calloc(REPLAY_MAX, sizeof(*p->replay));
	if (p->base == NULL || p->replay == NULL)
		return -ENOMEM;
	err = table_init(&p->table, config->slow.history);
	if (err == 0)
		err = allow_rules(p);
	for (unsigned i = 0; err == 0 && i < config->servers; i++)
		err = server_init(&p->server[i], p, i);
	if (err == 0)
		events_assign(p);
	return err;
}

static void
proxy_turn_end(struct proxy *p)
{
	unsigned consequences = p->consequences;

	p->consequences = 0;
	if (consequences != 0)
		proxy_apply(p, consequences);
	clients_reap(p);
}

static int
servers_start(struct proxy *p)
{
	for (unsigned i = 0; i < p->config->servers; i++) {
		struct server *s = &p->server[i];

		if (p->config->server[i].argc == 0)
			server_lost(s);
		else if (server_launch(s) < 0)
			return -ECHILD;
	}
	return 0;
}

int
proxy_run(struct proxy *p)
{
	int flags = p->config->proxy.spin ? EVLOOP_NONBLOCK : EVLOOP_ONCE;
	struct timeval tick = {0, TICK_NS / NS_PER_US};
	int err = listeners_open(p);

	if (err < 0)
		return err;
	err = admin_new(&p->admin, p);
	if (err < 0)
		return err;
	event_add(&p->hazard_event, NULL);
	event_add(&p->answer_event, NULL);
	event_add(&p->tick_event, &tick);
	event_add(&p->signal_term, NULL);
	event_add(&p->signal_int, NULL);
	err = servers_start(p);
	if (err < 0)
		return err;
	while (!p->stopped) {
		if (event_base_loop(p->base, flags) < 0)
			return -EIO;
		proxy_turn_end(p);
	}
	log_event(LOG_LEVEL_NOTICE, "stopped", "requests=%llu",
	    (unsigned long long)p->table.finished);
	return 0;
}

void
proxy_fini(struct proxy *p)
{
	p->stopping = true;
	if (p->base != NULL) {
		listeners_close(p);
		clients_fini(p);
		admin_free(&p->admin);
		for (unsigned i = 0; i < p->config->servers; i++) {
			if (p->server[i].proxy == NULL)
				continue;
			server_kill(&p->server[i]);
			server_fini(&p->server[i]);
		}
		event_base_free(p->base);
		p->base = NULL;
	}
	for (unsigned i = 0; i < p->allows; i++)
		regfree(&p->allow[i]);
	table_fini(&p->table);
	free(p->replay);
	block_pool_fini(&p->blocks);
}
