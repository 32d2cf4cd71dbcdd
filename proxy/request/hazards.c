/* hazards.c: hazards, counted and passed to the policy.
 *
 * The policy gets each hazard and returns actions: the active server has
 * changed, decide again for requests in flight, a storm began. */
#include "proxy/request/hazards.h"

#include "base/log.h"
#include "proxy/analysis/analysis.h"
#include "proxy/upstream/server.h"
#include "talechain/events/events.h"

#define PAUSE_NS (250 * NS_PER_MS)

/* Count the reason of a swap: the present hazard of the server that was active.
 */
static void
swap_count(struct proxy *p)
{
	struct metrics *m = &p->metrics;
	unsigned left = 1 - p->hedging.active;
	enum hedge_trigger why = hedging_hazard_trigger(&p->hedging, left);
	struct instant since = p->hedging.server[left].hazard_since;

	if (why == HEDGE_FIRST && p->hedging.server[left].failing)
		why = HEDGE_FAILURE; /* B4 */
	m->swap_reason[why]++;
	if (why != HEDGE_FIRST && instant_is_set(since))
		distribution_record(
		    &m->swap, instant_since(instant_now(), since));
}

/* While every server is in a hazard, hedging cannot help. */
void
hazards_tick(struct proxy *p, struct instant now)
{
	struct metrics *m = &p->metrics;
	bool all = true;

	UPSTREAM_EACH(&p->upstream, i)
	all &= p->hedging.server[i].hazards != 0;
	if (instant_is_set(m->both_since))
		m->both_hazard_ns +=
		    (uint64_t)instant_since(now, m->both_since);
	m->both_since = all ? now : INSTANT_NONE;
	m->hazards_active = p->hedging.hazards_active;
}

void
proxy_want(struct proxy *p, unsigned actions)
{
	if (actions & HEDGING_SWAPPED) {
		swap_count(p);
		proxy_emit(p, TALECHAIN_PROXY_SWAP, 1 - p->hedging.active,
		    p->hedging.active, 0, 0);
		log_event(LOG_LEVEL_INFO, "swapped", "active=%s",
		    p->upstream.server[p->hedging.active].config->name);
	}
	if (actions & HEDGING_STORM) {
		log_event(LOG_LEVEL_WARNING, "storm",
		    "advice=\"both servers pause too often: hedging stops "
		    "for a second\"");
	}
	p->wanted |= actions;
	if (actions != 0)
		loop_put_off(&p->loop, &p->policy);
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
		distribution_record(&m->detect, detect);
		distribution_record(&m->notice, notice);
	} else if (instant_is_set(*since)) {
		int64_t length = instant_since(h->at, *since);

		m->hazard_ns[h->server][h->kind] +=
		    length < 0 ? 0 : (uint64_t)length;
		distribution_record(&m->hazard_length[h->kind], length);
		*since = INSTANT_NONE;
		if (m->last_hedge_ns[h->server] > 0)
			distribution_record(
			    &m->hazard_sent, m->last_hedge_ns[h->server]);
		m->last_hedge_ns[h->server] = 0;
	}
}

/* True for the exit of a process that has been replaced already. */
static bool
hazard_outdated(const struct proxy *p, const struct hazard *h)
{
	const struct server *s = &p->upstream.server[h->server];

	return h->kind == HAZARD_EXIT && h->begin && h->pid != 0 &&
	       s->program.pid > 0 && (uint32_t)s->program.pid != h->pid;
}

void
hazards_wait(struct proxy *p)
{
	struct instant until = hedging_wait_until(&p->hedging), now;

	if (!instant_is_set(until)) {
		timer_clear(&p->loop.timers, &p->wait_timer);
		return;
	}
	now = instant_now();
	timer_set_unsorted(&p->loop.timers, &p->wait_timer, now,
	    instant_before(now, until) ? instant_since(until, now) : 0);
}

/* A pause of a server begins: stop the analysis for PAUSE_NS, so that requests
 * get the CPU.  Most pauses are shorter than that.  Then let the other server
 * be checked. */
static void
other_waits_for(struct proxy *p, const struct hazard *h, struct instant now)
{
	analysis_rest(p->analysis, instant_plus(now, PAUSE_NS));
	if (p->upstream.server[1 - h->server].config != NULL)
		health_other_pauses(&p->upstream.server[1 - h->server]);
}

void
proxy_hazard(struct proxy *p, const struct hazard *h)
{
	struct instant now = instant_now();

	if (h->server >= CONFIG_SERVERS ||
	    p->upstream.server[h->server].config == NULL ||
	    h->kind >= HAZARD_KIND_COUNT || hazard_outdated(p, h))
		return;
	hazard_count(p, h, now);
	recent_hazard_note(&p->recent, h, now);
	proxy_want(p, hedging_hazard(&p->hedging, h, now));
	hazards_wait(p);
	hazards_tick(p, now);
	if (h->kind == HAZARD_EXIT && h->begin)
		server_lost(&p->upstream.server[h->server]);
	else if (h->begin)
		other_waits_for(p, h, now);
	log_event(LOG_LEVEL_DEBUG, "pause",
	    "server=%s kind=%s what=%s cause=%s",
	    p->upstream.server[h->server].config->name,
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
	/* How much longer the client would have waited (L5); a hedge that
	 * lost saved nothing. */
	if (end == EXCHANGE_COMPLETE && !u->unawaited)
		distribution_record(&m->hedge_saved, saved);
	if (end == EXCHANGE_COMPLETE && instant_is_set(u->written_first))
		distribution_record(
		    &m->loser, instant_since(instant_now(), u->written_first));
}
