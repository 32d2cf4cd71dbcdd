/* picture.c: the pictures of requests.  Dots at the same place are drawn once,
 * so that a picture does not grow with the number of requests. */
#include "loadgen/report/report.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/instant.h"
#include "base/plot.h"
#include "base/quantity.h"

#define CELLS 2 /* dots closer than 1/CELLS of a unit are one */
#define COLUMNS ((size_t)(PLOT_RIGHT - PLOT_LEFT + 1) * CELLS)
#define ROWS ((size_t)(PLOT_BOTTOM - PLOT_TOP + 1) * CELLS)

static void
note_nothing(FILE *out)
{
	fputs("<p>No request succeeded: nothing to draw.</p>\n", out);
}

static double
ms_of(int64_t ns)
{
	return (double)ns / 1e6;
}

/* The first and last power of ten around the latencies of a selection. */
struct span {
	size_t ok;
	int64_t first_ns; /* scheduled */
	int64_t last_ns;
	int64_t low_ns; /* latency */
	int64_t high_ns;
};

static struct span
span_of(const struct points *points, unsigned iteration)
{
	struct span s = {.first_ns = INT64_MAX, .low_ns = INT64_MAX};

	for (size_t i = 0; i < points->count; i++) {
		const struct point *p = &points->all[i];
		if (iteration != 0 && p->iteration != iteration)
			continue;
		if (p->scheduled_ns < s.first_ns)
			s.first_ns = p->scheduled_ns;
		if (p->scheduled_ns > s.last_ns)
			s.last_ns = p->scheduled_ns;
		if (p->latency_ns < 0)
			continue;
		s.ok++;
		if (p->latency_ns < s.low_ns)
			s.low_ns = p->latency_ns;
		if (p->latency_ns > s.high_ns)
			s.high_ns = p->latency_ns;
	}
	return s;
}

static struct plot_axis
log_axis(int64_t low_ns, int64_t high_ns, const char *label)
{
	double low = low_ns < 1000 ? 1e-3 : ms_of(low_ns);
	double high = ms_of(high_ns) > 1.01 * low ? ms_of(high_ns) : 2 * low;

	return (struct plot_axis){PLOT_LOG, low * 0.85, high * 1.15, label};
}

/* Draw successes as dots, failures as short strokes at the top. */
static void
draw_dots(const struct plot *plot, const struct points *points,
    unsigned iteration, int64_t zero_ns, unsigned char *seen)
{
	FILE *out = plot->out;

	fputs("<path class=\"dots\" d=\"", out);
	for (size_t i = 0; i < points->count; i++) {
		const struct point *p = &points->all[i];
		if ((iteration != 0 && p->iteration != iteration) ||
		    p->latency_ns < 0)
			continue;
		double x = plot_x(plot,
		    (double)(p->scheduled_ns - zero_ns) / (double)NS_PER_S);
		double y = plot_y(plot, ms_of(p->latency_ns));
		size_t cell = (size_t)((y - PLOT_TOP) * CELLS) * COLUMNS +
			      (size_t)((x - PLOT_LEFT) * CELLS);
		if (seen[cell] != 0)
			continue;
		seen[cell] = 1;
		fprintf(out, "M%.1f %.1fh0", x, y);
	}
	fputs("\"/>\n<path class=\"failed\" d=\"", out);
	for (size_t i = 0; i < points->count; i++) {
		const struct point *p = &points->all[i];
		if ((iteration == 0 || p->iteration == iteration) &&
		    p->latency_ns < 0)
			fprintf(out, "M%.1f %dv8",
			    plot_x(plot, (double)(p->scheduled_ns - zero_ns) /
					     (double)NS_PER_S),
			    PLOT_TOP);
	}
	fputs("\"/>\n", out);
}

/* Draw a slow request; f: its finding, or NULL. */
static void
draw_slow_one(const struct plot *plot, const struct slow *slow,
    const struct finding *f, double x)
{
	FILE *out = plot->out;
	bool linked = f != NULL && f->page[0] != '\0';
	char t[QUANTITY_TEXT_MAX];

	if (linked)
		fprintf(out, "<a href=\"%s\">", f->page);
	fprintf(out,
	    "<circle class=\"slow\" cx=\"%.1f\" cy=\"%.1f\" r=\"5\"><title>", x,
	    plot_y(plot, ms_of(slow->latency_ns)));
	fprintf(out, "iteration %u request %u, %s. ", slow->iteration,
	    slow->number, quantity_format_ns(slow->latency_ns, t));
	plot_escape(out, f != NULL ? f->text : "");
	fprintf(out, "</title></circle>%s\n", linked ? "</a>" : "");
}

static void
draw_slow(const struct plot *plot, const struct report *r, unsigned iteration,
    int64_t zero_ns)
{
	for (size_t i = 0; i < r->summary.count; i++) {
		const struct iteration_summary *sum = &r->summary.iterations[i];
		if (iteration != 0 && sum->index != iteration)
			continue;
		for (size_t k = 0; k < sum->slow.count; k++) {
			const struct slow *slow = &sum->slow.slowest[k];
			int64_t due_ns =
			    instant_since(slow->scheduled, r->epoch);
			draw_slow_one(plot, slow,
			    findings_of(
				&r->findings, slow->iteration, slow->number),
			    plot_x(plot,
				(double)(due_ns - zero_ns) / (double)NS_PER_S));
		}
	}
}

int
picture_scatter(FILE *out, const struct report *r, unsigned iteration)
{
	struct span s = span_of(&r->points, iteration);
	char title[96], summary[96], t[QUANTITY_TEXT_MAX];
	unsigned char *seen;

	if (s.ok == 0) {
		note_nothing(out);
		return 0;
	}
	seen = calloc(ROWS + 1, COLUMNS);
	if (seen == NULL)
		return -ENOMEM;
	double seconds = (double)(s.last_ns - s.first_ns) / (double)NS_PER_S;
	struct plot plot = {.out = out,
	    .x = {PLOT_LINEAR, 0, seconds > 0 ? seconds : 1,
		"due time, s after the first request"},
	    .y = log_axis(s.low_ns, s.high_ns, "latency, ms")};
	if (iteration == 0) {
		snprintf(title, sizeof(title), "Latency of every request");
	} else {
		plot.y = (struct plot_axis){
		    PLOT_LINEAR, 0, ms_of(s.high_ns) * 1.08, "latency, ms"};
		snprintf(title, sizeof(title),
		    "Iteration %u, which has the slowest request", iteration);
	}
	snprintf(summary, sizeof(summary), "%zu requests; the slowest took %s",
	    s.ok, quantity_format_ns(s.high_ns, t));
	plot_begin(&plot, title, summary);
	draw_dots(&plot, &r->points, iteration, s.first_ns, seen);
	draw_slow(&plot, r, iteration, s.first_ns);
	plot_end(&plot);
	free(seen);
	return 0;
}

void
picture_tail(FILE *out, const struct summary *s)
{
	const int64_t *sorted = s->pool[SERIES_LATENCY].values;
	size_t n = s->pool[SERIES_LATENCY].count;
	double last_x = -1;

	if (n == 0) {
		note_nothing(out);
		return;
	}
	struct plot plot = {.out = out,
	    .x = log_axis(sorted[0], sorted[n - 1], "latency, ms"),
	    .y = {PLOT_TAIL, 0, 1 - 0.5 / (double)n, "not above"}};
	plot_begin(&plot,
	    "Distribution of latency; the axis stretches the tail",
	    "all successful requests of all iterations");
	fprintf(out, "<path class=\"line\" d=\"M%.1f %d",
	    plot_x(&plot, ms_of(sorted[0])), PLOT_BOTTOM);
	for (size_t i = 0; i < n; i++) {
		double x = plot_x(&plot, ms_of(sorted[i]));
		/* Merge steps too narrow to be seen, except in the tail. */
		if (x - last_x < 0.25 && i + 100 < n)
			continue;
		last_x = x;
		fprintf(out, "H%.1fV%.1f", x,
		    plot_y(&plot, (double)(i + 1) / (double)n));
	}
	fputs("\"/>\n", out);
	plot_end(&plot);
}
