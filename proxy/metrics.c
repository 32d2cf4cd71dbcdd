/*
 * metrics.c: Prometheus text from the table of counters.
 */
#include "proxy/metrics.h"

#include <event2/buffer.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/log.h"
#include "proxy/analysis.h"
#include "proxy/access_log.h"
#include "proxy/limits.h"
#include "proxy/proxy.h"

/* Upper edges of histogram buckets, ns: 0.1 ms to 10 s, about a factor 2. */
static const uint64_t buckets_ns[] = {100000, 200000, 500000, 1000000, 2000000,
    5000000, 10000000, 20000000, 50000000, 100000000, 200000000, 500000000,
    1000000000, 2000000000, 5000000000, 10000000000};
/* The same for detection: 1 us to 100 ms. */
static const uint64_t fine_ns[] = {1000, 2000, 5000, 10000, 20000, 50000,
    100000, 200000, 500000, 1000000, 2000000, 5000000, 10000000, 100000000};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

void
metrics_init(struct metrics *m)
{
	memset(m, 0, sizeof(*m));
	histogram_init(&m->latency);
	histogram_init(&m->commit_delay);
	histogram_init(&m->detect);
	histogram_init(&m->notice);
	histogram_init(&m->hedge_delay);
	histogram_init(&m->last_hedge);
	histogram_init(&m->hedge_saved);
}

void
metrics_refusal(struct metrics *m, const char *reason)
{
	for (unsigned i = 0; i < m->parse.reasons; i++)
		if (strcmp(m->parse.refusal[i].reason, reason) == 0) {
			m->parse.refusal[i].count++;
			return;
		}
	if (m->parse.reasons == COUNT(m->parse.refusal)) {
		/* The last place stands for all that have none. */
		m->parse.refusal[m->parse.reasons - 1].count++;
		return;
	}
	m->parse.refusal[m->parse.reasons].reason =
	    m->parse.reasons == COUNT(m->parse.refusal) - 1 ? "other" : reason;
	m->parse.refusal[m->parse.reasons++].count = 1;
}

static void
head(struct evbuffer *out, const char *name, const char *type, const char *help)
{
	evbuffer_add_printf(
	    out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void
gauge(struct evbuffer *out, const char *name, const char *help, double value)
{
	head(out, name, "gauge", help);
	evbuffer_add_printf(out, "%s %.9g\n", name, value);
}

static void
counter(
    struct evbuffer *out, const char *name, const char *help, uint64_t value)
{
	head(out, name, "counter", help);
	evbuffer_add_printf(out, "%s %llu\n", name, (unsigned long long)value);
}

static void
histogram(struct evbuffer *out, const char *name, const char *help,
    const struct histogram *h, const uint64_t *edges, size_t n)
{
	head(out, name, "histogram", help);
	for (size_t i = 0; i < n; i++)
		evbuffer_add_printf(out, "%s_bucket{le=\"%.9g\"} %llu\n", name,
		    (double)edges[i] / 1e9,
		    (unsigned long long)histogram_count_to(h, edges[i]));
	evbuffer_add_printf(out,
	    "%s_bucket{le=\"+Inf\"} %llu\n%s_sum %.9g\n%s_count %llu\n", name,
	    (unsigned long long)h->count, name, (double)h->sum / 1e9, name,
	    (unsigned long long)h->count);
}

static void
quantiles(struct evbuffer *out, const char *name, const char *help,
    const struct histogram *h)
{
	static const double q[] = {0.5, 0.9, 0.99, 1.0};

	head(out, name, "gauge", help);
	for (size_t i = 0; i < COUNT(q); i++)
		evbuffer_add_printf(out, "%s{quantile=\"%g\"} %.9g\n", name,
		    q[i], (double)histogram_quantile(h, q[i]) / 1e9);
}

static void
write_plain(const struct metrics *m, struct evbuffer *out)
{
	const char *last = "";

#define METRICS_X(field, name, labels, help)              \
	if (strcmp(last, name) != 0)                      \
		head(out, name, "counter", help);         \
	last = name;                                      \
	evbuffer_add_printf(out, "%s%s%s%s %llu\n", name, \
	    labels[0] != '\0' ? "{" : "", labels,         \
	    labels[0] != '\0' ? "}" : "", (unsigned long long)m->field);
	METRICS_COUNTERS(METRICS_X)
#undef METRICS_X
}

static void
write_requests(struct proxy *p, struct evbuffer *out)
{
	static const char *const class[] = {
	    "aborted", "1xx", "2xx", "3xx", "4xx", "5xx"};
	const struct metrics *m = &p->metrics;

	head(out, "tailor_requests_total", "counter",
	    "Requests that left the table, by class of status.");
	for (size_t i = 0; i < COUNT(class); i++)
		evbuffer_add_printf(out,
		    "tailor_requests_total{code_class=\"%s\"} %llu\n", class[i],
		    (unsigned long long)m -> requests[i]);
	head(out, "tailor_local_replies_total", "counter",
	    "Answers that Tailor gave itself.");
	for (unsigned i = 0; i < COUNT(m->local); i++)
		if (m->local[i] > 0)
			evbuffer_add_printf(out,
			    "tailor_local_replies_total{code=\"%u\"} %llu\n", i,
			    (unsigned long long)m->local[i]);
	head(out, "tailor_parse_errors_total", "counter",
	    "Requests refused by the gate, by reason.");
	for (unsigned i = 0; i < m->parse.reasons; i++)
		evbuffer_add_printf(out,
		    "tailor_parse_errors_total{reason=\"%s\"} %llu\n",
		    m->parse.refusal[i].reason,
		    (unsigned long long)m->parse.refusal[i].count);
	histogram(out, "tailor_request_duration_seconds",
	    "First byte of a request to last byte of its response.",
	    &m->latency, buckets_ns, COUNT(buckets_ns));
	histogram(out, "tailor_response_commit_delay_seconds",
	    "Response head to first byte given to the client.",
	    &m->commit_delay, fine_ns, COUNT(fine_ns));
	gauge(out, "tailor_requests_inflight", "Requests in the table.",
	    p->table.inflight_count);
	gauge(out, "tailor_requests_queued", "Of those, waiting for a server.",
	    p->queued);
	gauge(out, "tailor_connections_current", "Client connections.",
	    p->client_count);
	gauge(out, "tailor_connections_half_open",
	    "Of those, with a request that is not whole.", p->half_open);
	gauge(out, "tailor_tunnels_current", "Open WebSocket tunnels.",
	    p->tunnels);
	gauge(out, "tailor_client_addresses",
	    "Different addresses of clients (/64 in IPv6).",
	    p->peers.addresses);
}

static void
write_hedging(struct proxy *p, struct evbuffer *out)
{
	const struct metrics *m = &p->metrics;
	const struct config *c = p->config;
	uint64_t sent = 0;

	head(out, "tailor_hedges_sent_total", "counter",
	    "Second attempts, by trigger and server.");
	for (unsigned t = HEDGE_GC; t < HEDGE_TRIGGER_COUNT; t++)
		for (unsigned s = 0; s < c->servers; s++) {
			sent += m->hedges[t][s];
			evbuffer_add_printf(out,
			    "tailor_hedges_sent_total{trigger=\"%s\","
			    "server=\"%s\"} %llu\n",
			    hedge_trigger_name((enum hedge_trigger)t),
			    c->server[s].name,
			    (unsigned long long)m->hedges[t][s]);
		}
	head(out, "tailor_hedges_refused_total", "counter",
	    "Second attempts that were not made, by reason.");
	for (unsigned i = 1; i < HEDGE_REFUSAL_COUNT; i++)
		evbuffer_add_printf(out,
		    "tailor_hedges_refused_total{reason=\"%s\"} %llu\n",
		    hedge_refusal_name((enum hedge_refusal)i),
		    (unsigned long long)m->refused[i]);
	gauge(out, "tailor_hedge_budget_tokens",
	    "Hedges that may still be sent.", p->hedging.tokens);
	gauge(out, "tailor_hedge_extra_request_ratio",
	    "Second attempts per finished request, so far.",
	    p->table.finished > 0 ? (double)sent / (double)p->table.finished
				  : 0);
	histogram(out, "tailor_hedge_send_delay_seconds",
	    "Hazard happened to hedge written.", &m->hedge_delay, fine_ns,
	    COUNT(fine_ns));
	quantiles(out, "tailor_hedge_send_delay_quantile_seconds",
	    "Hazard happened to hedge written, quantiles.", &m->hedge_delay);
	histogram(out, "tailor_hazard_last_hedge_seconds",
	    "Hazard happened to the last hedge because of it written.",
	    &m->last_hedge, fine_ns, COUNT(fine_ns));
	quantiles(out, "tailor_hazard_last_hedge_quantile_seconds",
	    "The same, quantiles.", &m->last_hedge);
	histogram(out, "tailor_hedge_saved_seconds",
	    "How much later the beaten response came, from drained losers.",
	    &m->hedge_saved, buckets_ns, COUNT(buckets_ns));
}

static void
write_hazards(struct proxy *p, struct evbuffer *out)
{
	const struct metrics *m = &p->metrics;
	const struct config *c = p->config;

	head(out, "tailor_hazards_total", "counter",
	    "Times that a server could not answer, by kind.");
	for (unsigned s = 0; s < c->servers; s++)
		for (unsigned k = 0; k < HAZARD_KIND_COUNT; k++)
			evbuffer_add_printf(out,
			    "tailor_hazards_total{server=\"%s\",kind=\"%s\"} "
			    "%llu\n",
			    c->server[s].name,
			    hazard_kind_name((enum hazard_kind)k),
			    (unsigned long long)m->hazards[s][k]);
	head(out, "tailor_hazard_seconds_total", "counter",
	    "How long those were together.");
	for (unsigned s = 0; s < c->servers; s++)
		for (unsigned k = 0; k < HAZARD_KIND_COUNT; k++)
			evbuffer_add_printf(out,
			    "tailor_hazard_seconds_total{server=\"%s\","
			    "kind=\"%s\"} %.9g\n",
			    c->server[s].name,
			    hazard_kind_name((enum hazard_kind)k),
			    (double)m->hazard_ns[s][k] / 1e9);
	histogram(out, "tailor_hazard_detect_delay_seconds",
	    "Hazard happened to observer saw it.", &m->detect, fine_ns,
	    COUNT(fine_ns));
	histogram(out, "tailor_hazard_notice_delay_seconds",
	    "Observer saw it to proxy took it.", &m->notice, fine_ns,
	    COUNT(fine_ns));
}

static void
per_server(struct proxy *p, struct evbuffer *out, const char *name,
    const char *type, const char *help, uint64_t (*value)(struct server *))
{
	head(out, name, type, help);
	for (unsigned s = 0; s < p->config->servers; s++)
		evbuffer_add_printf(out, "%s{server=\"%s\"} %llu\n", name,
		    p->config->server[s].name,
		    (unsigned long long)value(&p->server[s]));
}

#define VALUE(name, expression)                        \
	static uint64_t value_##name(struct server *s) \
	{                                              \
		return (uint64_t)(expression);         \
	}
VALUE(active, s->proxy->hedging.active == s->index)
VALUE(ready, s->proxy->hedging.server[s->index].state == SERVER_READY)
VALUE(inflight, s->proxy->hedging.server[s->index].inflight)
VALUE(draining, s->draining_count)
VALUE(idle, s->idle_count)
VALUE(busy, s->busy_count)
VALUE(attempts, s->attempts)
VALUE(connects, s->connects)
VALUE(reuses, s->reuses)
VALUE(restarts, s->restarts)
VALUE(extra, s->extra_bytes)
VALUE(warm, s->warmups_ok)
VALUE(cold, s->warmups_failed)
#undef VALUE

static void
write_servers(struct proxy *p, struct evbuffer *out)
{
	static const char *const type[] = {
	    "complete", "refused", "unanswered", "cut", "malformed", "timeout"};

	per_server(p, out, "tailor_server_active", "gauge",
	    "1 for the active server.", value_active);
	per_server(p, out, "tailor_server_ready", "gauge",
	    "1 if the server is up and warmed.", value_ready);
	per_server(p, out, "tailor_server_inflight", "gauge",
	    "Attempts that may still win.", value_inflight);
	per_server(p, out, "tailor_draining_connections", "gauge",
	    "Losers still being read.", value_draining);
	per_server(p, out, "tailor_server_connections_idle", "gauge",
	    "Kept connections.", value_idle);
	per_server(p, out, "tailor_server_connections_busy", "gauge",
	    "Connections in use.", value_busy);
	per_server(p, out, "tailor_server_exchanges_total", "counter",
	    "Requests written, of whatever kind.", value_attempts);
	per_server(p, out, "tailor_server_connects_total", "counter",
	    "Connections opened.", value_connects);
	per_server(p, out, "tailor_server_connection_reuse_total", "counter",
	    "Exchanges on a kept connection.", value_reuses);
	per_server(p, out, "tailor_server_restarts_total", "counter",
	    "Times that Tailor started it again.", value_restarts);
	per_server(p, out, "tailor_server_extra_bytes_total", "counter",
	    "Bytes behind the end of a response.", value_extra);
	per_server(p, out, "tailor_warmup_requests_total", "counter",
	    "Warm-up requests answered.", value_warm);
	per_server(p, out, "tailor_warmup_failures_total", "counter",
	    "Warm-up requests that failed.", value_cold);
	head(out, "tailor_server_errors_total", "counter",
	    "Exchanges that failed, by type.");
	for (unsigned s = 0; s < p->config->servers; s++)
		for (unsigned e = UPLINK_REFUSED; e <= UPLINK_TIMEOUT; e++)
			evbuffer_add_printf(out,
			    "tailor_server_errors_total{server=\"%s\","
			    "type=\"%s\"} %llu\n",
			    p->config->server[s].name, type[e],
			    (unsigned long long)p->server[s].errors[e]);
}

static void
write_profiler(struct proxy *p, struct evbuffer *out)
{
	struct profiler_stats s;

	profiler_stats(p->profiler, &s);
	counter(out, "tailor_profiler_samples_total", "Sweeps of the observer.",
	    s.sweeps);
	counter(out, "tailor_profiler_events_total",
	    "Events copied into the timeline stream.", s.events);
	counter(out, "tailor_profiler_lost_total",
	    "Events overwritten before they were read.", s.lost);
	counter(out, "tailor_profiler_torn_total",
	    "Events read again because their writer came by.", s.torn);
	counter(out, "tailor_profiler_abandoned_total",
	    "Events left half-written.", s.abandoned);
	counter(out, "tailor_channel_errors_total",
	    "Values out of range in a channel.", s.rejected);
	counter(out, "tailor_hazards_dropped_total",
	    "Hazards the proxy had no room for.", s.hazards_lost);
	counter(out, "tailor_kernel_missed_total",
	    "Events that the kernel's programs could not write.",
	    s.kernel_missed);
	counter(out, "tailor_kernel_threads_refused_total",
	    "Threads whose waits are unknown: over 16384.", s.kernel_crowded);
	counter(out, "tailor_profiler_blind_total",
	    "Gaps between sweeps over profiler.blind.", s.blind);
	gauge(out, "tailor_profiler_blind_max_seconds", "The longest of them.",
	    (double)s.blind_max_ns / 1e9);
	gauge(out, "tailor_channels", "Channels open.", s.channels);
	counter(out, "tailor_channels_refused_total", "Channels refused.",
	    s.channels_refused);
}

/* Counters by cause; those that have never happened are not written. */
static void
by_cause(struct evbuffer *out, const char *name, const char *help,
    const uint64_t *value, double unit)
{
	head(out, name, "counter", help);
	for (unsigned i = 0; i < TALE_CAUSE_COUNT; i++)
		if (value[i] > 0)
			evbuffer_add_printf(out, "%s{cause=\"%s\"} %.9g\n",
			    name, tale_cause_code((enum tale_cause)i),
			    (double)value[i] / unit);
}

static void
write_tales(struct proxy *p, struct evbuffer *out)
{
	struct analysis_stats s;

	analysis_stats(p->analysis, &s);
	by_cause(out, "tailor_slow_requests_total",
	    "Requests slower than slow.target, by what most of their time "
	    "passed on.",
	    s.cause_requests, 1);
	by_cause(out, "tailor_slow_seconds_total",
	    "The time of those requests, by what it passed on.", s.cause_ns,
	    1e9);
	gauge(out, "tailor_tales", "Tales of requests that are kept.",
	    s.store.tales);
	gauge(out, "tailor_tales_bytes", "What they take in the store.",
	    (double)s.store.bytes);
	gauge(out, "tailor_tales_files", "Files of the store.", s.store.files);
	gauge(out, "tailor_tales_on_disk",
	    "1 if the store is a directory, 0 if it is memory.", s.on_disk);
	counter(out, "tailor_tales_told_total",
	    "Requests whose events were examined.", s.told);
	counter(out, "tailor_tales_kept_total", "Tales put into the store.",
	    s.store.added);
	counter(out, "tailor_tales_dropped_total",
	    "Tales dropped at slow.keep or slow.store_bytes.", s.store.dropped);
	counter(out, "tailor_tales_failed_total",
	    "Tales that could not be written.", s.failed);
	counter(out, "tailor_tales_corrupt_total",
	    "Places in the store's files that hold no good record.",
	    s.store.corrupt);
}

static void
write_process(struct proxy *p, struct evbuffer *out)
{
	struct access_log_stats access;
	struct memory_plan memory;
	struct rusage u;

	head(out, "tailor_build_info", "gauge", "Version of this program.");
	evbuffer_add_printf(
	    out, "tailor_build_info{version=\"%s\"} 1\n", TAILOR_VERSION);
	gauge(out, "tailor_uptime_seconds", "Since the start.",
	    (double)instant_since(instant_now(), p->started) / 1e9);
	limits_memory(p, &memory);
	gauge(out, "tailor_memory_limit_bytes",
	    "The most that Tailor will take, as printed at the start.",
	    (double)(memory.total >> 10 << 10));
	gauge(out, "tailor_memory_blocks", "Blocks of 16 KiB made.",
	    (double)p->blocks.blocks);
	gauge(out, "tailor_memory_blocks_free", "Of those, not in use.",
	    (double)p->blocks.available);
	counter(out, "tailor_memory_refused_total",
	    "Blocks refused at the limit.", p->blocks.refused);
	gauge(out, "tailor_table_bytes", "Request bodies kept for a hedge.",
	    (double)p->body_kept_bytes);
	access_log_stats(p->access_log, &access);
	head(out, "tailor_access_log_lines_total", "counter",
	    "Lines of the access log: written; dropped, because the ring was "
	    "full; failed, because the file did not take them.");
	evbuffer_add_printf(out,
	    "tailor_access_log_lines_total{result=\"written\"} %llu\n"
	    "tailor_access_log_lines_total{result=\"dropped\"} %llu\n"
	    "tailor_access_log_lines_total{result=\"failed\"} %llu\n",
	    (unsigned long long)access.written,
	    (unsigned long long)access.dropped,
	    (unsigned long long)access.failed);
	counter(out, "tailor_log_dropped_total",
	    "Log lines dropped because the ring was full.", log_dropped());
	if (getrusage(RUSAGE_SELF, &u) == 0) {
		head(out, "process_cpu_seconds_total", "counter",
		    "User and system CPU time.");
		evbuffer_add_printf(out, "process_cpu_seconds_total %.6f\n",
		    (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
			(double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) /
			    1e6);
	}
}

void
metrics_write(struct proxy *p, struct evbuffer *out)
{
	write_process(p, out);
	write_requests(p, out);
	write_plain(&p->metrics, out);
	counter(out, "tailor_config_reload_failures_total",
	    "Reloads that were refused: the same as result=failed above.",
	    p->metrics.reloads_failed);
	write_hedging(p, out);
	write_hazards(p, out);
	write_servers(p, out);
	write_tales(p, out);
	write_profiler(p, out);
}
