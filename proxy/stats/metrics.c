/* metrics.c: counting.  The text of the counters is written in proxy/admin/. */
#include "proxy/stats/metrics.h"

#include <string.h>

#include "base/array.h"
#include "http/writer.h"

/* Faults of heads and bodies, of clients and servers. */
static const char *const message_reasons[] = {"bare_cr", "bare_lf",
    "body_too_large", "chunk_end", "chunk_extension",
    "chunk_extension_too_long", "chunk_overhead", "chunk_size",
    "content_length", "content_length_twice", "control_byte", "field_name",
    "head_too_large", "leading_crlf", "leading_space", "line_end", "no_colon",
    "nul", "obs_fold", "parser", "parsers_disagree", "tab", "too_many_fields",
    "trailer", "trailer_framing", "trailers_too_large", "transfer_coding",
    "transfer_encoding", "transfer_encoding_twice", "version_unsupported"};

static const char *const parse_reasons[] = {"body_too_slow",
    "connection_options", "expectation", "field_twice", "half_open",
    "head_too_large_forwarded", "host", "host_differs", "host_empty",
    "host_missing", "host_port", "host_twice", "length_and_encoding", "method",
    "method_not_allowed", "method_unknown", "overloaded", "request_line",
    "request_line_too_long", "target_byte", "target_climbs", "target_escape",
    "target_form", "timeout", "tls_on_plain_port", "transfer_encoding_10",
    "version", "websocket_key"};

static const char *const failure_reasons[] = {"closed", "connect_failed",
    "connect_timeout", "deadline", "drain_timeout", "extra_bytes", "no_answer",
    "no_event", "no_memory", "no_server", "queue_timeout", "refused", "reset",
    "response_head_too_large", "spool_failed", "spool_full", "spool_unreadable",
    "status", "status_line", "too_many_interim", "upgrade_other",
    "upgrade_unasked"};

/* These counters exist from the start: if one appeared only with its first
 * event, rate() would miss that event. */
static void
reasons_init(struct metrics_reasons *r, const char *const *reason, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		r->of[r->reasons++].reason = reason[i];
}

void
metrics_init(struct metrics *m)
{
	memset(m, 0, sizeof(*m));
	reasons_init(&m->parse, message_reasons, COUNT(message_reasons));
	reasons_init(&m->parse, parse_reasons, COUNT(parse_reasons));
	reasons_init(&m->failures, message_reasons, COUNT(message_reasons));
	reasons_init(&m->failures, failure_reasons, COUNT(failure_reasons));
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
		/* The table is full: its last entry is "other". */
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

	/* Exact to 4 ms, and five times as fast. */
	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	writer_copy(x->id, sizeof(x->id), id);
	writer_copy(x->trace_id, sizeof(x->trace_id), trace_id);
	x->value_ns = ns < 0 ? 0 : (uint64_t)ns;
	x->wall_ns = (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}
