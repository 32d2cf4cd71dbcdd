#include "proxy/admin/admin_reports.h"
#include "proxy/request/proxy.h"
#include "proxy/request/slow.h"

static void
write_window(const struct proxy *p, struct json *j, const char *key,
    const struct ledger_mark *from)
{
	struct ledger_window w;

	ledger_window(from, &p->metrics, &w);
	json_key_object(j, key);
	json_key_double(j, "seconds", w.seconds);
	json_key_double(j, "mean_latency_s", w.mean_latency_s);
	json_key_double(j, "pauses_per_s", w.hazards_per_s);
	json_key_double(j, "predicted", w.predicted);
	json_key_double(j, "actual", w.actual);
	json_object_end(j);
}

static void
write_sent(const struct proxy *p, struct json *j)
{
	const struct metrics *m = &p->metrics;

	json_key_uint(j, "sent", ledger_sent(m));
	json_key_object(j, "sent_by_trigger");
	for (unsigned t = HEDGE_GC; t < HEDGE_TRIGGER_COUNT; t++) {
		uint64_t n = m->hedges_past[t];

		for (unsigned s = 0; s < HEDGING_SERVERS; s++)
			n += m->hedges[t][s];
		json_key_uint(j, hedge_trigger_name((enum hedge_trigger)t), n);
	}
	json_object_end(j);
	json_key_object(j, "sent_to");
	UPSTREAM_EACH(&p->upstream, s)
	json_key_uint(
	    j, p->upstream.server[s].config->name, ledger_sent_to(m, s));
	json_object_end(j);
}

void
ledger_report(struct proxy *p, struct json *j)
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
	json_key_object(j, "refused");
	for (unsigned i = 1; i < HEDGE_REFUSAL_COUNT; i++)
		if (m->refused[i] > 0)
			json_key_uint(j,
			    hedge_refusal_name((enum hedge_refusal)i),
			    m->refused[i]);
	json_object_end(j);
	json_key_object(j, "losers");
	json_key_uint(j, "drained", m->losers_complete);
	json_key_uint(j, "failed", m->losers_failed);
	json_key_uint(j, "timeout", m->losers_timeout);
	json_object_end(j);
	json_key_object(j, "saved");
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

/* --- what acting would have gained ------------------------------------- */

/* Write an array of [bucket, count]. */
static void
write_counts(const uint32_t *count, const char *key, struct json *j)
{
	json_key_array(j, key);
	for (unsigned i = 0; i < GAIN_BUCKETS; i++) {
		if (count[i] == 0)
			continue;
		json_array_begin(j);
		json_uint(j, i);
		json_uint(j, count[i]);
		json_array_end(j);
	}
	json_array_end(j);
}

static void
write_block(const struct gain_block *b, struct json *j)
{
	json_object_begin(j);
	json_key_uint(j, "requests", b->requests);
	json_key_uint(j, "met", b->met);
	json_key_uint(j, "again", b->again);
	json_key_uint(j, "failed", b->failed);
	json_key_uint(j, "saved", b->saved);
	json_key_uint(j, "unknown", b->unknown);
	json_key_uint(j, "full", b->full);
	json_key_uint(j, "full_once", b->full_once);
	json_key_int(j, "was_max_ns", b->was_max_ns);
	json_key_int(j, "would_max_ns", b->would_max_ns);
	write_counts(b->was, "was", j);
	write_counts(b->would, "would", j);
	json_object_end(j);
}

void
gain_report(struct proxy *p, struct json *j)
{
	uint64_t last = instant_now().ns / (uint64_t)GAIN_BLOCK_NS;

	json_object_begin(j);
	json_key_string(j, "schema", "tailor.gain/1");
	json_key_string(j, "mode",
	    p->config->hedging.mode == CONFIG_MODE_ACT ? "act" : "watch");
	json_key_int(j, "block_ns", GAIN_BLOCK_NS);
	json_key_int(j, "uptime_ns", instant_since(instant_now(), p->started));
	json_key_int(j, "target_ns", slow_target_ns(p));
	json_key_int(j, "draws", GAIN_DRAWS);
	json_key_bool(j, "checked",
	    gain_checks_suffice(
		&p->upstream.server[p->hedging.active].health.lengths,
		&p->upstream.server[1 - p->hedging.active].health.lengths));
	json_key_array(j, "edges_ns");
	for (unsigned i = 0; i < GAIN_BUCKETS; i++)
		json_int(j, gain_bucket_ns(i));
	json_array_end(j);
	json_key_array(j, "blocks");
	for (unsigned i = 1; p->gain != NULL && i <= GAIN_BLOCKS; i++) {
		uint64_t n = last - GAIN_BLOCKS + i;
		const struct gain_block *b = &p->gain->block[n % GAIN_BLOCKS];

		if (b->number == n && b->requests > 0)
			write_block(b, j);
	}
	json_array_end(j);
	json_object_end(j);
}
