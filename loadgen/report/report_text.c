#include "loadgen/report/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/quantity.h"
#include "base/terminal.h"
#include "base/text.h"
#include "base/topology.h"
#include "loadgen/stats/statistics.h"

#define NO_VALUE "-"

/* Passed to all parts of the report. */
struct printer {
	FILE *out;
	struct report *report;
	const struct plan *plan;
	const struct criteria *criteria;
	const struct summary *summary;
	const char *strong; /* escape sequences or "" */
	const char *bad;
	const char *plain;
	bool server; /* the server reported latencies */
	unsigned p50;
	unsigned p99;
};

static const char *
format_at(const struct latency_summary *d, int64_t ns, char *out)
{
	if (d->count == 0)
		return NO_VALUE;
	return quantity_format_ns(ns, out);
}

/* Return the ending of an ordinal: "743rd", "811th". */
static const char *
ordinal_ending(size_t n)
{
	static const char *const endings[] = {"th", "st", "nd", "rd"};

	return n % 10 > 3 || n / 10 % 10 == 1 ? "th" : endings[n % 10];
}

static void
print_heading(const struct printer *p)
{
	const struct plan *o = p->plan;
	const char *more = p->report->target.path_count > 1 ? " and more" : "";
	char cpus[64];

	fprintf(p->out, "%stailor-load " TAILOR_VERSION "   %s%s%s\n",
	    p->strong, p->report->target.url, more, p->plain);
	fprintf(p->out, "%" PRIu64 " iteration%s x %" PRIu64 " requests, ",
	    o->iterations, o->iterations == 1 ? "" : "s", o->requests);
	if (o->arrivals == ARRIVALS_CLOSED)
		fprintf(p->out, "closed loop of %" PRIu64 " client%s",
		    o->closed_clients, o->closed_clients == 1 ? "" : "s");
	else
		fprintf(p->out,
		    "%s arrivals at %g/s (seed %" PRIu64 "),\n%" PRIu64
		    " connection%s in advance",
		    o->arrivals == ARRIVALS_POISSON
			? "Poisson"
			: arrivals_name(o->arrivals),
		    o->rate_per_s, o->seed, o->connections,
		    o->connections == 1 ? "" : "s");
	if (CPU_COUNT(&p->report->sender_cpus) > 0)
		fprintf(p->out, ", sender on CPU %s",
		    topology_format_cpus(
			&p->report->sender_cpus, cpus, sizeof(cpus)));
	fprintf(p->out, "\n");
}

static void
print_definitions(const struct printer *p)
{
	const struct plan *o = p->plan;
	size_t rank = quantile_rank(99, o->requests);

	fprintf(p->out,
	    "\nLatency is from the %s to the last byte; p99 is the %zu%s of "
	    "%" PRIu64 ".\nFailed requests are in no percentile, mean or "
	    "max.\n",
	    o->arrivals == ARRIVALS_CLOSED ? "actual send"
					   : "scheduled instant",
	    rank, ordinal_ending(rank), o->requests);
}

static void
print_row(const struct printer *p, const struct iteration_summary *sum)
{
	const struct latency_summary *l = &sum->series[SERIES_LATENCY];
	const struct latency_summary *s = &sum->series[SERIES_SERVER];
	const struct latency_summary *lag = &sum->series[SERIES_LAG];
	char t[6][QUANTITY_TEXT_MAX];

	fprintf(p->out, "%4u %7.0f/s %8s %8s %8s", sum->index, sum->rate_per_s,
	    format_at(l, l->at_ns[p->p50], t[0]),
	    format_at(l, l->at_ns[p->p99], t[1]),
	    format_at(l, l->max_ns, t[2]));
	if (p->server)
		fprintf(p->out, " | %8s %8s",
		    format_at(s, s->at_ns[p->p99], t[3]),
		    format_at(s, s->max_ns, t[4]));
	fprintf(p->out, " | %s%6zu%s %8s%s\n", sum->errors > 0 ? p->bad : "",
	    sum->errors, sum->errors > 0 ? p->plain : "",
	    format_at(lag, lag->at_ns[p->p99], t[5]),
	    sum->partial ? "  interrupted" : "");
}

static void
print_table(const struct printer *p)
{
	fprintf(p->out, "\n%s%4s %9s %8s %8s %8s", p->strong, "iter", "rate",
	    "p50", "p99", "max");
	if (p->server)
		fprintf(p->out, " | %8s %8s", "srv p99", "srv max");
	fprintf(p->out, " | %6s %8s%s\n", "errors", "lag p99", p->plain);
	for (size_t i = 0; i < p->summary->count; i++)
		print_row(p, &p->summary->iterations[i]);
}

static void
print_median(const struct printer *p, const char *name, struct median m,
    const char *note)
{
	char t[3][QUANTITY_TEXT_MAX];
	char interval[2 * QUANTITY_TEXT_MAX + 4] = "";

	if (m.count == 0)
		return;
	if (m.bounded)
		snprintf(interval, sizeof(interval), "%s - %s",
		    quantity_format_ns(m.low_ns, t[1]),
		    quantity_format_ns(m.high_ns, t[2]));
	fprintf(
	    p->out, "%-10s %8s", name, quantity_format_ns(m.median_ns, t[0]));
	if (interval[0] != '\0' || note[0] != '\0')
		fprintf(p->out, "   %-*s%s", note[0] == '\0' ? 0 : 22, interval,
		    note);
	fprintf(p->out, "\n");
}

/* Print the figures of the run: medians over iterations. */
static void
print_medians(const struct printer *p)
{
	struct summary *s = &p->report->summary;
	struct median p99 =
	    summary_median(s, SERIES_LATENCY, STATISTIC_PERCENTILE, 99);
	char t[QUANTITY_TEXT_MAX], note[QUANTITY_TEXT_MAX + 24];

	if (p99.count == 0)
		return;
	if (p99.count > 1)
		fprintf(p->out, "\n%s%-10s %8s   %s%s\n", p->strong, "",
		    "median",
		    p99.bounded ? "95% interval"
				: "(an interval needs 6 iterations)",
		    p->plain);
	else
		fprintf(p->out, "\n");
	print_median(p, "p50",
	    summary_median(s, SERIES_LATENCY, STATISTIC_PERCENTILE, 50), "");
	print_median(p, "p99", p99, "");
	snprintf(note, sizeof(note), "slowest of all %s",
	    quantity_format_ns(s->pooled[SERIES_LATENCY].max_ns, t));
	print_median(p, "max",
	    summary_median(s, SERIES_LATENCY, STATISTIC_MAX, 0),
	    p99.count > 1 ? note : "");
}

/* Print how the interval was made, and the gap to the server's own p99. */
static void
print_interval(const struct printer *p)
{
	struct summary *s = &p->report->summary;
	struct median p99 =
	    summary_median(s, SERIES_LATENCY, STATISTIC_PERCENTILE, 99);

	if (p99.bounded)
		fprintf(p->out,
		    "\nIntervals: iterations %zu to %zu of %zu in order, "
		    "coverage %.1f%%; the max has no upper\nbound\n",
		    p99.ranks.low, p99.ranks.high, p99.count,
		    100 * p99.ranks.coverage);
	print_median(
	    p, "gap at p99", summary_gap_at_p99(s), "client's minus server's");
}

/* Print a pooled percentile, with its interval if there are enough samples. */
static void
print_pooled_percentile(const struct printer *p, unsigned i)
{
	const struct sample_series *all = &p->summary->pool[SERIES_LATENCY];
	double percent = p->criteria->percentiles.at[i];
	struct rank_interval r;
	char name[PERCENTILE_KEY_MAX], t[3][QUANTITY_TEXT_MAX];

	(void)rank_interval(all->count, percent, INTERVAL_LEVEL, &r);
	snprintf(name, sizeof(name), "p%.9g", percent);
	fprintf(p->out, "  %-8s %8s   %s - %s%s\n", name,
	    quantity_format_ns(
		p->summary->pooled[SERIES_LATENCY].at_ns[i], t[0]),
	    quantity_format_ns(all->values[r.low > 0 ? r.low - 1 : 0], t[1]),
	    r.high > all->count ? ">= " : "",
	    quantity_format_ns(
		all->values[(r.high > all->count ? all->count : r.high) - 1],
		t[2]));
}

static void
print_pooled(const struct printer *p)
{
	const struct latency_summary *d = &p->summary->pooled[SERIES_LATENCY];
	char t[QUANTITY_TEXT_MAX];

	if (d->count == 0)
		return;
	fprintf(p->out,
	    "\nAll %zu requests as one sample; intervals are too narrow, as "
	    "neighbours share\nstalls\n",
	    d->count);
	for (unsigned i = 0; i < p->criteria->percentiles.count; i++)
		print_pooled_percentile(p, i);
	fprintf(
	    p->out, "  %-8s %8s\n", "max", quantity_format_ns(d->max_ns, t));
}

/* Print ", reset ECONNRESET x 2, reset x 1": failures with an errno first. */
static void
print_error_kind(const struct printer *p, enum outcome kind, const char *before)
{
	size_t left = p->summary->outcomes[kind];

	for (unsigned i = 0; i < SAMPLE_ERRNOS; i++) {
		uint32_t n = p->summary->failed_errno[kind][i];
		if (n == 0)
			continue;
		fprintf(p->out, "%s%s %s x %" PRIu32, before,
		    outcome_name(kind), sample_errno_name(i), n);
		before = ", ";
		left -= n;
	}
	if (left > 0)
		fprintf(p->out, "%s%s x %zu", before, outcome_name(kind), left);
}

/* Print each unexpected status, and the other kinds of failure by name. */
static void
print_error_kinds(const struct printer *p)
{
	const struct summary *s = p->summary;
	const char *before = ": ";

	for (unsigned i = 0; i < STATUS_CODES; i++) {
		if (s->failed_status[i] == 0)
			continue;
		fprintf(p->out, "%sHTTP %u x %" PRIu32, before, i,
		    s->failed_status[i]);
		before = ", ";
	}
	for (unsigned i = 0; i < OUTCOME_COUNT; i++) {
		if (!outcome_is_error((enum outcome)i) || i == OUTCOME_STATUS ||
		    s->outcomes[i] == 0)
			continue;
		print_error_kind(p, (enum outcome)i, before);
		before = ", ";
	}
}

static void
print_errors(const struct printer *p)
{
	const struct summary *s = p->summary;
	char t[QUANTITY_TEXT_MAX];
	int64_t p99_ns;

	if (s->warmup_errors > 0)
		fprintf(
		    p->out, "Warm-up: %zu requests failed\n", s->warmup_errors);
	fprintf(p->out, "%sErrors: %zu of %zu failed%s",
	    s->errors > 0 ? p->bad : "", s->errors, s->sent,
	    s->errors > 0 ? p->plain : "");
	print_error_kinds(p);
	if (s->errors > 0)
		fprintf(p->out,
		    "\n        if failures counted as slowest, p99 of all "
		    "would be %s",
		    summary_p99_with_errors(s, &p99_ns)
			? quantity_format_ns(p99_ns, t)
			: "a failure");
	fprintf(p->out, "\n");
}

/* Print the percentiles and the max, grouped by trust. */
static void
print_figures(const struct printer *p)
{
	const struct verdict *v = &p->report->verdict;
	const struct percentiles *all = &p->criteria->percentiles;
	char text[FIGURE_TEXT_MAX], name[PERCENTILE_KEY_MAX];
	const char *why;
	bool any = false;

	for (unsigned i = 0; i <= all->count; i++) {
		double percent = i < all->count ? all->at[i] : 100;
		const struct figure *f = verdict_find(v, percent);
		if (f == NULL || f->trust != TRUST_GOOD)
			continue;
		fprintf(p->out, "%s%s",
		    any ? " " : "  good: ", figure_name(percent, name));
		any = true;
	}
	fprintf(p->out, "%s", any ? "\n" : "");
	for (unsigned at = 0;
	     (why = verdict_reason(v, all, &at, text)) != NULL;)
		fprintf(p->out, "  %s\n", why);
}

static void
print_lag(const struct printer *p)
{
	const struct verdict *v = &p->report->verdict;
	const struct latency_summary *lag = &p->summary->pooled[SERIES_LAG];
	char t[5][QUANTITY_TEXT_MAX];

	fprintf(p->out,
	    "\nGenerator: lag p50 %s p99 %s max %s; %zu of %zu sent >1ms late\n"
	    "  longest stall %s while it spun, %s in pauses\n"
	    "  %.1f%% of a CPU, %ld times preempted\n",
	    format_at(lag, lag->at_ns[p->p50], t[0]),
	    format_at(lag, lag->at_ns[p->p99], t[1]),
	    format_at(lag, lag->max_ns, t[2]), v->over_1ms, lag->count,
	    quantity_format_ns(v->hiccups.spin_max_ns, t[3]),
	    quantity_format_ns(v->hiccups.pause_max_ns, t[4]), v->cpu_pct,
	    v->involuntary_switches);
}

static void
print_verdict(const struct printer *p)
{
	static const char *const words[] = {
	    [VERDICT_GOOD] = "GOOD",
	    [VERDICT_APPROXIMATE] = "APPROXIMATE",
	    [VERDICT_DOUBTFUL] = "DOUBTFUL",
	    [VERDICT_BAD] = "BAD",
	    [VERDICT_CLOSED] = "CLOSED LOOP",
	    [VERDICT_NONE] = "none",
	};
	const struct verdict *v = &p->report->verdict;
	const bool good = v->level == VERDICT_GOOD;

	fprintf(p->out, "\nFigures: %s%s%s", good ? p->strong : p->bad,
	    words[v->level], p->plain);
	if (v->level == VERDICT_BAD)
		fprintf(p->out, ": do not use these results");
	else if (v->level == VERDICT_CLOSED)
		fprintf(p->out, "\n  " VERDICT_CLOSED_WHY);
	else if (v->level == VERDICT_NONE)
		fprintf(p->out, ": " VERDICT_NONE_WHY);
	fprintf(p->out, "\n");
	if (v->figure_count > 0 && !good)
		print_figures(p);
	environment_print(&p->report->environment, good, p->out);
}

static void
print_connections(const struct printer *p)
{
	size_t opened = 0;
	size_t unsolicited = 0;
	size_t in_flight = 0;

	for (size_t i = 0; i < p->summary->count; i++) {
		const struct iteration_summary *sum =
		    &p->summary->iterations[i];
		opened += sum->new_connections;
		unsolicited += sum->unsolicited;
		if (sum->max_in_flight > in_flight)
			in_flight = sum->max_in_flight;
	}
	fprintf(p->out,
	    "\nConnections: at most %zu requests in flight; %zu requests "
	    "opened one\n",
	    in_flight, opened);
	if (unsolicited > 0)
		fprintf(p->out,
		    "  %zu idle connections received unrequested bytes\n",
		    unsolicited);
}

/* Format an expectation's actual value, with its unit. */
static void
format_actual(
    const struct expectation *x, double actual, char *out, size_t size)
{
	char t[QUANTITY_TEXT_MAX];

	if (statistic_is_time(x->statistic))
		snprintf(
		    out, size, "%s", quantity_format_ns(llround(actual), t));
	else if (x->statistic == STATISTIC_RATE)
		snprintf(out, size, "%.1f/s", actual);
	else if (x->statistic == STATISTIC_ERRORS)
		snprintf(out, size, "%.0f", actual);
	else
		snprintf(out, size, "%.3g%%", actual);
}

static void
print_expectations(const struct printer *p)
{
	char text[48];
	double actual;

	for (unsigned i = 0; i < p->criteria->fail_count; i++) {
		const struct expectation *x = &p->criteria->fails[i];
		bool measured = summary_actual(&p->report->summary, x, &actual);
		bool pass = measured && expectation_holds(x, actual);
		if (measured)
			format_actual(x, actual, text, sizeof(text));
		else
			snprintf(text, sizeof(text), "not measured");
		fprintf(p->out, "%s%s %s%s  (%s)\n", i == 0 ? "\n" : "",
		    pass ? "PASS" : "FAIL", x->text, pass ? "" : " not met",
		    text);
	}
}

#define LIST_MAX 10 /* run.json has all */
#define CAUSES_MAX 8

static void
print_one(FILE *out, const struct report *r, const struct slow *slow)
{
	const struct request_name name = {
	    .iteration = slow->iteration, .number = slow->number};
	char id[REQUEST_ID_MAX];
	char t[3][QUANTITY_TEXT_MAX];

	(void)request_id_format(&r->texts.ids, &name, id);
	fprintf(out, "  %-20s iteration %u request %u  %8s  lag %s", id,
	    slow->iteration, slow->number,
	    quantity_format_ns(slow->latency_ns, t[0]),
	    quantity_format_ns(slow->lag_ns, t[1]));
	if (slow->server_ns >= 0)
		fprintf(out, "  in the server %s",
		    quantity_format_ns(slow->server_ns, t[2]));
	fprintf(out, "\n");
}

static void
print_causes(FILE *out, const struct report *r)
{
	const struct findings *f = &r->findings;
	struct slow_cause causes[CAUSES_MAX];
	int n = findings_causes(f, causes, CAUSES_MAX);
	char t[QUANTITY_TEXT_MAX], safe[4 * FINDING_CODE_MAX];

	if (f->count + f->missing > 0)
		fprintf(out,
		    "\nSlow requests: %zu explained, %zu no longer kept\n",
		    f->count, f->missing);
	for (int i = 0; i < n; i++) {
		fprintf(out, "%6zu x %s", causes[i].count,
		    text_safe(safe, sizeof(safe), causes[i].code));
		if (causes[i].median_ns >= 0)
			fprintf(out, " (median %s)",
			    quantity_format_ns(causes[i].median_ns, t));
		fprintf(out, "\n");
	}
	if (f->why[0] != '\0')
		fprintf(out, "\nTailor no longer explains slow requests: %s\n",
		    f->why);
}

/* Print the explanation of the slowest request, and where its timeline is. */
static void
print_worst(FILE *out, const struct report *r)
{
	char safe[4 * FINDING_TEXT_MAX];
	const struct slow_list *l = &r->summary.slow;
	const struct finding *f =
	    l->count == 0 ? NULL
			  : findings_of(&r->findings, l->slowest[0].iteration,
				l->slowest[0].number);

	if (f == NULL)
		return;
	fprintf(out, "Slowest: %s", text_safe(safe, sizeof(safe), f->text));
	if (f->page[0] != '\0')
		fprintf(out, "\n       -> %s/%s", r->options->out_dir, f->page);
	fprintf(out, "\n");
}

static void
print_slow(FILE *out, const struct report *r)
{
	const struct slow_list *l = &r->summary.slow;

	if (l->count == 0)
		return;
	fprintf(out, "\nSlowest requests:\n");
	for (size_t i = 0; i < l->count && i < LIST_MAX; i++)
		print_one(out, r, &l->slowest[i]);
	if (l->count > LIST_MAX)
		fprintf(out, "  and %zu more\n", l->count - LIST_MAX);
}

/* Print what does not fit on the first screen. */
static void
print_rest(const struct printer *p)
{
	print_table(p);
	print_interval(p);
	print_pooled(p);
	print_lag(p);
	print_connections(p);
	print_slow(p->out, p->report);
	print_definitions(p);
}

void
report_text(FILE *out, struct report *r)
{
	const bool colour = terminal_has_colour(out);
	struct printer p = {.out = out,
	    .report = r,
	    .plan = r->summary.plan,
	    .criteria = r->summary.criteria,
	    .summary = &r->summary,
	    .strong = terminal_escape(colour, TERMINAL_BOLD),
	    .bad = terminal_escape(colour, TERMINAL_RED),
	    .plain = terminal_escape(colour, TERMINAL_PLAIN),
	    .server = r->summary.pooled[SERIES_SERVER].count > 0,
	    .p50 = percentiles_index(&r->summary.criteria->percentiles, 50),
	    .p99 = percentiles_index(&r->summary.criteria->percentiles, 99)};

	print_heading(&p);
	print_medians(&p);
	print_errors(&p);
	print_verdict(&p);
	print_causes(out, r);
	print_worst(out, r);
	print_expectations(&p);
	if (r->interrupted)
		fprintf(out, "\nInterrupted: these are partial results.\n");
	if (r->options->all)
		print_rest(&p);
	else
		fprintf(out, "\nMore of it with --all or -o DIR.\n");
}

/* --- progress ------------------------------------------------------------- */

/* Write " p99 so far 9.4ms", from the sender's progress. */
static void
format_p99(const struct progress *p, char *out, size_t size)
{
	char text[QUANTITY_TEXT_MAX];
	size_t n = atomic_load_explicit(&p->ok, memory_order_acquire);
	int64_t *copy;

	out[0] = '\0';
	if (n == 0)
		return;
	copy = malloc(n * sizeof(*copy));
	if (copy == NULL)
		return;
	memcpy(copy, p->latency_ns, n * sizeof(*copy));
	array_sort_int64(copy, n);
	snprintf(out, size, "  p99 so far %s",
	    quantity_format_ns(quantile_sorted(copy, n, 99), text));
	free(copy);
}

void
progress_show(const struct iteration *it, uint64_t iterations)
{
	const struct progress *p = &it->progress;
	char p99[64];
	/* In this order, so that no more are finished than sent. */
	size_t finished =
	    atomic_load_explicit(&p->finished, memory_order_relaxed);
	size_t sent = atomic_load_explicit(&p->sent, memory_order_relaxed);

	format_p99(p, p99, sizeof(p99));
	fprintf(stderr,
	    "\r\033[Kiteration %u/%" PRIu64 "  %zu/%zu sent  %zu in flight%s",
	    it->index, iterations, sent, it->requests,
	    sent > finished ? sent - finished : 0, p99);
	fflush(stderr);
}

void
progress_clear(void)
{
	fputs("\r\033[K", stderr);
	fflush(stderr);
}
