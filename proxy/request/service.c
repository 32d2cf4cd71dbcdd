/* service.c: sets up, ticks and ends all rooms of the proxy together. */
#include "proxy/request/service.h"

#include "proxy/access_log/access_log.h"
#include "proxy/client/client.h"
#include "proxy/client/listeners.h"
#include "proxy/request/hazards.h"
#include "proxy/request/queue.h"
#include "proxy/request/slow.h"
#include "proxy/request/table.h"
#include "proxy/upstream/server.h"

/* Count the requests that a server has, and find the oldest. */
static void
fill_rest(void *user, const struct server *s, struct server_rest *out)
{
	const struct proxy *p = user;
	const struct request *r;

	TAILQ_FOREACH(r, &p->table.inflight, link)
	for (unsigned i = 0; i < r->race.started; i++) {
		const struct attempt *a = &r->attempt[i];

		out->known += r->race.attempt[i].server == (int)s->index;
		if (a->link == NULL || a->link->server != s)
			continue;
		out->tunnels += r->tunnel;
		out->requests += !r->tunnel;
		if (out->oldest == NULL) {
			out->oldest = r->external_id;
			out->method = r->method_text;
			out->target = r->target;
			out->since = r->first_byte;
		}
		break;
	}
}

static void
on_wanted(void *user, unsigned actions)
{
	proxy_want(user, actions);
}

static void
on_hazard(void *user, const struct hazard *h)
{
	proxy_hazard(user, h);
}

/* A pause has lasted as long as its threshold: act upon it. */
static void
on_wait_over(void *user, bool forced)
{
	struct proxy *p = user;

	(void)forced;
	proxy_want(p, hedging_tick(&p->hedging, instant_now()));
	hazards_wait(p);
}

int
proxy_init(struct proxy *p, const struct hedging_limits *limits,
    const struct client_events *events, void (*stop)(struct server *s),
    void (*replaced)(void *user, struct server *s, bool renamed))
{
	const struct config *c = p->config;
	int err;

	p->started = instant_now();
	metrics_init(&p->metrics);
	ledger_init(&p->ledger, &p->metrics);
	hedging_init(&p->hedging, limits);
	steer_init(&p->steer);
	TAILQ_INIT(&p->queue.waiting);
	work_init(&p->policy, LOOP_POLICY, proxy_carry_out, p);
	timer_init(&p->wait_timer, on_wait_over, p);
	timer_init(&p->slow_timer, slow_turn_over, p);
	p->clients.config = p->upstream.config = c;
	p->clients.loop = p->upstream.loop = &p->loop;
	p->clients.blocks = &p->loop.blocks;
	p->clients.user = p->upstream.user = p;
	p->clients.metrics = &p->metrics;
	p->clients.profiler = p->profiler;
	p->clients.events = events;
	p->upstream.hedging = &p->hedging;
	p->upstream.events = (struct upstream_events){
	    .wanted = on_wanted,
	    .hazard = on_hazard,
	    .drained = proxy_loser_done,
	    .rest = fill_rest,
	    .stop = stop,
	    .replaced = replaced,
	};
	p->upstream.generations = &p->generations;
	err = clients_init(&p->clients);
	if (err == 0)
		err = loop_init(&p->loop);
	if (err == 0)
		err = table_init(&p->table, c->slow.history);
	if (err == 0)
		err = upstream_init(&p->upstream);
	return err;
}

void
proxy_fini(struct proxy *p)
{
	clients_fini(&p->clients);
	upstream_fini(&p->upstream);
	access_log_free(&p->access_log);
	table_fini(&p->table);
	free(p->gain);
	loop_fini(&p->loop);
}

void
proxy_tick(struct proxy *p, struct instant now)
{
	/* An eventfd signals hazards; if writing to that fails, they wait until
	 * this tick. */
	proxy_hazards(p);
	proxy_want(p, hedging_tick(&p->hedging, now));
	steering_tick(p, now);
	hazards_tick(p, now);
	ledger_tick(&p->ledger, &p->metrics, now);
	clients_tick(&p->clients, now);
	upstream_tick(&p->upstream, now);
	queue_tick(p, now);
}

static bool
is_endless(const struct request *r)
{
	return r->tunnel || (r->race.winner >= 0 &&
				r->attempt[r->race.winner].response.stream);
}

unsigned
proxy_cut_streams(struct proxy *p)
{
	struct request *r, *next;
	unsigned n = 0;

	for (r = TAILQ_FIRST(&p->table.inflight); r != NULL; r = next) {
		next = TAILQ_NEXT(r, link);
		if (r->client == NULL || !is_endless(r))
			continue;
		client_cut(r->client, "stopped");
		n++;
	}
	return n;
}

static enum proxy_pace
server_pace(const struct server *s)
{
	const struct hedging_server *h = server_policy(s);

	if ((s->maintenance.stage != IN_SERVICE &&
		s->maintenance.stage != OUT_OF_SERVICE) ||
	    s->next.due || backup_is_doubted(s))
		return PROXY_PENDING;
	/* A probe or its process shows when it is up again. */
	if (h->state < SERVER_WARMING)
		return PROXY_CALM;
	if (h->hazards != 0)
		return PROXY_PENDING;
	if (h->state == SERVER_WARMING)
		return PROXY_CALM;
	return hedging_probe_wanted(s->upstream->hedging, s->index)
		   ? PROXY_CALM
		   : PROXY_REST;
}

enum proxy_pace
proxy_pace(const struct proxy *p)
{
	bool busy = p->table.inflight_count > p->tunnels;
	enum proxy_pace pace = busy ? PROXY_CALM : PROXY_REST, of;

	if (p->queue.length > 0 || p->clients.accepting != ACCEPT_ON ||
	    p->hedging.sweep_wanted ||
	    (p->config->hedging.steer &&
		(busy || !steer_may_rest(&p->steer, &p->hedging))))
		return PROXY_PENDING;
	UPSTREAM_EACH(&p->upstream, i)
	{
		of = server_pace(&p->upstream.server[i]);
		if (of < pace)
			pace = of;
	}
	return pace;
}
