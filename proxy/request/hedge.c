/*
 * hedge.c: where hazards become decisions, and decisions are carried out.
 *
 * The policy (hedging.h) is told of each hazard and answers with
 * consequences: the active server changed, requests in flight are to be
 * asked for a second attempt, a storm began.  This is all that the proxy
 * thread does about them.  What follows is carried out when the event is over:
 * a hedge that fails at once changes a server's state, and that may want more.
 */
#include "base/log.h"
#include "proxy/request/attempt.h"
#include "proxy/request/proxy.h"
#include "proxy/request/queue.h"

void
proxy_sweep(struct proxy *p)
{
	struct request *r, *next;

	for (r = TAILQ_FIRST(&p->table.inflight); r != NULL; r = next) {
		enum hedge_trigger trigger;
		unsigned server;

		next = TAILQ_NEXT(r, link);
		if (r->state != REQUEST_RUNNING || r->race.started != 1 ||
		    r->attempt[0].link == NULL)
			continue;
		server = (unsigned)r->race.attempt[0].server;
		trigger = hedging_hazard_trigger(&p->hedging, server);
		if (trigger == HEDGE_FIRST)
			continue;
		/* One that its server has not seen, of whatever method, goes
		 * to the other instead.  The queue is run afterwards. */
		if (server == p->hedging.active || !request_move(r))
			request_hedge(r, trigger);
	}
}

/* T3: the hazard is over; hedges not written yet are not needed. */
static void
cancel_idle(struct proxy *p)
{
	struct request *r;

	TAILQ_FOREACH(r, &p->table.inflight, link)
	if (r->state == REQUEST_RUNNING &&
	    hedging_idle(&p->hedging, &r->race) && r->attempt[1].link != NULL &&
	    !exchange_written(r->attempt[1].link))
		attempt_cancel(&r->attempt[1]);
}

/* Why the policy left the other server, as that one is now. */
static void
swap_count(struct proxy *p)
{
	struct metrics *m = &p->metrics;
	unsigned left = 1 - p->hedging.active;
	enum hedge_trigger why = hedging_hazard_trigger(&p->hedging, left);
	struct instant since = p->hedging.server[left].hazard_since;

	m->swaps++;
	m->swap_reason[why]++;
	if (why != HEDGE_FIRST && instant_is_set(since))
		distribution_record(
		    &m->swap, instant_since(instant_now(), since));
}

/* Time with every server in a hazard: nothing helps then. */
static void
count_both(struct proxy *p, struct instant now)
{
	struct metrics *m = &p->metrics;
	bool all = true;

	for (unsigned i = 0; i < p->config->servers; i++)
		all &= p->hedging.server[i].hazards != 0;
	if (instant_is_set(m->both_since))
		m->both_hazard_ns +=
		    (uint64_t)instant_since(now, m->both_since);
	m->both_since = all ? now : INSTANT_NONE;
}

void
proxy_want(struct proxy *p, unsigned consequences)
{
	const struct config *c = p->config;

	if (consequences & HEDGING_SWAPPED) {
		swap_count(p);
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
	p->wanted |= consequences;
	if (consequences != 0)
		loop_put_off(&p->loop, &p->policy);
}

void
proxy_carry_out(void *user)
{
	struct proxy *p = user;
	unsigned wanted = p->wanted;

	p->wanted = 0;
	if (wanted & HEDGING_CANCEL)
		cancel_idle(p);
	if (wanted & HEDGING_SWEEP)
		proxy_sweep(p);
	if (wanted & HEDGING_WARMUP)
		for (unsigned i = 0; i < p->config->servers; i++)
			server_warm(&p->upstream.server[i]);
	queue_run(p);
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
		m->hazards_active +=
		    h->server == p->hedging.active &&
		    (p->hedging.limits.triggers & 1U << h->kind) != 0;
		distribution_record(&m->detect, detect);
		distribution_record(&m->notice, notice);
	} else if (instant_is_set(*since)) {
		int64_t length = instant_since(h->at, *since);

		m->hazard_ns[h->server][h->kind] +=
		    length < 0 ? 0 : (uint64_t)length;
		distribution_record(&m->hazard_length[h->kind], length);
		*since = INSTANT_NONE;
		if (m->last_hedge_ns[h->server] > 0) {
			histogram_record(&m->last_hedge,
			    (uint64_t)m->last_hedge_ns[h->server]);
			distribution_record(
			    &m->hazard_sent, m->last_hedge_ns[h->server]);
		}
		m->last_hedge_ns[h->server] = 0;
	}
}

/* The end of a process that has been replaced already says nothing. */
static bool
hazard_outdated(const struct proxy *p, const struct hazard *h)
{
	const struct server *s = &p->upstream.server[h->server];

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
	recent_hazard_note(&p->recent, h);
	proxy_want(p, hedging_hazard(&p->hedging, h, now));
	count_both(p, now);
	if (h->kind == HAZARD_EXIT && h->begin)
		server_lost(&p->upstream.server[h->server]);
	log_event(LOG_LEVEL_DEBUG, "hazard",
	    "server=%s kind=%s what=%s cause=%s",
	    p->config->server[h->server].name,
	    hazard_kind_name((enum hazard_kind)h->kind),
	    h->begin ? "begin" : "end", talechain_cause_name(h->cause));
}

void
proxy_tick(struct proxy *p, struct instant now)
{
	/* It has an eventfd of its own; if writing to that fails, it waits for
	 * this at most. */
	proxy_hazards(p);
	proxy_want(p, hedging_tick(&p->hedging, now));
	count_both(p, now);
	ledger_tick(&p->ledger, &p->metrics, now);
	clients_tick(&p->clients, now);
	upstream_tick(&p->upstream, now);
	queue_tick(p, now);
}

void
proxy_hazards(struct proxy *p)
{
	struct hazard h;

	while (profiler_hazard_take(p->profiler, &h))
		proxy_hazard(p, &h);
}

void
proxy_loser_done(void *user, const struct connection *u, enum exchange_end end)
{
	struct proxy *p = user;
	struct metrics *m = &p->metrics;
	int64_t saved = instant_since(instant_now(), u->raced);

	log_event(LOG_LEVEL_DEBUG, "loser",
	    "request=%016llx server=%s complete=%d late_us=%lld",
	    (unsigned long long)u->loser_of, u->server->config->name,
	    end == EXCHANGE_COMPLETE, (long long)(saved / NS_PER_US));
	m->losers_complete += end == EXCHANGE_COMPLETE;
	m->losers_timeout += end == EXCHANGE_TIMEOUT;
	m->losers_failed += end != EXCHANGE_COMPLETE && end != EXCHANGE_TIMEOUT;
	/* How much longer the client would have waited (L5). */
	if (end == EXCHANGE_COMPLETE && !u->client_left)
		distribution_record(&m->hedge_saved, saved);
	if (end == EXCHANGE_COMPLETE && instant_is_set(u->written_first))
		distribution_record(
		    &m->loser, instant_since(instant_now(), u->written_first));
}
