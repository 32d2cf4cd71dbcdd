/* warmup.c: how fast and how long a restarted server is warmed up, and how the
 * backup is kept warm.
 *
 * A cold JVM is slow: it interprets, loads classes and fills caches.  So a
 * restarted server gets copies of recent safe requests, at a rate and a
 * concurrency that leave the active server its share of the machine.  The
 * warm-up ends when enough copies got responses and their p95 is near the
 * active server's, or after warmup_max_ns.  No client waits for a copy. */
#include "hedging/policy.h"

#include <assert.h>

void
policy_warmup_begin(struct hedging_server *s, struct instant now)
{
	s->state = SERVER_WARMING;
	s->warmup_since = now;
	s->warmup_next = now;
	s->warmup_done = 0;
	window_init(&s->warmup_latency, WARMUP_JUDGED);
}

bool
policy_warmup_over(const struct hedging *h, unsigned server, struct instant now)
{
	const struct hedging_limits *l = &h->limits;
	const struct hedging_server *s = &h->server[server];
	int64_t active_p95_ns = h->server[policy_other(server)].latency_p95_ns;
	int64_t p95_ns = window_percentile(&s->warmup_latency, 95);

	if (instant_since(now, s->warmup_since) >= l->warmup_max_ns)
		return true;
	if (s->warmup_done < l->warmup_requests)
		return false;
	/* No p95 to compare with: the number of requests decides. */
	if (active_p95_ns == 0)
		return true;
	return (double)p95_ns <= WARMUP_P95_FACTOR * (double)active_p95_ns;
}

static unsigned
at_most(unsigned n, unsigned limit)
{
	return n < limit ? n : limit;
}

/* How many more warm-up requests may be in flight; the rate limit is applied
 * later. */
static unsigned
warmup_room(const struct hedging *h, unsigned server)
{
	const struct hedging_server *s = &h->server[server];
	unsigned connections = h->limits.connections_max[server];
	unsigned load = policy_load(s);
	/* Hedges count: clients come first, and hedges warm the server, too. */
	unsigned busy = s->warmup_inflight + s->hedges;

	if (s->hazards != 0 || busy >= WARMUP_CONCURRENCY ||
	    load >= connections)
		return 0;
	return at_most(WARMUP_CONCURRENCY - busy, connections - load);
}

void
policy_mirror_earn(struct hedging *h)
{
	const struct hedging_limits *l = &h->limits;

	h->mirror_tokens += l->mirror_ratio;
	/* Unused copies must not become a burst. */
	if (h->mirror_tokens > WARMUP_CONCURRENCY)
		h->mirror_tokens = WARMUP_CONCURRENCY;
}

unsigned
policy_mirrors(const struct hedging *h, unsigned server, struct instant now)
{
	double due = h->mirror_tokens + TOKEN_ROUNDING;

	if (h->limits.mirror_ratio <= 0 || due < 1 || !policy_acts(h) ||
	    server == h->active ||
	    policy_target(h, server, SERVER_READY, now) != HEDGE_REFUSED_NONE)
		return 0;
	return at_most((unsigned)due, warmup_room(h, server));
}

unsigned
hedging_warmup_due(struct hedging *h, unsigned server, struct instant now,
    struct instant *next)
{
	struct hedging_server *s;
	int64_t late_ns, late_max_ns;
	unsigned due;

	assert(server < HEDGING_SERVERS);
	s = &h->server[server];
	*next = INSTANT_NONE;
	if (s->state != SERVER_WARMING)
		return policy_mirrors(h, server, now);
	/* Unused turns add up to one concurrency at most, so there is no
	 * burst. */
	late_max_ns = WARMUP_INTERVAL_NS * (WARMUP_CONCURRENCY - 1);
	late_ns = instant_since(now, s->warmup_next);
	if (late_ns > late_max_ns) {
		late_ns = late_max_ns;
		s->warmup_next = instant_plus(now, -late_ns);
	}
	due = warmup_room(h, server);
	if (late_ns < 0)
		due = 0;
	else
		due =
		    at_most(due, (unsigned)(late_ns / WARMUP_INTERVAL_NS) + 1);
	*next = instant_plus(s->warmup_next, WARMUP_INTERVAL_NS * (int64_t)due);
	if (!instant_before(now, *next))
		*next = instant_plus(now, WARMUP_INTERVAL_NS);
	return due;
}

void
hedging_warmup_sent(struct hedging *h, unsigned server)
{
	struct hedging_server *s;

	assert(server < HEDGING_SERVERS);
	s = &h->server[server];
	s->warmup_inflight++;
	if (s->state != SERVER_WARMING) {
		h->mirror_tokens -= h->mirror_tokens < 1 ? h->mirror_tokens : 1;
		return;
	}
	s->warmup_next = instant_plus(s->warmup_next,
	    s->failing ? WARMUP_FAILING_NS : WARMUP_INTERVAL_NS);
}

unsigned
hedging_warmup_done(struct hedging *h, unsigned server, bool ok,
    int64_t latency_ns, struct instant now)
{
	struct hedging_server *s;
	unsigned actions;
	bool failed;

	assert(server < HEDGING_SERVERS);
	s = &h->server[server];
	assert(s->warmup_inflight > 0);
	s->warmup_inflight--;
	if (s->state < SERVER_WARMING)
		return 0;
	failed = s->failing;
	policy_outcome(h, server, !ok, now);
	if (ok)
		policy_latency(s, latency_ns, now);
	/* Warm-up while the server failed does not count: begin again. */
	if (s->state == SERVER_WARMING && failed && !s->failing)
		policy_warmup_begin(s, now);
	if (s->state != SERVER_WARMING)
		return 0;
	if (ok) {
		s->warmup_done++;
		if (latency_ns >= 0)
			window_add(&s->warmup_latency, latency_ns);
	}
	actions = policy_review(h, now);
	return s->state == SERVER_WARMING ? actions | HEDGING_WARMUP : actions;
}
