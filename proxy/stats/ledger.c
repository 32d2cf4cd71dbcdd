/*
 * ledger.c: see ledger.h.
 */
#include "proxy/stats/ledger.h"

#include "proxy/request/proxy.h"

#define PERIOD_NS (60 * NS_PER_S)

static uint64_t
hedges_sent(const struct metrics *m)
{
	uint64_t n = 0;

	for (unsigned t = HEDGE_GC; t < HEDGE_TRIGGER_COUNT; t++)
		for (unsigned s = 0; s < HEDGING_SERVERS; s++)
			n += m->hedges[t][s];
	return n;
}

/* Re-tries of what had failed add no load: they are none of W f's. */
static uint64_t
hedges_for_hazards(const struct metrics *m)
{
	uint64_t n = hedges_sent(m);

	for (unsigned s = 0; s < HEDGING_SERVERS; s++)
		n -= m->hedges[HEDGE_FAILURE][s];
	return n;
}

static void
mark(const struct proxy *p, struct instant now, struct ledger_mark *out)
{
	const struct metrics *m = &p->metrics;

	*out = (struct ledger_mark){
	    .at = now,
	    .requests = m->latency.total,
	    .latency_ns = m->latency.sum,
	    .hedges = hedges_for_hazards(m),
	    .hazards = m->hazards_active,
	};
}

void
ledger_init(struct proxy *p)
{
	mark(p, instant_now(), &p->ledger.start);
	p->ledger.older = p->ledger.newer = p->ledger.start;
}

void
ledger_tick(struct proxy *p, struct instant now)
{
	if (instant_since(now, p->ledger.newer.at) < PERIOD_NS)
		return;
	p->ledger.older = p->ledger.newer;
	mark(p, now, &p->ledger.newer);
}

static void
window(const struct proxy *p, const struct ledger_mark *from,
    struct ledger_window *out)
{
	struct ledger_mark to;
	double requests;

	mark(p, instant_now(), &to);
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

void
ledger_recent(const struct proxy *p, struct ledger_window *out)
{
	window(p, &p->ledger.older, out);
}

static void
write_window(const struct proxy *p, struct json *j, const char *key,
    const struct ledger_mark *from)
{
	struct ledger_window w;

	window(p, from, &w);
	json_key(j, key);
	json_object_begin(j);
	json_key_double(j, "seconds", w.seconds);
	json_key_double(j, "mean_latency_s", w.mean_latency_s);
	json_key_double(j, "hazards_per_s", w.hazards_per_s);
	json_key_double(j, "predicted", w.predicted);
	json_key_double(j, "actual", w.actual);
	json_object_end(j);
}

static void
write_sent(const struct proxy *p, struct json *j)
{
	const struct metrics *m = &p->metrics;

	json_key_uint(j, "sent", hedges_sent(m));
	json_key(j, "sent_by_trigger");
	json_object_begin(j);
	for (unsigned t = HEDGE_GC; t < HEDGE_TRIGGER_COUNT; t++) {
		uint64_t n = 0;

		for (unsigned s = 0; s < HEDGING_SERVERS; s++)
			n += m->hedges[t][s];
		json_key_uint(j, hedge_trigger_name((enum hedge_trigger)t), n);
	}
	json_object_end(j);
	json_key(j, "sent_to");
	json_object_begin(j);
	for (unsigned s = 0; s < p->config->servers; s++) {
		uint64_t n = 0;

		for (unsigned t = HEDGE_GC; t < HEDGE_TRIGGER_COUNT; t++)
			n += m->hedges[t][s];
		json_key_uint(j, p->config->server[s].name, n);
	}
	json_object_end(j);
}

void
ledger_write(const struct proxy *p, struct json *j)
{
	const struct metrics *m = &p->metrics;
	const struct distribution *saved = &m->hedge_saved;

	json_object_begin(j);
	json_key_string(j, "schema", "tailor.ledger/1");
	json_key_uint(j, "requests", p->table.finished);
	write_sent(p, j);
	json_key_uint(j, "cancelled", p->hedging.hedges_cancelled);
	json_key_uint(j, "won", m->hedges_won);
	json_key_uint(j, "lost", m->hedges_lost);
	json_key_uint(j, "both_failed", m->both_failed);
	json_key(j, "refused");
	json_object_begin(j);
	for (unsigned i = 1; i < HEDGE_REFUSAL_COUNT; i++)
		if (m->refused[i] > 0)
			json_key_uint(j,
			    hedge_refusal_name((enum hedge_refusal)i),
			    m->refused[i]);
	json_object_end(j);
	json_key(j, "losers");
	json_object_begin(j);
	json_key_uint(j, "drained", m->losers_complete);
	json_key_uint(j, "failed", m->losers_failed);
	json_key_uint(j, "timeout", m->losers_timeout);
	json_object_end(j);
	json_key(j, "saved");
	json_object_begin(j);
	json_key_uint(j, "losers", saved->total);
	json_key_uint(j, "total_ns", saved->sum);
	json_key_uint(
	    j, "mean_ns", saved->total > 0 ? saved->sum / saved->total : 0);
	json_key_uint(j, "max_ns", saved->max);
	json_object_end(j);
	write_window(p, j, "extra_load", &p->ledger.start);
	write_window(p, j, "extra_load_recent", &p->ledger.older);
	json_key_double(j, "budget_tokens", p->hedging.tokens);
	json_object_end(j);
}
