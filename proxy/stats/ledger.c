/* ledger.c: marks a minute apart, and the load between two marks. */
#include "proxy/stats/ledger.h"

#include "proxy/stats/metrics.h"

#define PERIOD_NS (60 * NS_PER_S)

uint64_t
ledger_sent_to(const struct metrics *m, unsigned server)
{
	uint64_t n = 0;

	for (unsigned t = HEDGE_GC; t < HEDGE_TRIGGER_COUNT; t++)
		n += m->hedges[t][server];
	return n;
}

uint64_t
ledger_sent(const struct metrics *m)
{
	uint64_t n = 0;

	for (unsigned s = 0; s < HEDGING_SERVERS; s++)
		n += ledger_sent_to(m, s);
	for (unsigned t = HEDGE_GC; t < HEDGE_TRIGGER_COUNT; t++)
		n += m->hedges_past[t];
	return n;
}

/* Count the hedges that hazards caused; retries of failed requests are not part
 * of the prediction W f. */
static uint64_t
hedges_for_hazards(const struct metrics *m)
{
	uint64_t n = ledger_sent(m);

	for (unsigned s = 0; s < HEDGING_SERVERS; s++)
		n -= m->hedges[HEDGE_FAILURE][s];
	return n - m->hedges_past[HEDGE_FAILURE];
}

static void
mark(const struct metrics *m, struct instant now, struct ledger_mark *out)
{
	*out = (struct ledger_mark){
	    .at = now,
	    .requests = m->latency.total,
	    .latency_ns = m->latency.sum,
	    .hedges = hedges_for_hazards(m),
	    .hazards = m->hazards_active,
	};
}

void
ledger_init(struct ledger *l, const struct metrics *m)
{
	mark(m, instant_now(), &l->start);
	l->older = l->newer = l->start;
}

void
ledger_tick(struct ledger *l, const struct metrics *m, struct instant now)
{
	if (instant_since(now, l->newer.at) < PERIOD_NS)
		return;
	l->older = l->newer;
	mark(m, now, &l->newer);
}

void
ledger_window(const struct ledger_mark *from, const struct metrics *m,
    struct ledger_window *out)
{
	struct ledger_mark to;
	double requests;

	mark(m, instant_now(), &to);
	requests = (double)(to.requests - from->requests);
	*out = (struct ledger_window){
	    .seconds = (double)instant_since(to.at, from->at) / 1e9};
	if (out->seconds > 0)
		out->hazards_per_s =
		    (double)(to.hazards - from->hazards) / out->seconds;
	if (requests > 0) {
		out->mean_latency_s =
		    (double)(to.latency_ns - from->latency_ns) / 1e9 / requests;
		out->actual = (double)(to.hedges - from->hedges) / requests;
	}
	out->predicted = out->mean_latency_s * out->hazards_per_s;
}
