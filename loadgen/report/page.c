/* page.c: report.html, a run on one page.
 *
 * The generator's verdict and the figures come first, then the pictures.
 * One file: static SVG, a style sheet, no script; a content security policy
 * forbids everything else.  Links lead to the timelines of slow requests, in
 * files beside the page. */
#include "loadgen/report/report.h"

#include <errno.h>
#include <inttypes.h>

#include "base/plot.h"
#include "base/quantity.h"

#define SLOW_ROWS_MAX 200
#define CAUSES_MAX 64

static const char meaning[] =
    "<h2>What the figures are</h2>\n<p class=\"dim\">Latency counts from the "
    "instant a request was due, whether or not it could be sent, to the last "
    "byte of its response. Percentiles are nearest rank, of samples, without "
    "buckets; failed requests are in none of them. p50 and p99 at the top "
    "are medians over iterations, with 95 % order-statistic intervals. In the "
    "server: as its Server-Timing header says.</p>\n";

static void
put_ns(FILE *out, int64_t ns)
{
	char t[QUANTITY_TEXT_MAX];

	fputs(ns < 0 ? "-" : quantity_format_ns(ns, t), out);
}

static void
put_cell_ns(FILE *out, int64_t ns)
{
	fputs("<td>", out);
	put_ns(out, ns);
	fputs("</td>", out);
}

static void
put_cell_text(FILE *out, const char *text)
{
	fputs("<td class=\"words\">", out);
	plot_escape(out, text);
	fputs("</td>", out);
}

/* Write a statistic of a distribution, if that has samples. */
static void
put_cell_of(FILE *out, const struct latency_summary *d, int64_t ns)
{
	put_cell_ns(out, d->count > 0 ? ns : -1);
}

static void
put_median(FILE *out, struct summary *s, double percent)
{
	struct median m =
	    summary_median(s, SERIES_LATENCY, STATISTIC_PERCENTILE, percent);

	if (m.count == 0)
		return;
	fprintf(out, "p%.0f <b>", percent);
	put_ns(out, m.median_ns);
	fputs("</b>", out);
	if (m.bounded) {
		fputs(" (", out);
		put_ns(out, m.low_ns);
		fputs(" to ", out);
		put_ns(out, m.high_ns);
		fputs(")", out);
	}
	fputs(" &nbsp; ", out);
}

static void
put_item(FILE *out, const char *before, const char *text)
{
	fprintf(out, "<li>%s", before);
	plot_escape(out, text);
	fputs("</li>\n", out);
}

static void
put_generator(FILE *out, const struct report *r)
{
	const struct verdict *v = &r->verdict;
	bool bad = v->level == VERDICT_BAD;
	char text[FIGURE_TEXT_MAX];
	const char *why;

	fprintf(out, "<div%s><p>Figures: <b>%s</b>%s</p>\n<ul>\n",
	    bad ? " class=\"bad\"" : "", verdict_names[v->level],
	    bad ? ". Do not use these results." : "");
	for (unsigned at = 0;
	     (why = verdict_reason(
		  v, &r->summary.criteria->percentiles, &at, text)) != NULL;)
		put_item(out, "", why);
	for (unsigned i = 0; i < r->environment.count; i++)
		put_item(out, i < r->environment.facts ? "note: " : "try: ",
		    r->environment.notes[i]);
	fputs("</ul></div>\n", out);
}

static void
put_heading(FILE *out, struct report *r)
{
	struct summary *s = &r->summary;
	const struct plan *plan = s->plan;
	char started[40];

	fputs("<h1>", out);
	plot_escape(out, r->target.url);
	fputs("</h1>\n<p class=\"big\">", out);
	put_median(out, s, 50);
	put_median(out, s, 99);
	fputs("slowest <b>", out);
	put_ns(out, s->pooled[SERIES_LATENCY].max_ns);
	fprintf(out,
	    "</b> &nbsp; %zu of %zu failed</p>\n<p>%s &middot; %zu iterations "
	    "of %" PRIu64 " requests, %s",
	    s->errors, s->sent, text_wall(started, r->started_ns), s->count,
	    plan->requests, arrivals_name(plan->arrivals));
	if (plan->arrivals != ARRIVALS_CLOSED)
		fprintf(out, " at %.6g/s, seed %" PRIu64, plan->rate_per_s,
		    plan->seed);
	fputs("</p>\n", out);
	put_generator(out, r);
}

static void
put_iterations(FILE *out, const struct summary *s)
{
	const struct percentiles *p = &s->criteria->percentiles;
	unsigned p99 = percentiles_index(p, 99);
	char name[PERCENTILE_KEY_MAX];

	fputs("<h2>Iterations</h2>\n<table><tr><th></th><th>rate</th>", out);
	for (unsigned i = 0; i < p->count; i++)
		fprintf(out, "<th>%s</th>", figure_name(p->at[i], name));
	fputs("<th>max</th><th>server p99</th><th>failed</th>"
	      "<th>lag p99</th></tr>\n",
	    out);
	for (size_t i = 0; i < s->count; i++) {
		const struct iteration_summary *sum = &s->iterations[i];
		const struct latency_summary *d = sum->series;
		fprintf(out, "<tr><td>%u</td><td>%.0f/s</td>", sum->index,
		    sum->rate_per_s);
		for (unsigned k = 0; k < p->count; k++)
			put_cell_of(out, &d[SERIES_LATENCY],
			    d[SERIES_LATENCY].at_ns[k]);
		put_cell_of(out, &d[SERIES_LATENCY], d[SERIES_LATENCY].max_ns);
		put_cell_of(
		    out, &d[SERIES_SERVER], d[SERIES_SERVER].at_ns[p99]);
		fprintf(out, "<td>%zu</td>", sum->errors);
		put_cell_of(out, &d[SERIES_LAG], d[SERIES_LAG].at_ns[p99]);
		fprintf(out, "%s</tr>\n", sum->partial ? "<td>cut</td>" : "");
	}
	fputs("</table>\n", out);
}

static void
put_causes(FILE *out, const struct findings *f)
{
	struct slow_cause causes[CAUSES_MAX];
	int n = findings_causes(f, causes, CAUSES_MAX);

	if (n <= 0)
		return;
	fputs("<h2>Causes of the slow requests</h2>\n<table><tr>"
	      "<th>requests</th><th>median</th><th class=\"t\">cause</th>"
	      "<th class=\"t\">for example</th></tr>\n",
	    out);
	for (int i = 0; i < n; i++) {
		fprintf(out, "<tr><td>%zu</td>", causes[i].count);
		put_cell_ns(out, causes[i].median_ns);
		put_cell_text(out, causes[i].code);
		put_cell_text(out, causes[i].text);
		fputs("</tr>\n", out);
	}
	fputs("</table>\n", out);
}

static void
put_slow_row(FILE *out, const struct report *r, const struct slow *slow)
{
	const struct request_name name = {
	    .iteration = slow->iteration, .number = slow->number};
	const struct finding *f =
	    findings_of(&r->findings, slow->iteration, slow->number);
	bool linked = f != NULL && f->page[0] != '\0';
	char id[REQUEST_ID_MAX];

	(void)request_id_format(&r->texts.ids, &name, id);
	fputs("<tr><td class=\"t\">", out);
	if (linked)
		fprintf(out, "<a href=\"%s\">", f->page);
	fprintf(out, "%s%s</td><td>%u</td><td>%u</td>", id,
	    linked ? "</a>" : "", slow->iteration, slow->number);
	put_cell_ns(out, slow->latency_ns);
	put_cell_ns(out, slow->lag_ns);
	put_cell_ns(out, slow->server_ns);
	put_cell_text(out, f != NULL ? f->text : "");
	fputs("</tr>\n", out);
}

static void
put_slow(FILE *out, const struct report *r)
{
	size_t rows = 0;

	if (r->summary.slow.count == 0)
		return;
	fputs("<h2>Slow requests</h2>\n<table><tr><th class=\"t\">id</th>"
	      "<th>iteration</th><th>request</th><th>latency</th>"
	      "<th>lag</th><th>in the server</th>"
	      "<th class=\"t\">why</th></tr>\n",
	    out);
	for (size_t i = 0; i < r->summary.count; i++) {
		const struct slow_list *l = &r->summary.iterations[i].slow;
		for (size_t k = 0; k < l->count; k++) {
			if (rows++ < SLOW_ROWS_MAX)
				put_slow_row(out, r, &l->slowest[k]);
		}
	}
	fputs("</table>\n", out);
	if (rows > SLOW_ROWS_MAX)
		fprintf(out, "<p>and %zu more in run.json</p>\n",
		    rows - SLOW_ROWS_MAX);
}

static unsigned
worst_iteration(const struct summary *s)
{
	unsigned worst = 0;
	int64_t most_ns = -1;

	for (size_t i = 0; i < s->count; i++) {
		const struct latency_summary *d =
		    &s->iterations[i].series[SERIES_LATENCY];
		if (d->count == 0 || d->max_ns <= most_ns)
			continue;
		most_ns = d->max_ns;
		worst = s->iterations[i].index;
	}
	return worst;
}

static int
put_pictures(FILE *out, const struct report *r)
{
	int err;

	fputs("<div class=\"wide\">", out);
	err = picture_scatter(out, r, 0);
	if (err == 0)
		err = picture_scatter(out, r, worst_iteration(&r->summary));
	if (err == 0)
		picture_tail(out, &r->summary);
	fputs("</div>\n", out);
	return err;
}

int
page_write(FILE *out, struct report *r)
{
	int err;

	plot_page_begin(out, "tailor-load");
	put_heading(out, r);
	err = put_pictures(out, r);
	if (err < 0)
		return err;
	put_causes(out, &r->findings);
	put_slow(out, r);
	put_iterations(out, &r->summary);
	fputs(meaning, out);
	plot_page_end(out);
	return fflush(out) == 0 && !ferror(out) ? 0 : -EIO;
}
