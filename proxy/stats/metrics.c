/* metrics.c: counting.  The text of the counters is written in proxy/admin/. */
#include "proxy/stats/metrics.h"

#include <string.h>

#include "base/array.h"
#include "http/writer.h"

void
metrics_init(struct metrics *m)
{
	memset(m, 0, sizeof(*m));
	distribution_init_requests(&m->latency);
	distribution_init_reactions(&m->commit_delay);
	distribution_init_reactions(&m->detect);
	distribution_init_reactions(&m->notice);
	distribution_init_reactions(&m->hedge_send);
	distribution_init_reactions(&m->hazard_sent);
	distribution_init_requests(&m->hedge_saved);
	distribution_init_requests(&m->queue);
	distribution_init_requests(&m->loser);
	distribution_init_reactions(&m->loop_lag);
	distribution_init_reactions(&m->swap);
	for (unsigned k = 0; k < HAZARD_KIND_COUNT; k++)
		distribution_init_uptimes(&m->hazard_length[k]);
	histogram_init(&m->hedge_delay);
	histogram_init(&m->last_hedge);
}

void
metrics_server_forget(struct metrics *m, unsigned server)
{
	for (unsigned t = 0; t < HEDGE_TRIGGER_COUNT; t++) {
		m->hedges_past[t] += m->hedges[t][server];
		m->hedges[t][server] = 0;
	}
	for (unsigned k = 0; k < HAZARD_KIND_COUNT; k++) {
		m->hazards[server][k] = m->hazard_ns[server][k] = 0;
		m->hazard_since[server][k] = INSTANT_NONE;
	}
	m->last_hedge_ns[server] = 0;
}

void
metrics_reason(struct metrics_reasons *r, const char *reason)
{
	for (unsigned i = 0; i < r->reasons; i++)
		if (strcmp(r->of[i].reason, reason) == 0) {
			r->of[i].count++;
			return;
		}
	if (r->reasons == COUNT(r->of)) {
		/* The last place stands for all that have none. */
		r->of[r->reasons - 1].count++;
		return;
	}
	r->of[r->reasons].reason =
	    r->reasons == COUNT(r->of) - 1 ? "other" : reason;
	r->of[r->reasons++].count = 1;
}

void
metrics_latency(
    struct metrics *m, int64_t ns, const char *id, const char *trace_id)
{
	struct exemplar *x = &m->exemplar[distribution_record(&m->latency, ns)];
	struct timespec now;

	/* To 4 ms, at a fifth of the price. */
	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	writer_copy(x->id, sizeof(x->id), id);
	writer_copy(x->trace_id, sizeof(x->trace_id), trace_id);
	x->value_ns = ns < 0 ? 0 : (uint64_t)ns;
	x->wall_ns = (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}
