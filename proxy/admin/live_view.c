/*
 * live_view.c: copying what the live page shows; drawing is in live_page.c and
 * live_json.c.
 */
#include "proxy/admin/live_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

#include "proxy/admin/live_sums.h"
#include "proxy/request/proxy.h"

static void
view_server(struct proxy *p, unsigned i, const struct profiler_stats *stats,
    struct live_server *out)
{
	const struct hedging_server *h = &p->hedging.server[i];
	const struct config_server *c = &p->config->server[i];
	const struct server *s = &p->upstream.server[i];

	snprintf(out->name, sizeof(out->name), "%s", c->name);
	snprintf(out->address, sizeof(out->address), "%s", c->address.text);
	snprintf(
	    out->state, sizeof(out->state), "%s", server_state_name(h->state));
	snprintf(out->source, sizeof(out->source), "%s",
	    profiler_source_name(stats->server[i].source));
	out->active = p->hedging.active == i;
	out->hazards = h->hazards;
	out->inflight = h->inflight;
	out->p50_ns = h->latency_p50_ns;
	out->p95_ns = h->latency_p95_ns;
	out->p99_ns = h->latency_p99_ns;
	out->restarts = s->restarts;
	for (unsigned e = EXCHANGE_REFUSED; e <= EXCHANGE_TIMEOUT; e++)
		out->errors += s->errors[e];
}

static void
free_page(struct analysis_page *page)
{
	free(page);
}

struct live_view *
live_view_new(struct proxy *p)
{
	struct live_view *v = calloc(1, sizeof(*v));
	struct profiler_stats stats;
	struct timespec wall;
	uint64_t random[2];

	if (v == NULL)
		return NULL;
	v->page = (struct analysis_page){live_render, free_page};
	profiler_stats(p->profiler, &stats);
	clock_gettime(CLOCK_REALTIME, &wall);
	if (getrandom(random, sizeof(random), 0) != sizeof(random)) {
		free(v);
		return NULL;
	}
	snprintf(v->nonce, sizeof(v->nonce), "%016llx%016llx",
	    (unsigned long long)random[0], (unsigned long long)random[1]);
	v->recent = p->recent;
	v->now = instant_now();
	v->started = p->started;
	v->wall_ns = (int64_t)wall.tv_sec * NS_PER_S + wall.tv_nsec;
	v->target_ns = p->config->slow.target_ns;
	snprintf(v->mode, sizeof(v->mode), "%s",
	    p->config->hedging.mode == CONFIG_MODE_ACT ? "act" : "watch");
	v->servers = p->config->servers;
	for (unsigned i = 0; i < v->servers; i++)
		view_server(p, i, &stats, &v->server[i]);
	v->inflight = p->table.inflight_count;
	v->clients = p->clients.count;
	v->finished = p->table.finished;
	v->swaps = p->metrics.swaps;
	v->hedges_won = p->metrics.hedges_won;
	v->unexamined = p->metrics.slow_unexamined;
	return v;
}

void
live_view_free(struct live_view **vp)
{
	free(*vp);
	*vp = NULL;
}

char *
live_policy(const struct live_view *v, char out[LIVE_POLICY_BYTES])
{
	snprintf(out, LIVE_POLICY_BYTES,
	    "default-src 'none'; style-src 'nonce-%s'; "
	    "script-src 'nonce-%s'; connect-src 'self'; base-uri 'none'; "
	    "form-action 'none'; frame-ancestors 'none'",
	    v->nonce, v->nonce);
	return out;
}
