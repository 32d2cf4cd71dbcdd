/* report_json.c: run.json, schema tailor.load.run/1; see report.h.
 *
 * Names are snake_case with the unit as suffix, durations whole ns; the order
 * is stable; what was not measured is left out, never null. */
#include "loadgen/report/report.h"

#include <inttypes.h>

#include "base/json.h"

static void
put_header(struct json *j, const struct report *r)
{
	char text[64];

	json_key_string(j, "schema", "tailor.load.run/1");
	json_key_object(j, "tool");
	json_key_string(j, "name", "tailor-load");
	json_key_string(j, "version", TAILOR_VERSION);
	json_object_end(j);
	json_key_string(j, "started", text_wall(text, r->started_ns));
	json_key_object(j, "clock");
	json_key_string(j, "source", "CLOCK_MONOTONIC");
	/* As text, because readers that use doubles would round a number. */
	snprintf(text, sizeof(text), "%" PRIu64, r->epoch.ns);
	json_key_string(j, "epoch_ns", text);
	json_key_string(
	    j, "note", "instants in requests.ndjson are ns after epoch_ns");
	json_object_end(j);
	if (r->interrupted)
		json_key_bool(j, "interrupted", true);
}

static void
put_host(struct json *j, const struct host *h)
{
	json_key_object(j, "host");
	json_key_string(j, "kernel", h->kernel);
	json_key_int(j, "cpus", h->cpus);
	if (h->governor[0] != '\0')
		json_key_string(j, "governor", h->governor);
	if (h->isolated[0] != '\0')
		json_key_string(j, "isolated_cpus", h->isolated);
	if (h->load >= 0)
		json_key_double(j, "load_before", h->load);
	json_object_end(j);
}

static void
put_plan(struct json *j, const struct report *r)
{
	const struct plan *plan = r->summary.plan;
	bool closed = plan->arrivals == ARRIVALS_CLOSED;

	json_key_object(j, "target");
	json_key_string(j, "url", r->target.url);
	if (r->target.path_count > 1)
		json_key_uint(j, "paths", r->target.path_count);
	json_key_string(j, "method", r->texts.method);
	if (target_is_local(&r->target))
		json_key_bool(j, "same_host", true);
	json_object_end(j);
	json_key_object(j, "plan");
	json_key_string(j, "arrivals", arrivals_name(plan->arrivals));
	if (!closed)
		json_key_double(j, "rate_per_s", plan->rate_per_s);
	json_key_uint(j, "requests", plan->requests);
	json_key_uint(j, "iterations", plan->iterations);
	if (!closed)
		json_key_uint(j, "seed", plan->seed);
	json_key_uint(j, "connections", plan->connections);
	json_key_uint(j, "max_connections", plan->max_connections);
	json_key_uint(j, "warmup", plan->warmup);
	json_key_int(j, "pause_ns", plan->pause_ns);
	json_key_int(j, "timeout_ns", plan->timeout_ns);
	json_key_bool(j, "spin", plan->spin);
	json_key_string(j, "stamps",
	    plan->kernel_stamps && !r->target.server.local ? "kernel" : "user");
	json_key_string(j, "latency_from", closed ? "send" : "scheduled");
	json_key_string(j, "percentile_rule", "nearest-rank");
	json_key_string(j, "failed_requests", "in no distribution");
	json_object_end(j);
}

static void
put_distribution(struct json *j, const char *key,
    const struct latency_summary *d, const struct percentiles *p)
{
	char name[PERCENTILE_KEY_MAX + 4];
	char percentile[PERCENTILE_KEY_MAX];

	if (d->count == 0)
		return;
	json_key_object(j, key);
	json_key_uint(j, "count", d->count);
	json_key_int(j, "min_ns", d->min_ns);
	for (unsigned i = 0; i < p->count; i++) {
		snprintf(name, sizeof(name), "%s_ns",
		    percentile_key(p->at[i], percentile));
		json_key_int(j, name, d->at_ns[i]);
	}
	json_key_int(j, "max_ns", d->max_ns);
	json_key_int(j, "mean_ns", d->mean_ns);
	json_object_end(j);
}

static void
put_errors(struct json *j, const size_t outcomes[OUTCOME_COUNT])
{
	json_key_object(j, "errors");
	for (unsigned i = 0; i < OUTCOME_COUNT; i++) {
		if (outcome_is_error((enum outcome)i) && outcomes[i] > 0)
			json_key_uint(
			    j, outcome_name((enum outcome)i), outcomes[i]);
	}
	json_object_end(j);
}

static void
put_status(
    struct json *j, const char *name, const uint32_t status[STATUS_CODES])
{
	char key[16];

	json_key_object(j, name);
	for (unsigned code = 0; code < STATUS_CODES; code++) {
		if (status[code] == 0)
			continue;
		snprintf(key, sizeof(key), "%u", code);
		json_key_uint(j, key, status[code]);
	}
	json_object_end(j);
}

static void
put_errnos(struct json *j, const struct summary *s)
{
	json_key_object(j, "failed_errno");
	for (unsigned kind = 0; kind < OUTCOME_COUNT; kind++) {
		bool any = false;
		for (unsigned i = 0; i < SAMPLE_ERRNOS; i++) {
			if (s->failed_errno[kind][i] == 0)
				continue;
			if (!any)
				json_key_object(
				    j, outcome_name((enum outcome)kind));
			any = true;
			json_key_uint(
			    j, sample_errno_name(i), s->failed_errno[kind][i]);
		}
		if (any)
			json_object_end(j);
	}
	json_object_end(j);
}

static void
put_counts(struct json *j, const struct iteration_summary *sum, bool seeded)
{
	json_key_uint(j, "index", sum->index);
	if (seeded)
		json_key_uint(j, "seed", sum->seed);
	if (sum->partial)
		json_key_bool(j, "partial", true);
	json_key_uint(j, "sent", sum->sent);
	json_key_uint(j, "ok", sum->outcomes[OUTCOME_OK]);
	if (sum->outcomes[OUTCOME_UNANSWERED] > 0)
		json_key_uint(
		    j, "unanswered", sum->outcomes[OUTCOME_UNANSWERED]);
	put_errors(j, sum->outcomes);
	if (sum->warmup_errors > 0)
		json_key_uint(j, "warmup_errors", sum->warmup_errors);
	put_status(j, "status", sum->status);
	if (sum->outcomes[OUTCOME_STATUS] > 0)
		put_status(j, "failed_status", sum->failed_status);
	json_key_double(j, "achieved_rate_per_s", sum->rate_per_s);
	json_key_uint(j, "max_in_flight", sum->max_in_flight);
	json_key_uint(j, "new_connections", sum->new_connections);
	if (sum->unsolicited > 0)
		json_key_uint(j, "unsolicited", sum->unsolicited);
	if (sum->clock_stepped)
		json_key_bool(j, "clock_stepped", true);
}

#define CAUSES_MAX 64

static void
put_finding(struct json *j, const struct finding *f)
{
	if (f == NULL)
		return;
	json_key_string(j, "verdict", f->code);
	if (f->share_ns >= 0)
		json_key_int(j, "share_ns", f->share_ns);
	json_key_string(j, "text", f->text);
	if (f->page[0] != '\0')
		json_key_string(j, "timeline", f->page);
}

static void
put_slowest(struct json *j, const struct report *r, const struct slow_list *l)
{
	char id[REQUEST_ID_MAX];

	json_key_array(j, "slowest");
	for (size_t i = 0; i < l->count; i++) {
		const struct slow *slow = &l->slowest[i];
		const struct request_name name = {
		    .iteration = slow->iteration, .number = slow->number};
		(void)request_id_format(&r->texts.ids, &name, id);
		json_object_begin(j);
		json_key_uint(j, "iteration", slow->iteration);
		json_key_uint(j, "seq", slow->number);
		json_key_string(j, "id", id);
		json_key_int(j, "latency_ns", slow->latency_ns);
		json_key_int(j, "lag_ns", slow->lag_ns);
		if (slow->server_ns >= 0)
			json_key_int(j, "server_ns", slow->server_ns);
		put_finding(
		    j, findings_of(&r->findings, name.iteration, name.number));
		json_object_end(j);
	}
	json_array_end(j);
}

static void
put_causes(struct json *j, const struct report *r)
{
	const struct findings *f = &r->findings;
	struct slow_cause causes[CAUSES_MAX];
	int n = findings_causes(f, causes, CAUSES_MAX);

	if (f->count + f->pinned + f->missing + f->failed == 0)
		return;
	json_key_array(j, "verdicts");
	for (int i = 0; i < n; i++) {
		json_object_begin(j);
		json_key_string(j, "code", causes[i].code);
		json_key_uint(j, "count", causes[i].count);
		if (causes[i].median_ns >= 0)
			json_key_int(j, "median_ns", causes[i].median_ns);
		json_key_string(j, "example", causes[i].text);
		json_object_end(j);
	}
	json_array_end(j);
	json_key_object(j, "talechain");
	json_key_uint(j, "pinned", f->pinned);
	json_key_uint(j, "analyzed", f->count);
	json_key_uint(j, "missing", f->missing);
	json_key_uint(j, "failed", f->failed);
	if (f->why[0] != '\0')
		json_key_string(j, "given_up", f->why);
	json_object_end(j);
}

static void
put_iteration(
    struct json *j, const struct report *r, const struct iteration_summary *sum)
{
	const struct plan *plan = r->summary.plan;

	json_object_begin(j);
	put_counts(j, sum, plan->arrivals != ARRIVALS_CLOSED);
	for (unsigned i = 0; i < SERIES_COUNT; i++)
		put_distribution(j,
		    expectation_series_name((enum expectation_series)i),
		    &sum->series[i], &r->summary.criteria->percentiles);
	json_key_uint(j, "lag_over_1ms", sum->lag_over_1ms);
	json_key_object(j, "connection_wait");
	json_key_uint(j, "count", sum->waited);
	json_key_int(j, "max_ns", sum->waited_max_ns);
	json_object_end(j);
	put_slowest(j, r, &sum->slow);
	json_object_end(j);
}

static void
put_median(struct json *j, const char *key, struct median m)
{
	char method[80];

	if (m.count == 0)
		return;
	json_key_object(j, key);
	json_key_int(j, "median_ns", m.median_ns);
	if (m.bounded) {
		json_key_array(j, "ci95_ns");
		json_int(j, m.low_ns);
		json_int(j, m.high_ns);
		json_array_end(j);
		snprintf(method, sizeof(method),
		    "order statistics %zu..%zu of %zu", m.ranks.low,
		    m.ranks.high, m.count);
		json_key_string(j, "ci_method", method);
		json_key_double(j, "coverage", m.ranks.coverage);
	}
	json_object_end(j);
}

static void
put_pooled(struct json *j, const struct summary *s)
{
	const struct percentiles *p = &s->criteria->percentiles;
	const struct sample_series *all = &s->pool[SERIES_LATENCY];
	const struct latency_summary *d = &s->pooled[SERIES_LATENCY];
	char key[PERCENTILE_KEY_MAX + 10], name[PERCENTILE_KEY_MAX];
	struct rank_interval r;

	if (d->count == 0)
		return;
	json_key_object(j, "pooled");
	json_key_uint(j, "count", d->count);
	for (unsigned i = 0; i < p->count; i++) {
		(void)percentile_key(p->at[i], name);
		snprintf(key, sizeof(key), "%s_ns", name);
		json_key_int(j, key, d->at_ns[i]);
		if (!rank_interval(d->count, p->at[i], INTERVAL_LEVEL, &r))
			continue;
		snprintf(key, sizeof(key), "%s_ci95_ns", name);
		json_key_array(j, key);
		json_int(j, all->values[r.low - 1]);
		json_int(j, all->values[r.high - 1]);
		json_array_end(j);
	}
	json_key_int(j, "max_ns", d->max_ns);
	int64_t p99_ns;
	if (s->errors > 0 && summary_p99_with_errors(s, &p99_ns))
		json_key_int(j, "p99_with_errors_slowest_ns", p99_ns);
	json_object_end(j);
}

static void
put_summary(struct json *j, struct report *r)
{
	struct summary *s = &r->summary;
	const struct percentiles *p = &r->summary.criteria->percentiles;
	char name[PERCENTILE_KEY_MAX];

	json_key_object(j, "summary");
	json_key_uint(j, "iterations", s->complete);
	json_key_uint(j, "sent", s->sent);
	json_key_uint(j, "ok", s->outcomes[OUTCOME_OK]);
	put_errors(j, s->outcomes);
	if (s->outcomes[OUTCOME_STATUS] > 0)
		put_status(j, "failed_status", s->failed_status);
	if (s->outcomes[OUTCOME_CONNECT] + s->outcomes[OUTCOME_RESET] > 0)
		put_errnos(j, s);
	for (unsigned i = 0; i < p->count; i++)
		put_median(j, percentile_key(p->at[i], name),
		    summary_median(
			s, SERIES_LATENCY, STATISTIC_PERCENTILE, p->at[i]));
	put_median(
	    j, "max", summary_median(s, SERIES_LATENCY, STATISTIC_MAX, 0));
	put_median(j, "server_p99",
	    summary_median(s, SERIES_SERVER, STATISTIC_PERCENTILE, 99));
	put_median(j, "gap_at_p99", summary_gap_at_p99(s));
	put_pooled(j, s);
	put_slowest(j, r, &s->slow);
	json_object_end(j);
}

/* Write the trust in each figure, and the reason if it is not good. */
static void
put_figures(
    struct json *j, const struct verdict *v, const struct percentiles *p)
{
	char text[FIGURE_TEXT_MAX], name[PERCENTILE_KEY_MAX];
	const char *why;

	json_key_array(j, "figures");
	for (unsigned i = 0; i < v->figure_count; i++) {
		const struct figure *f = &v->figures[i];
		json_object_begin(j);
		json_key_string(j, "statistic", figure_name(f->percent, name));
		json_key_string(j, "scope", f->pooled ? "pooled" : "median");
		json_key_int(j, "least_ns", f->least_ns);
		json_key_int(j, "reported_ns", f->reported_ns);
		json_key_string(j, "trust", trust_names[f->trust]);
		json_object_end(j);
	}
	json_array_end(j);
	json_key_array(j, "reasons");
	for (unsigned at = 0; (why = verdict_reason(v, p, &at, text)) != NULL;)
		json_string(j, why);
	json_array_end(j);
}

static void
put_generator(struct json *j, const struct report *r)
{
	const struct verdict *v = &r->verdict;
	const struct percentiles *p = &r->summary.criteria->percentiles;
	const struct latency_summary *lag = &r->summary.pooled[SERIES_LAG];

	json_key_object(j, "generator");
	json_key_string(j, "verdict", verdict_names[v->level]);
	put_figures(j, v, p);
	json_key_array(j, "environment");
	for (unsigned i = 0; i < r->environment.count; i++)
		json_string(j, r->environment.notes[i]);
	json_array_end(j);
	if (lag->count > 0) {
		json_key_int(
		    j, "lag_p50_ns", lag->at_ns[percentiles_index(p, 50)]);
		json_key_int(
		    j, "lag_p99_ns", lag->at_ns[percentiles_index(p, 99)]);
		json_key_int(j, "lag_max_ns", lag->max_ns);
	}
	json_key_uint(j, "lag_over_1ms", v->over_1ms);
	json_key_uint(j, "connection_waits", v->waited);
	int64_t spin_ns = v->hiccups.spin_max_ns;
	int64_t pause_ns = v->hiccups.pause_max_ns;
	json_key_int(
	    j, "hiccup_max_ns", spin_ns > pause_ns ? spin_ns : pause_ns);
	json_key_double(j, "cpu_pct", v->cpu_pct);
	json_key_int(j, "involuntary_switches", v->involuntary_switches);
	json_object_end(j);
}

/* Return the key of an actual value, which contains the unit. */
static const char *
actual_key(enum expectation_statistic statistic)
{
	if (statistic_is_time(statistic))
		return "actual_ns";
	if (statistic == STATISTIC_RATE)
		return "actual_per_s";
	return statistic == STATISTIC_ERRORS ? "actual" : "actual_pct";
}

static void
put_expectations(struct json *j, struct report *r)
{
	double actual;

	json_key_array(j, "fail");
	for (unsigned i = 0; i < r->summary.criteria->fail_count; i++) {
		const struct expectation *x = &r->summary.criteria->fails[i];
		bool measured = summary_actual(&r->summary, x, &actual);
		json_object_begin(j);
		json_key_string(j, "expr", x->text);
		if (measured)
			json_key_double(j, actual_key(x->statistic), actual);
		json_key_bool(
		    j, "pass", measured && expectation_holds(x, actual));
		json_object_end(j);
	}
	json_array_end(j);
}

void
report_json(struct report *r, struct json *j)
{
	json_object_begin(j);
	put_header(j, r);
	put_host(j, &r->host);
	put_plan(j, r);
	json_key_array(j, "iterations");
	for (size_t i = 0; i < r->summary.count; i++)
		put_iteration(j, r, &r->summary.iterations[i]);
	json_array_end(j);
	put_summary(j, r);
	put_generator(j, r);
	put_causes(j, r);
	put_expectations(j, r);
	json_object_end(j);
}
